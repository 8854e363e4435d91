/* Both passes of a resize, AVX-512 with VBMI: as resize_avx2.c, but twice as wide, and VPERMB takes the pixels of four
 * neighbouring outputs out of one load, as long as they lie within 64 bytes (scales up to about 2.6). Grey, and stronger
 * reductions, are left to AVX2. */
#include "isa.h"

#include "split.h"

#ifdef DTS_X86

#include <immintrin.h>
#include <string.h>

/* 64 bytes of a row, any weights. */
DTS_TARGET_AVX512 DTS_INLINE void strip(int16_t *out, const uint8_t *const *rows, const int16_t *weight, int taps,
                                        size_t at) {
    const __m512i zero = _mm512_setzero_si512(), half = _mm512_set1_epi32(64);
    const __m512i front = _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11), back = _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15);
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
DTS_TARGET_AVX512 DTS_INLINE void strip_split(int16_t *out, const uint8_t *const *rows, const dts_split *s, int taps,
                                              size_t at) {
    const __m512i front = _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11), back = _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15);
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

/* A last part strip is done from n - 64 on, over what is there already, with the same values. */
DTS_TARGET_AVX512 DTS_INLINE void row_split(int16_t *out, const uint8_t *const *rows, const dts_split *s, int taps,
                                            size_t n) {
    for (size_t i = 0; i + 64 <= n; i += 64) strip_split(out, rows, s, taps, i);
    if (n % 64) strip_split(out, rows, s, taps, n - 64);
}

DTS_TARGET_AVX512 void dts_resize_v_avx512(int16_t *out, const uint8_t *const *rows, const int16_t *weight, int taps,
                                           size_t n) {
    dts_split split;
    if (n < 64) {
        dts_resize_v_avx2(out, rows, weight, taps, n);
    } else if (!dts_split_weights(&split, weight, taps)) {
        for (size_t i = 0; i + 64 <= n; i += 64) strip(out, rows, weight, taps, i);
        if (n % 64) strip(out, rows, weight, taps, n - 64);
    } else if (taps == 2) {
        row_split(out, rows, &split, 2, n);
    } else if (taps == 4) {
        row_split(out, rows, &split, 4, n);
    } else {
        row_split(out, rows, &split, taps, n);
    }
}

/* What the horizontal pass writes. */
enum { F32, F16, U8 };

typedef struct scaling {
    __m512 scale, bias; /* per channel and 0, four times */
} scaling;

DTS_TARGET_AVX512 DTS_INLINE __m512 normalized(const scaling *s, __m512i acc) {
    return _mm512_sub_ps(_mm512_mul_ps(_mm512_cvtepi32_ps(acc), s->scale), s->bias);
}

/* Up to four pixels (r g b 0 each) to output pixels at .. at + pixels - 1. */
DTS_TARGET_AVX512 DTS_INLINE void store_rgb(void *out, size_t at, __m512i acc, const scaling *s, int oc, int kind,
                                            unsigned pixels) {
    const __mmask16 keep = (__mmask16)((1u << (pixels * (unsigned)oc)) - 1u);
    at *= (size_t)oc;
    if (kind == F32) {
        const __m512i rgb = _mm512_setr_epi32(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, 15, 15, 15, 15);
        const __m512 v = normalized(s, acc);
        _mm512_mask_storeu_ps((float *)out + at, keep, oc == 4 ? v : _mm512_permutexvar_ps(rgb, v));
    } else if (kind == F16) {
        const __m256i rgb = _mm256_setr_epi16(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, 15, 15, 15, 15);
        const __m256i v = _mm512_cvtps_ph(normalized(s, acc), _MM_FROUND_TO_NEAREST_INT);
        _mm256_mask_storeu_epi16((uint16_t *)out + at, keep, oc == 4 ? v : _mm256_permutexvar_epi16(rgb, v));
    } else {
        const __m128i rgb = _mm_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, 15, 15, 15, 15);
        const __m128i v = _mm512_cvtepi32_epi8(_mm512_srai_epi32(_mm512_add_epi32(acc, _mm512_set1_epi32(1 << 20)), 21));
        _mm_mask_storeu_epi8((uint8_t *)out + at, keep, oc == 4 ? v : _mm_shuffle_epi8(v, rgb));
    }
}

/* Four outputs a step. in: from position 0 on. oc, kind and, for 2 and 4, taps are constants here. */
DTS_TARGET_AVX512 DTS_INLINE void row_rgb(void *out, const int16_t *in, const dts_filter *f, int oc, const dts_norm *norm,
                                          int flip, int kind, int taps) {
    const size_t n = (size_t)f->out;
    const int32_t *start = f->start, *lanes = f->lanes;
    const uint8_t *pick = f->pick;
    scaling s = {_mm512_setzero_ps(), _mm512_setzero_ps()};
    if (kind != U8) {
        s.scale = _mm512_mul_ps(_mm512_broadcast_f32x4(_mm_loadu_ps(norm->scale)), _mm512_set1_ps(DTS_Q21));
        s.bias = _mm512_broadcast_f32x4(_mm_loadu_ps(norm->bias));
    }
    for (size_t i = 0; i < n; i += 4, start += 4, pick += 64) {
        const __m512i which = _mm512_load_si512(pick);
        const int16_t *px = in + 3 * (ptrdiff_t)*start;
        const unsigned left = n - i < 4 ? (unsigned)(n - i) : 4;
        __m512i acc = _mm512_setzero_si512();
        for (int k = 0; k < taps; k += 2, px += 6, lanes += 16)
            acc = _mm512_add_epi32(acc, _mm512_madd_epi16(_mm512_permutexvar_epi8(which, _mm512_loadu_si512(px)),
                                                          _mm512_load_si512(lanes)));
        if (!flip) {
            store_rgb(out, i, acc, &s, oc, kind, left);
        } else {
            acc = _mm512_shuffle_i32x4(acc, acc, _MM_SHUFFLE(0, 1, 2, 3));
            if (left < 4) /* what counts is at the end now */
                acc = _mm512_permutexvar_epi32(
                    _mm512_add_epi32(_mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15),
                                     _mm512_set1_epi32(16 - 4 * (int)left)),
                    acc);
            store_rgb(out, n - i - left, acc, &s, oc, kind, left);
        }
    }
}

/* False: not a row for this instruction set. */
DTS_TARGET_AVX512 DTS_INLINE int rgb(void *out, const int16_t *in, int origin, const dts_filter *f, int c, int oc,
                                     const dts_norm *norm, int flip, int kind) {
    if (c != 3 || !f->narrow) return 0;
    in -= (ptrdiff_t)origin * 3;
    if (oc == 4 && f->taps == 2)
        row_rgb(out, in, f, 4, norm, flip, kind, 2);
    else if (oc == 4 && f->taps == 4)
        row_rgb(out, in, f, 4, norm, flip, kind, 4);
    else if (oc == 4)
        row_rgb(out, in, f, 4, norm, flip, kind, f->taps);
    else if (f->taps == 2)
        row_rgb(out, in, f, 3, norm, flip, kind, 2);
    else if (f->taps == 4)
        row_rgb(out, in, f, 3, norm, flip, kind, 4);
    else
        row_rgb(out, in, f, 3, norm, flip, kind, f->taps);
    return 1;
}

DTS_TARGET_AVX512 void dts_resize_h_f32_avx512(float *out, const int16_t *in, int origin, const dts_filter *f, int c,
                                               int oc, const dts_norm *norm, int flip) {
    if (!rgb(out, in, origin, f, c, oc, norm, flip, F32)) dts_resize_h_f32_avx2(out, in, origin, f, c, oc, norm, flip);
}

DTS_TARGET_AVX512 void dts_resize_h_f16_avx512(uint16_t *out, const int16_t *in, int origin, const dts_filter *f, int c,
                                               int oc, const dts_norm *norm, int flip) {
    if (!rgb(out, in, origin, f, c, oc, norm, flip, F16)) dts_resize_h_f16_avx2(out, in, origin, f, c, oc, norm, flip);
}

DTS_TARGET_AVX512 void dts_resize_h_u8_avx512(uint8_t *out, const int16_t *in, int origin, const dts_filter *f, int c,
                                              int oc, int flip) {
    if (!rgb(out, in, origin, f, c, oc, NULL, flip, U8)) dts_resize_h_u8_avx2(out, in, origin, f, c, oc, flip);
}

#endif
