/* Both passes of a resize, AVX-512 with VBMI and VNNI: as resize_avx2.c, but twice as wide. VPERMB takes the pixels of
 * four neighbouring outputs out of one load, as long as they lie within 64 bytes (scales up to about 2.6), and VPDPWSSD
 * multiplies and adds. Stronger reductions, and what is not RGB, are left to AVX2. */
#include "isa.h"

#include "split.h"

#ifdef DTS_X86

#include "x86.h"
#include <string.h>

#define ISA(name) name##_avx512
#define TARGET DTS_TARGET_AVX512
#define NARROWER(name) name##_avx2
#define STRIP 64
#define SPLIT
#define TAKES(f, c) ((c) == 3 && (f)->narrow)

/* What the horizontal pass writes. */
enum { F32, F16, U8 };

/* 64 bytes of a row, any weights. */
TARGET DTS_INLINE void strip(int16_t *out, const uint8_t *const *rows, const int16_t *weight, int taps,
                                        size_t at) {
    const __m512i zero = _mm512_setzero_si512(), half = _mm512_set1_epi32(64);
    const __m512i front = _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11);
    const __m512i back = _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15);
    __m512i acc0 = half, acc1 = half, acc2 = half, acc3 = half, low, high;
    for (int k = 0; k < taps; k += 2) {
        const __m512i a = _mm512_loadu_si512(rows[k] + at), b = _mm512_loadu_si512(rows[k + 1] + at);
        const __m512i ab = _mm512_unpacklo_epi8(a, b), cd = _mm512_unpackhi_epi8(a, b);
        int32_t both;
        __m512i w;
        memcpy(&both, weight + k, sizeof both);
        w = _mm512_set1_epi32(both);
        acc0 = _mm512_add_epi32(acc0, _mm512_madd_epi16(_mm512_unpacklo_epi8(ab, zero), w));
        acc1 = _mm512_add_epi32(acc1, _mm512_madd_epi16(_mm512_unpackhi_epi8(ab, zero), w));
        acc2 = _mm512_add_epi32(acc2, _mm512_madd_epi16(_mm512_unpacklo_epi8(cd, zero), w));
        acc3 = _mm512_add_epi32(acc3, _mm512_madd_epi16(_mm512_unpackhi_epi8(cd, zero), w));
    }
    low = _mm512_packs_epi32(_mm512_srai_epi32(acc0, 7), _mm512_srai_epi32(acc1, 7));
    high = _mm512_packs_epi32(_mm512_srai_epi32(acc2, 7), _mm512_srai_epi32(acc3, 7));
    _mm512_storeu_si512(out + at, _mm512_permutex2var_epi64(low, front, high));
    _mm512_storeu_si512(out + at + 32, _mm512_permutex2var_epi64(low, back, high));
}

/* The same by bytes, see split.h. */
TARGET DTS_INLINE void strip_split(int16_t *out, const uint8_t *const *rows, const dts_split *s, int taps,
                                              size_t at) {
    const __m512i front = _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11);
    const __m512i back = _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15);
    __m512i high0 = _mm512_setzero_si512(), high1 = high0, low0 = _mm512_set1_epi16(64), low1 = low0;
    for (int k = 0; k < taps; k += 2) {
        const __m512i high = _mm512_set1_epi16(s->high[k / 2]), low = _mm512_set1_epi16(s->low[k / 2]);
        const __m512i a = _mm512_loadu_si512(rows[k] + at), b = _mm512_loadu_si512(rows[k + 1] + at);
        const __m512i ab = _mm512_unpacklo_epi8(a, b), cd = _mm512_unpackhi_epi8(a, b);
        high0 = _mm512_add_epi16(high0, _mm512_maddubs_epi16(ab, high));
        high1 = _mm512_add_epi16(high1, _mm512_maddubs_epi16(cd, high));
        low0 = _mm512_add_epi16(low0, _mm512_maddubs_epi16(ab, low));
        low1 = _mm512_add_epi16(low1, _mm512_maddubs_epi16(cd, low));
    }
    high0 = _mm512_add_epi16(high0, _mm512_srai_epi16(low0, 7));
    high1 = _mm512_add_epi16(high1, _mm512_srai_epi16(low1, 7));
    _mm512_storeu_si512(out + at, _mm512_permutex2var_epi64(high0, front, high1));
    _mm512_storeu_si512(out + at + 32, _mm512_permutex2var_epi64(high0, back, high1));
}

typedef struct scaling {
    __m512 scale, bias; /* per channel and 0, four times */
} scaling;

/* NULL: not used. */
TARGET DTS_INLINE scaling scaling_of(const dts_norm *norm) {
    scaling s = {_mm512_setzero_ps(), _mm512_setzero_ps()};
    if (norm) {
        s.scale = _mm512_mul_ps(_mm512_broadcast_f32x4(_mm_loadu_ps(norm->scale)), _mm512_set1_ps(DTS_Q21));
        s.bias = _mm512_broadcast_f32x4(_mm_loadu_ps(norm->bias));
    }
    return s;
}

typedef __m512i quad;

TARGET DTS_INLINE quad sums(const int16_t *in, const dts_filter *f, size_t i, int c, int taps) {
    const __m512i which = _mm512_load_si512(f->pick + 16 * i);
    const int32_t *lanes = f->lanes + 2 * i * (size_t)taps;
    const int16_t *px = in + c * (ptrdiff_t)f->start[i];
    __m512i acc = _mm512_setzero_si512();
    for (int k = 0; k < taps; k += 2, px += 2 * c, lanes += 16)
        acc = _mm512_dpwssd_epi32(
            acc, _mm512_maskz_permutexvar_epi8(0x0FFF0FFF0FFF0FFFu, which, _mm512_loadu_si512(px)),
            _mm512_load_si512(lanes));
    return acc;
}

TARGET DTS_INLINE quad reversed(quad q) { return _mm512_shuffle_i32x4(q, q, _MM_SHUFFLE(0, 1, 2, 3)); }

TARGET DTS_INLINE __m512 normalized(const scaling *s, __m512i acc) {
    return _mm512_sub_ps(_mm512_mul_ps(_mm512_cvtepi32_ps(acc), s->scale), s->bias);
}

/* Four pixels (r g b 0 each) to output pixels at .. at + 3. */
TARGET DTS_INLINE void store_quad(void *out, size_t at, quad acc, const scaling *s, int oc, int kind) {
    const __mmask16 keep = (__mmask16)((1u << (4 * oc)) - 1u);
    at *= (size_t)oc;
    if (kind == F32) {
        const __m512i rgb = _mm512_setr_epi32(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, 15, 15, 15, 15);
        const __m512 v = normalized(s, acc);
        _mm512_mask_storeu_ps((float *)out + at, keep, oc == 4 ? v : _mm512_permutexvar_ps(rgb, v));
    } else if (kind == F16 && oc == 4) {
        dts_store_16_halves((uint16_t *)out + at, normalized(s, acc));
    } else if (kind == F16) {
        const __m256i rgb = _mm256_setr_epi16(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, 15, 15, 15, 15);
        const __m256i v = _mm512_cvtps_ph(normalized(s, acc), _MM_FROUND_TO_NEAREST_INT);
        _mm256_mask_storeu_epi16((uint16_t *)out + at, keep, _mm256_permutexvar_epi16(rgb, v));
    } else {
        const __m128i rgb = _mm_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, 15, 15, 15, 15);
        const __m512i half = _mm512_set1_epi32(1 << 20);
        const __m128i v = _mm512_cvtepi32_epi8(_mm512_srai_epi32(_mm512_add_epi32(acc, half), 21));
        _mm_mask_storeu_epi8((uint8_t *)out + at, keep, oc == 4 ? v : _mm_shuffle_epi8(v, rgb));
    }
}

#include "resize_template.h"

#endif
