/* What the AVX2 and AVX-512 files share. */
#ifndef DTS_X86_H
#define DTS_X86_H

#include <immintrin.h>

/* Written to memory by VCVTPS2PH itself: that form needs no shuffle port, which is what normalisation runs out of. */
DTS_TARGET_AVX2 DTS_INLINE void dts_store_8_halves(uint16_t *out, __m256 v) {
#if defined(__GNUC__)
    __asm__("vcvtps2ph $0, %1, %0" : "=m"(*(__m128i_u *)out) : "x"(v));
#else
    _mm_storeu_si128((__m128i *)out, _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT));
#endif
}

DTS_TARGET_AVX512 DTS_INLINE void dts_store_16_halves(uint16_t *out, __m512 v) {
#if defined(__GNUC__)
    __asm__("vcvtps2ph $0, %1, %0" : "=m"(*(__m256i_u *)out) : "v"(v));
#else
    _mm256_storeu_si256((__m256i *)out, _mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT));
#endif
}

#endif
