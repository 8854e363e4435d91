"""Files of a folder in groups that are read together: the "blocks" of a set that has none."""

import os
from collections.abc import Callable, Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from dts.datasets.listing import Listing
from dts.errors import ConfigError
from dts.format.layout import BLOCK_BYTES, up64
from dts.loaders.order import check_blocks
from dts.storage.folder_feed import MAX_FILE

_HEAD = 12 + 63  # head of a table, and what rounding it up may take
_ENTRY = 12  # bytes of the table for each picture
_MOST = 1364  # pictures in a block, as in .dts files
_PAGE = 4096


class FolderBlocks:
    """The samples of a listing, cut into blocks of at most 16 MiB and 1364 files.

    The rule is fixed, and depends on the sizes of the files alone. In the order of the listing,
    files go into a block as long as they fit (each takes its size, rounded up to 64, and 12
    bytes); a file that no block can hold gets a block of its own. `spread` goes through the
    listing in strides first: with k the least number of blocks that could do, files 0, k, 2k, ...,
    then 1, k + 1, ... So a block, and a window of blocks, holds files from all over the listing
    instead of those of one class. Within a block, files are in the order of their ids.

    Parameters
    ----------
    listing : Listing
        Sample id = position in it.
    spread : bool
        For orders that shuffle blocks.

    Attributes
    ----------
    ids : int64 array of shape (n,)
        Sample ids, block after block.
    block_counts, block_starts, rooms : int64 array of shape (blocks,)
        Files in each block, where they start in `ids`, and bytes of memory each block takes.
    paths, names : sequence of str
        Path, and ``class/file``, of each sample, made when asked for.
    """

    level = 0

    def __init__(self, listing: Listing, *, spread: bool) -> None:
        if len(listing) >= 1 << 31:
            raise ConfigError(f"dataset: {len(listing)} files in one folder")
        self.listing = listing
        self.root = os.path.abspath(listing.root)
        self.labels = np.ascontiguousarray(listing.labels, np.int32)
        self.sizes = np.ascontiguousarray(listing.sizes, np.int64)
        self.num_classes = len(listing.classes)
        files = listing.files()
        self.file_names = (files.pool, files.start, files.length, files.folder)
        self.folder_names = _joined(files.folders)
        self.paths = _Strings(len(listing), lambda i: os.path.join(self.root, listing.name(i)))
        self.names = _Strings(len(listing), listing.name)

        taken = np.where(self.sizes > MAX_FILE, 0, up64(self.sizes))
        order = _strides(taken + _ENTRY) if spread else np.arange(len(listing))
        self.block_starts = _cut(taken[order] + _ENTRY)
        self.block_counts = np.diff(self.block_starts, append=len(order))
        check_blocks(self.block_counts)
        block = np.repeat(np.arange(len(self.block_starts)), self.block_counts)
        self.ids = order[np.lexsort((order, block))].astype(np.int64)
        table = up64(12 + _ENTRY * self.block_counts)
        used = table + np.add.reduceat(taken[self.ids], self.block_starts)
        self.rooms = -(-used // _PAGE) * _PAGE

    def __len__(self) -> int:
        return len(self.ids)


def _strides(cost: NDArray[np.int64]) -> NDArray[np.int64]:
    n = len(cost)
    k = max(-(-int(cost.sum()) // (BLOCK_BYTES - _HEAD)), -(-n // _MOST))
    order = np.arange(k * -(-n // k)).reshape(-1, k).T.ravel()
    return order[order < n]


def _cut(cost: NDArray[np.int64]) -> NDArray[np.int64]:
    """Where blocks start when each takes as many files as it can."""
    ends = np.cumsum(cost)
    starts, first = [], 0
    while first < len(cost):
        starts.append(first)
        before = int(ends[first - 1]) if first else 0
        full = int(np.searchsorted(ends, before + BLOCK_BYTES - _HEAD, "right"))
        first = max(first + 1, min(full, first + _MOST))
    return np.array(starts, np.int64)


def _joined(folders: Sequence[bytes]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """All names as one array that is never empty, and where each one starts and the last ends."""
    starts = np.zeros(len(folders) + 1, np.int64)
    np.cumsum([len(folder) for folder in folders], out=starts[1:])
    return np.frombuffer(b"".join(folders) + b"\0", np.uint8), starts


class _Strings(Sequence[str]):
    """A sequence of str out of bytes that are made when asked for; not UTF-8: as surrogates."""

    def __init__(self, n: int, make: Callable[[int], bytes]) -> None:
        self._range = range(n)
        self._make = make

    def __len__(self) -> int:
        return len(self._range)

    @overload
    def __getitem__(self, i: int) -> str: ...
    @overload
    def __getitem__(self, i: slice) -> list[str]: ...
    def __getitem__(self, i: Any) -> Any:
        if isinstance(i, slice):
            return [os.fsdecode(self._make(k)) for k in self._range[i]]
        return os.fsdecode(self._make(self._range[i]))
