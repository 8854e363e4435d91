/* Two rows of a batch mixed or exchanged: see mix.h. */
#include "mix.h"

#include "half.h"
#include "isa.h"

#include <string.h>

#ifdef DTS_X86
#include <immintrin.h>
#endif

static void f32_scalar(float *a, float *b, size_t n, float lam) {
    const float w = 1.0f - lam;
    for (size_t i = 0; i < n; ++i) {
        const float x = a[i], y = b[i];
        a[i] = lam * x + w * y;
        b[i] = lam * y + w * x;
    }
}

static void f16_scalar(uint16_t *a, uint16_t *b, size_t n, float lam) {
    const float w = 1.0f - lam;
    for (size_t i = 0; i < n; ++i) {
        const float x = dts_from_half(a[i]), y = dts_from_half(b[i]);
        a[i] = dts_half(lam * x + w * y);
        b[i] = dts_half(lam * y + w * x);
    }
}

static void u8_scalar(uint8_t *a, uint8_t *b, size_t n, float lam) {
    const float w = 1.0f - lam;
    for (size_t i = 0; i < n; ++i) {
        const float x = (float)a[i], y = (float)b[i];
        a[i] = (uint8_t)(int)(lam * x + w * y + 0.5f);
        b[i] = (uint8_t)(int)(lam * y + w * x + 0.5f);
    }
}

static const dts_mix_kernels scalar = {"scalar", f32_scalar, f16_scalar, u8_scalar};

#ifdef DTS_X86

/* lam x + w y, in two roundings and a third */
DTS_TARGET_AVX2 DTS_INLINE __m256 blend(__m256 x, __m256 y, __m256 lam, __m256 w) {
    return _mm256_add_ps(_mm256_mul_ps(lam, x), _mm256_mul_ps(w, y));
}

DTS_TARGET_AVX2 static void f32_avx2(float *a, float *b, size_t n, float lam) {
    const __m256 l = _mm256_set1_ps(lam), w = _mm256_set1_ps(1.0f - lam);
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        const __m256 x = _mm256_loadu_ps(a + i), y = _mm256_loadu_ps(b + i);
        _mm256_storeu_ps(a + i, blend(x, y, l, w));
        _mm256_storeu_ps(b + i, blend(y, x, l, w));
    }
    f32_scalar(a + i, b + i, n - i, lam);
}

DTS_TARGET_AVX2 static void f16_avx2(uint16_t *a, uint16_t *b, size_t n, float lam) {
    const __m256 l = _mm256_set1_ps(lam), w = _mm256_set1_ps(1.0f - lam);
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        const __m256 x = _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(a + i)));
        const __m256 y = _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(b + i)));
        _mm_storeu_si128((__m128i *)(a + i), _mm256_cvtps_ph(blend(x, y, l, w), _MM_FROUND_TO_NEAREST_INT));
        _mm_storeu_si128((__m128i *)(b + i), _mm256_cvtps_ph(blend(y, x, l, w), _MM_FROUND_TO_NEAREST_INT));
    }
    f16_scalar(a + i, b + i, n - i, lam);
}

DTS_TARGET_AVX2 DTS_INLINE __m256 widen(const uint8_t *p) {
    return _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)p)));
}

/* Eight numbers of 0..255.5 to bytes, cut off. */
DTS_TARGET_AVX2 DTS_INLINE void narrow(uint8_t *p, __m256 v) {
    const __m256i wide = _mm256_cvttps_epi32(_mm256_add_ps(v, _mm256_set1_ps(0.5f)));
    const __m128i half = _mm_packus_epi32(_mm256_castsi256_si128(wide), _mm256_extracti128_si256(wide, 1));
    _mm_storel_epi64((__m128i *)p, _mm_packus_epi16(half, half));
}

DTS_TARGET_AVX2 static void u8_avx2(uint8_t *a, uint8_t *b, size_t n, float lam) {
    const __m256 l = _mm256_set1_ps(lam), w = _mm256_set1_ps(1.0f - lam);
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        const __m256 x = widen(a + i), y = widen(b + i);
        narrow(a + i, blend(x, y, l, w));
        narrow(b + i, blend(y, x, l, w));
    }
    u8_scalar(a + i, b + i, n - i, lam);
}

static const dts_mix_kernels avx2 = {"avx2", f32_avx2, f16_avx2, u8_avx2};

#endif

const dts_mix_kernels *dts_mix_get(void) {
#ifdef DTS_X86
    if (strcmp(dts_kernels_get()->isa, "scalar") != 0) return &avx2; /* all others of x86 stand above it */
#endif
    return &scalar;
}

void dts_swap_bytes(void *a, void *b, size_t n) {
    uint8_t *restrict p = a, *restrict q = b;
    for (size_t i = 0; i < n; ++i) {
        const uint8_t t = p[i];
        p[i] = q[i];
        q[i] = t;
    }
}
