"""Finding damage: checksums of blocks and samples where the file has them, of the file always."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dts.errors import CorruptError, FormatError
from dts.format.block import parse_table
from dts.format.checksum import crc32_concat, crc32_of_file
from dts.format.index import BlockIndex
from dts.format.layout import BLOCK_BYTES, BLOCK_HEADER_SIZE, PICTURES
from dts.format.reading import allowed_cpus, crc32_at
from dts.format.volumes import Volume

NameOf = Callable[[int], str | None]
Progress = Callable[[int], object]


@dataclass(frozen=True, slots=True)
class Damage:
    """One damaged place, told as exactly as the file allows.

    Attributes
    ----------
    reason : str
    path : str
    block, sample : int or None
        Number of the block in its file, and of the picture in the block.
    id : int or None
    name : str or None
    """

    reason: str
    path: str
    block: int | None = None
    sample: int | None = None
    id: int | None = None
    name: str | None = None

    def __str__(self) -> str:
        places = {key: getattr(self, key) for key in ("path", "block", "sample", "id", "name")}
        return str(CorruptError(self.reason, **places))


@dataclass(frozen=True, slots=True)
class VerifyReport:
    """Result of `DtsFile.verify`.

    Attributes
    ----------
    damaged : list of Damage
        In the order of files and blocks; empty if all is as it was packed.
    blocks, samples : int
        What the set has.
    pinpointed : bool
        Whether every damaged byte is pinned to its block: True with the extension's checksums.
    """

    damaged: list[Damage] = field(default_factory=list)
    blocks: int = 0
    samples: int = 0
    pinpointed: bool = False

    @property
    def ok(self) -> bool:
        return not self.damaged

    def __str__(self) -> str:
        what = f"{self.blocks} blocks, {self.samples} samples"
        if self.ok:
            return f"{what}: no damage"
        return "\n".join([f"{what}: {len(self.damaged)} damaged", *map(str, self.damaged)])


def verify(
    volumes: Sequence[Volume],
    index: BlockIndex,
    name_of: NameOf,
    threads: int | None,
    progress: Progress | None,
) -> VerifyReport:
    """Check an open set; `DtsFile.verify` tells how."""
    damaged: list[Damage] = []
    if volumes[0].header.dataset_type != PICTURES:
        damaged += _check_arrays(volumes[0], bool(index.available[0]), threads)
        return VerifyReport(damaged, len(index.counts), int(index.starts[-1]))
    pool = ThreadPoolExecutor(threads or allowed_cpus(), "dts-verify")
    try:
        for v, volume in enumerate(volumes):
            blocks = np.flatnonzero(index.volume == v)
            damaged += _VolumeCheck(volume, index, blocks, name_of).run(pool, progress)
    finally:
        pool.shutdown(cancel_futures=True)
    pinpointed = all(_stored(volume, "block_crcs") is not None for volume in volumes)
    return VerifyReport(damaged, len(index.counts), int(index.starts[-1]), pinpointed)


def _check_arrays(volume: Volume, complete: bool, threads: int | None) -> Iterator[Damage]:
    header = volume.header
    if not complete:
        yield Damage(f"file is cut off at byte {volume.size}", volume.path)
        return
    crc = crc32_of_file(volume.fd, header.header_bytes, threads=threads)
    if crc != header.crc_code:
        yield Damage(_mismatch("file", crc, header.crc_code), volume.path)


def _mismatch(what: str, crc: int, expected: int) -> str:
    return f"CRC-32 of the {what} is {crc:08x}, {expected:08x} was packed"


def _stored(volume: Volume, name: str) -> Any:
    """Part of the extension, or None where it is missing or damaged (which is told elsewhere)."""
    try:
        return getattr(volume.extension, name, None)
    except FormatError:
        return None


class _VolumeCheck:
    """The check of one file of JPEG blocks."""

    def __init__(
        self, volume: Volume, index: BlockIndex, blocks: np.ndarray, name_of: NameOf
    ) -> None:
        self._volume = volume
        self._index = index
        self._blocks = blocks
        self._name_of = name_of
        self._level: int = volume.header.compress_level
        self._block_crcs = _stored(volume, "block_crcs")
        self._sample_crcs = _stored(volume, "sample_crcs")
        self._first_id = int(index.starts[blocks[0]])

    def run(self, pool: ThreadPoolExecutor, progress: Progress | None) -> Iterator[Damage]:
        volume, header = self._volume, self._volume.header
        if volume.extension is not None:
            for problem in volume.extension.problems():
                yield Damage(problem.removeprefix(f"{volume.path}: "), volume.path)
        there = self._blocks[self._index.available[self._blocks] != 0].tolist()
        crcs: list[int | None] = []
        clean = True
        for crc, found in pool.map(self._check_block, there):
            crcs.append(crc)
            clean = clean and not found
            yield from found
            if progress is not None:
                progress(BLOCK_BYTES)
        for b in self._blocks[len(there) :].tolist():
            yield self._damage(b, f"block is cut off: the file ends at byte {volume.size}")
        extra = volume.size - header.total_bytes
        if extra > 0:
            yield Damage(f"file has {extra} bytes after its last block", volume.path)
        known = [crc for crc in crcs if crc is not None]
        if len(known) == len(self._blocks):
            crc = crc32_concat(known, BLOCK_BYTES)
            if crc != header.crc_code and (clean or self._block_crcs is None):
                yield Damage(_mismatch("file", crc, header.crc_code), volume.path)

    def _check_block(self, b: int) -> tuple[int | None, list[Damage]]:
        volume, offset = self._volume, int(self._index.offset[b])
        try:
            crc = crc32_at(volume.fd, offset, BLOCK_BYTES)
            if self._block_crcs is None:
                return crc, self._check_table(b)
            expected = int(self._block_crcs[self._index.number[b]])
            if crc == expected:
                return crc, []
            return crc, self._pin(b) or [self._damage(b, _mismatch("block", crc, expected))]
        except OSError as error:
            return None, [self._damage(b, f"block cannot be read: {error.strerror}")]

    def _table(self, b: int) -> tuple[np.ndarray, np.ndarray]:
        head = self._volume.read(int(self._index.offset[b]), BLOCK_HEADER_SIZE[self._level])
        offsets, sizes, _ = parse_table(
            head,
            level=self._level,
            block_id=int(self._index.number[b]),
            count=int(self._index.counts[b]),
            num_classes=self._volume.header.num_classes,
        )
        return offsets, sizes

    def _check_table(self, b: int) -> list[Damage]:
        try:
            self._table(b)
        except CorruptError as error:
            return [self._damage(b, error.reason, error.sample)]
        return []

    def _pin(self, b: int) -> list[Damage]:
        """Say which samples of a damaged block are damaged."""
        try:
            offsets, sizes = self._table(b)
        except CorruptError as error:
            return [self._damage(b, error.reason, error.sample)]
        if self._sample_crcs is None:
            return []
        found = []
        first = int(self._index.starts[b]) - self._first_id
        start = int(self._index.offset[b])
        for i, (offset, size) in enumerate(zip(offsets.tolist(), sizes.tolist(), strict=True)):
            crc, expected = (
                crc32_at(self._volume.fd, start + offset, size),
                self._sample_crcs[first + i],
            )
            if crc != expected:
                found.append(self._damage(b, _mismatch("sample", crc, int(expected)), i))
        return found or [self._damage(b, "table or padding is damaged, no picture is")]

    def _damage(self, b: int, reason: str, sample: int | None = None) -> Damage:
        id = None if sample is None else int(self._index.starts[b]) + sample
        name = None if id is None else self._name_of(id)
        number = int(self._index.number[b])
        return Damage(reason, self._volume.path, number, sample, id, name)
