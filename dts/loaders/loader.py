"""The DataLoader contract for direct use from Python, and DtsLoader: the one of .dts files."""

import os
from abc import ABC, abstractmethod
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Literal, Self

from dts.errors import ClosedError, ConfigError
from dts.format import DtsFile
from dts.loaders.cpus import default_threads
from dts.loaders.dts_reader import BlockReader
from dts.loaders.memory import check_fits, choose_mode
from dts.storage.arena import arena_bytes

SEQUENTIAL_WINDOW = 4  # blocks: without a shuffle, a larger window would only take memory
_IO_THREADS = 4  # more rarely help; the caller may ask for more


class Loader(ABC):
    """Samples of a training and a validation set, epoch after epoch.

    The contract: `configure` once, then `begin_epoch`, `get_next_sample` until None (by each
    worker), `end_epoch`. One epoch runs at a time; two loaders are independent.
    """

    def __init__(self) -> None:
        self._readers: dict[bool, BlockReader] = {}
        self._running: BlockReader | None = None
        self._closed = False
        self.mode: str | None = None

    def _configure(
        self,
        sets: Mapping[str, Any],
        needed: int,
        *,
        mode: str,
        order: str | None,
        shuffle_train: bool,
        shuffle_val: bool,
        window: int,
        load_workers: int | None,
        preprocess_workers: int,
        seed: int,
    ) -> None:
        """Make the readers of what was opened; `needed` bytes are what FULLY takes."""
        if order is None:
            order = "global" if mode == "FULLY" else "window"
        if mode == "FULLY":
            check_fits(needed)
        self.mode = choose_mode(needed) if mode == "AUTO" else mode
        for split, opened in sets.items():
            shuffled = shuffle_train if split == "train" else shuffle_val
            self._readers[split == "train"] = self._reader(
                opened,
                split=split,
                mode=self.mode,
                order=order if shuffled else "sequential",
                window=window if shuffled else SEQUENTIAL_WINDOW,
                load_workers=load_workers or min(_IO_THREADS, default_threads()[0]),
                num_workers=preprocess_workers,
                seed=seed,
            )

    @abstractmethod
    def _reader(self, opened: Any, **settings: Any) -> BlockReader: ...

    def _check_new(self, train_path: object, val_path: object, mode: str) -> None:
        if self._closed or self._readers:
            raise ClosedError("configure() works once, on an open loader")
        if train_path is None and val_path is None:
            raise ConfigError("configure() needs train_path or val_path")
        if mode not in ("AUTO", "FULLY", "PARTIAL"):
            raise ConfigError(f"mode is AUTO, FULLY or PARTIAL, not {mode!r}")

    @property
    def memory_bytes(self) -> int:
        """Memory of all arenas and tables, known after configure()."""
        return sum(reader.memory_bytes for reader in self._readers.values())

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
        self._readers.clear()

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


class DtsLoader(Loader):
    """The loader of .dts files: see Loader for the contract."""

    def __init__(self) -> None:
        super().__init__()
        self._files: dict[str, DtsFile] = {}

    def configure(
        self,
        train_path: str | os.PathLike[str] | None = None,
        val_path: str | os.PathLike[str] | None = None,
        *,
        load_workers: int | None = None,
        preprocess_workers: int = 1,
        mode: Literal["FULLY", "PARTIAL", "AUTO"] = "AUTO",
        order: Literal["global", "window"] | None = None,
        shuffle_train: bool = True,
        shuffle_val: bool = False,
        window: int = 32,
        seed: int = 0,
    ) -> Self:
        """Open the files and check all settings. No thread runs and no block is read yet.

        Parameters
        ----------
        train_path, val_path : path, optional
            .dts files; at least one.
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

        Raises
        ------
        ConfigError
            Settings that cannot work, or a FULLY set larger than the memory available.
        FormatError, OSError
            A file that is not one.
        """
        self._check_new(train_path, val_path, mode)
        try:
            for split, path in (("train", train_path), ("val", val_path)):
                if path is not None:
                    self._files[split] = DtsFile(path)
            self._configure(
                self._files,
                sum(arena_bytes(len(file.block_counts)) for file in self._files.values()),
                mode=mode,
                order=order,
                shuffle_train=shuffle_train,
                shuffle_val=shuffle_val,
                window=window,
                load_workers=load_workers,
                preprocess_workers=preprocess_workers,
                seed=seed,
            )
        except BaseException:
            self.close()
            raise
        return self

    def _reader(self, opened: DtsFile, **settings: Any) -> BlockReader:
        return BlockReader(opened, **settings)

    def close(self) -> None:
        """End everything; may be called again."""
        super().close()
        for file in self._files.values():
            file.close()
        self._files.clear()
