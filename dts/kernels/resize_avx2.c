/* Both passes of a resize, AVX2 + F16C. The loops are in the template.
 * Vertical: bytes of two rows are interleaved, so that one multiply-add takes both rows of a pixel.
 * Horizontal, RGB: a byte shuffle makes (p0.r p1.r)(p0.g p1.g)(p0.b p1.b)(0 0) of two neighbouring pixels; a
 * multiply-add with their two weights leaves one pixel in four lanes, and two output pixels share a register.
 * Horizontal, grey: four or eight neighbouring pixels are multiplied at once; the sums of eight outputs share a
 * register. */
#include "isa.h"

#include "split.h"

#ifdef DTS_X86

#include "x86.h"

#include <string.h>

#define ISA(name) name##_avx2
#define TARGET DTS_TARGET_AVX2
#define NARROWER(name) name##_scalar
#define STRIP 32
#define SPLIT
#define GREY
#define TAKES(f, c) ((c) >= 3)

/* What the horizontal pass writes. */
enum { F32, F16, U8 };

TARGET DTS_INLINE __m256i two_weights(const int16_t *w) {
    int32_t both;
    memcpy(&both, w, 4);
    return _mm256_set1_epi32(both);
}

/* 32 bytes of a row, any weights. */
TARGET DTS_INLINE void strip(int16_t *out, const uint8_t *const *rows, const int16_t *weight, int taps,
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
TARGET DTS_INLINE void strip_split(int16_t *out, const uint8_t *const *rows, const dts_split *s, int taps,
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

typedef struct scaling {
    __m256 scale, bias; /* RGB: per channel and 0, twice; grey: of the one channel */
} scaling;

/* NULL: not used. */
TARGET DTS_INLINE scaling scaling_of(const dts_norm *norm) {
    scaling s = {_mm256_setzero_ps(), _mm256_setzero_ps()};
    if (norm) {
        s.scale = _mm256_mul_ps(_mm256_broadcast_ps((const __m128 *)norm->scale), _mm256_set1_ps(DTS_Q21));
        s.bias = _mm256_broadcast_ps((const __m128 *)norm->bias);
    }
    return s;
}

TARGET DTS_INLINE scaling scaling_of_grey(const dts_norm *norm) {
    scaling s = {_mm256_setzero_ps(), _mm256_setzero_ps()};
    if (norm) {
        s.scale = _mm256_set1_ps(norm->scale[0] * DTS_Q21);
        s.bias = _mm256_set1_ps(norm->bias[0]);
    }
    return s;
}

TARGET DTS_INLINE __m256 normalized(const scaling *s, __m256i acc) {
    return _mm256_sub_ps(_mm256_mul_ps(_mm256_cvtepi32_ps(acc), s->scale), s->bias);
}

TARGET DTS_INLINE __m128i halves(const scaling *s, __m256i acc) {
    return _mm256_cvtps_ph(normalized(s, acc), _MM_FROUND_TO_NEAREST_INT);
}

/* Eight sums to eight 16-bit words with the value of a byte. */
TARGET DTS_INLINE __m128i words(__m256i acc) {
    const __m256i v = _mm256_srai_epi32(_mm256_add_epi32(acc, _mm256_set1_epi32(1 << 20)), 21);
    return _mm_packs_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
}

/* Two pixels (r g b 0 r g b 0) to output pixels at and at + 1. */
TARGET DTS_INLINE void store_two(void *out, size_t at, __m256i acc, const scaling *s, int oc, int kind) {
    at *= (size_t)oc;
    if (kind == F32 && oc == 4) {
        _mm256_storeu_ps((float *)out + at, normalized(s, acc));
    } else if (kind == F32) {
        const __m256 v = _mm256_permutevar8x32_ps(normalized(s, acc), _mm256_setr_epi32(0, 1, 2, 4, 5, 6, 7, 7));
        _mm_storeu_ps((float *)out + at, _mm256_castps256_ps128(v));
        _mm_storel_pi((__m64 *)((float *)out + at + 4), _mm256_extractf128_ps(v, 1));
    } else if (kind == F16 && oc == 4) {
        dts_store_8_halves((uint16_t *)out + at, normalized(s, acc));
    } else if (kind == F16) {
        const __m128i six = _mm_setr_epi8(0, 1, 2, 3, 4, 5, 8, 9, 10, 11, 12, 13, -1, -1, -1, -1);
        const __m128i v = _mm_shuffle_epi8(halves(s, acc), six);
        const int32_t last = _mm_extract_epi32(v, 2);
        _mm_storel_epi64((__m128i *)((uint16_t *)out + at), v);
        memcpy((uint16_t *)out + at + 4, &last, 4);
    } else if (oc == 4) {
        const __m128i w = words(acc);
        _mm_storel_epi64((__m128i *)((uint8_t *)out + at), _mm_packus_epi16(w, w));
    } else {
        const __m128i six = _mm_setr_epi8(0, 2, 4, 8, 10, 12, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1);
        const __m128i v = _mm_shuffle_epi8(words(acc), six);
        const int32_t first = _mm_cvtsi128_si32(v);
        const uint16_t last = (uint16_t)_mm_extract_epi16(v, 2);
        memcpy((uint8_t *)out + at, &first, 4);
        memcpy((uint8_t *)out + at + 4, &last, 2);
    }
}

TARGET DTS_INLINE __m256i load_twice(const int16_t *low, const int16_t *high) {
    return _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)low)),
                                   _mm_loadu_si128((const __m128i *)high), 1);
}

/* The sums of two outputs, whose taps begin at a and b. */
TARGET DTS_INLINE __m256i sums_of_two(const int16_t *a, const int16_t *b, const int32_t *lanes, int c, int taps) {
    const __m256i pairs = _mm256_broadcastsi128_si256(
        c == 3 ? _mm_setr_epi8(0, 1, 6, 7, 2, 3, 8, 9, 4, 5, 10, 11, -1, -1, -1, -1)
               : _mm_setr_epi8(0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15));
    __m256i acc = _mm256_setzero_si256();
    for (int k = 0; k < taps; k += 2, a += 2 * c, b += 2 * c, lanes += 16)
        acc = _mm256_add_epi32(acc, _mm256_madd_epi16(_mm256_shuffle_epi8(load_twice(a, b), pairs),
                                                      _mm256_loadu_si256((const __m256i *)lanes)));
    return acc;
}

typedef struct quad {
    __m256i ab, cd;
} quad;

TARGET DTS_INLINE quad sums(const int16_t *in, const dts_filter *f, size_t i, int c, int taps) {
    const int32_t *start = f->start + i, *lanes = f->lanes + 2 * i * (size_t)taps;
    return (quad){sums_of_two(in + c * (ptrdiff_t)start[0], in + c * (ptrdiff_t)start[1], lanes, c, taps),
                  sums_of_two(in + c * (ptrdiff_t)start[2], in + c * (ptrdiff_t)start[3], lanes + 8, c, taps)};
}

TARGET DTS_INLINE quad reversed(quad q) {
    return (quad){_mm256_permute2x128_si256(q.cd, q.cd, 1), _mm256_permute2x128_si256(q.ab, q.ab, 1)};
}

TARGET DTS_INLINE void store_quad(void *out, size_t at, quad q, const scaling *s, int oc, int kind) {
    store_two(out, at, q.ab, s, oc, kind);
    store_two(out, at + 2, q.cd, s, oc, kind);
}

typedef __m256i eight;

/* Grey: eight taps of two outputs, whose taps begin at a and b. `keep` clears weights that are not theirs. */
TARGET DTS_INLINE __m256i eight_taps(const int16_t *a, const int16_t *b, const int16_t *wa, const int16_t *wb,
                                              __m256i keep) {
    return _mm256_madd_epi16(load_twice(a, b), _mm256_and_si256(load_twice(wa, wb), keep));
}

/* The sums of eight outputs of any number of taps, j and j + 4 together. */
TARGET DTS_INLINE eight sums_of_many(const int16_t *in, const int32_t *start, const int16_t *weight, ptrdiff_t taps) {
    static const int16_t ones[16] = {-1, -1, -1, -1, -1, -1, -1, -1};
    const __m256i keep = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(ones + (8 - taps % 8) % 8)));
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

/* Four pixels of each of four outputs, those from start[0] and start[4] on. */
TARGET DTS_INLINE __m256i four_times_four(const int16_t *in, const int32_t *start) {
    __m128i pair[2];
    for (int j = 0; j < 2; ++j)
        pair[j] = _mm_unpacklo_epi64(_mm_loadl_epi64((const __m128i *)(in + start[4 * j])),
                                     _mm_loadl_epi64((const __m128i *)(in + start[4 * j + 1])));
    return _mm256_set_m128i(pair[1], pair[0]);
}

/* Weights of those outputs; two taps are followed by two zeros. */
TARGET DTS_INLINE __m256i weights_of_four(const int16_t *weight, int taps) {
    const int16_t *low = weight, *high = weight + 4 * taps;
    if (taps == 4) return load_twice(low, high);
    return _mm256_cvtepu32_epi64(_mm_unpacklo_epi64(_mm_loadl_epi64((const __m128i *)low),
                                                    _mm_loadl_epi64((const __m128i *)high)));
}

TARGET DTS_INLINE eight sums_grey(const int16_t *in, const int32_t *start, const int16_t *weight, int taps, int many) {
    if (many) return sums_of_many(in, start, weight, taps);
    return _mm256_hadd_epi32(
        _mm256_madd_epi16(four_times_four(in, start), weights_of_four(weight, taps)),
        _mm256_madd_epi16(four_times_four(in, start + 2), weights_of_four(weight + 2 * taps, taps)));
}

/* Four grey pixels, each followed by three zeros. */
TARGET DTS_INLINE void store_four_padded(float *out, __m128 v) {
    const __m256i wide = _mm256_cvtepu32_epi64(_mm_castps_si128(v)), zero = _mm256_setzero_si256();
    const __m256i even = _mm256_unpacklo_epi64(wide, zero), odd = _mm256_unpackhi_epi64(wide, zero);
    _mm256_storeu_si256((__m256i *)out, _mm256_permute2x128_si256(even, odd, 0x20));
    _mm256_storeu_si256((__m256i *)(out + 8), _mm256_permute2x128_si256(even, odd, 0x31));
}

/* Eight grey pixels to output pixels at .. at + 7. */
TARGET DTS_INLINE void store_grey(void *out, size_t at, eight acc, const scaling *s, int oc, int kind) {
    at *= (size_t)oc;
    if (kind == F32 && oc == 1) {
        _mm256_storeu_ps((float *)out + at, normalized(s, acc));
    } else if (kind == F32) {
        const __m256 v = normalized(s, acc);
        store_four_padded((float *)out + at, _mm256_castps256_ps128(v));
        store_four_padded((float *)out + at + 16, _mm256_extractf128_ps(v, 1));
    } else if (kind == F16 && oc == 1) {
        dts_store_8_halves((uint16_t *)out + at, normalized(s, acc));
    } else if (kind == F16) {
        const __m128i v = halves(s, acc);
        uint16_t *to = (uint16_t *)out + at;
        _mm256_storeu_si256((__m256i *)to, _mm256_cvtepu16_epi64(v));
        _mm256_storeu_si256((__m256i *)(to + 16), _mm256_cvtepu16_epi64(_mm_unpackhi_epi64(v, v)));
    } else if (oc == 1) {
        const __m128i w = words(acc);
        _mm_storel_epi64((__m128i *)((uint8_t *)out + at), _mm_packus_epi16(w, w));
    } else {
        _mm256_storeu_si256((__m256i *)((uint8_t *)out + at), _mm256_cvtepu16_epi32(words(acc)));
    }
}

TARGET DTS_INLINE eight reversed_grey(eight q) {
    return _mm256_permutevar8x32_epi32(q, _mm256_setr_epi32(7, 6, 5, 4, 3, 2, 1, 0));
}

#include "resize_template.h"

#endif
