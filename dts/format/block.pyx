"""Block tables: packing and parsing them."""

import numpy as np

from libc.stdint cimport int64_t, uint8_t
from libc.stddef cimport size_t

from dts.errors import CorruptError, FormatError
from dts.format.layout import (
    BLOCK_BYTES,
    BLOCK_HEAD_BYTES,
    BLOCK_HEADER_SIZE,
    LEVELS,
    TABLE_CAPACITY,
    block_magic,
)
from dts.status cimport DTS_OK, dts_error, dts_error_clear

__all__ = ["ANY_LABEL", "pack_table", "parse_table"]

ANY_LABEL = 2**31  # labels are int32 in memory: all but those fit


def pack_table(level, block_id, offsets, sizes, labels):
    """Make the head of a block: magic, number, count, table, zeros.

    Parameters
    ----------
    level : int
        0..3.
    block_id : int
        Number of the block in its file, from 0.
    offsets, sizes, labels : array_like of int, shape (n,)
        Of each picture: first byte counted from the start of the block, unpadded length in bytes,
        and class. n is at most ``TABLE_CAPACITY[level]``.

    Returns
    -------
    bytes
        ``BLOCK_HEADER_SIZE[level]`` bytes.

    Raises
    ------
    FormatError
        More pictures than the table holds, arrays of different length, or a picture outside the
        block or inside the table.
    """
    if level not in LEVELS:
        raise FormatError(f"level is {level!r}, must be 0..3")
    columns = [np.asarray(column) for column in (offsets, sizes, labels)]
    n = columns[0].size
    if any(column.shape != (n,) for column in columns):
        raise FormatError("offsets, sizes and labels of a block differ in length")
    if n > TABLE_CAPACITY[level]:
        raise FormatError(
            f"block {block_id} has {n} pictures, its table holds {TABLE_CAPACITY[level]}"
        )
    table = np.empty((3, n), "<u4")
    for row, name, column in zip(table, ("offset", "size", "label"), columns, strict=True):
        if n and (column.dtype.kind not in "iu" or column.min() < 0 or column.max() >= 2**32):
            raise FormatError(f"block {block_id}: a {name} is not an unsigned 32-bit integer")
        row[:] = column
    head = np.array([block_id, n], "<u4").tobytes()
    data = (block_magic(level) + head + table.tobytes()).ljust(BLOCK_HEADER_SIZE[level], b"\0")
    try:
        parse_table(data, level=level)
    except CorruptError as error:
        raise FormatError(f"block {block_id}: {error}") from None
    return data


def parse_table(buffer, *, level, block_id=None, count=None, num_classes=None):
    """Read and check the table of a block.

    Parameters
    ----------
    buffer : bytes-like
        A block, or its first ``BLOCK_HEADER_SIZE[level]`` bytes.
    level : int
        0..3.
    block_id, count, num_classes : int, optional
        What the block must say: its number, its number of pictures, and that all labels are below
        `num_classes`.

    Returns
    -------
    offsets, sizes : ndarray of uint32, shape (n,)
        First byte of each picture, counted from the start of the block, and length in bytes. All
        lie inside the block and behind the table.
    labels : ndarray of int32, shape (n,)

    Raises
    ------
    CorruptError
        A table that cannot be true; names block and sample as far as known.
    FormatError
        A level that does not exist.
    """
    if level not in LEVELS:
        raise FormatError(f"level is {level!r}, must be 0..3")
    cdef const uint8_t[::1] view = memoryview(buffer).cast("B")
    cdef int64_t readable = view.shape[0]
    cdef int64_t header_size = min(BLOCK_HEADER_SIZE[level], readable)
    cdef int64_t length = BLOCK_BYTES
    cdef int64_t top = ANY_LABEL if num_classes is None else min(num_classes, ANY_LABEL)
    cdef int64_t number = -1 if block_id is None else block_id
    cdef int64_t pictures = -1 if count is None else count
    cdef int wanted = level
    cdef dts_error error
    cdef int status
    if readable < BLOCK_HEAD_BYTES:
        raise CorruptError("block is shorter than its own head", block=block_id)
    dts_error_clear(&error)
    with nogil:
        status = dts_block_check(
            &view[0], length, wanted, number, pictures, header_size, top, &error
        )
    if status != DTS_OK:
        raise CorruptError(
            error.reason.decode("utf-8", "replace"),
            block=block_id,
            sample=None if error.sample < 0 else error.sample,
        )
    cdef size_t n = dts_block_count(&view[0])
    table = np.frombuffer(buffer, "<u4", 3 * n, BLOCK_HEAD_BYTES).reshape(3, n)
    return table[0].copy(), table[1].copy(), table[2].astype(np.int32)
