"""The order of an epoch: a pure function of (seed, epoch, split, block sizes, settings).

Three orders: "sequential" is the file's; "global" is one permutation of all samples; "window" is a
permutation of the blocks, cut into windows of nearly equal size, with the samples of each window
permuted. Streams and the permutation are those of docs/architecture.md, "Random numbers". Windows
exist in every order: sequential ones are those that are loaded together, and the one window of
"global" is the whole set.
"""

from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libc.stdlib cimport malloc, free

from dts.format.block cimport DTS_BLOCK_MAX_PICTURES
from dts.rng.philox cimport (DTS_KIND_BLOCK_ORDER, DTS_KIND_SAMPLE_ORDER, DTS_KIND_WINDOW_ORDER,
                             dts_shuffle_u32)

import operator

import numpy as np

from dts.errors import ConfigError


cdef int64_t count_windows(int kind, int64_t n_blocks, int64_t window) noexcept nogil:
    if kind == ORDER_GLOBAL or n_blocks == 0:
        return 1
    return (n_blocks + window - 1) // window


cdef int plan_alloc(epoch_plan *plan, int64_t window) noexcept nogil:
    """Make the arrays for plan's kind, n_blocks and n_samples. -1 when memory ran out."""
    plan.n_windows = count_windows(plan.kind, plan.n_blocks, window)
    plan.blocks = <int32_t *>malloc((plan.n_blocks + 1) * sizeof(int32_t))
    plan.window_block = <int64_t *>malloc((plan.n_windows + 1) * sizeof(int64_t))
    plan.window_sample = <int64_t *>malloc((plan.n_windows + 1) * sizeof(int64_t))
    plan.samples = <uint32_t *>malloc((plan.n_samples + 1) * sizeof(uint32_t))
    if plan.blocks == NULL or plan.window_block == NULL or plan.window_sample == NULL \
            or plan.samples == NULL:
        return -1
    return 0


cdef void plan_free(epoch_plan *plan) noexcept nogil:
    free(plan.blocks)
    free(plan.window_block)
    free(plan.window_sample)
    free(plan.samples)


cdef int64_t plan_bytes(const epoch_plan *plan) noexcept nogil:
    return ((plan.n_blocks + 1) * <int64_t>sizeof(int32_t)
            + 2 * (plan.n_windows + 1) * <int64_t>sizeof(int64_t)
            + (plan.n_samples + 1) * <int64_t>sizeof(uint32_t))


cdef void plan_epoch(epoch_plan *plan, const char *counts, int64_t stride,
                     uint32_t epoch) noexcept nogil:
    cdef int64_t b, w, i, n = 0, first
    cdef uint32_t code
    for b in range(plan.n_blocks):
        plan.blocks[b] = <int32_t>b
    if plan.kind == ORDER_WINDOW:
        dts_shuffle_u32(<uint32_t *>plan.blocks, plan.n_blocks, plan.seed, DTS_KIND_BLOCK_ORDER,
                        plan.split, epoch, 0)
    for w in range(plan.n_windows):
        first = n
        plan.window_sample[w] = n
        plan.window_block[w] = w * plan.n_blocks // plan.n_windows
        for b in range(plan.window_block[w], (w + 1) * plan.n_blocks // plan.n_windows):
            code = <uint32_t>plan.blocks[b] << INDEX_BITS
            for i in range((<const int32_t *>(counts + plan.blocks[b] * stride))[0]):
                plan.samples[n] = code | <uint32_t>i
                n += 1
        if plan.kind == ORDER_WINDOW:
            dts_shuffle_u32(plan.samples + first, n - first, plan.seed, DTS_KIND_WINDOW_ORDER,
                            plan.split, epoch, w)
    if plan.kind == ORDER_GLOBAL:
        dts_shuffle_u32(plan.samples, n, plan.seed, DTS_KIND_SAMPLE_ORDER, plan.split, epoch, 0)
    plan.window_block[plan.n_windows] = plan.n_blocks
    plan.window_sample[plan.n_windows] = n


cdef int64_t find_window(const epoch_plan *plan, int64_t position) noexcept nogil:
    cdef int64_t low = 0, high = plan.n_windows - 1, middle
    while low < high:
        middle = (low + high + 1) // 2
        if plan.window_sample[middle] <= position:
            low = middle
        else:
            high = middle - 1
    return low


cdef int order_kind(str name) except -1:
    kinds = {"sequential": ORDER_SEQUENTIAL, "window": ORDER_WINDOW, "global": ORDER_GLOBAL}
    if name not in kinds:
        raise ConfigError(f"order is one of {', '.join(kinds)}; not {name!r}")
    return kinds[name]


cdef int split_number(str name) except -1:
    splits = {"train": 0, "val": 1}
    if name not in splits:
        raise ConfigError(f"split is train or val, not {name!r}")
    return splits[name]


cdef uint64_t seed_word(seed) except? 0:
    return operator.index(seed) & 0xFFFFFFFFFFFFFFFF


def check_blocks(counts):
    """Sizes of blocks as an int32 array of shape (blocks,).

    Raises
    ------
    ConfigError
        When there are more blocks than an order can tell apart (32 TiB), or a block holds more
        pictures than its table can.
    """
    counts = np.asarray(counts)
    if counts.ndim != 1 or len(counts) > 1 << (32 - INDEX_BITS):
        raise ConfigError(f"{counts.shape} blocks in one set; at most {1 << (32 - INDEX_BITS)}")
    if len(counts) and not 0 <= counts.min() <= counts.max() <= DTS_BLOCK_MAX_PICTURES:
        raise ConfigError(f"a block holds 0 to {DTS_BLOCK_MAX_PICTURES} pictures, "
                          f"not {counts.min()} or {counts.max()}")
    return np.ascontiguousarray(counts, dtype=np.int32)


def epoch_order(block_counts, *, str order="window", window=32, seed=0, epoch=0,
                str split="train"):
    """Sample ids in the order in which an epoch delivers them.

    Parameters
    ----------
    block_counts : array_like of int, shape (blocks,)
        Pictures in each block.
    order : {"sequential", "window", "global"}
    window : int
        Blocks in a window, at most.
    seed : int
        Taken mod 2^64.
    epoch : int
        0 to 2^32 - 1.
    split : {"train", "val"}

    Returns
    -------
    ndarray of int64, shape (samples,)

    Raises
    ------
    ConfigError
        An unknown name, or a window below 1.
    """
    cdef const int32_t[::1] counts = check_blocks(block_counts)
    cdef epoch_plan plan
    cdef int64_t i, blocks_in_window = window
    cdef uint32_t epoch_word = epoch
    if blocks_in_window < 1:
        raise ConfigError(f"a window holds at least 1 block, not {window}")
    plan.kind = order_kind(order)
    plan.split = split_number(split)
    plan.seed = seed_word(seed)
    plan.n_blocks = counts.shape[0]
    plan.n_samples = np.sum(counts, dtype=np.int64)
    starts_array = np.zeros(plan.n_blocks + 1, dtype=np.int64)
    np.cumsum(counts, out=starts_array[1:])
    cdef const int64_t[::1] starts = starts_array
    cdef int64_t[::1] ids = np.empty(plan.n_samples, dtype=np.int64)
    try:
        if plan_alloc(&plan, blocks_in_window) != 0:
            raise MemoryError(f"no memory for the order of {plan.n_samples} samples")
        if plan.n_blocks:
            with nogil:
                plan_epoch(&plan, <const char *>&counts[0], sizeof(int32_t), epoch_word)
                for i in range(plan.n_samples):
                    ids[i] = (starts[plan.samples[i] >> INDEX_BITS]
                              + <int64_t>(plan.samples[i] & INDEX_MASK))
    finally:
        plan_free(&plan)
    return np.asarray(ids)
