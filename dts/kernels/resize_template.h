/* Both passes of a resize, the loops of every instruction set. A file that includes this has defined:
 *   ISA(name), TARGET, NARROWER(k)   as for normalize_template.h
 *   STRIP         bytes of a row that the vertical pass takes at once
 *   strip         those, any weights
 *   strip_split   those by bytes, see split.h; where SPLIT is defined
 *   scaling       type: scale and bias of four channels, set by scaling_of
 *   quad          type: sums of four neighbouring outputs of four channels each
 *   TAKES(f, c)   whether quads serve this filter and number of channels, 3 or 4
 *   sums          a quad: outputs i to i + 3; for three channels the fourth is 0
 *   reversed      the four outputs in reverse order
 *   store_quad    as what F32, F16 and U8 name, with oc channels
 * and where GREY is defined, for eight outputs of one channel: eight, sums_grey, reversed_grey, store_grey. */
#include <string.h>

/* Strips of a row; a last part strip is done from n - STRIP on, over what is there already, with the same values. */
TARGET DTS_INLINE void strips(int16_t *out, const uint8_t *const *rows, const int16_t *weight, int taps, size_t n) {
    for (size_t i = 0; i + STRIP <= n; i += STRIP) strip(out, rows, weight, taps, i);
    if (n % STRIP) strip(out, rows, weight, taps, n - STRIP);
}

#ifdef SPLIT
TARGET DTS_INLINE void strips_split(int16_t *out, const uint8_t *const *rows, const dts_split *s, int taps, size_t n) {
    for (size_t i = 0; i + STRIP <= n; i += STRIP) strip_split(out, rows, s, taps, i);
    if (n % STRIP) strip_split(out, rows, s, taps, n - STRIP);
}
#endif

TARGET void ISA(dts_resize_v)(int16_t *out, const uint8_t *const *rows, const int16_t *weight, int taps, size_t n) {
    if (n < STRIP) {
        NARROWER(dts_resize_v)(out, rows, weight, taps, n);
        return;
    }
#ifdef SPLIT
    dts_split split;
    if (dts_split_weights(&split, weight, taps)) {
        if (taps == 2)
            strips_split(out, rows, &split, 2, n);
        else if (taps == 4)
            strips_split(out, rows, &split, 4, n);
        else
            strips_split(out, rows, &split, taps, n);
        return;
    }
#endif
    strips(out, rows, weight, taps, n);
}

/* Four outputs a step. in: from position 0 on. c, oc, kind and, for 2 and 4, taps are constants here. */
TARGET DTS_INLINE void row(void *out, const int16_t *in, const dts_filter *f, int c, int oc, const dts_norm *norm,
                           int flip, int kind, int taps) {
    const size_t n = (size_t)f->out, rest = n % 4, size = (size_t)oc * (kind == F32 ? 4 : kind == F16 ? 2 : 1);
    const scaling s = scaling_of(kind == U8 ? NULL : norm);
    const dts_filter own = *f; /* which no store can change */
    size_t i = 0;
    for (; i + 4 <= n; i += 4) {
        const quad q = sums(in, &own, i, c, taps);
        if (flip)
            store_quad(out, n - 4 - i, reversed(q), &s, oc, kind);
        else
            store_quad(out, i, q, &s, oc, kind);
    }
    if (rest) {
        const quad q = sums(in, &own, i, c, taps);
        _Alignas(16) char last[4 * 16];
        store_quad(last, 0, flip ? reversed(q) : q, &s, oc, kind);
        memcpy(flip ? (char *)out : (char *)out + i * size, flip ? last + (4 - rest) * size : last, rest * size);
    }
}

TARGET DTS_INLINE void row_taps(void *out, const int16_t *in, const dts_filter *f, int c, int oc, const dts_norm *norm,
                                int flip, int kind) {
    if (f->taps == 2)
        row(out, in, f, c, oc, norm, flip, kind, 2);
    else if (f->taps == 4)
        row(out, in, f, c, oc, norm, flip, kind, 4);
    else
        row(out, in, f, c, oc, norm, flip, kind, f->taps);
}

#ifdef GREY
/* Eight outputs a step. Returns how many are done: all but the last up to seven. oc, kind, many and, for 2 and 4, taps
 * are constants here; many: more taps than 4. */
TARGET DTS_INLINE int row_grey(void *out, const int16_t *in, const dts_filter *f, int oc, const dts_norm *norm,
                               int flip, int kind, int taps, int many) {
    const scaling s = scaling_of_grey(kind == U8 ? NULL : norm);
    const int32_t *start = f->start;
    const int16_t *weight = f->weight;
    const int n = f->out;
    int i = 0;
    for (; i + 8 <= n; i += 8, start += 8, weight += 8 * (ptrdiff_t)taps) {
        const eight q = sums_grey(in, start, weight, taps, many);
        if (flip)
            store_grey(out, (size_t)(n - i - 8), reversed_grey(q), &s, oc, kind);
        else
            store_grey(out, (size_t)i, q, &s, oc, kind);
    }
    return i;
}

TARGET DTS_INLINE int row_grey_taps(void *out, const int16_t *in, const dts_filter *f, int oc, const dts_norm *norm,
                                    int flip, int kind) {
    if (f->taps == 2) return row_grey(out, in, f, oc, norm, flip, kind, 2, 0);
    if (f->taps == 4) return row_grey(out, in, f, oc, norm, flip, kind, 4, 0);
    return row_grey(out, in, f, oc, norm, flip, kind, f->taps, 1);
}
#endif

/* Returns how many outputs are done. */
TARGET DTS_INLINE int row_any(void *out, const int16_t *in, int origin, const dts_filter *f, int c, int oc,
                              const dts_norm *norm, int flip, int kind) {
    in -= (ptrdiff_t)origin * c;
    if (TAKES(f, c) && c == 3 && oc == 4)
        row_taps(out, in, f, 3, 4, norm, flip, kind);
    else if (TAKES(f, c) && c == 3)
        row_taps(out, in, f, 3, 3, norm, flip, kind);
    else if (TAKES(f, c) && c == 4)
        row_taps(out, in, f, 4, 4, norm, flip, kind);
#ifdef GREY
    else if (c == 1 && oc == 1)
        return row_grey_taps(out, in, f, 1, norm, flip, kind);
    else if (c == 1)
        return row_grey_taps(out, in, f, 4, norm, flip, kind);
#endif
    else
        return 0;
    return f->out;
}

/* The filter without its first i outputs. */
DTS_INLINE dts_filter rest_of(const dts_filter *f, int i) {
    dts_filter rest = *f;
    rest.out -= i;
    rest.start += i;
    rest.count += i;
    rest.weight += (size_t)i * (size_t)f->taps;
    return rest;
}

TARGET void ISA(dts_resize_h_f32)(float *out, const int16_t *in, int origin, const dts_filter *f, int c, int oc,
                                  const dts_norm *norm, int flip) {
    const int done = row_any(out, in, origin, f, c, oc, norm, flip, F32);
    if (done < f->out) {
        const dts_filter rest = rest_of(f, done);
        NARROWER(dts_resize_h_f32)(flip ? out : out + (size_t)done * (size_t)oc, in, origin, &rest, c, oc, norm, flip);
    }
}

TARGET void ISA(dts_resize_h_f16)(uint16_t *out, const int16_t *in, int origin, const dts_filter *f, int c, int oc,
                                  const dts_norm *norm, int flip) {
    const int done = row_any(out, in, origin, f, c, oc, norm, flip, F16);
    if (done < f->out) {
        const dts_filter rest = rest_of(f, done);
        NARROWER(dts_resize_h_f16)(flip ? out : out + (size_t)done * (size_t)oc, in, origin, &rest, c, oc, norm, flip);
    }
}

TARGET void ISA(dts_resize_h_u8)(uint8_t *out, const int16_t *in, int origin, const dts_filter *f, int c, int oc,
                                 int flip) {
    const int done = row_any(out, in, origin, f, c, oc, NULL, flip, U8);
    if (done < f->out) {
        const dts_filter rest = rest_of(f, done);
        NARROWER(dts_resize_h_u8)(flip ? out : out + (size_t)done * (size_t)oc, in, origin, &rest, c, oc, flip);
    }
}
