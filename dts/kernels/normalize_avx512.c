/* Normalisation, AVX-512 with VBMI: VPERMB takes any byte of a load to any place. The loop is in the template. */
#include "isa.h"

#ifdef DTS_X86

#include "x86.h"

#define ISA(name) name##_avx512
#define TARGET DTS_TARGET_AVX512
#define NARROWER(name) name##_avx2
#define LANES 16

typedef __m512 vec;
typedef __m512i picks;

TARGET DTS_INLINE picks load_picks(const uint8_t pick[16]) {
    return _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)pick));
}

TARGET DTS_INLINE vec spread(const float from[4], const int32_t lanes[16]) {
    return _mm512_permutexvar_ps(_mm512_loadu_si512(lanes), _mm512_castps128_ps512(_mm_loadu_ps(from)));
}

TARGET DTS_INLINE vec pick_floats(const uint8_t *in, picks pick) {
    const __m512i bytes = _mm512_castsi256_si512(_mm256_loadu_si256((const __m256i *)in));
    return _mm512_cvtepi32_ps(_mm512_maskz_permutexvar_epi8(0x1111111111111111u, pick, bytes));
}

TARGET DTS_INLINE vec mul_sub(vec v, vec scale, vec bias) { return _mm512_sub_ps(_mm512_mul_ps(v, scale), bias); }

TARGET DTS_INLINE void store_f32(float *out, vec v) { _mm512_storeu_ps(out, v); }

TARGET DTS_INLINE void store_f16(uint16_t *out, vec v) { dts_store_16_halves(out, v); }

#include "normalize_template.h"

#endif
