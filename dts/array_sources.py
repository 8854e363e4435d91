"""MNIST and CIFAR as sources: from their original files or from .dts files, always in memory."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dts.datasets.arrays import ArraySet, RawArrays
from dts.datasets.catalog import ARRAY_SETS
from dts.datasets.download import download
from dts.errors import ConfigError, CorruptError, FormatError
from dts.format import DtsFile, read_header
from dts.format.layout import file_name
from dts.loaders import ArrayReader, read_array_file, read_raw_arrays
from dts.sources import Source

if TYPE_CHECKING:
    from dts.builder import Setup


class ArraySource(Source):
    """One split of pictures that lie in memory as one array; ids count in file order."""

    kind: ArraySet
    counts: list[int]

    def __init__(self, kind: ArraySet, counts: list[int]) -> None:
        height, width, _ = kind.shape
        self.kind = kind
        self.counts = counts
        self.array_shape = kind.shape
        self.num_classes = kind.num_classes
        self.memory_bytes = sum(counts) * (kind.sample_bytes + 8)  # pixels, label, order
        self.max_area = height * width

    def __len__(self) -> int:
        return sum(self.counts)

    def picture_size(self, id: int) -> tuple[int, int]:
        return self.kind.shape[0], self.kind.shape[1]


class RawArraySource(ArraySource):
    """Original files: idx or binary batches."""

    def __init__(self, raw: RawArrays) -> None:
        super().__init__(raw.set, list(raw.counts))
        self.raw = raw
        self.paths = list(raw.paths)
        self.place = os.path.dirname(self.paths[0])
        self.class_names = raw.class_names
        self.file_bytes = raw.file_bytes

    def reader(self, **settings: Any) -> ArrayReader:
        return read_raw_arrays(self.raw, **settings)

    def damaged(self) -> NDArray[np.uint8] | None:
        """Original files have no checksums, but for .gz, where reading compares them anyway."""
        return None

    def close(self) -> None:
        pass


class ArrayFile(ArraySource):
    """A .dts file of plain arrays."""

    def __init__(self, path: Path, kind: ArraySet) -> None:
        self.file = file = DtsFile(path)
        super().__init__(kind, [len(file)])
        self.paths = list(file.paths)
        self.place = self.paths[0]
        self.class_names = kind.class_names(path.parent)
        self.file_bytes = os.path.getsize(path)

    def reader(self, **settings: Any) -> ArrayReader:
        return read_array_file(self.file, **settings)

    def damaged(self) -> NDArray[np.uint8] | None:
        """Compare the checksum of the file, which is the only one it has."""
        for damage in self.file.verify().damaged:
            raise CorruptError(damage.reason, path=damage.path)
        return None

    def close(self) -> None:
        self.file.close()


def open_arrays(setup: "Setup") -> dict[str, Source]:
    """Open the splits of MNIST or CIFAR that a Setup names, as far as they are there.

    Raises
    ------
    ConfigError
        Nothing is there, or something else than was asked for.
    FormatError
        A file that is not what its name says.
    FileNotFoundError
        Nothing at that path.
    """
    assert setup._dataset is not None  # commit() saw to that
    kind = ARRAY_SETS[setup._name()]
    _, path, val_path = setup._dataset
    if setup._level:
        raise ConfigError(f"using_dts_format: {kind.name} has no level {setup._level}, only 0")
    wanted = [(path, ("train",) if val_path is not None else ("train", "val"))]
    if val_path is not None:
        wanted.append((val_path, ("val",)))
    sources: dict[str, Source] = {}
    try:
        for place, splits in wanted:
            if setup._download:
                _fetch(kind, Path(place), splits, setup._dts_format)
            _open_place(kind, Path(place), splits, setup._dts_format, sources)
    except BaseException:
        for source in sources.values():
            source.close()
        raise
    return sources


def _fetch(kind: ArraySet, place: Path, splits: tuple[str, ...], dts: bool | None) -> None:
    """Fetch the original files of what is not packed there."""
    if place.is_file() or place.suffix == ".dts":
        return
    packed = [s for s in splits if (place / file_name(kind.name, s == "train")).exists()]
    download(kind.name, place, splits=[s for s in splits if dts is False or s not in packed])


def _open_place(
    kind: ArraySet,
    place: Path,
    splits: tuple[str, ...],
    dts: bool | None,
    sources: dict[str, Source],
) -> None:
    if not place.exists():
        raise FileNotFoundError(f"dataset: there is nothing at {place}")
    if not place.is_dir():
        split = _split_of(place, kind, dts)
        if split == "train" and splits == ("val",):
            raise ConfigError(f"dataset: val_path {place} holds a training set")
        if split in sources:
            raise ConfigError(f"dataset: {place} is a second {split} set")
        sources[split] = ArrayFile(place, kind)
        return
    found = False
    for split in splits:
        source = _in_directory(kind, place, split, dts)
        if source is not None:
            sources[split] = source
            found = True
    if not found:
        raise ConfigError(f"dataset: no {_wanted(kind, splits, dts)} in {place}")


def _split_of(path: Path, kind: ArraySet, dts: bool | None) -> str:
    if dts is False:
        raise ConfigError(
            f"using_dts_format(False): {path} is a file; name the directory of the "
            f"original files of {kind.title}"
        )
    try:
        header = read_header(path)
    except FormatError as error:
        raise FormatError(f"{error} (a .dts file, or a directory, is needed)") from None
    found = header.dataset_type.strip().lower()
    if found != kind.name:
        raise ConfigError(f"dataset: {path} holds {found}, not {kind.name}")
    return "train" if header.is_training else "val"


def _in_directory(kind: ArraySet, place: Path, split: str, dts: bool | None) -> Source | None:
    path = place / file_name(kind.name, split == "train")
    if dts is not False and path.exists():
        if _split_of(path, kind, dts) != split:
            raise ConfigError(f"dataset: {path} is not a {split} set, whatever its name")
        return ArrayFile(path, kind)
    raw = None if dts else kind.open(place, split)
    return None if raw is None else RawArraySource(raw)


def _wanted(kind: ArraySet, splits: tuple[str, ...], dts: bool | None) -> str:
    files = []
    for split in splits:
        packed = file_name(kind.name, split == "train")
        raw = kind.files[split]
        plain = raw[0] + (", ..." if len(raw) > 1 else "")
        files.append({True: packed, False: plain, None: f"{packed} and no {plain}"}[dts])
    hint = " (`dts export` makes it)" if dts else " (download() fetches the original files)"
    return f"{' and no '.join(files)}{hint}"
