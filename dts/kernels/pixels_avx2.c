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
