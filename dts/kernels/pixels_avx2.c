/* The kernels on colours for AVX2: the common source, and the blur. */
#include "isa.h"

#ifdef DTS_X86
#define PX(name) dts_##name##_avx2
#define PX_TARGET DTS_TARGET_AVX2
#define PX_SPLIT px_split_avx2
#define PX_MERGE px_merge_avx2
#define PX_WORDS px_words_avx2
#include "pixels_body.h"

#include "pixels_isa.h"

#include <immintrin.h>

/* Sixteen tables of 16 bytes, eight for values below 128 and eight above. Each holds the difference (XOR) to the one
 * before, and all of them up to the wanted one are looked up: v - 16 k has its sign bit set, for which a shuffle gives
 * 0, as long as v is below 16 k. Values of the other half are negative from the start, and stay so by saturation. */
DTS_TARGET_AVX2 static void px_lut_one(uint8_t *out, const uint8_t *in, size_t n, const uint8_t *table) {
    const __m256i step = _mm256_set1_epi8(16);
    __m256i part[16];
    size_t i = 0;
    for (int k = 0; k < 16; ++k) {
        __m128i t = _mm_loadu_si128((const __m128i *)(table + 16 * k));
        if (k % 8 != 0) t = _mm_xor_si128(t, _mm_loadu_si128((const __m128i *)(table + 16 * k - 16)));
        part[k] = _mm256_broadcastsi128_si256(t);
    }
    for (; i + 32 <= n; i += 32) {
        __m256i v = _mm256_loadu_si256((const __m256i *)(in + i));
        __m256i w = _mm256_xor_si256(v, _mm256_set1_epi8(-128));
        __m256i a = _mm256_shuffle_epi8(part[0], v), b = _mm256_shuffle_epi8(part[8], w);
        for (int k = 1; k < 8; ++k) {
            v = _mm256_subs_epi8(v, step);
            w = _mm256_subs_epi8(w, step);
            a = _mm256_xor_si256(a, _mm256_shuffle_epi8(part[k], v));
            b = _mm256_xor_si256(b, _mm256_shuffle_epi8(part[8 + k], w));
        }
        _mm256_storeu_si256((__m256i *)(out + i), _mm256_xor_si256(a, b));
    }
    for (; i < n; ++i) out[i] = table[in[i]];
}

DTS_TARGET_AVX2 void dts_lut_avx2(uint8_t *out, const uint8_t *in, size_t n, int c, const uint8_t *table) {
    if (c == 1)
        px_lut_one(out, in, n, table);
    else
        dts_lut_scalar(out, in, n, c, table);
}

/* Two taps at a time, 16 outputs: 32-bit sums of pairs of products, in the order in which they are packed again. */
DTS_TARGET_AVX2 void dts_blur_h_avx2(uint8_t *out, const int16_t *in, const int16_t *weight, int taps, int step,
                                     size_t n) {
    const __m256i half = _mm256_set1_epi32(1 << 20);
    for (size_t i = 0; i < n; i += 16) {
        const int16_t *at = in + i;
        __m256i low = half, high = half, both;
        __m128i bytes;
        for (int k = 0; k < taps; k += 2, at += 2 * step) {
            const __m256i w = _mm256_set1_epi32((int32_t)((uint16_t)weight[k] | ((uint32_t)weight[k + 1] << 16)));
            const __m256i a = _mm256_loadu_si256((const __m256i *)at),
                          b = _mm256_loadu_si256((const __m256i *)(at + step));
            low = _mm256_add_epi32(low, _mm256_madd_epi16(_mm256_unpacklo_epi16(a, b), w));
            high = _mm256_add_epi32(high, _mm256_madd_epi16(_mm256_unpackhi_epi16(a, b), w));
        }
        both = _mm256_packs_epi32(_mm256_srai_epi32(low, 21), _mm256_srai_epi32(high, 21));
        bytes = _mm_packus_epi16(_mm256_castsi256_si128(both), _mm256_extracti128_si256(both, 1));
        if (n - i >= 16) {
            _mm_storeu_si128((__m128i *)(out + i), bytes);
        } else {
            uint8_t rest[16];
            _mm_storeu_si128((__m128i *)rest, bytes);
            memcpy(out + i, rest, n - i);
        }
    }
}
#else
typedef int dts_no_pixels_avx2; /* a file may not be empty */
#endif
