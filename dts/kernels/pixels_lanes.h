/* What the common source of the kernels on colours cannot say so that a compiler makes vectors of it: RGB pixels to
 * planes and back, 64 at a time, and the words of 16 Philox counters. */
#ifndef DTS_PIXELS_LANES_H
#define DTS_PIXELS_LANES_H

#include "isa.h"
#include "pixels.h"

enum { PX_BLOCK = 64, PX_LANES = 16 };

#define PX_M0 0xD2511F53u
#define PX_M1 0xCD9E8D57u
#define PX_W0 0x9E3779B9u
#define PX_W1 0xBB67AE85u

DTS_INLINE void px_split_plain(const uint8_t *in, uint8_t *r, uint8_t *g, uint8_t *b) {
    for (int i = 0; i < 64; ++i) {
        r[i] = in[3 * i];
        g[i] = in[3 * i + 1];
        b[i] = in[3 * i + 2];
    }
}

DTS_INLINE void px_merge_plain(uint8_t *out, const uint8_t *r, const uint8_t *g, const uint8_t *b) {
    for (int i = 0; i < 64; ++i) {
        out[3 * i] = r[i];
        out[3 * i + 1] = g[i];
        out[3 * i + 2] = b[i];
    }
}

/* Philox4x32-10 as in dts/rng/philox.h: word[j][l] is word j of the block with counter c0 + l. */
DTS_INLINE void px_words_plain(const dts_noise *s, uint32_t c0, uint32_t word[4][PX_LANES]) {
    uint32_t k0 = (uint32_t)s->seed, k1 = (uint32_t)(s->seed >> 32);
    for (int l = 0; l < PX_LANES; ++l) {
        word[0][l] = c0 + (uint32_t)l;
        word[1][l] = s->c1;
        word[2][l] = s->c2;
        word[3][l] = s->c3;
    }
    for (int round = 0; round < 10; ++round, k0 += PX_W0, k1 += PX_W1)
        for (int l = 0; l < PX_LANES; ++l) {
            const uint64_t p0 = (uint64_t)PX_M0 * word[0][l], p1 = (uint64_t)PX_M1 * word[2][l];
            word[0][l] = (uint32_t)(p1 >> 32) ^ word[1][l] ^ k0;
            word[1][l] = (uint32_t)p1;
            word[2][l] = (uint32_t)(p0 >> 32) ^ word[3][l] ^ k1;
            word[3][l] = (uint32_t)p0;
        }
}

#ifdef DTS_X86
#include <immintrin.h>

/* Of 48 bytes in three vectors, byte 3 i + channel of the whole goes to byte i: vector j, channel k picks this. */
#define PX_NO -128
static const int8_t px_picks[3][3][16] = {
    {{0, 3, 6, 9, 12, 15, PX_NO, PX_NO, PX_NO, PX_NO, PX_NO, PX_NO, PX_NO, PX_NO, PX_NO, PX_NO},
     {1, 4, 7, 10, 13, PX_NO, PX_NO, PX_NO, PX_NO, PX_NO, PX_NO, PX_NO, PX_NO, PX_NO, PX_NO, PX_NO},
     {2, 5, 8, 11, 14, PX_NO, PX_NO, PX_NO, PX_NO, PX_NO, PX_NO, PX_NO, PX_NO, PX_NO, PX_NO, PX_NO}},
    {{PX_NO, PX_NO, PX_NO, PX_NO, PX_NO, PX_NO, 2, 5, 8, 11, 14, PX_NO, PX_NO, PX_NO, PX_NO, PX_NO},
     {PX_NO, PX_NO, PX_NO, PX_NO, PX_NO, 0, 3, 6, 9, 12, 15, PX_NO, PX_NO, PX_NO, PX_NO, PX_NO},
     {PX_NO, PX_NO, PX_NO, PX_NO, PX_NO, 1, 4, 7, 10, 13, PX_NO, PX_NO, PX_NO, PX_NO, PX_NO, PX_NO}},
    {{PX_NO, PX_NO, PX_NO, PX_NO, PX_NO, PX_NO, PX_NO, PX_NO, PX_NO, PX_NO, PX_NO, 1, 4, 7, 10, 13},
     {PX_NO, PX_NO, PX_NO, PX_NO, PX_NO, PX_NO, PX_NO, PX_NO, PX_NO, PX_NO, PX_NO, 2, 5, 8, 11, 14},
     {PX_NO, PX_NO, PX_NO, PX_NO, PX_NO, PX_NO, PX_NO, PX_NO, PX_NO, PX_NO, 0, 3, 6, 9, 12, 15}},
};

/* And back: byte i of channel k goes to where it came from in vector j. */
static const int8_t px_puts[3][3][16] = {
    {{0, PX_NO, PX_NO, 1, PX_NO, PX_NO, 2, PX_NO, PX_NO, 3, PX_NO, PX_NO, 4, PX_NO, PX_NO, 5},
     {PX_NO, 0, PX_NO, PX_NO, 1, PX_NO, PX_NO, 2, PX_NO, PX_NO, 3, PX_NO, PX_NO, 4, PX_NO, PX_NO},
     {PX_NO, PX_NO, 0, PX_NO, PX_NO, 1, PX_NO, PX_NO, 2, PX_NO, PX_NO, 3, PX_NO, PX_NO, 4, PX_NO}},
    {{PX_NO, PX_NO, 6, PX_NO, PX_NO, 7, PX_NO, PX_NO, 8, PX_NO, PX_NO, 9, PX_NO, PX_NO, 10, PX_NO},
     {5, PX_NO, PX_NO, 6, PX_NO, PX_NO, 7, PX_NO, PX_NO, 8, PX_NO, PX_NO, 9, PX_NO, PX_NO, 10},
     {PX_NO, 5, PX_NO, PX_NO, 6, PX_NO, PX_NO, 7, PX_NO, PX_NO, 8, PX_NO, PX_NO, 9, PX_NO, PX_NO}},
    {{PX_NO, 11, PX_NO, PX_NO, 12, PX_NO, PX_NO, 13, PX_NO, PX_NO, 14, PX_NO, PX_NO, 15, PX_NO, PX_NO},
     {PX_NO, PX_NO, 11, PX_NO, PX_NO, 12, PX_NO, PX_NO, 13, PX_NO, PX_NO, 14, PX_NO, PX_NO, 15, PX_NO},
     {10, PX_NO, PX_NO, 11, PX_NO, PX_NO, 12, PX_NO, PX_NO, 13, PX_NO, PX_NO, 14, PX_NO, PX_NO, 15}},
};
#undef PX_NO

DTS_TARGET_AVX2 DTS_INLINE __m128i px_three(const int8_t (*pick)[16], int step, __m128i x, __m128i y, __m128i z) {
    const __m128i a = _mm_shuffle_epi8(x, _mm_loadu_si128((const __m128i *)pick[0]));
    const __m128i b = _mm_shuffle_epi8(y, _mm_loadu_si128((const __m128i *)pick[step]));
    const __m128i c = _mm_shuffle_epi8(z, _mm_loadu_si128((const __m128i *)pick[2 * step]));
    return _mm_or_si128(_mm_or_si128(a, b), c);
}

DTS_TARGET_AVX2 DTS_INLINE void px_split_avx2(const uint8_t *in, uint8_t *r, uint8_t *g, uint8_t *b) {
    uint8_t *plane[3] = {r, g, b};
    for (int i = 0; i < 64; i += 32, in += 96) {
        __m128i v[6];
        for (int j = 0; j < 6; ++j) v[j] = _mm_loadu_si128((const __m128i *)(in + 16 * j));
        for (int k = 0; k < 3; ++k) {
            const __m128i low = px_three(&px_picks[0][k], 3, v[0], v[1], v[2]);
            const __m128i high = px_three(&px_picks[0][k], 3, v[3], v[4], v[5]);
            _mm256_storeu_si256((__m256i *)(plane[k] + i), _mm256_set_m128i(high, low));
        }
    }
}

DTS_TARGET_AVX2 DTS_INLINE void px_merge_avx2(uint8_t *out, const uint8_t *r, const uint8_t *g, const uint8_t *b) {
    for (int i = 0; i < 64; i += 16, out += 48) {
        const __m128i x = _mm_loadu_si128((const __m128i *)(r + i)), y = _mm_loadu_si128((const __m128i *)(g + i)),
                      z = _mm_loadu_si128((const __m128i *)(b + i));
        for (int j = 0; j < 3; ++j)
            _mm_storeu_si128((__m128i *)(out + 16 * j), px_three(px_puts[j], 1, x, y, z));
    }
}

/* One 64-bit lane for each counter. What is left in the upper halves is never looked at: multiplying takes the lower
 * ones, and so do the words at the end. */
DTS_TARGET_AVX2 DTS_INLINE void px_words_avx2(const dts_noise *s, uint32_t c0, uint32_t word[4][PX_LANES]) {
    const __m256i m0 = _mm256_set1_epi64x(PX_M0), m1 = _mm256_set1_epi64x(PX_M1);
    const __m256i lower = _mm256_setr_epi32(0, 2, 4, 6, 0, 2, 4, 6);
    for (int at = 0; at < PX_LANES; at += 8) {
        uint32_t k0 = (uint32_t)s->seed, k1 = (uint32_t)(s->seed >> 32);
        const __m256i first = _mm256_add_epi32(_mm256_set1_epi64x((int64_t)(uint32_t)(c0 + (uint32_t)at)),
                                               _mm256_setr_epi64x(0, 1, 2, 3));
        __m256i w[2][4] = {{first, _mm256_set1_epi64x(s->c1), _mm256_set1_epi64x(s->c2), _mm256_set1_epi64x(s->c3)},
                           {_mm256_add_epi32(first, _mm256_set1_epi64x(4)), _mm256_set1_epi64x(s->c1),
                            _mm256_set1_epi64x(s->c2), _mm256_set1_epi64x(s->c3)}};
        for (int round = 0; round < 10; ++round, k0 += PX_W0, k1 += PX_W1) {
            const __m256i v0 = _mm256_set1_epi64x(k0), v1 = _mm256_set1_epi64x(k1);
            for (int i = 0; i < 2; ++i) {
                const __m256i p0 = _mm256_mul_epu32(w[i][0], m0), p1 = _mm256_mul_epu32(w[i][2], m1);
                w[i][0] = _mm256_xor_si256(_mm256_xor_si256(_mm256_srli_epi64(p1, 32), w[i][1]), v0);
                w[i][1] = p1;
                w[i][2] = _mm256_xor_si256(_mm256_xor_si256(_mm256_srli_epi64(p0, 32), w[i][3]), v1);
                w[i][3] = p0;
            }
        }
        for (int j = 0; j < 4; ++j)
            _mm256_storeu_si256((__m256i *)(word[j] + at),
                                _mm256_blend_epi32(_mm256_permutevar8x32_epi32(w[0][j], lower),
                                                   _mm256_permutevar8x32_epi32(w[1][j], lower), 0xF0));
    }
}

DTS_TARGET_AVX512 DTS_INLINE void px_words_avx512(const dts_noise *s, uint32_t c0, uint32_t word[4][PX_LANES]) {
    const __m512i m0 = _mm512_set1_epi64(PX_M0), m1 = _mm512_set1_epi64(PX_M1);
    uint32_t k0 = (uint32_t)s->seed, k1 = (uint32_t)(s->seed >> 32);
    __m512i w[2][4];
    for (int i = 0; i < 2; ++i) {
        w[i][0] = _mm512_add_epi32(_mm512_set1_epi64((int64_t)(uint32_t)(c0 + 8 * (uint32_t)i)),
                                   _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7));
        w[i][1] = _mm512_set1_epi64(s->c1);
        w[i][2] = _mm512_set1_epi64(s->c2);
        w[i][3] = _mm512_set1_epi64(s->c3);
    }
    for (int round = 0; round < 10; ++round, k0 += PX_W0, k1 += PX_W1) {
        const __m512i v0 = _mm512_set1_epi64(k0), v1 = _mm512_set1_epi64(k1);
        for (int i = 0; i < 2; ++i) {
            const __m512i p0 = _mm512_mul_epu32(w[i][0], m0), p1 = _mm512_mul_epu32(w[i][2], m1);
            w[i][0] = _mm512_ternarylogic_epi64(_mm512_srli_epi64(p1, 32), w[i][1], v0, 0x96);
            w[i][1] = p1;
            w[i][2] = _mm512_ternarylogic_epi64(_mm512_srli_epi64(p0, 32), w[i][3], v1, 0x96);
            w[i][3] = p0;
        }
    }
    for (int j = 0; j < 4; ++j)
        _mm512_storeu_si512(word[j], _mm512_inserti64x4(_mm512_castsi256_si512(_mm512_cvtepi64_epi32(w[0][j])),
                                                        _mm512_cvtepi64_epi32(w[1][j]), 1));
}

/* Byte numbers for two-source permutations, 64 and more being the second source. */
DTS_TARGET_AVX512 DTS_INLINE __m512i px_indices(int start, int step) {
    uint8_t at[64];
    for (int i = 0; i < 64; ++i) at[i] = (uint8_t)(start + step * i);
    return _mm512_loadu_si512(at);
}

/* Bytes k, k + 3, ... of three vectors: from the first two as far as they reach, the rest from the third. */
DTS_TARGET_AVX512 DTS_INLINE void px_split_avx512(const uint8_t *in, uint8_t *r, uint8_t *g, uint8_t *b) {
    uint8_t *plane[3] = {r, g, b};
    const __m512i x = _mm512_loadu_si512(in), y = _mm512_loadu_si512(in + 64), z = _mm512_loadu_si512(in + 128);
    for (int k = 0; k < 3; ++k) {
        const __m512i at = px_indices(k, 3);
        const __mmask64 third = ~(__mmask64)0 << (k == 2 ? 42 : 43);
        _mm512_storeu_si512(plane[k], _mm512_mask_permutexvar_epi8(_mm512_permutex2var_epi8(x, at, y), third, at, z));
    }
}
#endif

#endif
