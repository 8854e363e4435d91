/* The kernels, one table for each instruction set, chosen once at import (dispatch.c). Knows nothing of .dts or Python.
 *
 * Every table gives the same bits. The scalar file is the definition:
 *   normalise   out = v * scale - bias, two float32 roundings, never fused; float16 by round to nearest even
 *   resize_v    acc = sum(px * w), w in Q14;  out int16 = (acc + 64) >> 7, that is Q7 (0..32640)
 *   resize_h    acc = sum(q7 * w), w in Q14;  Q21 in int32; then
 *               uint8: (acc + (1 << 20)) >> 21;  float: fl(fl((float)acc * (scale * 2^-21)) - bias)
 * Rows handed in are readable 64 bytes past their end, rows handed out may not be written past theirs. */
#ifndef DTS_KERNELS_H
#define DTS_KERNELS_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__) || defined(__clang__)
#define DTS_TARGET(isa) __attribute__((target(isa)))
#else
#define DTS_TARGET(isa) /* MSVC: intrinsics need no flag */
#endif

/* Per channel; entries past the channel count are 0, so that a padding channel comes out as +0. */
typedef struct dts_norm {
    float scale[4]; /* 1 / (255 std) */
    float bias[4];  /* mean / std */
} dts_norm;

/* One axis of an antialiased bilinear resize: triangle filter of support max(1, source / target), as Pillow's.
 * `taps` positions from start[i] on lie inside [first, last), but for one more where that range is odd and as short:
 * outputs at the far edge, which see less, have leading zeros instead. */
typedef struct dts_filter {
    int out;         /* outputs */
    int taps;        /* weights stored for each output, even, zero padded */
    int first, last; /* half-open range of source positions that any output needs */
    int32_t *start;  /* [out, and to a multiple of 4 the last again] first source position of each output, absolute */
    int32_t *count;  /* [out] taps of each output up to its last real one, 1..taps */
    int16_t *weight; /* [out * taps] Q14; each output's weights sum to 16384 */
    /* The same for kernels that take outputs of 3 or 4 channels by fours; those past the last have weight 0. */
    int32_t *lanes;  /* [fours * taps / 2 * 16] for each pair of taps, for each output: its two weights, four times */
    uint8_t *pick;   /* [fours * 64] of RGB: bytes, from the first output's start on, of what `lanes` multiplies */
    int narrow;      /* 1: all of `pick` is below 64 */
    void *memory;    /* one block that the arrays lie in; owned by the filter */
    size_t capacity; /* its size in bytes */
    double key[7];   /* what the arrays were made for: made again only when it changes */
} dts_filter;

/* Fill the filter for outputs out0 .. out0+out-1 of the `virtual_out` outputs that the box [box0, box0 + box) of a
 * source axis is resized to. The filter sees nothing outside [clip0, clip1) (the box itself for a crop that is cut out
 * first, the whole axis otherwise). antialias 0: two taps at most. Only + - * / in double: same on every CPU.
 * Returns 0, or -1 when memory ran out or the numbers describe no filter (empty box, clip or outputs).
 * A filter is all zeros before its first use. Does nothing when called again with the same numbers. */
int dts_filter_make(dts_filter *f, double box0, double box, int clip0, int clip1, int virtual_out, int out0, int out,
                    int antialias);
void dts_filter_free(dts_filter *f);

/* Rows of pixels to be normalised or copied. */
typedef struct dts_shape {
    size_t width, height;            /* at least 1 */
    ptrdiff_t in_stride, out_stride; /* bytes from one row to the next */
    int c, oc;                       /* channels of the input, 1 to 4, and of the output, c or 4 */
    int flip;                        /* 1: each row is written in reverse pixel order */
} dts_shape;

typedef struct dts_kernels {
    const char *isa; /* "scalar", "avx2", "avx512", "neon" */
    void (*normalize_f32)(float *out, const uint8_t *in, const dts_shape *shape, const dts_norm *norm);
    void (*normalize_f16)(uint16_t *out, const uint8_t *in, const dts_shape *shape, const dts_norm *norm);
    void (*copy_u8)(uint8_t *out, const uint8_t *in, const dts_shape *shape);
    /* One row: rows[k] is source row k of `taps`, n bytes each. */
    void (*resize_v)(int16_t *out, const uint8_t *const *rows, const int16_t *weight, int taps, size_t n);
    /* One row: in holds source positions from `origin` on, c channels, Q7; out has f->out pixels. */
    void (*resize_h_f32)(float *out, const int16_t *in, int origin, const dts_filter *f, int c, int oc,
                         const dts_norm *norm, int flip);
    void (*resize_h_f16)(uint16_t *out, const int16_t *in, int origin, const dts_filter *f, int c, int oc,
                         const dts_norm *norm, int flip);
    void (*resize_h_u8)(uint8_t *out, const int16_t *in, int origin, const dts_filter *f, int c, int oc, int flip);
} dts_kernels;

/* The table in use. DTS_ISA in the environment forces one; dts_kernels_select(name) does so for tests, NULL takes the
 * best. -1: unknown name, or an instruction set that this CPU or OS does not have.
 * dts_kernels_available(i): names of those it has, best first, NULL past the last. */
const dts_kernels *dts_kernels_get(void);
int dts_kernels_select(const char *isa);
const char *dts_kernels_available(int i);

uint16_t dts_half_from_float(float v);

#endif
