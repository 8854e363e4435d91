"""CRC-32 as zlib computes it: joining checksums of pieces, and of a file by several threads."""

import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from libc.stdint cimport int64_t, uint32_t, uint64_t

from dts.format.crc import crc32
from dts.format.reading import allowed_cpus, crc32_at, opened

__all__ = ["PIECE", "crc32_around", "crc32_combine", "crc32_concat", "crc32_of_file"]

# A checksum stands for a polynomial over GF(2), bit 31 being the coefficient of x^0.
# Appending n bytes multiplies it by x^(8n), modulo the generator polynomial of CRC-32.
cdef uint32_t _POLYNOMIAL = 0xEDB88320
cdef uint32_t _ONE = 0x80000000
cdef uint32_t[64] _POWERS  # x^(8 * 2^k)

PIECE = 16 << 20  # what one thread takes at a time


cdef uint32_t _multiply(uint32_t a, uint32_t b) noexcept nogil:
    cdef uint32_t product = 0
    while a:
        if a & _ONE:
            product ^= b
        a <<= 1
        b = (b >> 1) ^ (_POLYNOMIAL & -(b & 1))
    return product


cdef uint32_t _append(uint32_t crc, uint64_t length) noexcept nogil:
    cdef int k = 0
    while length:
        if length & 1:
            crc = _multiply(_POWERS[k], crc)
        length >>= 1
        k += 1
    return crc


cdef void _fill_powers() noexcept:
    cdef int k
    _POWERS[0] = _ONE >> 8
    for k in range(1, 64):
        _POWERS[k] = _multiply(_POWERS[k - 1], _POWERS[k - 1])


_fill_powers()


def crc32_combine(uint32_t crc1, uint32_t crc2, int64_t len2):
    """Give the CRC-32 of two pieces put together.

    Parameters
    ----------
    crc1, crc2 : int
        CRC-32 of the first and of the second piece.
    len2 : int
        Length of the second piece in bytes.

    Returns
    -------
    int
    """
    if len2 < 0:
        raise ValueError(f"len2 is {len2}, must not be negative")
    return _append(crc1, <uint64_t>len2) ^ crc2


def crc32_concat(crcs, lengths):
    """Give the CRC-32 of many pieces put together, in order.

    Parameters
    ----------
    crcs : array_like of uint32, shape (n,)
    lengths : int or array_like of int64, shape (n,)
        Bytes of each piece; one number if all are of the same length.

    Returns
    -------
    int
        0 for no pieces, as for no bytes.
    """
    cdef const uint32_t[::1] parts = np.ascontiguousarray(crcs, np.uint32)
    sizes = np.ascontiguousarray(np.broadcast_to(np.asarray(lengths, np.int64), (parts.shape[0],)))
    if sizes.size and sizes.min() < 0:
        raise ValueError(f"a length is {sizes.min()}, must not be negative")
    cdef const int64_t[::1] n = sizes
    cdef uint32_t crc = 0
    cdef Py_ssize_t i
    with nogil:
        for i in range(parts.shape[0]):
            crc = _append(crc, <uint64_t>n[i]) ^ parts[i]
    return crc


def crc32_around(data, offsets, lengths, crcs):
    """Give the CRC-32 of a buffer, reading only what lies around pieces whose CRC-32 is known.

    Parameters
    ----------
    data : buffer of bytes
    offsets, lengths : array_like of int64, shape (n,)
        The pieces, in order, without overlap.
    crcs : array_like of uint32, shape (n,)
        Theirs.

    Returns
    -------
    int
    """
    cdef const int64_t[::1] first = np.ascontiguousarray(offsets, np.int64)
    cdef const int64_t[::1] n = np.ascontiguousarray(lengths, np.int64)
    cdef const uint32_t[::1] known = np.ascontiguousarray(crcs, np.uint32)
    if not first.shape[0] == n.shape[0] == known.shape[0]:
        raise ValueError("offsets, lengths and crcs differ in length")
    cdef int64_t at = 0, size = len(data)
    cdef uint32_t crc = 0
    cdef Py_ssize_t i
    view = memoryview(data)
    for i in range(known.shape[0]):
        if not (at <= first[i] and 0 <= n[i] <= size - first[i]):
            raise ValueError(f"piece {i} is not between the one before and the end")
        crc = crc32(view[at : first[i]], crc)
        crc = _append(crc, <uint64_t>n[i]) ^ known[i]
        at = first[i] + n[i]
    return crc32(view[at:], crc)


def crc32_of_file(path, offset=0, length=None, threads=None):
    """Give the CRC-32 of a part of a file, computed by several threads.

    Parameters
    ----------
    path : str, path-like or int
        A file, or the descriptor of an open one.
    offset : int
        First byte.
    length : int, optional
        Number of bytes; by default up to the end of the file.
    threads : int, optional
        By default as many as this process may use CPUs.

    Returns
    -------
    int

    Raises
    ------
    CorruptError
        The file ends before `offset` + `length`.
    OSError
        The file cannot be read.
    """
    with opened(path) as fd:
        if length is None:
            length = max(0, os.fstat(fd).st_size - offset)
        starts = range(offset, offset + length, PIECE)
        sizes = [min(PIECE, offset + length - start) for start in starts]
        if len(sizes) < 2:
            return crc32_at(fd, offset, length)
        workers = min(len(sizes), threads or allowed_cpus())
        with ThreadPoolExecutor(workers, "dts-crc") as pool:
            try:
                crcs = list(pool.map(lambda start, size: crc32_at(fd, start, size), starts, sizes))
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise
        return crc32_concat(np.array(crcs, np.uint32), np.array(sizes, np.int64))
