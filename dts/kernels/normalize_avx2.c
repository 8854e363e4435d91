/* Normalisation and copy, AVX2 + F16C. The loops are in the templates. */
#include "isa.h"

#ifdef DTS_X86

#include "x86.h"

#define ISA(name) name##_avx2
#define TARGET DTS_TARGET_AVX2
#define NARROWER(name) name##_scalar
#define LANES 8

typedef __m256 vec;
typedef __m256i picks;

TARGET DTS_INLINE picks load_picks(const uint8_t pick[8]) {
    const __m256i low = _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)pick));
    return _mm256_or_si256(low, _mm256_set1_epi32((int)0x80808000));
}

TARGET DTS_INLINE vec spread(const float from[4], const int32_t lanes[8]) {
    return _mm256_permutevar8x32_ps(_mm256_castps128_ps256(_mm_loadu_ps(from)),
                                    _mm256_loadu_si256((const __m256i *)lanes));
}

TARGET DTS_INLINE vec pick_floats(const uint8_t *in, picks pick) {
    const __m128i bytes = _mm_loadu_si128((const __m128i *)in);
    return _mm256_cvtepi32_ps(_mm256_shuffle_epi8(_mm256_broadcastsi128_si256(bytes), pick));
}

TARGET DTS_INLINE vec mul_sub(vec v, vec scale, vec bias) { return _mm256_sub_ps(_mm256_mul_ps(v, scale), bias); }

TARGET DTS_INLINE void store_f32(float *out, vec v) { _mm256_storeu_ps(out, v); }

TARGET DTS_INLINE void store_f16(uint16_t *out, vec v) { dts_store_8_halves(out, v); }

#include "normalize_template.h"

typedef __m128i bytes;

TARGET DTS_INLINE bytes load_bytes(const uint8_t *in) { return _mm_loadu_si128((const __m128i *)in); }

TARGET DTS_INLINE bytes shuffle_bytes(bytes v, bytes pick) { return _mm_shuffle_epi8(v, pick); }

TARGET DTS_INLINE void store_bytes(uint8_t *out, bytes v) { _mm_storeu_si128((__m128i *)out, v); }

TARGET DTS_INLINE void store_15_bytes(uint8_t *out, bytes v) {
    _mm_storel_epi64((__m128i *)out, v);
    _mm_storel_epi64((__m128i *)(out + 7), _mm_srli_si128(v, 7));
}

#include "copy_template.h"

#endif
