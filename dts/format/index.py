"""Where each block of a set is and how many samples it has, found out without reading pictures."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dts.errors import CorruptError, FormatError
from dts.format.block import parse_table
from dts.format.layout import (
    BLOCK_BYTES,
    BLOCK_HEAD_BYTES,
    BLOCK_HEADER_SIZE,
    HEADER_AREA,
    TABLE_CAPACITY,
    block_magic,
    up64,
)
from dts.format.sections import damaged
from dts.format.volumes import Volume

UNKNOWN = -1
# A file may be cut off, but not so far that a few bytes stand for a table of millions of blocks:
# 65,536 blocks are 1 TiB.
MOST_MISSING = 1 << 16


@dataclass(frozen=True)
class BlockIndex:
    """Arrays over all blocks of a set, in the order of the ids. docs/format.md tells of counts.

    Attributes
    ----------
    counts : ndarray of int64, shape (b,)
        Samples in each block.
    starts : ndarray of int64, shape (b + 1,)
        First id of each block; the last entry is the number of samples.
    volume, number : ndarray of int32, shape (b,)
        File, and number of the block in it.
    offset : ndarray of int64, shape (b,)
        First byte in the file.
    available : ndarray of uint8, shape (b,)
        0 where the file ends before the block does.
    """

    counts: NDArray[np.int64]
    starts: NDArray[np.int64]
    volume: NDArray[np.int32]
    number: NDArray[np.int32]
    offset: NDArray[np.int64]
    available: NDArray[np.uint8]


def index_pictures(volumes: Sequence[Volume]) -> BlockIndex:
    """Index files of JPEG blocks.

    Raises
    ------
    FormatError
        More blocks are missing than are there (and than 65,536), or the blocks that are there
        cannot hold the number of samples that the header says.
    """
    counts = np.concatenate([_counts(volume) for volume in volumes])
    per_volume = [volume.header.num_blocks for volume in volumes]
    number = _joined(np.arange(n, dtype=np.int32) for n in per_volume)
    offset = HEADER_AREA + number.astype(np.int64) * BLOCK_BYTES
    volume = np.repeat(np.arange(len(volumes), dtype=np.int32), per_volume)
    sizes = np.array([v.size for v in volumes], np.int64)
    available = (offset + BLOCK_BYTES <= sizes[volume]).astype(np.uint8)
    return _frozen(counts, volume, number, offset, available)


def index_arrays(volume: Volume) -> BlockIndex:
    """Index a file of plain arrays: one block."""
    header = volume.header
    pixels = header.image_height * header.image_width * header.num_channels
    body = header.num_samples * (pixels + 1)
    return _frozen(
        np.array([header.num_samples], np.int64),
        np.zeros(1, np.int32),
        np.zeros(1, np.int32),
        np.array([header.header_bytes], np.int64),
        np.array([header.header_bytes + body <= volume.size], np.uint8),
    )


def _frozen(
    counts: NDArray[np.int64],
    volume: NDArray[np.int32],
    number: NDArray[np.int32],
    offset: NDArray[np.int64],
    available: NDArray[np.uint8],
) -> BlockIndex:
    starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
    for array in (counts, starts, volume, number, offset, available):
        array.setflags(write=False)
    return BlockIndex(counts, starts, volume, number, offset, available)


def _joined(parts: Iterable[NDArray[np.int32]]) -> NDArray[np.int32]:
    return np.concatenate(list(parts))


def _counts(volume: Volume) -> NDArray[np.int64]:
    """Count the samples of each block of one file: by the extension, else by the blocks."""
    header = volume.header
    n = header.num_blocks
    whole = min(n, (volume.size - HEADER_AREA) // BLOCK_BYTES)
    if n - whole > max(whole, MOST_MISSING):
        raise FormatError(
            f"{volume.path}: num_blocks is {n}, but the file ends after {whole} blocks"
        )
    stored = volume.extension.block_counts if volume.extension is not None else None
    if stored is not None:
        counts = stored.astype(np.int64)
        if int(counts.sum()) != header.num_samples or counts.max() > _capacity(volume):
            what = f"section 'BCNT' contradicts the header's {header.num_samples} samples"
            raise damaged(volume.path, what)
        return counts
    counts = _counts_of_heads(volume)
    if not _infer_unknown(counts, header.num_samples, _capacity(volume)):
        # A head that looks right may still lie. Such a block is a damaged one, not a bad file.
        for k in np.flatnonzero(counts != UNKNOWN).tolist():
            if not _is_regular(volume, k):
                counts[k] = UNKNOWN
        if not _infer_unknown(counts, header.num_samples, _capacity(volume)):
            known = int(counts[counts != UNKNOWN].sum())
            raise FormatError(
                f"{volume.path}: num_samples is {header.num_samples}, but its readable blocks "
                f"hold {known}"
            )
    return counts


def _capacity(volume: Volume) -> int:
    return TABLE_CAPACITY[volume.header.compress_level]


def _counts_of_heads(volume: Volume) -> NDArray[np.int64]:
    """Read what each block says of itself; UNKNOWN where the head is missing or is not one."""
    n = volume.header.num_blocks
    counts = np.full(n, UNKNOWN, np.int64)
    magic = block_magic(volume.header.compress_level)
    capacity = _capacity(volume)
    for k in range(n):
        head = volume.read(HEADER_AREA + k * BLOCK_BYTES, BLOCK_HEAD_BYTES)
        if len(head) < BLOCK_HEAD_BYTES:
            break
        count = int.from_bytes(head[8:], "little")
        if head[:4] == magic and int.from_bytes(head[4:8], "little") == k and count <= capacity:
            counts[k] = count
    return counts


def _infer_unknown(counts: NDArray[np.int64], num_samples: int, capacity: int) -> bool:
    """Give the unknown blocks, in order, what num_samples lacks; False if that cannot be."""
    unknown = np.flatnonzero(counts == UNKNOWN)
    rest = num_samples - int(counts[counts != UNKNOWN].sum())
    if not 0 <= rest <= unknown.size * capacity:
        return False
    counts[unknown] = np.clip(rest - capacity * np.arange(unknown.size), 0, capacity)
    return True


def _is_regular(volume: Volume, k: int) -> bool:
    """Whether a block is as writers make it: picture after picture, zeros after the table."""
    level = volume.header.compress_level
    head = volume.read(HEADER_AREA + k * BLOCK_BYTES, BLOCK_HEADER_SIZE[level])
    try:
        offsets, sizes, _ = parse_table(head, level=level, block_id=k)
    except CorruptError:
        return False
    ends = np.cumsum(up64(sizes.astype(np.int64)))
    expected = BLOCK_HEADER_SIZE[level] + np.concatenate([[0], ends[:-1]])
    after = head[BLOCK_HEAD_BYTES + 12 * offsets.size :]
    return np.array_equal(offsets, expected[: offsets.size]) and not after.strip(b"\0")
