"""Setup: the fluent configuration of a Preprocessor."""

import copy
import logging
import math
import os
import secrets
from collections.abc import Iterable, Mapping
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Self, TypeAlias

from numpy.typing import DTypeLike

from dts.config import LoadMode, NormMode
from dts.datasets.catalog import ARRAY_SETS, canonical
from dts.errors import ConfigError
from dts.transforms import Transform
from dts.transforms.mix import BatchTransform

if TYPE_CHECKING:
    from dts.preprocessor import Preprocessor

Path: TypeAlias = str | bytes | os.PathLike[Any]
Numbers: TypeAlias = float | Iterable[float]

_log = logging.getLogger("dts")

_DTYPES = ("float32", "float16", "uint8")
_LABELS = ("int32", "int64")


def _integer(method: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise TypeError(f"{method}: an integer is needed, not {value!r}")
    return int(value)


def _flag(method: str, value: Any) -> bool:
    if not isinstance(value, bool) and type(value).__name__ != "bool":  # numpy's bool too
        raise TypeError(f"{method}: True or False is needed, not {value!r}")
    return bool(value)


def _text(method: str, value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{method}: a string is needed, not {value!r}")
    return value


def _path(method: str, value: Any) -> str:
    if not isinstance(value, (str, bytes, os.PathLike)):
        raise TypeError(f"{method}: a path is needed, not {value!r}")
    return os.fsdecode(value)


def _dtype_name(method: str, value: Any) -> str:
    """Name of a dtype given as string, type or numpy dtype."""
    name = value if isinstance(value, str) else getattr(value, "name", None)
    if name is None:
        name = getattr(value, "__name__", None)
    if not isinstance(name, str):
        raise TypeError(f"{method}: a dtype or its name is needed, not {value!r}")
    return name


class Setup:
    """Collects settings; ``commit()`` checks them all and returns a Preprocessor.

    Every method returns the Setup. A value of the wrong type is refused at once (TypeError), a
    wrong value in ``commit()`` (ConfigError, which names the method). A method called twice: the
    last call counts.
    """

    def __init__(self) -> None:
        self._dataset: tuple[str, str, str | None] | None = None
        self._dts_format: bool | None = None
        self._level: int | None = None
        self._mode = LoadMode.AUTO
        self._shuffle = True
        self._order: str | None = None
        self._window = 32
        self._seed: int | None = 0
        self._load_workers = 0
        self._preprocess_workers = 0
        self._cpu_binding = False
        self._direct_io = False
        self._batch_size: int | None = None
        self._drop_last = False
        self._prefetch = 2
        self._max_held: int | None = None
        self._output: tuple[str, int | None] = ("float32", None)
        self._labels = "int32"
        self._norm: NormMode | tuple[tuple[float, ...], tuple[float, ...]] = NormMode.NO_NORM
        self._train: tuple[Transform, ...] | None = None
        self._val: tuple[Transform, ...] | None = None
        self._resolution: dict[int, tuple[int, int]] = {}
        self._batch_ops: tuple[BatchTransform, ...] = ()
        self._batch_p: float | tuple[float, ...] | None = None
        self._channels: int | None = None
        self._exif_orientation = False
        self._fast_decode = False
        self._distributed = (0, 1)
        self._on_error = "raise"
        self._verify = False
        self._download = False
        self._sdmp = 1
        self._cpvs = False
        self._max_intermediate: int | None = None

    def dataset(self, name: str, path: Path, *, val_path: Path | None = None) -> Self:
        """Name the data set and where it lies.

        Parameters
        ----------
        name : str
            ``imagenet``, ``folder``, ``mnist``, ``cifar10`` or ``cifar100``, in any case.
        path : path
            A directory with files of standard names (``folder_train_lv3.dts``), or one .dts file;
            or a folder that holds ``train`` and ``val``, each with one folder a class; or the
            folder of class folders itself, which is the training set then.
            For MNIST and CIFAR also the directory of the original files. docs/datasets.md has
            all names.
        val_path : path, optional
            The validation file or class folders, or what holds them.
        """
        val = None if val_path is None else _path("dataset", val_path)
        self._dataset = (_text("dataset", name), _path("dataset", path), val)
        return self

    def using_dts_format(self, enable: bool = True, level: int | None = None) -> Self:
        """Read .dts files, of level 0..3 (None: the only one there); False: the original files.

        Not called: what is there, .dts files first.
        """
        self._dts_format = _flag("using_dts_format", enable)
        self._level = None if level is None else _integer("using_dts_format", level)
        return self

    def fully_mode(self, on: bool = True) -> Self:
        """Keep the whole set in memory; False is ``partial_mode()``."""
        self._mode = LoadMode.FULLY if _flag("fully_mode", on) else LoadMode.PARTIAL
        return self

    def partial_mode(self, on: bool = True) -> Self:
        """Keep two windows of blocks in memory; False is ``fully_mode()``."""
        self._mode = LoadMode.PARTIAL if _flag("partial_mode", on) else LoadMode.FULLY
        return self

    def load_mode(self, mode: LoadMode) -> Self:
        """Choose a LoadMode. Default AUTO."""
        if not isinstance(mode, LoadMode):
            raise TypeError(f"load_mode: a LoadMode is needed, not {mode!r}")
        self._mode = mode
        return self

    def shuffle_train(self, on: bool = True) -> Self:
        """Shuffle the training set. Default True; validation is never shuffled."""
        self._shuffle = _flag("shuffle_train", on)
        return self

    def shuffle_order(self, order: str) -> Self:
        """``"global"``: all samples at once; ``"window"``: blocks, then the samples of a window.

        Default: global with ``fully_mode(True)``, else window.
        """
        self._order = _text("shuffle_order", order)
        return self

    def shuffle_window(self, blocks: int) -> Self:
        """Blocks in a window. Default 32. Memory of PARTIAL: 2 x blocks x 16 MiB."""
        self._window = _integer("shuffle_window", blocks)
        return self

    def seed(self, seed: int | None) -> Self:
        """Any integer, taken modulo 2^64; None is drawn once and logged. Default 0."""
        self._seed = None if seed is None else _integer("seed", seed)
        return self

    def load_workers(self, n: int) -> Self:
        """IO threads for each split; 0: from the CPUs that this process may use."""
        self._load_workers = _integer("load_workers", n)
        return self

    def preprocess_workers(self, n: int) -> Self:
        """Preprocessing threads for each split; 0: from the CPUs that this process may use."""
        self._preprocess_workers = _integer("preprocess_workers", n)
        return self

    def cpu_binding(self, on: bool = True) -> Self:
        """Bind the threads to CPUs of those that this process may use. Default False.

        Preprocessing threads go round the NUMA nodes, each to a physical core of its own as long
        as there are any, then to their siblings, then round again; IO threads to the CPUs of a
        node each, so that what they read lies there. It helps where a process has the CPUs to
        itself; processes that share a machine each need CPUs of their own (taskset, cgroups). A
        system without such calls only logs a line. ``stats()`` counts the threads that are bound.
        """
        self._cpu_binding = _flag("cpu_binding", on)
        return self

    def direct_io(self, on: bool = True) -> Self:
        """Read .dts files of pictures around the page cache (O_DIRECT). Default False.

        For sets that are larger than the memory: every epoch reads them from the disk, at less
        CPU time, and nothing else is pushed out of the cache. A set that fits the cache is read
        faster through it. Where the files or the system do not allow it, a line is logged.
        """
        self._direct_io = _flag("direct_io", on)
        return self

    def batch_size(self, n: int) -> Self:
        """Samples in a batch. No default."""
        self._batch_size = _integer("batch_size", n)
        return self

    def drop_last(self, on: bool = True) -> Self:
        """Leave out the last training batch when it is not full. Default False."""
        self._drop_last = _flag("drop_last", on)
        return self

    def prefetch_batches(self, n: int) -> Self:
        """Batches that are made ready ahead. Default 2."""
        self._prefetch = _integer("prefetch_batches", n)
        return self

    def max_held_batches(self, n: int | None) -> Self:
        """Most batches that may be held at once; None: no limit. Default None.

        A ``for`` loop still holds a batch while it asks for the next, so 1 is too few for one.
        """
        self._max_held = None if n is None else _integer("max_held_batches", n)
        return self

    def amp(self, on: bool = True) -> Self:
        """True is ``output("float16")``, False ``output("float32")``. Default False."""
        self._output = ("float16" if _flag("amp", on) else "float32", None)
        return self

    def output(self, dtype: DTypeLike, channels: int | None = None) -> Self:
        """Choose what images are made of.

        Parameters
        ----------
        dtype : str or dtype
            "float16": (n, h, w, 4), channels past c are 0; "float32": (n, h, w, c);
            "uint8": (n, h, w, c), not normalised.
        channels : int, optional
            c or 4.
        """
        channels = None if channels is None else _integer("output", channels)
        self._output = (_dtype_name("output", dtype), channels)
        return self

    def labels(self, dtype: DTypeLike) -> Self:
        """``"int32"`` (default) or ``"int64"``."""
        self._labels = _dtype_name("labels", dtype)
        return self

    def normalization(self, mean: NormMode | Numbers, std: Numbers | None = None) -> Self:
        """A NormMode, or mean and std for each channel in 0..1 units. Default NO_NORM."""
        if isinstance(mean, NormMode):
            if std is not None:
                raise TypeError("normalization: a NormMode stands alone")
            self._norm = mean
            return self
        if std is None:
            raise TypeError(f"normalization: a NormMode, or mean and std, not {mean!r}")
        self._norm = (_numbers("normalization", mean), _numbers("normalization", std))
        return self

    def train_transforms(self, *ops: Transform) -> Self:
        """Transforms of the training set, in order. FusedNormalization comes last by itself."""
        self._train = _chain("train_transforms", ops)
        return self

    def train_resolution(self, sizes: Mapping[int, int | tuple[int, int]]) -> Self:
        """Train at another resolution from some epochs on: ``{0: 128, 30: 160, 60: 224}``.

        Each size holds from its epoch to the next one given; before the first, the chain's own.
        Batches have their epoch's shape, and are what a run with that size throughout gives.
        Memory is planned for the largest. Validation is not touched: what it does by default
        follows the training chain's own size.

        Where the chain's own final size is F and another size S is wanted, sizes of the chain are
        changed from its last step back: F becomes S, any other size s becomes s * S / F, rounded,
        for height and width apart. Crops of pixels (CenterCrop, RandomCrop) take the steps before
        them along, so that they show the same part of the picture; a RandomResizedCrop or Resize
        is the last one changed, since it makes its size of any input. So RandomResizedCrop(224)
        becomes RandomResizedCrop(128), Resize(256) and CenterCrop(224) become Resize(146) and
        CenterCrop(128). Draws do not depend on sizes: boxes of a RandomResizedCrop stay.

        Parameters
        ----------
        sizes : dict of int to int or (int, int)
            Height and width (an int stands for both), 1..65,500, by first epoch.
        """
        if not isinstance(sizes, Mapping):
            raise TypeError(f"train_resolution: a dict is needed, not {sizes!r}")
        self._resolution = {}
        for epoch, size in sizes.items():
            sides = size if isinstance(size, (tuple, list)) else (size, size)
            if len(sides) != 2:
                raise TypeError(f"train_resolution: a size is an int or (h, w), not {size!r}")
            height, width = (_integer("train_resolution", side) for side in sides)
            self._resolution[_integer("train_resolution", epoch)] = height, width
        return self

    def val_transforms(self, *ops: Transform) -> Self:
        """Transforms of the validation set.

        Not called: Resize(size / 0.875) and CenterCrop(size), size as the training chain's.
        """
        self._val = _chain("val_transforms", ops)
        return self

    def batch_transforms(self, *ops: BatchTransform, p: Numbers | None = None) -> Self:
        """Mix the pictures of each training batch, by one of these operations at a time.

        The labels of training batches become soft, (n, classes) float32, mixed or not;
        ``batch.hard_labels`` are the plain ones, ``batch.mix`` tells what was done.

        Parameters
        ----------
        *ops : MixUp or CutMix
            One is drawn for each batch. None: no mixing.
        p : float or sequence of float, optional
            Probability that a batch is mixed, shared out evenly; or one for each operation, which
            sum to at most 1. Default 1.
        """
        for op in ops:
            if not isinstance(op, BatchTransform):
                raise TypeError(f"batch_transforms: {op!r} is neither MixUp nor CutMix")
        self._batch_ops = ops
        if p is None or (isinstance(p, Real) and not isinstance(p, bool)):
            self._batch_p = None if p is None else _float(p)
        else:
            self._batch_p = _numbers("batch_transforms", p)
        return self

    def color_channels(self, c: int) -> Self:
        """1 or 3; default that of the set (3)."""
        self._channels = _integer("color_channels", c)
        return self

    def exif_orientation(self, on: bool = True) -> Self:
        """Turn pictures upright as their EXIF data says, before any transform. Default False.

        Crops, and sizes that ``draws`` tells, are then those of the upright picture. Broken EXIF
        data counts as upright, and as a warning in ``stats()``. Levels 1-3 of the export drop
        EXIF data: there is nothing left to turn by.
        """
        self._exif_orientation = _flag("exif_orientation", on)
        return self

    def fast_decode(self, on: bool = True) -> Self:
        """Decode at 1/2, 1/4 or 1/8 where a crop is at least so much larger than its target.

        The first shrinking is then done by the JPEG transform, for far less time; boxes stay
        exact. Pixels differ from those of full decoding: docs/pictures.md tells by how much.
        Default False. With the simplejpeg fallback, with ``antialias=False``, and where several
        views share a decode it does nothing.
        """
        self._fast_decode = _flag("fast_decode", on)
        return self

    def distributed(self, rank: int, world_size: int) -> Self:
        """Give this process's share. Only (0, 1) exists yet."""
        self._distributed = (_integer("distributed", rank), _integer("distributed", world_size))
        return self

    def on_error(self, policy: str) -> Self:
        """Say what a damaged sample does: ``"raise"`` (default), ``"skip"`` or ``"replace"``.

        With "skip" its batch is smaller; an empty one, where all were damaged, comes with a
        RuntimeWarning. "replace" takes another sample of the same block or window.
        """
        self._on_error = _text("on_error", policy)
        return self

    def verify_crc(self, on: bool = True) -> Self:
        """Check all CRCs in commit(). Default False."""
        self._verify = _flag("verify_crc", on)
        return self

    def download(self, on: bool = True) -> Self:
        """Fetch the original files of MNIST and CIFAR, as far as they are missing.

        For ImageNet, which only its makers give out: say what to fetch and where to put it. See
        dts.datasets.download for mirrors.
        """
        self._download = _flag("download", on)
        return self

    def sdmp_factor(self, k: int) -> Self:
        """Decode each training picture once and make `k` views of it, 1 to 128. Default 1.

        Each view has draws of its own; view 0 is what there would be without this. A batch of
        ``batch_size`` samples then has ``k * batch_size`` rows, view after view: row v * n + i is
        view v of sample i of n, and ``batch.views[v]`` are the images of one. The epoch keeps its
        number of batches. Memory of training batches is k times as much.
        """
        self._sdmp = _integer("sdmp_factor", k)
        return self

    def using_cpvs(self, on: bool = True) -> Self:
        """Keep the validation set in memory, preprocessed, after its first whole epoch.

        Later epochs hand out the same memory at no cost. Validation batches are then read-only, in
        every epoch. ``memory_plan()`` says how much it takes; ``commit()`` refuses what does not
        fit, and a chain that draws random numbers. Default False.
        """
        self._cpvs = _flag("using_cpvs", on)
        return self

    def max_intermediate_resolution(self, r: int | None) -> Self:
        """Longest side, in pixels, between two transforms; None: no cap."""
        self._max_intermediate = None if r is None else _integer("max_intermediate_resolution", r)
        return self

    def commit(self) -> "Preprocessor":
        """Check every setting and return a Preprocessor.

        Raises
        ------
        ConfigError
            A value that cannot work; the message names the method.
        NotImplementedError
            A setting that does not exist yet.
        FileNotFoundError, FormatError
            What the files say.
        """
        from dts.preprocessor import Preprocessor

        self._check_values()
        self._check_missing_features()
        setup = copy.copy(self)  # each commit draws a seed of its own
        if setup._seed is None:
            setup._seed = secrets.randbits(64)
            _log.info("seed drawn: %d", setup._seed)
        return Preprocessor._from_setup(setup)

    def _check_values(self):
        if self._dataset is None:
            raise ConfigError("dataset: name a data set and its path")
        canonical(self._dataset[0])
        if not self._dataset[1] or self._dataset[2] == "":
            raise ConfigError("dataset: the path is empty")
        if self._batch_size is None:
            raise ConfigError("batch_size: say how many samples a batch has")
        _within("using_dts_format", self._level, 0, 3, optional=True)
        if self._dts_format is False and self._level is not None:
            raise ConfigError("using_dts_format: only .dts files have a level")
        _within("shuffle_window", self._window, 1, 1 << 30)
        _within("load_workers", self._load_workers, 0, 1024)
        _within("preprocess_workers", self._preprocess_workers, 0, 4096)
        _within("batch_size", self._batch_size, 1, 1 << 24)
        _within("prefetch_batches", self._prefetch, 1, 1 << 16)
        _within("max_held_batches", self._max_held, 1, 1 << 30, optional=True)
        _within("max_intermediate_resolution", self._max_intermediate, 1, 65_500, optional=True)
        for epoch, size in self._resolution.items():
            _within("train_resolution: epoch", epoch, 0, 0xFFFFFFFF)
            for side in size:
                _within("train_resolution: size", side, 1, 65_500)
        _within("sdmp_factor", self._sdmp, 1, 128)
        _one_of("shuffle_order", self._order, (None, "global", "window"))
        _one_of("output", self._output[0], _DTYPES)
        _one_of("labels", self._labels, _LABELS)
        _one_of("color_channels", self._channels, (None, 1, 3))
        _one_of("on_error", self._on_error, ("raise", "skip", "replace"))
        kind = ARRAY_SETS.get(self._name())
        channels = self._channels or (3 if kind is None else kind.shape[2])
        _one_of("output", self._output[1], (None, channels, 4))
        rank, world = self._distributed
        if world < 1 or not 0 <= rank < world:
            raise ConfigError(f"distributed: rank {rank} is not within a world of {world}")
        arrays = self._name() in ARRAY_SETS  # always in memory
        if self._mode is LoadMode.PARTIAL and self._order == "global" and not arrays:
            raise ConfigError(
                "shuffle_order: 'global' needs the whole set in memory: "
                "fully_mode(), or order 'window'"
            )
        for op in self._val or ():
            if type(op).__name__ == "RandomErasing":
                raise ConfigError("val_transforms: RandomErasing has no place in validation")

    def _check_missing_features(self):
        missing = {
            "distributed": self._distributed != (0, 1),
        }
        for method, asked in missing.items():
            if asked:
                raise NotImplementedError(f"{method} does not exist yet")

    def _name(self) -> str:
        assert self._dataset is not None  # _check_values saw to that
        return canonical(self._dataset[0])


def _numbers(method: str, value: Any) -> tuple[float, ...]:
    if isinstance(value, Real) and not isinstance(value, bool):
        return (_float(value),)
    try:
        values = tuple(value)
    except TypeError:
        raise TypeError(f"{method}: numbers are needed, not {value!r}") from None
    if not all(isinstance(v, Real) and not isinstance(v, bool) for v in values):
        raise TypeError(f"{method}: numbers are needed, not {value!r}")
    return tuple(_float(v) for v in values)


def _float(value: Any) -> float:
    """Integers of more than 308 digits are infinite: commit() refuses that."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _chain(method: str, ops: tuple[Any, ...]) -> tuple[Transform, ...]:
    for op in ops:
        if not isinstance(op, Transform):
            name = type(op).__name__ if not isinstance(op, type) else op.__name__
            hint = (
                "; normalization(...) does that, and it always comes last"
                if name == "Normalize"
                else ""
            )
            raise TypeError(f"{method}: {name} is not a transform of dts{hint}")
    return tuple(ops)


def _within(method, value, low, high, optional=False):
    if value is None and optional:
        return
    if not low <= value <= high:
        raise ConfigError(f"{method}: {value} is not within {low}..{high}")


def _one_of(method, value, allowed):
    if value not in allowed:
        names = ", ".join(repr(a) for a in allowed if a is not None)
        raise ConfigError(f"{method}: {value!r} is none of {names}")
