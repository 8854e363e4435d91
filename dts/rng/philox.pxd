from libc.stdint cimport int64_t, uint32_t, uint64_t


cdef extern from "dts/rng/philox.h" nogil:
    ctypedef struct dts_philox_block:
        uint32_t r[4]
    ctypedef struct dts_stream:
        uint64_t seed
        uint32_t c0     # the next block
        uint32_t c1
        uint32_t c2
        uint32_t c3

    enum:
        DTS_KIND_SAMPLE_ORDER
        DTS_KIND_BLOCK_ORDER
        DTS_KIND_WINDOW_ORDER
        DTS_KIND_AUGMENT
        DTS_KIND_REPLACE
        DTS_KIND_MIX

    dts_philox_block dts_philox(uint64_t seed, uint32_t c0, uint32_t c1, uint32_t c2,
                                uint32_t c3) noexcept
    uint32_t dts_stream_word(int kind, int split, int view, int op, int64_t id) noexcept
    dts_stream dts_stream_open(uint64_t seed, int kind, int split, int view, int op,
                               uint32_t epoch, int64_t id) noexcept
    uint32_t dts_stream_next(dts_stream *s) noexcept
    double dts_uniform(uint32_t word) noexcept
    uint32_t dts_random_int(uint32_t word, uint32_t n) noexcept
    double dts_exp(double x) noexcept
    double dts_log(double x) noexcept


cdef extern from "dts/rng/trig.h" nogil:
    # Radians, up to 1e5.
    double dts_sin(double x) noexcept
    double dts_cos(double x) noexcept


cdef extern from "dts/rng/permutation.h" nogil:
    # In place, n at most 2^32; permutation starts from 0 .. n-1, shuffle from what is there.
    void dts_shuffle_i64(int64_t *a, uint64_t n, uint64_t seed, int kind, int split,
                         uint32_t epoch, int64_t window) noexcept
    void dts_shuffle_u32(uint32_t *a, uint64_t n, uint64_t seed, int kind, int split,
                         uint32_t epoch, int64_t window) noexcept
    void dts_permutation_i64(int64_t *a, uint64_t n, uint64_t seed, int kind, int split,
                             uint32_t epoch, int64_t window) noexcept
    void dts_permutation_u32(uint32_t *a, uint64_t n, uint64_t seed, int kind, int split,
                             uint32_t epoch, int64_t window) noexcept
