"""What size a chain ends at, and chains of other sizes for progressive resolution."""

from dataclasses import dataclass

from dts.errors import ConfigError
from dts.transforms import Transform

Size = tuple[int, int]


@dataclass(frozen=True)
class Stage:
    """A chain and the size that it ends at (height, width), from an epoch on."""

    first_epoch: int
    chain: tuple[Transform, ...]
    size: Size


def final_size(name: str, ops: tuple[Transform, ...], start: tuple[int, ...] | None) -> Size:
    """Return the one size (height, width) that a chain ends at.

    Parameters
    ----------
    name : str
        "train" or "val", for messages.
    ops : tuple of Transform
    start : tuple of int or None
        Height and width of the set's pictures; None: they differ.

    Raises
    ------
    ConfigError
        There is no such size, or a step cannot work on what comes before it.
    """
    size: Size | None = None if start is None else (start[0], start[1])
    for op in ops:
        try:
            size = op.output_size(size)
        except ValueError as error:
            raise ConfigError(f"{name}_transforms: {op!r}: {error}") from None
    if size is None:
        raise ConfigError(
            f"{name}_transforms: the pictures of this set differ in size, and "
            f"{'the chain' if ops else 'no chain'} brings them to one: "
            "add RandomResizedCrop(size), Resize((h, w)), RandomCrop(size) or CenterCrop(size)"
        )
    if size[0] * size[1] > 1 << 26:
        raise ConfigError(
            f"{name}_transforms: a result of {size[0]} x {size[1]} pixels is too large"
        )
    return size


def stages(
    ops: tuple[Transform, ...], start: tuple[int, ...] | None, schedule: dict[int, Size]
) -> tuple[Stage, ...]:
    """Return the stages of a training chain, by rising first epoch; the first one is 0.

    Before the first epoch of the schedule the chain is as it was given.

    Parameters
    ----------
    ops, start
        As in `final_size`.
    schedule : dict of int to (int, int)
        Height and width from each epoch on; empty: one stage.

    Raises
    ------
    ConfigError
        The chain cannot be brought to one of the sizes.
    """
    own = final_size("train", ops, start)
    found = [] if 0 in schedule else [Stage(0, ops, own)]
    for epoch in sorted(schedule):
        size = schedule[epoch]
        chain = _at_size(ops, own, size)
        reached = final_size("train", chain, start)
        if reached != size:
            raise ConfigError(
                f"train_resolution: this chain ends at {own[0]} x {own[1]}, and with its crops "
                f"and resizes in proportion at {reached[0]} x {reached[1]}, not at "
                f"{size[0]} x {size[1]}"
            )
        found.append(Stage(epoch, chain, size))
    return tuple(found)


def _at_size(ops, own, size):
    """Change sizes from the last step back to the first that makes its size of any input."""
    if size == own:
        return ops
    changed = list(ops)
    for k in reversed(range(len(ops))):
        try:
            changed[k], goes_on = ops[k].at_size(own, size)
        except ValueError as error:
            raise ConfigError(f"train_resolution: {ops[k]!r}: {error}") from None
        if not goes_on:
            break
    return tuple(changed)
