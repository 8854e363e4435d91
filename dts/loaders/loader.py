"""DtsLoader: the DataLoader contract over the files of a set, for direct use from Python."""

import os
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Literal, Self

from dts.datasets.arrays import RawArrays
from dts.datasets.catalog import ARRAY_SETS
from dts.datasets.folders import list_splits
from dts.datasets.listing import Listing
from dts.errors import ClosedError, ConfigError
from dts.format import DtsFile
from dts.loaders.array_reader import ArrayReader
from dts.loaders.arrays import read_array_file, read_raw_arrays
from dts.loaders.cpus import default_threads
from dts.loaders.dts_reader import BlockReader
from dts.loaders.folder_blocks import FolderBlocks
from dts.loaders.folder_reader import FolderReader
from dts.loaders.memory import check_fits, choose_mode
from dts.storage.arena import arena_bytes

SEQUENTIAL_WINDOW = 4  # blocks: without a shuffle, a larger window would only take memory
_IO_THREADS = 4  # more rarely help; the caller may ask for more


class DtsLoader:
    """Samples of a training and a validation file, epoch after epoch.

    The contract: `configure` once, then `begin_epoch`, `get_next_sample` until None (by each
    worker), `end_epoch`. One epoch runs at a time; two loaders are independent.
    """

    def __init__(self) -> None:
        self._files: dict[bool, DtsFile] = {}
        self._readers: dict[bool, BlockReader | ArrayReader] = {}
        self._running: BlockReader | ArrayReader | None = None
        self._closed = False
        self._classes: list[str] | None = None
        self.mode: str | None = None

    def configure(
        self,
        train_path: str | os.PathLike[str] | Listing | None = None,
        val_path: str | os.PathLike[str] | Listing | None = None,
        *,
        load_workers: int | None = None,
        preprocess_workers: int = 1,
        mode: Literal["FULLY", "PARTIAL", "AUTO"] = "AUTO",
        order: Literal["global", "window"] | None = None,
        shuffle_train: bool = True,
        shuffle_val: bool = False,
        window: int = 32,
        seed: int = 0,
        raw: Literal["folder", "imagenet", "mnist", "cifar10", "cifar100"] | None = None,
    ) -> Self:
        """Open the files and check all settings. No thread runs and no block is read yet.

        Parameters
        ----------
        train_path, val_path : path, optional
            .dts files; at least one. With `raw`, folders of original files; for "folder" and
            "imagenet", folders of class folders, or the Listing of one.
        load_workers : int, optional
            IO threads of each file; by default the CPUs allowed, at most 4.
        preprocess_workers : int
            How many workers will ask for samples. All of them have to keep asking.
        mode : {"AUTO", "FULLY", "PARTIAL"}
            AUTO: FULLY where both files fit in 60 % of the memory available.
        order : {"global", "window"}, optional
            Of shuffled epochs. By default global with FULLY, window otherwise.
        shuffle_train, shuffle_val : bool
        window : int
            Blocks in a window of a shuffled epoch.
        seed : int
            Taken mod 2^64.
        raw : {"folder", "imagenet", "mnist", "cifar10", "cifar100"}, optional
            Read the original files of this set. MNIST and CIFAR, as .dts files too, are always
            FULLY, and read here. Folders are listed here, by `list_pictures`; the classes of the
            training set hold for both.

        Raises
        ------
        ConfigError
            Settings that cannot work, or a FULLY set larger than the memory available.
        FormatError, OSError
            A file that is not one.
        """
        if self._closed or self._readers:
            raise ClosedError("configure() works once, on an open loader")
        paths = {True: train_path, False: val_path}
        if train_path is None and val_path is None:
            raise ConfigError("configure() needs train_path or val_path")
        if mode not in ("AUTO", "FULLY", "PARTIAL"):
            raise ConfigError(f"mode is AUTO, FULLY or PARTIAL, not {mode!r}")
        shuffled = {True: shuffle_train, False: shuffle_val}
        try:
            opened = self._open_all(
                {train: path for train, path in paths.items() if path is not None}, raw
            )
            arrays = not any(map(_holds_pictures, opened.values()))
            if order is None:
                order = "global" if mode == "FULLY" or arrays else "window"
            needed = sum(_memory(source) for source in opened.values())
            if mode == "AUTO" and not arrays:
                self.mode = choose_mode(needed)
            else:
                self.mode = "FULLY" if arrays else mode
            if mode == "FULLY" or arrays:
                check_fits(needed)
            for train, source in opened.items():
                self._readers[train] = _reader(
                    source,
                    split="train" if train else "val",
                    mode=self.mode,
                    order=order if shuffled[train] else "sequential",
                    window=window if shuffled[train] else SEQUENTIAL_WINDOW,
                    load_workers=load_workers or min(_IO_THREADS, default_threads()[0]),
                    num_workers=preprocess_workers,
                    seed=seed,
                )
        except BaseException:
            self.close()
            raise
        return self

    def _open_all(
        self, paths: Mapping[bool, str | os.PathLike[str] | Listing], raw: str | None
    ) -> Mapping[bool, DtsFile | RawArrays | Listing]:
        if raw in ("folder", "imagenet"):
            named = {"train" if train else "val": path for train, path in paths.items()}
            listings = list_splits(named, dataset=raw)
            self._classes = [os.fsdecode(c) for c in next(iter(listings.values())).classes]
            return {split == "train": listing for split, listing in listings.items()}
        opened = {}
        for train, path in paths.items():
            if isinstance(path, Listing):
                raise ConfigError("a Listing belongs to raw='folder' or raw='imagenet'")
            opened[train] = self._open(path, train, raw)
        return opened

    def _open(
        self, path: str | os.PathLike[str], train: bool, raw: str | None
    ) -> DtsFile | RawArrays:
        if raw is None:
            file = self._files[train] = DtsFile(path)
            return file
        if raw not in ARRAY_SETS:
            known = ", ".join(("folder", "imagenet", *ARRAY_SETS))
            raise ConfigError(f"raw is one of {known}; not {raw!r}")
        split = "train" if train else "val"
        found = ARRAY_SETS[raw].open(path, split)
        if found is None:
            raise FileNotFoundError(f"{path}: there is no {raw} {split} set")
        return found

    @property
    def memory_bytes(self) -> int:
        """Memory of all arenas and tables, known after configure()."""
        return sum(reader.memory_bytes for reader in self._readers.values())

    @property
    def class_names(self) -> list[str] | None:
        """Names of the classes, by label; None where nobody knows them.

        Bytes that are not UTF-8 come as surrogate escapes.
        """
        if self._classes is None:
            for file in self._files.values():
                if file.class_names is not None:
                    return list(file.class_names)
        return self._classes

    @property
    def label_to_folder(self) -> dict[int, str]:
        """Name of the class folder of each label; empty where there are no names."""
        return dict(enumerate(self.class_names or ()))

    @property
    def folder_to_label(self) -> dict[str, int]:
        """Label of each class folder; empty where there are no names."""
        return {name: label for label, name in self.label_to_folder.items()}

    def begin_epoch(self, epoch: int, is_train: bool = True) -> int:
        """Start an epoch; one that is running ends. Returns its number of samples.

        Raises
        ------
        ConfigError
            When no file was configured for this split.
        """
        self._check_open()
        is_train = bool(is_train)
        if is_train not in self._readers:
            raise ConfigError(f"configure() got no {'train' if is_train else 'val'}_path")
        if self._running is not None:
            self._running.end_epoch()
        self._running = self._readers[is_train]
        return self._running.begin_epoch(epoch)

    def get_next_sample(self, worker: int = 0) -> tuple[int, memoryview, int] | None:
        """Label, bytes and id of the next sample: see BlockReader.get_next_sample."""
        self._check_open()
        if self._running is None:
            raise ConfigError("begin_epoch comes first")
        return self._running.get_next_sample(worker)

    def end_epoch(self) -> None:
        """End the running epoch, wherever it is."""
        self._check_open()
        if self._running is not None:
            self._running.end_epoch()

    def close(self) -> None:
        """End everything; may be called again."""
        self._closed = True
        self._running = None
        for reader in self._readers.values():
            reader.close()
        for file in self._files.values():
            file.close()
        self._readers.clear()
        self._files.clear()

    def _check_open(self) -> None:
        if self._closed:
            raise ClosedError("the loader is closed")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


def _holds_pictures(source: DtsFile | RawArrays | Listing) -> bool:
    return isinstance(source, Listing) or (
        isinstance(source, DtsFile) and source.level is not None
    )


def _memory(source: DtsFile | RawArrays | Listing) -> int:
    if isinstance(source, Listing):
        return int(FolderBlocks(source, spread=False).rooms.sum())
    if isinstance(source, RawArrays):
        return len(source) * source.set.sample_bytes
    if source.level is None:
        head = source.header
        return len(source) * head.image_height * head.image_width * head.num_channels
    return arena_bytes(len(source.block_counts))


def _reader(source: DtsFile | RawArrays | Listing, **settings: Any) -> BlockReader | ArrayReader:
    if isinstance(source, Listing):
        return FolderReader(source, **settings)
    if isinstance(source, RawArrays):
        return read_raw_arrays(source, **settings)
    if source.level is None:
        return read_array_file(source, **settings)
    return BlockReader(source, **settings)
