"""What crosses from Python to Cython: frozen, checked before any thread starts."""

from dataclasses import dataclass
from enum import Enum
from typing import Any


class NormMode(Enum):
    """Named normalisations: mean and standard deviation for each channel, in units of 0..1.

    The values are those of the reference framework. ``MLPERF`` subtracts the mean in units of
    0..255 and does not scale; ``NO_NORM`` only divides by 255.
    """

    NO_NORM = ((0.0,), (1.0,))
    MNIST = ((0.1307,), (0.3081,))
    CIFAR = ((0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616))
    IMAGENET = ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
    MLPERF = ((123.68 / 255, 116.78 / 255, 103.94 / 255), (1 / 255, 1 / 255, 1 / 255))

    @property
    def mean(self) -> tuple[float, ...]:
        """Mean of each channel, or one for all."""
        return self.value[0]

    @property
    def std(self) -> tuple[float, ...]:
        """Standard deviation of each channel, or one for all."""
        return self.value[1]


class LoadMode(Enum):
    """Where the packed pictures live during an epoch."""

    AUTO = "auto"  #: FULLY where the set fits in 60 % of the memory the process may use
    FULLY = "fully"  #: everything in memory, read once
    PARTIAL = "partial"  #: two windows of blocks; one loads while the other is consumed


@dataclass(frozen=True)
class SplitConfig:
    """All that the threads of one split need to know.

    Attributes
    ----------
    split : int
        0 train, 1 val.
    seed : int
        0..2^64-1.
    batch_size, prefetch, workers : int
        Rows of a batch; batches ready ahead; preprocessing threads.
    sample_shape : tuple of int
        (h, w, c) of a finished sample; of the largest, where epochs differ.
    dtype, label_dtype : str
        "uint8", "float16", "float32"; "int32", "int64".
    channels : int
        Decoded channels, 1 or 3.
    array_size : tuple of int or None
        Height and width where samples are plain uint8 arrays; None: JPEG pictures.
    exif_orientation : bool
        Turn pictures upright, as their EXIF data says.
    fast_decode : bool
        Decode at 1/2, 1/4 or 1/8 where that is still as large as the target.
    scale, bias : tuple of float
        float32 values for each channel: out = v * scale - bias.
    on_error : str
        "raise", "skip" or "replace".
    drop_last : bool
        Leave out a last batch that is not full.
    worker_masks : tuple of bytes
        CPUs of each preprocessing thread, bit i % 8 of byte i / 8 for CPU i, all of one length;
        empty: the system places them.
    views : int
        Views of each sample, all in its batch.
    batch_ops : tuple of BatchTransform
        What is done to whole batches; empty: nothing, and labels are plain.
    batch_shares : tuple of float
        Probability of each of those.
    classes : int
        Columns of the soft labels; 0 where there are none.
    keep : bool
        Batches are not given back: they stay in memory.
    max_held : int or None
        Most batches that the user may hold at once.
    """

    split: int
    seed: int
    batch_size: int
    sample_shape: tuple[int, int, int]
    dtype: str
    label_dtype: str
    channels: int
    array_size: tuple[int, int] | None
    exif_orientation: bool
    fast_decode: bool
    scale: tuple[float, ...]
    bias: tuple[float, ...]
    prefetch: int
    max_held: int | None
    workers: int
    on_error: str
    drop_last: bool
    worker_masks: tuple[bytes, ...] = ()
    views: int = 1
    batch_ops: tuple[Any, ...] = ()
    batch_shares: tuple[float, ...] = ()
    classes: int = 0
    keep: bool = False


@dataclass(frozen=True)
class SplitPlan:
    """Memory of one split, in bytes, fixed when the Preprocessor is made."""

    split: str
    mode: str
    file_bytes: int
    arena_bytes: int
    slots: int
    slot_bytes: int
    workers: int
    scratch_bytes: int
    kept_bytes: int = 0

    @property
    def total_bytes(self) -> int:
        """Arena, batch slots, the workers' scratch memory and batches that are kept, together."""
        slots = self.slots * self.slot_bytes + self.kept_bytes
        return self.arena_bytes + slots + self.workers * self.scratch_bytes


@dataclass(frozen=True)
class MemoryPlan:
    """What a Preprocessor will use, in bytes.

    Where a ``Resize(int)`` is followed by another resize, the picture in between is counted for
    an aspect ratio of 4; longer ones take more.
    """

    splits: tuple[SplitPlan, ...]

    @property
    def total_bytes(self) -> int:
        """Sum over the splits."""
        return sum(s.total_bytes for s in self.splits)

    def __str__(self):
        lines = [
            f"{s.split}: {s.mode}, {_size(s.arena_bytes)} of blocks for a file of "
            f"{_size(s.file_bytes)}, {s.slots} batch slots of {_size(s.slot_bytes)}, "
            f"{s.workers} workers with up to {_size(s.scratch_bytes)} each"
            f"{f', {_size(s.kept_bytes)} of batches that are kept' if s.kept_bytes else ''}: "
            f"{_size(s.total_bytes)}"
            for s in self.splits
        ]
        return "\n".join([*lines, f"memory in all: {_size(self.total_bytes)}"])


def _size(n: float) -> str:
    for unit in ("B", "KiB", "MiB", "GiB"):
        if n < 1024 or unit == "GiB":
            return f"{n:.0f} {unit}" if unit == "B" else f"{n:.1f} {unit}"
        n /= 1024
    raise AssertionError
