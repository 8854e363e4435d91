"""What a Setup says about transforms and output, checked: chains, final sizes, normalisation."""

import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dts.config import NormMode
from dts.errors import ConfigError
from dts.kernels import norm_constants
from dts.resolution import Stage, final_size, stages
from dts.transforms import CenterCrop, Pad, RandomErasing, Resize

if TYPE_CHECKING:
    from dts.builder import Setup
    from dts.sources import Source

HALF_MAX = 65504.0
FLOAT_MAX = float(np.finfo(np.float32).max)
ASPECT = 4  # long side / short side of pictures, for the memory plan


@dataclass(frozen=True)
class OutputPlan:
    """Chains and sizes of each split, and how pixels become numbers."""

    stages: dict[str, tuple[Stage, ...]]
    between: dict[str, int]  # bytes of the pictures that a worker needs between two steps
    channels: int
    scale: tuple[float, ...]
    bias: tuple[float, ...]
    out_channels: int

    @property
    def shapes(self) -> dict[str, tuple[int, int, int]]:
        """(h, w, c) of the largest samples of each split, which slots are made for."""
        return {
            name: max((self.shape(stage) for stage in found), key=math.prod)
            for name, found in self.stages.items()
        }

    def shape(self, stage: Stage) -> tuple[int, int, int]:
        """(h, w, c) of a sample in that stage."""
        return (*stage.size, self.out_channels)


def plan_output(setup: "Setup", sources: "dict[str, Source]") -> OutputPlan:
    """Check what a Setup says about transforms and output for the splits that are there.

    Raises
    ------
    ConfigError
        A chain that does not end at one size, a number that the output cannot hold, and so on.
    """
    starts = {name: source.array_shape for name, source in sources.items()}
    channels = _channels(setup, starts)
    chains = {name: _chain(setup, name, starts) for name in sources}
    plan = {
        name: stages(ops, starts[name], setup._resolution)
        if name == "train"
        else (Stage(0, ops, final_size(name, ops, starts[name])),)
        for name, ops in chains.items()
    }
    last = _out_channels(setup, channels)
    _check_channels(chains, channels)
    _check_between(setup, plan, starts)
    _check_erase(setup, chains, channels)
    scale, bias = _norm(setup, channels)
    between = {
        name: max(
            _between(stage.chain, starts[name], channels, sources[name].max_area)
            for stage in found
        )
        for name, found in plan.items()
    }
    return OutputPlan(plan, between, channels, scale, bias, last)


def _channels(setup, starts):
    own = {3 if start is None else start[2] for start in starts.values()}
    if len(own) > 1:
        raise ConfigError("dataset: the train and the val set differ in channels")
    (channels,) = own
    if setup._channels is None:
        return channels
    if any(starts.values()) and setup._channels != channels:
        raise ConfigError(
            f"color_channels: this set has {channels} and is stored as plain arrays, "
            f"{setup._channels} cannot be made of it"
        )
    return setup._channels


def _chain(setup, name, starts):
    ops = setup._train if name == "train" else setup._val
    if ops is not None:
        return ops
    if name == "val" and setup._train:
        height, width = final_size("train", setup._train, starts.get("train", starts["val"]))
        if starts["val"] is not None and starts["val"][:2] == (height, width):
            return ()
        tall, wide = (int(side / 0.875 + 0.5) for side in (height, width))
        return (Resize(tall if height == width else (tall, wide)), CenterCrop((height, width)))
    return ()


def _out_channels(setup, channels):
    dtype, wanted = setup._output
    return wanted if wanted is not None else (4 if dtype == "float16" else channels)


def _check_between(setup, plan, starts):
    """Hold the sides that a chain passes through to the user's cap."""
    cap = setup._max_intermediate
    for name, stage in ((name, stage) for name, found in plan.items() for stage in found):
        size = None if starts[name] is None else starts[name][:2]
        for op in stage.chain:
            size = op.output_size(size)
            if cap is not None and size is not None and max(size) > cap:
                raise ConfigError(
                    f"max_intermediate_resolution: {op!r} of {name}_transforms makes "
                    f"{size[0]} x {size[1]}, over the cap of {cap}"
                )


def _check_channels(chains, channels):
    for name, ops in chains.items():
        for op in ops:
            try:
                op.check_channels(channels)
            except ValueError as error:
                raise ConfigError(f"{name}_transforms: {op!r}: {error}") from None


def _between(ops, start, channels, max_area):
    """Bytes of whole pictures in between (a worker keeps two at most), and of what they take.

    There is one where another resize follows, where a picture may have to be padded, and before
    and after an operation on pixels.
    """
    size = None if start is None else start[:2]
    area = max(max_area, 1) if size is None else size[0] * size[1]
    pictures, temp = [], 0
    steps = [op for op in ops if not op.is_carrier]
    for op, follows in itertools.zip_longest(steps, steps[1:]):
        before = area
        if op.is_pixels:
            side = math.isqrt(before - 1) + 1
            temp = max(temp, op.temp_bytes(size or (side, side), channels))
            pictures.append(before * channels)
        size = op.output_size(size)
        area = _area(size, op, before)
        resampled = follows is not None and follows.resamples
        if op.is_pixels or resampled or op.pads:
            pictures.append(area * channels)
    return sum(sorted(pictures)[-2:]) + temp


def _area(size, op, before):
    """Pixels of a picture; where the chain has left its size open, an estimate."""
    if size is not None:
        return size[0] * size[1]
    if isinstance(op, Resize) and isinstance(op.size, int):
        return op.size * op.size * ASPECT
    if isinstance(op, Pad):
        left, top, right, bottom = op.padding
        longest = math.isqrt(before * ASPECT) + 1  # of a picture that is ASPECT times as long
        sides = left + right + top + bottom
        return before + longest * sides + (left + right) * (top + bottom)
    return before


def _check_erase(setup, chains, channels):
    for op in chains.get("train", ()):
        if isinstance(op, RandomErasing) and op.value != "random":
            values = np.atleast_1d(np.asarray(op.value, float))
            if len(values) not in (1, channels):
                raise ConfigError(
                    f"train_transforms: {op!r} has {len(values)} fill values "
                    f"for {channels} channels"
                )
            if setup._output[0] == "float16" and np.abs(values).max() > HALF_MAX:
                raise ConfigError(
                    f"train_transforms: {op!r} fills with a value that float16 cannot hold"
                )


def _norm(setup, channels):
    """Scale and bias for each channel, float32 values."""
    if setup._output[0] == "uint8":
        if setup._norm is not NormMode.NO_NORM:
            raise ConfigError(
                "normalization: uint8 output is not normalised; leave it out, or use float32"
            )
        return (1.0,) * channels, (0.0,) * channels
    mode = setup._norm
    mean, std = (mode.mean, mode.std) if isinstance(mode, NormMode) else mode
    what = mode.name if isinstance(mode, NormMode) else f"mean {mean}, std {std}"
    for label, values in (("mean", mean), ("std", std)):
        if len(values) not in (1, channels):
            raise ConfigError(
                f"normalization: {label} of {what} has {len(values)} values "
                f"for {channels} channels"
            )
        if not all(abs(v) <= FLOAT_MAX for v in values):  # False for NaN
            raise ConfigError(f"normalization: {label} {values} is not finite")
    if any(v <= 0 for v in std):
        raise ConfigError(f"normalization: std {std} must be above 0")
    mean = mean * channels if len(mean) == 1 else mean
    std = std * channels if len(std) == 1 else std
    try:
        scale, bias = norm_constants(mean, std)
    except ValueError as error:  # a std that vanishes in float32, or nearly
        raise ConfigError(f"normalization: {error}") from None
    with np.errstate(over="ignore"):
        ends = np.abs(np.stack([-bias, np.float32(255) * scale - bias]))
    limit = HALF_MAX if setup._output[0] == "float16" else FLOAT_MAX
    if not np.all(ends <= limit):
        raise ConfigError(
            f"normalization: with {what} a pixel becomes {ends.max():.4g}, "
            f"over the {limit:.5g} that {setup._output[0]} can hold"
        )
    return tuple(map(float, scale)), tuple(map(float, bias))
