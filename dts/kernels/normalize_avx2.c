/* Normalisation and copy, AVX2 + F16C.
 * Pixels are taken in chunks that fill whole vectors. Each vector of eight outputs is one 16-byte load, repeated in both
 * halves, and one byte shuffle that puts each output's byte at the bottom of its 32-bit lane: so a flip and a padding
 * channel cost nothing. A last part chunk goes through a small buffer. */
#include "isa.h"

#ifdef DTS_X86

#include <immintrin.h>
#include <string.h>

#define Z 0x80 /* shuffle index: a zero byte */

typedef struct layout {
    uint8_t offset[4];   /* of the load for each vector */
    uint8_t pick[4][8];  /* byte of that load for each output */
} layout;

/* Index: flip. */
static const layout rgb_rgb[2] = {
    {{0, 0, 8}, {{0, 1, 2, 3, 4, 5, 6, 7}, {8, 9, 10, 11, 12, 13, 14, 15}, {8, 9, 10, 11, 12, 13, 14, 15}}},
    {{8, 4, 0}, {{13, 14, 15, 10, 11, 12, 7, 8}, {13, 8, 9, 10, 5, 6, 7, 2}, {7, 8, 3, 4, 5, 0, 1, 2}}},
};
static const layout rgb_rgb0[2] = {
    {{0, 0, 8, 8}, {{0, 1, 2, Z, 3, 4, 5, Z}, {6, 7, 8, Z, 9, 10, 11, Z}, {4, 5, 6, Z, 7, 8, 9, Z},
                          {10, 11, 12, Z, 13, 14, 15, Z}}},
    {{8, 8, 0, 0}, {{13, 14, 15, Z, 10, 11, 12, Z}, {7, 8, 9, Z, 4, 5, 6, Z}, {9, 10, 11, Z, 6, 7, 8, Z},
                          {3, 4, 5, Z, 0, 1, 2, Z}}},
};
static const layout grey_grey[2] = {
    {{0, 0, 8}, {{0, 1, 2, 3, 4, 5, 6, 7}, {8, 9, 10, 11, 12, 13, 14, 15}, {8, 9, 10, 11, 12, 13, 14, 15}}},
    {{8, 0, 0}, {{15, 14, 13, 12, 11, 10, 9, 8}, {15, 14, 13, 12, 11, 10, 9, 8}, {7, 6, 5, 4, 3, 2, 1, 0}}},
};
static const layout grey_grey000[2] = {
    {{0, 0, 0, 0}, {{0, Z, Z, Z, 1, Z, Z, Z}, {2, Z, Z, Z, 3, Z, Z, Z}, {4, Z, Z, Z, 5, Z, Z, Z},
                          {6, Z, Z, Z, 7, Z, Z, Z}}},
    {{0, 0, 0, 0}, {{7, Z, Z, Z, 6, Z, Z, Z}, {5, Z, Z, Z, 4, Z, Z, Z}, {3, Z, Z, Z, 2, Z, Z, Z},
                          {1, Z, Z, Z, 0, Z, Z, Z}}},
};

/* Channel of each output of a chunk of three vectors of RGB. */
static const int32_t rgb_channel[3][8] = {
    {0, 1, 2, 0, 1, 2, 0, 1}, {2, 0, 1, 2, 0, 1, 2, 0}, {1, 2, 0, 1, 2, 0, 1, 2}};

/* Scale or bias of each output of a chunk. Four output channels have the same for each vector. */
DTS_TARGET_AVX2 DTS_INLINE void spread(__m256 to[3], const float *from, int oc) {
    const __m128 channels = _mm_loadu_ps(from);
    for (int k = 0; k < 3; ++k)
        to[k] = oc == 4   ? _mm256_set_m128(channels, channels)
                : oc == 1 ? _mm256_broadcastss_ps(channels)
                          : _mm256_permutevar8x32_ps(_mm256_castps128_ps256(channels),
                                                     _mm256_loadu_si256((const __m256i *)rgb_channel[k]));
}

DTS_TARGET_AVX2 DTS_INLINE void store(void *out, size_t at, __m256 v, int half) {
    if (half)
        _mm_storeu_si128((__m128i *)((uint16_t *)out + at), _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT));
    else
        _mm256_storeu_ps((float *)out + at, v);
}

typedef struct plan {
    __m256i pick[4];
    __m256 scale[3], bias[3];
    size_t offset[4];
} plan;

DTS_TARGET_AVX2 DTS_INLINE void chunk(void *out, size_t at, const uint8_t *in, const plan *p, int vectors, int half) {
    for (int k = 0; k < vectors; ++k) {
        const __m128i bytes = _mm_loadu_si128((const __m128i *)(in + p->offset[k]));
        const __m256i px = _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(bytes), p->pick[k]);
        const __m256 scaled = _mm256_mul_ps(_mm256_cvtepi32_ps(px), p->scale[vectors == 3 ? k : 0]);
        store(out, at + 8 * (size_t)k, _mm256_sub_ps(scaled, p->bias[vectors == 3 ? k : 0]), half);
    }
}

/* c, oc and half are constants here. */
DTS_TARGET_AVX2 DTS_INLINE void run(void *out, const uint8_t *in, size_t n, int c, int oc, const dts_norm *norm,
                                    int flip, const layout *l, int half) {
    const int vectors = oc == 4 ? 4 : 3;
    const size_t outputs = 8 * (size_t)vectors, pixels = outputs / (size_t)oc;
    const size_t chunks = n / pixels, rest = n % pixels;
    const ptrdiff_t step = (flip ? -1 : 1) * (ptrdiff_t)(pixels * (size_t)c);
    ptrdiff_t from = flip ? (ptrdiff_t)(n * (size_t)c) + step : 0;
    plan p;
    spread(p.scale, norm->scale, oc);
    spread(p.bias, norm->bias, oc);
    l += flip != 0;
    for (int k = 0; k < vectors; ++k) {
        p.offset[k] = l->offset[k];
        p.pick[k] = _mm256_or_si256(_mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)l->pick[k])),
                                    _mm256_set1_epi32((int)0x80808000));
    }
    for (size_t i = 0; i < chunks; ++i, from += step) chunk(out, i * outputs, in + from, &p, vectors, half);
    if (rest) {
        uint8_t bytes[32] = {0};
        float values[32];
        const size_t size = half ? sizeof(uint16_t) : sizeof(float);
        if (flip)
            memcpy(bytes + (pixels - rest) * (size_t)c, in, rest * (size_t)c);
        else
            memcpy(bytes, in + (n - rest) * (size_t)c, rest * (size_t)c);
        chunk(values, 0, bytes, &p, vectors, half);
        memcpy((char *)out + chunks * outputs * size, values, rest * (size_t)oc * size);
    }
}

/* False: no layout for these channels. */
DTS_TARGET_AVX2 DTS_INLINE int normalize(void *out, const uint8_t *in, size_t n, int c, int oc, const dts_norm *norm,
                                         int flip, int half) {
    if (c == 3 && oc == 4)
        run(out, in, n, 3, 4, norm, flip, rgb_rgb0, half);
    else if (c == 3 && oc == 3)
        run(out, in, n, 3, 3, norm, flip, rgb_rgb, half);
    else if (c == 1 && oc == 1)
        run(out, in, n, 1, 1, norm, flip, grey_grey, half);
    else if (c == 1 && oc == 4)
        run(out, in, n, 1, 4, norm, flip, grey_grey000, half);
    else
        return 0;
    return 1;
}

DTS_TARGET_AVX2 void dts_normalize_f32_avx2(float *out, const uint8_t *in, size_t n, int c, int oc,
                                            const dts_norm *norm, int flip) {
    if (!normalize(out, in, n, c, oc, norm, flip, 0)) dts_normalize_f32_scalar(out, in, n, c, oc, norm, flip);
}

DTS_TARGET_AVX2 void dts_normalize_f16_avx2(uint16_t *out, const uint8_t *in, size_t n, int c, int oc,
                                            const dts_norm *norm, int flip) {
    if (!normalize(out, in, n, c, oc, norm, flip, 1)) dts_normalize_f16_scalar(out, in, n, c, oc, norm, flip);
}

/* Bytes of a 16-byte load for each byte of a 16-byte store; `pixels` of them count. */
typedef struct copy_layout {
    int pixels;
    uint8_t pick[16];
} copy_layout;

static const copy_layout copy_rgb_flip = {5, {12, 13, 14, 9, 10, 11, 6, 7, 8, 3, 4, 5, 0, 1, 2, Z}};
static const copy_layout copy_grey_flip = {16, {15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0}};
static const copy_layout copy_rgb_rgb0[2] = {
    {4, {0, 1, 2, Z, 3, 4, 5, Z, 6, 7, 8, Z, 9, 10, 11, Z}},
    {4, {9, 10, 11, Z, 6, 7, 8, Z, 3, 4, 5, Z, 0, 1, 2, Z}},
};
static const copy_layout copy_grey_grey000[2] = {
    {4, {0, Z, Z, Z, 1, Z, Z, Z, 2, Z, Z, Z, 3, Z, Z, Z}},
    {4, {3, Z, Z, Z, 2, Z, Z, Z, 1, Z, Z, Z, 0, Z, Z, Z}},
};

DTS_TARGET_AVX2 void dts_copy_u8_avx2(uint8_t *out, const uint8_t *in, size_t n, int c, int oc, int flip) {
    const copy_layout *l = c == 3 && oc == 4           ? copy_rgb_rgb0 + (flip != 0)
                           : c == 1 && oc == 4         ? copy_grey_grey000 + (flip != 0)
                           : c == 3 && oc == 3 && flip ? &copy_rgb_flip
                           : c == 1 && oc == 1 && flip ? &copy_grey_flip
                                                       : NULL;
    size_t i = 0;
    if (l) {
        const __m128i pick = _mm_loadu_si128((const __m128i *)l->pick);
        const size_t pixels = (size_t)l->pixels;
        /* A whole vector is stored each time, so it must fit, also where fewer bytes of it count. */
        for (; i + pixels <= n && (n - i) * (size_t)oc >= 16; i += pixels) {
            const __m128i px = _mm_loadu_si128((const __m128i *)(in + (flip ? n - i - pixels : i) * (size_t)c));
            _mm_storeu_si128((__m128i *)(out + i * (size_t)oc), _mm_shuffle_epi8(px, pick));
        }
    }
    dts_copy_u8_scalar(out + i * (size_t)oc, flip ? in : in + i * (size_t)c, n - i, c, oc, flip);
}

#endif
