"""Where the samples of a split come from: one class for each kind of data set."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dts.datasets.catalog import ARRAY_SETS
from dts.datasets.download import say_what_to_fetch
from dts.decode import header as picture_header
from dts.decode import orientation as picture_orientation
from dts.errors import ConfigError, CorruptError
from dts.format import DtsFile
from dts.loaders import BlockReader
from dts.locate import find_files, is_folder

if TYPE_CHECKING:
    from dts.builder import Setup

BLOCK = 16 << 20


class Source(ABC):
    """One split, open for reading.

    Attributes
    ----------
    paths : sequence of str
        The files, for messages; a sample's `volume` counts in this list.
    place : str
        One path that stands for all of them.
    names : sequence of str or None
        Names of the samples by id; those of a large set are read when they are first asked for.
    class_names : list of str or None
        By label.
    num_classes : int
        Labels are below.
    array_shape : tuple of (int, int, int) or None
        Height, width and channels where samples are plain arrays; None for JPEG pictures.
    file_bytes, memory_bytes : int
        On disk, and in memory when all of it is kept.
    max_area : int
        Pixels of the largest picture, 0 where nobody knows.
    exif_orientation : bool
        Whether pictures are turned upright; set when a Preprocessor takes the source.
    """

    paths: Sequence[str]
    place: str
    class_names: list[str] | None
    num_classes: int
    array_shape: tuple[int, int, int] | None = None
    file_bytes: int
    memory_bytes: int
    max_area: int
    exif_orientation: bool = False

    @abstractmethod
    def __len__(self) -> int: ...

    @property
    def names(self) -> Sequence[str] | None:
        return None

    @abstractmethod
    def picture_size(self, id: int) -> tuple[int, int]:
        """Height and width, in pixels, of a sample as transforms see it."""

    @abstractmethod
    def reader(self, **settings: Any) -> Any:
        """Make the loader of this split.

        Parameters
        ----------
        split, mode, order : str
            "train" or "val"; "FULLY" or "PARTIAL"; "global", "window" or "sequential".
        window, load_workers, num_workers, seed : int
        bad : ndarray of uint8, shape (len,), or None
            1 for samples that are known to be damaged.

        Returns
        -------
        object
            With ``begin_epoch``, ``end_epoch``, ``close``, ``stats``, ``memory_bytes`` and
            ``address``: that of its `dts_loader` (dts/loaders/loader.h).
        """

    @abstractmethod
    def damaged(self) -> NDArray[np.uint8] | None:
        """Check all checksums: 1 for each damaged sample, None where all is well."""

    @abstractmethod
    def close(self) -> None: ...


class PictureFile(Source):
    """A .dts file (or the volumes of a set) of JPEG pictures."""

    def __init__(self, path: Any, split: str) -> None:
        self.file = file = DtsFile(path)
        try:
            self._check(split)
            self.paths = list(file.paths)
            self.place = file.paths[0]
            self.class_names = file.class_names
            self.num_classes = file.num_classes
            self.file_bytes = sum(h.total_bytes for h in file.headers)
            self.memory_bytes = len(file.block_counts) * BLOCK
            self.max_area = max(h.max_pic_area for h in file.headers)
        except BaseException:
            file.close()
            raise

    def _check(self, split: str) -> None:
        path = self.file.paths[0]
        if self.file.is_training != (split == "train"):
            kind = "training" if self.file.is_training else "validation"
            raise ConfigError(f"dataset: {path} is a {kind} set, not the {split} set")
        if self.file.level is None:
            raise ConfigError(f"dataset: {path} holds no JPEG pictures")
        if len(self.file) == 0:
            raise ConfigError(f"dataset: {path} holds no sample")

    def __len__(self) -> int:
        return len(self.file)

    @property
    def names(self) -> Sequence[str] | None:
        return self.file.names

    def picture_size(self, id: int) -> tuple[int, int]:
        return displayed_size(self.file[id][0], self.exif_orientation)

    def reader(self, **settings: Any) -> BlockReader:
        return BlockReader(self.file, **settings)

    def damaged(self) -> NDArray[np.uint8] | None:
        report = self.file.verify()
        if report.ok:
            return None
        bad = np.zeros(len(self.file), np.uint8)
        for damage in report.damaged:
            if damage.id is not None:
                bad[damage.id] = 1
            elif damage.block is not None:
                bad[self._ids_of_block(damage.path, damage.block)] = 1
            else:
                raise CorruptError(damage.reason, path=damage.path)
        return bad

    def _ids_of_block(self, path: str, number: int) -> slice:
        # Damage in the table or between pictures: labels may be wrong, so none of it is trusted.
        in_volume = self.file.block_volume == self.paths.index(path)
        (b,) = np.flatnonzero(in_volume & (self.file.block_number == number))
        return slice(int(self.file.block_starts[b]), int(self.file.block_starts[b + 1]))

    def close(self) -> None:
        self.file.close()


def displayed_size(data: Any, exif_orientation: bool) -> tuple[int, int]:
    """Height and width of a JPEG, upright if that is asked for."""
    info = picture_header(data)
    if exif_orientation and picture_orientation(data) >= 5:
        return info.width, info.height
    return info.height, info.width


def open_sources(setup: "Setup") -> dict[str, Source]:
    """Open what a Setup names: "train" and "val", as far as they are there."""
    assert setup._dataset is not None  # commit() saw to that
    if setup._name() in ARRAY_SETS:
        from dts.array_sources import open_arrays

        return open_arrays(setup)
    if setup._download:
        say_what_to_fetch(setup._name(), setup._dataset[1])
    _, where, val_where = setup._dataset
    if is_folder(setup._name(), where, val_where, setup._dts_format):
        from dts.folder_source import open_folders

        return dict(open_folders(setup._name(), where, val_where))
    paths = find_files(setup._name(), where, val_where, setup._level)
    sources: dict[str, Source] = {}
    try:
        for split, path in zip(("train", "val"), paths, strict=True):
            if path is not None:
                sources[split] = PictureFile(path, split)
        _check_class_lists([s.class_names for s in sources.values()])
    except BaseException:
        for source in sources.values():
            source.close()
        raise
    return sources


def _check_class_lists(lists: list[list[str] | None]) -> None:
    if len(lists) < 2 or lists[0] is None or lists[1] is None or lists[0] == lists[1]:
        return
    train, val = (set(names) for names in lists if names is not None)
    only = [
        f"only in {where}: {', '.join(sorted(names)[:5])}{' ...' if len(names) > 5 else ''}"
        for where, names in (("train", train - val), ("val", val - train))
        if names
    ]
    raise ConfigError(
        "dataset: the train and the val file have different class lists "
        f"({'; '.join(only) or 'the same names in another order'}); "
        "export the val set with --classes TRAIN.dts"
    )
