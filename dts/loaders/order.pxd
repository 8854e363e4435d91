from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t


cdef enum:
    ORDER_SEQUENTIAL = 0
    ORDER_WINDOW = 1
    ORDER_GLOBAL = 2

    # A sample in an order: block << INDEX_BITS | number within the block.
    INDEX_BITS = 11
    INDEX_MASK = 2047


# The order of one epoch. The arrays are the owner's, made once for all epochs.
ctypedef struct epoch_plan:
    int kind                    # ORDER_*
    int split                   # 0 train, 1 validation
    uint64_t seed
    int64_t n_blocks
    int64_t n_samples
    int64_t n_windows
    int32_t *blocks             # n_blocks: the order of blocks
    int64_t *window_block       # n_windows + 1: where each window starts in `blocks`
    int64_t *window_sample      # n_windows + 1: where each window starts in `samples`
    uint32_t *samples           # n_samples: the order of samples

cdef int64_t count_windows(int kind, int64_t n_blocks, int64_t window) noexcept nogil
cdef int plan_alloc(epoch_plan *plan, int64_t window) noexcept nogil
cdef void plan_free(epoch_plan *plan) noexcept nogil
cdef int64_t plan_bytes(const epoch_plan *plan) noexcept nogil

# Make the order of `epoch`; block b holds counts[b * stride] pictures (stride in bytes).
cdef void plan_epoch(epoch_plan *plan, const char *counts, int64_t stride,
                     uint32_t epoch) noexcept nogil

# The window that holds position `position` of the epoch.
cdef int64_t find_window(const epoch_plan *plan, int64_t position) noexcept nogil
cdef int order_kind(str name) except -1
cdef uint64_t seed_word(seed) except? 0
cdef int split_number(str name) except -1
