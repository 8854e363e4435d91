"""CRC-32 of bytes in memory, as zlib computes it, at the speed of memory where there is PCLMUL."""

import zlib

from libc.stddef cimport size_t
from libc.stdint cimport uint8_t, uint32_t

__all__ = ["crc32", "implementation"]


cdef extern from "dts/format/crc32.h" nogil:
    int dts_crc32_begin()
    uint32_t dts_crc32(uint32_t crc, const uint8_t *data, size_t n)


cdef bint _fast = dts_crc32_begin()


def crc32(const uint8_t[::1] data not None, uint32_t value=0):
    """Give the CRC-32 of bytes, or go on with one. The lock of Python is free meanwhile.

    Parameters
    ----------
    data : buffer of bytes
    value : int
        CRC-32 of what stands before.

    Returns
    -------
    int
    """
    cdef size_t n = <size_t>data.shape[0]
    if not _fast:
        return zlib.crc32(data, value)
    if n == 0:
        return value
    if n < 1024:
        return dts_crc32(value, &data[0], n)
    with nogil:
        value = dts_crc32(value, &data[0], n)
    return value


def implementation():
    """Say what computes: "pclmul" or "zlib"."""
    return "pclmul" if _fast else "zlib"
