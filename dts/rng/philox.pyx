"""The random numbers of dts as Python sees them: pure functions, no state anywhere.

Every number belongs to a stream, named by (seed, kind, split, epoch, id, op, view), and has a
place in it. A stream is a sequence of Philox4x32-10 blocks with the seed as key and the counter
(block number, low half of id, epoch, kind | split | view | op | high bits of id); its words are
r0, r1, r2, r3 of block 0, then of block 1, and so on.
"""

from enum import IntEnum
from operator import index

from libc.stdint cimport int64_t, uint32_t, uint64_t

import numpy as np


class Kind(IntEnum):
    """What a stream is for."""

    SAMPLE_ORDER = DTS_KIND_SAMPLE_ORDER
    BLOCK_ORDER = DTS_KIND_BLOCK_ORDER
    WINDOW_ORDER = DTS_KIND_WINDOW_ORDER
    AUGMENT = DTS_KIND_AUGMENT
    REPLACE = DTS_KIND_REPLACE
    MIX = DTS_KIND_MIX


cdef uint64_t in_range(str name, value, limit) except? 0:
    try:
        number = index(value)
    except TypeError:
        raise TypeError(f"{name}: whole number expected, got {value!r}") from None
    if not 0 <= number < limit:
        raise ValueError(f"{name}: 0 to {limit - 1} expected, got {number}")
    return <uint64_t>number


cdef uint64_t wrapped(str name, value) except? 0:
    try:
        return <uint64_t>(index(value) & 0xFFFFFFFFFFFFFFFF)
    except TypeError:
        raise TypeError(f"{name}: whole number expected, got {value!r}") from None


cdef dts_stream stream_of(seed, id, kind, split, epoch, op, view) except *:
    return dts_stream_open(
        wrapped("seed", seed), <int>in_range("kind", kind, 16), <int>in_range("split", split, 2),
        <int>in_range("view", view, 128), <int>in_range("op", op, 256),
        <uint32_t>in_range("epoch", epoch, 2**32), <int64_t>in_range("id", id, 2**44))


def philox4x32(key, counter):
    """Compute blocks of Philox4x32-10.

    Parameters
    ----------
    key : int or (low, high)
        64 bits, as one number (taken mod 2^64) or as two 32-bit words.
    counter : (..., 4) array_like of int
        32-bit words c0, c1, c2, c3.

    Returns
    -------
    (..., 4) uint32 array
        Words r0, r1, r2, r3.

    Raises
    ------
    TypeError, ValueError
        Not whole numbers, not 4 words, or words outside 0..2^32-1.

    Notes
    -----
    Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
    """
    cdef uint64_t seed
    cdef const uint32_t[:, ::1] counters
    cdef uint32_t[:, ::1] words
    cdef dts_philox_block block
    cdef Py_ssize_t i
    if isinstance(key, (tuple, list)):
        if len(key) != 2:
            raise ValueError(f"key: a number or 2 words expected, got {len(key)} words")
        seed = in_range("key", key[0], 2**32) | in_range("key", key[1], 2**32) << 32
    else:
        seed = wrapped("key", key)
    given = np.asarray(counter)
    if not np.issubdtype(given.dtype, np.integer):
        raise TypeError(f"counter: whole numbers expected, got {given.dtype}")
    if given.ndim == 0 or given.shape[given.ndim - 1] != 4:
        raise ValueError(f"counter: shape (..., 4) expected, got {given.shape}")
    if given.size and not (given.min() >= 0 and given.max() < 2**32):
        raise ValueError("counter: words of 0 to 2^32 - 1 expected")
    counters = np.ascontiguousarray(given, np.uint32).reshape(-1, 4)
    result = np.empty(given.shape, np.uint32)
    words = result.reshape(-1, 4)
    with nogil:
        for i in range(counters.shape[0]):
            block = dts_philox(seed, counters[i, 0], counters[i, 1], counters[i, 2],
                               counters[i, 3])
            words[i, 0], words[i, 1] = block.r[0], block.r[1]
            words[i, 2], words[i, 3] = block.r[2], block.r[3]
    return result


def words(seed, id, count=1, *, kind=Kind.AUGMENT, split=0, epoch=0, op=0, view=0):
    """Give the first words of a stream.

    Parameters
    ----------
    seed : int
        Taken mod 2^64.
    id : int
        Sample id, or window number: 0..2^44-1.
    count : int
        How many.
    kind : Kind
        What the stream is for.
    split : int
        0 train, 1 val.
    epoch : int
        0..2^32-1.
    op : int
        Position of the operation in its chain, 0..255.
    view : int
        Which of several views of the sample, 0..127.

    Returns
    -------
    (count,) uint32 array

    Raises
    ------
    TypeError, ValueError
        Not a whole number, or out of range. The message names the argument.
    """
    cdef dts_stream s = stream_of(seed, id, kind, split, epoch, op, view)
    cdef uint32_t[::1] out
    cdef Py_ssize_t i
    result = np.empty(in_range("count", count, 2**32), np.uint32)
    out = result
    with nogil:
        for i in range(out.shape[0]):
            out[i] = dts_stream_next(&s)
    return result


def uniform(seed, id, count=1, *, kind=Kind.AUGMENT, split=0, epoch=0, op=0, view=0):
    """Give the first draws of a stream as numbers in [0, 1).

    Parameters
    ----------
    seed, id, count, kind, split, epoch, op, view
        As in `words`.

    Returns
    -------
    (count,) float64 array
        ``(word >> 8) / 2^24``: multiples of 2^-24, exact in float32 too.
    """
    drawn = words(seed, id, count, kind=kind, split=split, epoch=epoch, op=op, view=view)
    return (drawn >> 8) * 2.0**-24


def random_int(seed, id, n, count=1, *, kind=Kind.AUGMENT, split=0, epoch=0, op=0, view=0):
    """Give the first draws of a stream as whole numbers in [0, n).

    Parameters
    ----------
    seed, id, count, kind, split, epoch, op, view
        As in `words`.
    n : int
        1..2^32-1.

    Returns
    -------
    (count,) int64 array
        ``(word * n) >> 32``.
    """
    cdef uint64_t limit = in_range("n", n, 2**32)
    if limit == 0:
        raise ValueError("n: 1 or more expected, got 0")
    drawn = words(seed, id, count, kind=kind, split=split, epoch=epoch, op=op, view=view)
    return ((drawn.astype(np.uint64) * limit) >> 32).astype(np.int64)


def permutation(n, seed, *, kind=Kind.SAMPLE_ORDER, split=0, epoch=0, window=0):
    """Permute 0 .. n-1.

    Fisher and Yates: for i from n-1 down to 1, i is swapped with ``(r * (i + 1)) >> 64``, where r
    is the 64-bit number r0 r1 of block i of the stream.

    Parameters
    ----------
    n : int
        0..2^32.
    seed, kind, split, epoch
        As in `words`.
    window : int
        Takes the place of id: 0..2^44-1.

    Returns
    -------
    (n,) int64 array
    """
    cdef uint64_t size = in_range("n", n, 2**32 + 1), key = wrapped("seed", seed)
    cdef int kind_ = <int>in_range("kind", kind, 16), split_ = <int>in_range("split", split, 2)
    cdef uint32_t epoch_ = <uint32_t>in_range("epoch", epoch, 2**32)
    cdef int64_t window_ = <int64_t>in_range("window", window, 2**44)
    cdef int64_t[::1] out
    result = np.empty(size, np.int64)
    if size:
        out = result
        with nogil:
            dts_permutation_i64(&out[0], size, key, kind_, split_, epoch_, window_)
    return result


def _permutation_u32(uint32_t[::1] values, uint64_t seed, int kind, int split, uint32_t epoch,
                     int64_t window):
    """The 32-bit form, in place, for the tests."""
    dts_permutation_u32(&values[0], <uint64_t>values.shape[0], seed, kind, split, epoch, window)


def _exp(double x):
    """The exp of the sample path, for the tests."""
    return dts_exp(x)


def _log(double x):
    """The log of the sample path, for the tests."""
    return dts_log(x)
