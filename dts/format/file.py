"""DtsFile: a .dts file, or a set of volumes, opened for reading."""

import operator
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import TracebackType
from typing import Any, SupportsIndex

import numpy as np
from numpy.typing import NDArray

from dts.errors import ClosedError, CorruptError, FormatError
from dts.format.block import parse_table
from dts.format.header import Header
from dts.format.index import BlockIndex, index_arrays, index_pictures
from dts.format.layout import BLOCK_HEADER_SIZE, PICTURES
from dts.format.names import Names
from dts.format.verify import VerifyReport, verify
from dts.format.volumes import Volume, open_volumes

Table = tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.int32]]


@dataclass(frozen=True, slots=True)
class Block:
    """One block of a set.

    Attributes
    ----------
    volume : int
        Which of `DtsFile.paths`.
    number : int
        Number of the block in its file.
    offset : int
        First byte in the file.
    count : int
        Samples in it.
    ids : range
        Their ids.
    available : bool
        False where the file ends before the block does.
    """

    volume: int
    number: int
    offset: int
    count: int
    ids: range
    available: bool


class DtsFile:
    """A .dts file, opened for reading; with any volume of a set, the whole set.

    ``len(file)`` is the number of samples; ``file[id]`` gives ``(memoryview, label)`` of one: the
    bytes as packed (a JPEG file; for MNIST and CIFAR height x width x channels uint8) and an int.
    Ids count through the blocks in file order, and through the volumes. Reading is positional, so
    several threads may use one object.

    A file that is cut off, or has damaged blocks, opens all the same: reading one of the lost
    samples raises CorruptError, all others are reached under their own ids as long as the number
    of samples in the lost blocks is known (docs/format.md).

    Parameters
    ----------
    path : str or path-like
    extension : {"read", "ignore"}
        "ignore" opens a file as if it had no extension: no names, no checksums of samples. That is
        the way to the data of a file whose extension is damaged.

    Attributes
    ----------
    paths : list of str
        One for each volume.
    headers : list of Header
        One for each volume; `header` is the first.
    block_counts : ndarray of int64, shape (b,)
        Samples in each block of the set.
    block_starts : ndarray of int64, shape (b + 1,)
        First id of each block; the last entry is ``len(file)``.
    block_volume, block_number : ndarray of int32, shape (b,)
        Index into `paths`, and number of the block in that file.
    block_offset : ndarray of int64, shape (b,)
        First byte of the block in its file.
    block_available : ndarray of uint8, shape (b,)
        0 where the file ends before the block does.

    Raises
    ------
    FileNotFoundError
        No such file.
    FormatError
        Not a .dts file, a header that cannot be true, a damaged extension, a missing volume.
    ClosedError
        From all methods once the file is closed.
    """

    _volumes: Sequence[Volume] = ()
    _closed = True

    def __init__(self, path: str | os.PathLike[str], *, extension: str = "read") -> None:
        if extension not in ("read", "ignore"):
            raise ValueError(f"extension is {extension!r}, must be 'read' or 'ignore'")
        self._volumes = open_volumes(path, use_extension=extension == "read")
        self._closed = False
        self.paths: list[str] = [volume.path for volume in self._volumes]
        self.headers: list[Header] = [volume.header for volume in self._volumes]
        self._pictures = self.header.dataset_type == PICTURES
        try:
            self._index: BlockIndex = (
                index_pictures(self._volumes) if self._pictures else index_arrays(self._volumes[0])
            )
        except BaseException:
            self.close()
            raise
        self.block_counts = self._index.counts
        self.block_starts = self._index.starts
        self.block_volume = self._index.volume
        self.block_number = self._index.number
        self.block_offset = self._index.offset
        self.block_available = self._index.available
        self._last_table: tuple[int, Table] | None = None

    @property
    def header(self) -> Header:
        """Header of the first volume."""
        return self.headers[0]

    @property
    def level(self) -> int | None:
        """0..3, or None for MNIST and CIFAR."""
        return self.header.compress_level if self._pictures else None

    @property
    def num_classes(self) -> int:
        """As the header says; the reference writes 1000 whatever the set has."""
        return self.header.num_classes

    @property
    def is_training(self) -> bool:
        return bool(self.header.is_training)

    @property
    def closed(self) -> bool:
        return self._closed

    def __len__(self) -> int:
        return int(self.block_starts[-1])

    def __getitem__(self, id: SupportsIndex) -> tuple[memoryview, int]:
        id = self._checked(id)
        b = self._block_of(id)
        i = id - int(self.block_starts[b])
        if not self._pictures:
            return self._array_sample(id)
        try:
            offsets, sizes, labels = self.table(b)
        except CorruptError as error:
            which = "" if error.sample in (None, i) else f"picture {error.sample}: "
            raise self._corrupt(f"{which}{error.reason}", b, i) from None
        volume, size = self._volumes[self.block_volume[b]], int(sizes[i])
        data = volume.read(int(self.block_offset[b]) + int(offsets[i]), size)
        if len(data) < size:
            raise self._corrupt(f"file ends at byte {volume.size}", b, i)
        return memoryview(data), int(labels[i])

    def find(self, id: SupportsIndex) -> tuple[int, int, int]:
        """Say where a sample is.

        Returns
        -------
        volume, block, index : int
            Which of `paths`, number of the block in that file, and of the sample in the block.
        """
        id = self._checked(id)
        b = self._block_of(id)
        return int(self.block_volume[b]), int(self.block_number[b]), id - int(self.block_starts[b])

    def table(self, block: int) -> Table:
        """Read the table of a block.

        Parameters
        ----------
        block : int
            Position among all blocks of the set, 0 <= block < len(block_counts).

        Returns
        -------
        offsets, sizes : ndarray of uint32, shape (n,)
            Byte in the block, and length, of each picture.
        labels : ndarray of int32, shape (n,)

        Raises
        ------
        CorruptError
            The block is damaged, or the file ends before it does.
        TypeError
            A file of MNIST or CIFAR has no tables.
        """
        self._check_open()
        if not self._pictures:
            raise TypeError(f"a file of type {self.header.dataset_type.strip()} has no tables")
        if self._last_table is not None and self._last_table[0] == block:
            return self._last_table[1]
        volume = self._volumes[self.block_volume[block]]
        number = int(self.block_number[block])
        if not self.block_available[block]:
            reason = f"block is cut off: the file ends at byte {volume.size}"
            raise CorruptError(reason, path=volume.path, block=number)
        level = self.header.compress_level
        head = volume.read(int(self.block_offset[block]), BLOCK_HEADER_SIZE[level])
        try:
            table = parse_table(
                head,
                level=level,
                block_id=number,
                count=int(self.block_counts[block]),
                num_classes=self.num_classes,
            )
        except CorruptError as error:
            raise CorruptError(
                error.reason, path=volume.path, block=number, sample=error.sample
            ) from None
        self._last_table = block, table
        return table

    def labels(self) -> NDArray[np.int32]:
        """Read the labels of all samples, shape (len(file),).

        Raises
        ------
        CorruptError
            A damaged or missing block.
        """
        self._check_open()
        if self._pictures:
            return np.concatenate([self.table(b)[2] for b in range(len(self.block_counts))])
        n = len(self)
        data = self._volumes[0].read(int(self.block_offset[0]), n)
        if len(data) < n:
            raise CorruptError(f"file is cut off in its {n} labels", path=self.paths[0])
        return np.frombuffer(data, np.uint8).astype(np.int32)

    def blocks(self) -> list[Block]:
        """List the blocks of the set."""
        starts = self.block_starts.tolist()
        columns = zip(
            self.block_volume.tolist(),
            self.block_number.tolist(),
            self.block_offset.tolist(),
            self.block_counts.tolist(),
            map(range, starts[:-1], starts[1:]),
            self.block_available.astype(bool).tolist(),
            strict=True,
        )
        return [Block(*fields) for fields in columns]

    @cached_property
    def names(self) -> Names | None:
        """``class/file`` of each sample by id; None where the file has no names.

        Raises
        ------
        FormatError
            The names are damaged.
        """
        parts = self._parts("sample_names")
        return None if parts is None else Names.joined(parts)

    @cached_property
    def class_names(self) -> list[str] | None:
        """Name of each class by label; None where the file has no names.

        Raises
        ------
        FormatError
            The names are damaged, or volumes differ in them.
        """
        parts = self._parts("class_names")
        if parts is None:
            return None
        for path, part in zip(self.paths, parts, strict=True):
            if part != parts[0]:
                raise FormatError(f"{path}: class names differ from those of {self.paths[0]}")
        return list(parts[0])

    @cached_property
    def block_crcs(self) -> NDArray[np.uint32] | None:
        """CRC-32 of each block of the set, or None."""
        parts = self._parts("block_crcs")
        return None if parts is None else np.concatenate(parts)

    @cached_property
    def sample_crcs(self) -> NDArray[np.uint32] | None:
        """CRC-32 of each sample by id, or None."""
        parts = self._parts("sample_crcs")
        return None if parts is None else np.concatenate(parts)

    @cached_property
    def source_sizes(self) -> NDArray[np.uint64] | None:
        """Bytes of each sample's source file by id, or None."""
        parts = self._parts("source_sizes")
        return None if parts is None else np.concatenate(parts)

    def verify(
        self, threads: int | None = None, progress: Callable[[int], object] | None = None
    ) -> VerifyReport:
        """Read everything and compare it with what was packed.

        With the extension every damaged byte is pinned to its block, and to the sample if it lies
        in one; without it a wrong checksum tells the file only, and a table that cannot be true
        its block.

        Parameters
        ----------
        threads : int, optional
            By default as many as this process may use CPUs.
        progress : callable, optional
            Called with the number of bytes after each block.

        Raises
        ------
        ClosedError
        """
        self._check_open()
        return verify(self._volumes, self._index, self._name_of, threads, progress)

    def close(self) -> None:
        """Close the file; again does nothing."""
        self._closed = True
        for volume in self._volumes:
            volume.close()

    def __enter__(self) -> "DtsFile":
        self._check_open()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()

    def __repr__(self) -> str:
        state = "closed" if self._closed else f"{len(self)} samples"
        return f"<DtsFile {self.paths[0]!r}, {state}>"

    def _check_open(self) -> None:
        if self._closed:
            raise ClosedError(f"{self.paths[0]}: file is closed")

    def _checked(self, id: SupportsIndex) -> int:
        self._check_open()
        n, i = len(self), operator.index(id)
        if not -n <= i < n:
            raise IndexError(f"{self.paths[0]}: id {i} is not in a file of {n} samples")
        return i % n

    def _block_of(self, id: int) -> int:
        return int(np.searchsorted(self.block_starts, id, side="right")) - 1

    def _array_sample(self, id: int) -> tuple[memoryview, int]:
        header, volume = self.header, self._volumes[0]
        pixels = header.image_height * header.image_width * header.num_channels
        start = header.header_bytes
        label = volume.read(start + id, 1)
        data = volume.read(start + header.num_samples + id * pixels, pixels)
        if not label or len(data) < pixels:
            raise self._corrupt(f"file ends at byte {volume.size}", 0, id)
        return memoryview(data), label[0]

    def _corrupt(self, reason: str, b: int, i: int) -> CorruptError:
        id = int(self.block_starts[b]) + i
        return CorruptError(
            reason,
            path=self.paths[self.block_volume[b]],
            block=int(self.block_number[b]),
            sample=i,
            id=id,
            name=self._name_of(id),
        )

    def _name_of(self, id: int) -> str | None:
        """Name for a message, which must not fail over damaged names."""
        try:
            return None if self.names is None else self.names[id]
        except FormatError:
            return None

    def _parts(self, field: str) -> list[Any] | None:
        """Part of the extension from each volume; None if one of them lacks it."""
        self._check_open()
        parts = [getattr(volume.extension, field, None) for volume in self._volumes]
        return None if any(part is None for part in parts) else parts
