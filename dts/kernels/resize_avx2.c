/* Both passes of a resize, AVX2 + F16C.
 * Vertical: bytes of two rows are interleaved and widened, so that one multiply-add takes both rows of a pixel.
 * Horizontal, RGB: a byte shuffle makes (p0.r p1.r)(p0.g p1.g)(p0.b p1.b)(0 0) of two neighbouring pixels; a multiply-add
 * with their two weights leaves one pixel in four lanes, and two output pixels share a register.
 * Horizontal, grey: eight outputs share a register. */
#include "isa.h"

#include "split.h"

#ifdef DTS_X86

#include <immintrin.h>
#include <string.h>

DTS_TARGET_AVX2 DTS_INLINE __m256i two_weights(const int16_t *w) {
    int32_t both;
    memcpy(&both, w, 4);
    return _mm256_set1_epi32(both);
}

/* 32 bytes of a row, any weights. */
DTS_TARGET_AVX2 DTS_INLINE void strip(int16_t *out, const uint8_t *const *rows, const int16_t *weight, int taps,
                                      size_t at) {
    const __m256i zero = _mm256_setzero_si256(), half = _mm256_set1_epi32(64);
    __m256i acc0 = half, acc1 = half, acc2 = half, acc3 = half, low, high;
    for (int k = 0; k < taps; k += 2) {
        const __m256i w = two_weights(weight + k);
        const __m256i a = _mm256_loadu_si256((const __m256i *)(rows[k] + at));
        const __m256i b = _mm256_loadu_si256((const __m256i *)(rows[k + 1] + at));
        const __m256i ab = _mm256_unpacklo_epi8(a, b), cd = _mm256_unpackhi_epi8(a, b);
        acc0 = _mm256_add_epi32(acc0, _mm256_madd_epi16(_mm256_unpacklo_epi8(ab, zero), w));
        acc1 = _mm256_add_epi32(acc1, _mm256_madd_epi16(_mm256_unpackhi_epi8(ab, zero), w));
        acc2 = _mm256_add_epi32(acc2, _mm256_madd_epi16(_mm256_unpacklo_epi8(cd, zero), w));
        acc3 = _mm256_add_epi32(acc3, _mm256_madd_epi16(_mm256_unpackhi_epi8(cd, zero), w));
    }
    low = _mm256_packs_epi32(_mm256_srai_epi32(acc0, 7), _mm256_srai_epi32(acc1, 7));
    high = _mm256_packs_epi32(_mm256_srai_epi32(acc2, 7), _mm256_srai_epi32(acc3, 7));
    _mm256_storeu_si256((__m256i *)(out + at), _mm256_permute2x128_si256(low, high, 0x20));
    _mm256_storeu_si256((__m256i *)(out + at + 16), _mm256_permute2x128_si256(low, high, 0x31));
}

/* The same by bytes, see split.h. */
DTS_TARGET_AVX2 DTS_INLINE void strip_split(int16_t *out, const uint8_t *const *rows, const dts_split *s, int taps,
                                            size_t at) {
    __m256i high0 = _mm256_setzero_si256(), high1 = high0, low0 = _mm256_set1_epi16(64), low1 = low0;
    for (int k = 0; k < taps; k += 2) {
        const __m256i high = _mm256_set1_epi16(s->high[k / 2]), low = _mm256_set1_epi16(s->low[k / 2]);
        const __m256i a = _mm256_loadu_si256((const __m256i *)(rows[k] + at));
        const __m256i b = _mm256_loadu_si256((const __m256i *)(rows[k + 1] + at));
        const __m256i ab = _mm256_unpacklo_epi8(a, b), cd = _mm256_unpackhi_epi8(a, b);
        high0 = _mm256_add_epi16(high0, _mm256_maddubs_epi16(ab, high));
        high1 = _mm256_add_epi16(high1, _mm256_maddubs_epi16(cd, high));
        low0 = _mm256_add_epi16(low0, _mm256_maddubs_epi16(ab, low));
        low1 = _mm256_add_epi16(low1, _mm256_maddubs_epi16(cd, low));
    }
    high0 = _mm256_add_epi16(high0, _mm256_srai_epi16(low0, 7));
    high1 = _mm256_add_epi16(high1, _mm256_srai_epi16(low1, 7));
    _mm256_storeu_si256((__m256i *)(out + at), _mm256_permute2x128_si256(high0, high1, 0x20));
    _mm256_storeu_si256((__m256i *)(out + at + 16), _mm256_permute2x128_si256(high0, high1, 0x31));
}

/* A last part strip is done from n - 32 on, over what is there already, with the same values. */
DTS_TARGET_AVX2 DTS_INLINE void row_split(int16_t *out, const uint8_t *const *rows, const dts_split *s, int taps, size_t n) {
    for (size_t i = 0; i + 32 <= n; i += 32) strip_split(out, rows, s, taps, i);
    if (n % 32) strip_split(out, rows, s, taps, n - 32);
}

DTS_TARGET_AVX2 void dts_resize_v_avx2(int16_t *out, const uint8_t *const *rows, const int16_t *weight, int taps,
                                       size_t n) {
    dts_split split;
    if (n < 32) {
        dts_resize_v_scalar(out, rows, weight, taps, n);
    } else if (!dts_split_weights(&split, weight, taps)) {
        for (size_t i = 0; i + 32 <= n; i += 32) strip(out, rows, weight, taps, i);
        if (n % 32) strip(out, rows, weight, taps, n - 32);
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
    __m256 scale, bias; /* RGB: per channel and 0, twice; grey: of the one channel */
} scaling;

DTS_TARGET_AVX2 DTS_INLINE __m256 normalized(const scaling *s, __m256i acc) {
    return _mm256_sub_ps(_mm256_mul_ps(_mm256_cvtepi32_ps(acc), s->scale), s->bias);
}

DTS_TARGET_AVX2 DTS_INLINE __m128i halves(const scaling *s, __m256i acc) {
    return _mm256_cvtps_ph(normalized(s, acc), _MM_FROUND_TO_NEAREST_INT);
}

/* Eight sums to eight 16-bit words with the value of a byte. */
DTS_TARGET_AVX2 DTS_INLINE __m128i words(__m256i acc) {
    const __m256i v = _mm256_srai_epi32(_mm256_add_epi32(acc, _mm256_set1_epi32(1 << 20)), 21);
    return _mm_packs_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
}

/* Two pixels (r g b 0 r g b 0) to output pixels at and at + 1. */
DTS_TARGET_AVX2 DTS_INLINE void store_rgb(void *out, size_t at, __m256i acc, const scaling *s, int oc, int kind) {
    at *= (size_t)oc;
    if (kind == F32 && oc == 4) {
        _mm256_storeu_ps((float *)out + at, normalized(s, acc));
    } else if (kind == F32) {
        const __m256 v = _mm256_permutevar8x32_ps(normalized(s, acc), _mm256_setr_epi32(0, 1, 2, 4, 5, 6, 7, 7));
        _mm_storeu_ps((float *)out + at, _mm256_castps256_ps128(v));
        _mm_storel_pi((__m64 *)((float *)out + at + 4), _mm256_extractf128_ps(v, 1));
    } else if (kind == F16 && oc == 4) {
        _mm_storeu_si128((__m128i *)((uint16_t *)out + at), halves(s, acc));
    } else if (kind == F16) {
        const __m128i v = _mm_shuffle_epi8(halves(s, acc), _mm_setr_epi8(0, 1, 2, 3, 4, 5, 8, 9, 10, 11, 12, 13, -1, -1, -1, -1));
        const int32_t last = _mm_extract_epi32(v, 2);
        _mm_storel_epi64((__m128i *)((uint16_t *)out + at), v);
        memcpy((uint16_t *)out + at + 4, &last, 4);
    } else if (oc == 4) {
        const __m128i w = words(acc);
        _mm_storel_epi64((__m128i *)((uint8_t *)out + at), _mm_packus_epi16(w, w));
    } else {
        const __m128i v = _mm_shuffle_epi8(words(acc), _mm_setr_epi8(0, 2, 4, 8, 10, 12, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1));
        const int32_t first = _mm_cvtsi128_si32(v);
        const uint16_t last = (uint16_t)_mm_extract_epi16(v, 2);
        memcpy((uint8_t *)out + at, &first, 4);
        memcpy((uint8_t *)out + at + 4, &last, 2);
    }
}

DTS_TARGET_AVX2 DTS_INLINE __m256i load_twice(const int16_t *low, const int16_t *high) {
    return _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)low)),
                                   _mm_loadu_si128((const __m128i *)high), 1);
}

/* The sums of two outputs, whose taps begin at a and b. */
DTS_TARGET_AVX2 DTS_INLINE __m256i sums_rgb(const int16_t *a, const int16_t *b, const int32_t *lanes, int taps) {
    const __m256i pairs = _mm256_setr_epi8(0, 1, 6, 7, 2, 3, 8, 9, 4, 5, 10, 11, -1, -1, -1, -1, 0, 1, 6, 7, 2, 3, 8, 9, 4,
                                           5, 10, 11, -1, -1, -1, -1);
    __m256i acc = _mm256_setzero_si256();
    for (int k = 0; k < taps; k += 2, a += 6, b += 6, lanes += 16)
        acc = _mm256_add_epi32(acc, _mm256_madd_epi16(_mm256_shuffle_epi8(load_twice(a, b), pairs),
                                                      _mm256_loadu_si256((const __m256i *)lanes)));
    return acc;
}

/* Four outputs a step. in: from position 0 on. oc, kind and, for 2 and 4, taps are constants here. */
DTS_TARGET_AVX2 DTS_INLINE void row_rgb(void *out, const int16_t *in, const dts_filter *f, int oc, const dts_norm *norm,
                                        int flip, int kind, int taps) {
    const size_t n = (size_t)f->out, size = (size_t)oc * (kind == F32 ? 4 : kind == F16 ? 2 : 1);
    const int32_t *start = f->start, *lanes = f->lanes;
    char last[4 * 16]; /* where the last part step goes first */
    scaling s = {_mm256_setzero_ps(), _mm256_setzero_ps()};
    if (kind != U8) {
        s.scale = _mm256_mul_ps(_mm256_broadcast_ps((const __m128 *)norm->scale), _mm256_set1_ps(DTS_Q21));
        s.bias = _mm256_broadcast_ps((const __m128 *)norm->bias);
    }
    for (size_t i = 0; i < n; i += 4, start += 4, lanes += 8 * taps) {
        const __m256i ab = sums_rgb(in + 3 * (ptrdiff_t)start[0], in + 3 * (ptrdiff_t)start[1], lanes, taps);
        const __m256i cd = sums_rgb(in + 3 * (ptrdiff_t)start[2], in + 3 * (ptrdiff_t)start[3], lanes + 8, taps);
        const int whole = i + 4 <= n;
        void *to = whole ? out : last;
        const size_t at = !whole ? 0 : flip ? n - 4 - i : i;
        if (flip) {
            store_rgb(to, at, _mm256_permute2x128_si256(cd, cd, 1), &s, oc, kind);
            store_rgb(to, at + 2, _mm256_permute2x128_si256(ab, ab, 1), &s, oc, kind);
        } else {
            store_rgb(to, at, ab, &s, oc, kind);
            store_rgb(to, at + 2, cd, &s, oc, kind);
        }
        if (!whole && flip)
            memcpy(out, last + (4 - (n - i)) * size, (n - i) * size);
        else if (!whole)
            memcpy((char *)out + i * size, last, (n - i) * size);
    }
}

DTS_TARGET_AVX2 DTS_INLINE void rgb(void *out, const int16_t *in, int origin, const dts_filter *f, int oc,
                                    const dts_norm *norm, int flip, int kind) {
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
}

/* Grey: eight taps of the outputs whose taps begin at a and b. `keep` clears weights that are not theirs. */
DTS_TARGET_AVX2 DTS_INLINE __m256i eight_taps(const int16_t *a, const int16_t *b, const int16_t *wa, const int16_t *wb,
                                              __m256i keep) {
    return _mm256_madd_epi16(load_twice(a, b), _mm256_and_si256(load_twice(wa, wb), keep));
}

/* The sums of eight outputs, j and j + 4 together. */
DTS_TARGET_AVX2 DTS_INLINE __m256i sums_grey(const int16_t *in, const int32_t *start, const int16_t *weight, ptrdiff_t taps,
                                             __m256i keep) {
    __m256i acc[4];
    for (int j = 0; j < 4; ++j) {
        const int16_t *a = in + start[j], *b = in + start[j + 4], *wa = weight + j * taps, *wb = wa + 4 * taps;
        ptrdiff_t k = (taps - 1) & ~(ptrdiff_t)7;
        acc[j] = eight_taps(a + k, b + k, wa + k, wb + k, keep);
        for (k -= 8; k >= 0; k -= 8)
            acc[j] = _mm256_add_epi32(acc[j], eight_taps(a + k, b + k, wa + k, wb + k, _mm256_set1_epi32(-1)));
    }
    return _mm256_hadd_epi32(_mm256_hadd_epi32(acc[0], acc[1]), _mm256_hadd_epi32(acc[2], acc[3]));
}

/* Eight grey pixels to output pixels at .. at + 7. */
DTS_TARGET_AVX2 DTS_INLINE void store_grey(void *out, size_t at, __m256i acc, const scaling *s, int oc, int kind) {
    if (kind == F32) {
        _mm256_storeu_ps((float *)out + at, normalized(s, acc));
    } else if (kind == F16 && oc == 1) {
        _mm_storeu_si128((__m128i *)((uint16_t *)out + at), halves(s, acc));
    } else if (kind == F16) {
        const __m128i v = halves(s, acc);
        _mm256_storeu_si256((__m256i *)((uint16_t *)out + 4 * at), _mm256_cvtepu16_epi64(v));
        _mm256_storeu_si256((__m256i *)((uint16_t *)out + 4 * at + 16), _mm256_cvtepu16_epi64(_mm_unpackhi_epi64(v, v)));
    } else {
        const __m128i w = words(acc);
        _mm_storel_epi64((__m128i *)((uint8_t *)out + at), _mm_packus_epi16(w, w));
    }
}

/* Returns how many outputs are done: all but the last up to seven. */
DTS_TARGET_AVX2 DTS_INLINE int row_grey(void *out, const int16_t *in, int origin, const dts_filter *f, int oc,
                                        const dts_norm *norm, int flip, int kind) {
    static const int16_t ones[16] = {-1, -1, -1, -1, -1, -1, -1, -1};
    const __m128i last = _mm_loadu_si128((const __m128i *)(ones + (8 - f->taps % 8) % 8));
    const __m256i backwards = _mm256_setr_epi32(7, 6, 5, 4, 3, 2, 1, 0);
    scaling s = {_mm256_setzero_ps(), _mm256_setzero_ps()};
    int i = 0;
    if (kind != U8) {
        s.scale = _mm256_set1_ps(norm->scale[0] * DTS_Q21);
        s.bias = _mm256_set1_ps(norm->bias[0]);
    }
    in -= origin;
    for (; i + 8 <= f->out; i += 8) {
        const __m256i acc = sums_grey(in, f->start + i, f->weight + (size_t)i * (size_t)f->taps, f->taps,
                                      _mm256_set_m128i(last, last));
        if (flip)
            store_grey(out, (size_t)(f->out - i - 8), _mm256_permutevar8x32_epi32(acc, backwards), &s, oc, kind);
        else
            store_grey(out, (size_t)i, acc, &s, oc, kind);
    }
    return i;
}

/* The filter without its first i outputs. */
static dts_filter rest_of(const dts_filter *f, int i) {
    dts_filter rest = *f;
    rest.out -= i;
    rest.start += i;
    rest.count += i;
    rest.weight += (size_t)i * (size_t)f->taps;
    return rest;
}

DTS_TARGET_AVX2 void dts_resize_h_f32_avx2(float *out, const int16_t *in, int origin, const dts_filter *f, int c, int oc,
                                           const dts_norm *norm, int flip) {
    if (c == 3) {
        rgb(out, in, origin, f, oc, norm, flip, F32);
    } else {
        const int done = c == 1 && oc == 1 ? row_grey(out, in, origin, f, oc, norm, flip, F32) : 0;
        const dts_filter rest = rest_of(f, done);
        dts_resize_h_f32_scalar(flip ? out : out + (size_t)done * (size_t)oc, in, origin, &rest, c, oc, norm, flip);
    }
}

DTS_TARGET_AVX2 void dts_resize_h_f16_avx2(uint16_t *out, const int16_t *in, int origin, const dts_filter *f, int c,
                                           int oc, const dts_norm *norm, int flip) {
    if (c == 3) {
        rgb(out, in, origin, f, oc, norm, flip, F16);
    } else {
        const int done = c == 1 ? row_grey(out, in, origin, f, oc, norm, flip, F16) : 0;
        const dts_filter rest = rest_of(f, done);
        dts_resize_h_f16_scalar(flip ? out : out + (size_t)done * (size_t)oc, in, origin, &rest, c, oc, norm, flip);
    }
}

DTS_TARGET_AVX2 void dts_resize_h_u8_avx2(uint8_t *out, const int16_t *in, int origin, const dts_filter *f, int c,
                                          int oc, int flip) {
    if (c == 3) {
        rgb(out, in, origin, f, oc, NULL, flip, U8);
    } else {
        const int done = c == 1 && oc == 1 ? row_grey(out, in, origin, f, oc, NULL, flip, U8) : 0;
        const dts_filter rest = rest_of(f, done);
        dts_resize_h_u8_scalar(flip ? out : out + (size_t)done * (size_t)oc, in, origin, &rest, c, oc, flip);
    }
}

#endif
