/* Normalisation, AVX-512 with VBMI: as normalize_avx2.c, but one 64-byte load serves a whole chunk, since VPERMB
 * takes any byte of it to any place. */
#include "isa.h"

#ifdef DTS_X86

#include <immintrin.h>
#include <string.h>

typedef struct layout {
    uint8_t pick[4][16];  /* byte of the chunk for each output; whatever a padding channel picks is multiplied by 0 */
} layout;

#define RUN4(a) (a), (a) + 1, (a) + 2, (a) + 3
#define RUN16(a) {RUN4(a), RUN4((a) + 4), RUN4((a) + 8), RUN4((a) + 12)}
#define BACK4(a) (a), (a) - 1, (a) - 2, (a) - 3
#define BACK16(a) {BACK4(a), BACK4((a) - 4), BACK4((a) - 8), BACK4((a) - 12)}
#define PX(a) (a), (a) + 1, (a) + 2 /* a pixel from byte a */
#define PX0(a) PX(a), 0

/* Index: flip. */
static const layout rgb_rgb[2] = {
    {{RUN16(0), RUN16(16), RUN16(32)}},
    {{{PX(45), PX(42), PX(39), PX(36), PX(33), 30},
             {31, 32, PX(27), PX(24), PX(21), PX(18), 15, 16},
             {17, PX(12), PX(9), PX(6), PX(3), PX(0)}}},
};
static const layout rgb_rgb0[2] = {
    {{{PX0(0), PX0(3), PX0(6), PX0(9)}, {PX0(12), PX0(15), PX0(18), PX0(21)},
             {PX0(24), PX0(27), PX0(30), PX0(33)}, {PX0(36), PX0(39), PX0(42), PX0(45)}}},
    {{{PX0(45), PX0(42), PX0(39), PX0(36)}, {PX0(33), PX0(30), PX0(27), PX0(24)},
             {PX0(21), PX0(18), PX0(15), PX0(12)}, {PX0(9), PX0(6), PX0(3), PX0(0)}}},
};
static const layout grey_grey[2] = {
    {{RUN16(0), RUN16(16), RUN16(32)}},
    {{BACK16(47), BACK16(31), BACK16(15)}},
};
#define G(a) (a), 0, 0, 0
static const layout grey_grey000[2] = {
    {{{G(0), G(1), G(2), G(3)}, {G(4), G(5), G(6), G(7)}, {G(8), G(9), G(10), G(11)},
             {G(12), G(13), G(14), G(15)}}},
    {{{G(15), G(14), G(13), G(12)}, {G(11), G(10), G(9), G(8)}, {G(7), G(6), G(5), G(4)},
             {G(3), G(2), G(1), G(0)}}},
};

/* Channel of each output of a chunk of three vectors of RGB. */
static const int32_t rgb_channel[3][16] = {
    {0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0},
    {1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1},
    {2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2},
};

/* Scale or bias of each output of a chunk. Four output channels have the same for each vector. */
DTS_TARGET_AVX512 DTS_INLINE void spread(__m512 to[3], const float *from, int oc) {
    const __m128 channels = _mm_loadu_ps(from);
    for (int k = 0; k < 3; ++k)
        to[k] = oc == 4   ? _mm512_broadcast_f32x4(channels)
                : oc == 1 ? _mm512_broadcastss_ps(channels)
                          : _mm512_permutexvar_ps(_mm512_loadu_si512(rgb_channel[k]), _mm512_castps128_ps512(channels));
}

DTS_TARGET_AVX512 DTS_INLINE void store(void *out, size_t at, __m512 v, int half) {
    if (half)
        _mm256_storeu_si256((__m256i *)((uint16_t *)out + at), _mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT));
    else
        _mm512_storeu_ps((float *)out + at, v);
}

typedef struct plan {
    __m512i pick[4];
    __m512 scale[3], bias[3];
} plan;

DTS_TARGET_AVX512 DTS_INLINE void chunk(void *out, size_t at, const uint8_t *in, const plan *p, int vectors, int half) {
    const __m512i bytes = _mm512_loadu_si512(in);
    for (int k = 0; k < vectors; ++k) {
        const __m512i px = _mm512_maskz_permutexvar_epi8(0x1111111111111111u, p->pick[k], bytes);
        const __m512 scaled = _mm512_mul_ps(_mm512_cvtepi32_ps(px), p->scale[vectors == 3 ? k : 0]);
        store(out, at + 16 * (size_t)k, _mm512_sub_ps(scaled, p->bias[vectors == 3 ? k : 0]), half);
    }
}

/* c, oc and half are constants here. */
DTS_TARGET_AVX512 DTS_INLINE void run(void *out, const uint8_t *in, size_t n, int c, int oc, const dts_norm *norm,
                                      int flip, const layout *l, int half) {
    const int vectors = oc == 4 ? 4 : 3;
    const size_t outputs = 16 * (size_t)vectors, pixels = outputs / (size_t)oc;
    const size_t chunks = n / pixels, rest = n % pixels;
    const ptrdiff_t step = (flip ? -1 : 1) * (ptrdiff_t)(pixels * (size_t)c);
    ptrdiff_t from = flip ? (ptrdiff_t)(n * (size_t)c) + step : 0;
    plan p;
    spread(p.scale, norm->scale, oc);
    spread(p.bias, norm->bias, oc);
    l += flip != 0;
    for (int k = 0; k < vectors; ++k)
        p.pick[k] = _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)l->pick[k]));
    for (size_t i = 0; i < chunks; ++i, from += step) chunk(out, i * outputs, in + from, &p, vectors, half);
    if (rest) {
        uint8_t bytes[64] = {0};
        float values[64];
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
DTS_TARGET_AVX512 DTS_INLINE int normalize(void *out, const uint8_t *in, size_t n, int c, int oc, const dts_norm *norm,
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

DTS_TARGET_AVX512 void dts_normalize_f32_avx512(float *out, const uint8_t *in, size_t n, int c, int oc,
                                                const dts_norm *norm, int flip) {
    if (!normalize(out, in, n, c, oc, norm, flip, 0)) dts_normalize_f32_scalar(out, in, n, c, oc, norm, flip);
}

DTS_TARGET_AVX512 void dts_normalize_f16_avx512(uint16_t *out, const uint8_t *in, size_t n, int c, int oc,
                                                const dts_norm *norm, int flip) {
    if (!normalize(out, in, n, c, oc, norm, flip, 1)) dts_normalize_f16_scalar(out, in, n, c, oc, norm, flip);
}

#endif
