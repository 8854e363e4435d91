from libc.stddef cimport ptrdiff_t, size_t
from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t


cdef extern from "dts/kernels/kernels.h" nogil:
    ctypedef struct dts_norm:
        float scale[4]
        float bias[4]

    ctypedef struct dts_filter:
        int out
        int taps
        int first
        int last
        int32_t *start
        int32_t *count
        int16_t *weight

    ctypedef struct dts_shape:
        size_t width
        size_t height
        ptrdiff_t in_stride
        ptrdiff_t out_stride
        int c
        int oc
        int flip

    ctypedef struct dts_kernels:
        const char *isa
        void (*normalize_f32)(float *out, const uint8_t *src, const dts_shape *shape,
                              const dts_norm *norm) noexcept nogil
        void (*normalize_f16)(uint16_t *out, const uint8_t *src, const dts_shape *shape,
                              const dts_norm *norm) noexcept nogil
        void (*copy_u8)(uint8_t *out, const uint8_t *src, const dts_shape *shape) noexcept nogil
        void (*resize_v)(int16_t *out, const uint8_t *const *rows, const int16_t *weight,
                         int taps, size_t n) noexcept nogil
        void (*resize_h_f32)(float *out, const int16_t *src, int origin, const dts_filter *f,
                             int c, int oc, const dts_norm *norm, int flip) noexcept nogil
        void (*resize_h_f16)(uint16_t *out, const int16_t *src, int origin, const dts_filter *f,
                             int c, int oc, const dts_norm *norm, int flip) noexcept nogil
        void (*resize_h_u8)(uint8_t *out, const int16_t *src, int origin, const dts_filter *f,
                            int c, int oc, int flip) noexcept nogil

cdef extern from "dts/kernels/fetch.h" nogil:
    void fetch_to_write "dts_fetch_to_write" (void *p, size_t bytes)

cdef extern from "dts/kernels/warp.h" nogil:
    ctypedef struct dts_warp:
        const uint8_t *src
        int64_t src_stride
        uint8_t *dst
        int64_t dst_stride
        int width
        int height
        int channels
        int bilinear
        int blend
        float theta[6]
        float fill[3]

cdef extern from "dts/kernels/pixels.h" nogil:
    ctypedef struct dts_noise:
        uint64_t seed
        uint32_t c0
        uint32_t c1
        uint32_t c2
        uint32_t c3
        float mean
        float sigma
        int clip

    ctypedef struct dts_pixels:
        void (*lut)(uint8_t *out, const uint8_t *src, size_t n, int c,
                    const uint8_t *table) noexcept nogil
        void (*gray)(uint8_t *out, const uint8_t *src, size_t n) noexcept nogil
        uint64_t (*gray_sum)(const uint8_t *src, size_t n) noexcept nogil
        void (*saturate)(uint8_t *out, const uint8_t *src, size_t n, float factor,
                         float rest) noexcept nogil
        void (*hue)(uint8_t *out, const uint8_t *src, size_t n, float shift) noexcept nogil
        void (*extremes)(const uint8_t *src, size_t n, int c, uint8_t *low,
                         uint8_t *high) noexcept nogil
        void (*count)(const uint8_t *src, size_t n, int c, uint32_t *histogram) noexcept nogil
        void (*sharpen)(uint8_t *out, const uint8_t *above, const uint8_t *row,
                        const uint8_t *below, size_t n, int c, float rest) noexcept nogil
        void (*blur_h)(uint8_t *out, const int16_t *src, const int16_t *weight, int taps,
                       int step, size_t n) noexcept nogil
        void (*noise)(uint8_t *out, const uint8_t *src, size_t n,
                      const dts_noise *noise) noexcept nogil
        void (*normals)(float *out, const dts_noise *noise) noexcept nogil


cdef extern from "dts/kernels/mix.h" nogil:
    ctypedef struct dts_mix_kernels:
        const char *isa
        void (*f32)(float *a, float *b, size_t n, float lam) noexcept nogil
        void (*f16)(uint16_t *a, uint16_t *b, size_t n, float lam) noexcept nogil
        void (*u8)(uint8_t *a, uint8_t *b, size_t n, float lam) noexcept nogil


# The C functions live in the module dts.kernels.kernels; other modules reach them through these,
# so that one table and one choice serve all.
cdef const dts_kernels *get_kernels() noexcept nogil
cdef const dts_mix_kernels *get_mix() noexcept nogil
cdef void swap_bytes(void *a, void *b, size_t n) noexcept nogil
cdef const dts_pixels *get_pixels() noexcept nogil
cdef int filter_make(dts_filter *f, double box0, double box, int clip0, int clip1,
                     int virtual_out, int out0, int out, int antialias) noexcept nogil
cdef void filter_free(dts_filter *f) noexcept nogil
cdef void warp_run(const dts_warp *job) noexcept nogil
