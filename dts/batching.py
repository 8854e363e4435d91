"""What a Setup says about whole batches, checked: mixing, views, a validation set that is kept."""

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np

from dts.errors import ConfigError
from dts.loaders.memory import available_bytes
from dts.transforms.mix import shares_of

if TYPE_CHECKING:
    from dts.builder import Setup
    from dts.chains import OutputPlan
    from dts.sources import Source


def batch_settings(setup: "Setup", name: str, source: "Source") -> dict[str, Any]:
    """Return what of a split's SplitConfig is about whole batches.

    Raises
    ------
    ConfigError
        Probabilities or a number of classes that cannot be.
    """
    settings: dict[str, Any] = {"keep": setup._cpvs and name == "val"}
    if name != "train":
        return settings
    settings["views"] = setup._sdmp
    ops = setup._batch_ops
    if not ops:
        return settings
    try:
        shares = shares_of(ops, setup._batch_p)
    except ValueError as error:
        raise ConfigError(f"batch_transforms: {error}") from None
    settings.update(batch_ops=ops, batch_shares=shares, classes=_classes(ops, source))
    return settings


def _classes(ops: tuple[Any, ...], source: "Source") -> int:
    """Columns of the soft labels: as asked for, else those of the data set."""
    asked = {op.num_classes for op in ops if op.num_classes is not None}
    if len(asked) > 1:
        raise ConfigError(f"batch_transforms: the operations differ in num_classes: {asked}")
    (classes,) = asked or {source.num_classes}
    if classes < source.num_classes:
        raise ConfigError(
            f"batch_transforms: num_classes is {classes}, the data set has {source.num_classes}"
        )
    return int(classes)


def kept_bytes(setup: "Setup", sources: "dict[str, Source]", output: "OutputPlan") -> int:
    """Bytes of the validation set that `Setup.using_cpvs` keeps; 0: none is kept.

    Raises
    ------
    ConfigError
        There is no validation set, or its chain draws random numbers.
    """
    if not setup._cpvs:
        return 0
    if "val" not in sources:
        raise ConfigError("using_cpvs: there is no validation set to keep")
    for op in itertools.chain.from_iterable(stage.chain for stage in output.stages["val"]):
        if op.is_random:
            raise ConfigError(
                f"using_cpvs: {op!r} of val_transforms draws random numbers; what is kept would "
                "show the draws of one epoch for ever"
            )
    pixels = int(np.prod(output.shapes["val"], dtype=np.int64))
    row = pixels * np.dtype(setup._output[0]).itemsize + np.dtype(setup._labels).itemsize + 9
    batch = min(setup._batch_size or 1, len(sources["val"]))
    return -(-len(sources["val"]) // batch) * batch * row


def check_kept_fits(kept: int, set_bytes: int) -> None:
    """Refuse to keep what does not fit beside a data set of `set_bytes` in memory.

    Raises
    ------
    ConfigError
        With all numbers.
    """
    room, why = available_bytes()
    if kept and room is not None and kept + set_bytes > room:
        beside = f" beside {set_bytes} bytes of the data set" if set_bytes else ""
        raise ConfigError(
            f"using_cpvs: the preprocessed validation set takes {kept} bytes "
            f"({kept / 2**30:.2f} GiB){beside}, this process may use {room} "
            f"({room / 2**30:.2f} GiB, {why}); smaller pictures or output('float16') take less"
        )
