/* Both passes of a resize, NEON (AArch64). The loops are in the template.
 * Vertical: 16 bytes of a row are widened and multiplied by its weight.
 * Horizontal, RGB: four lanes hold a pixel, which its weight multiplies; one of the lanes is the next pixel's.
 * Horizontal, grey: four neighbouring pixels are multiplied at once; pairwise sums gather the outputs. */
#include "isa.h"

#ifdef DTS_NEON

#include "neon.h"

#include <string.h>

#define ISA(name) name##_neon
#define TARGET
#define NARROWER(name) name##_scalar
#define STRIP 16
#define GREY
#define TAKES(f, c) ((c) >= 3)

/* What the horizontal pass writes. */
enum { F32, F16, U8 };

/* 16 bytes of a row, any weights. */
TARGET DTS_INLINE void strip(int16_t *out, const uint8_t *const *rows, const int16_t *weight, int taps, size_t at) {
    int32x4_t acc[4];
    for (int j = 0; j < 4; ++j) acc[j] = vdupq_n_s32(64);
    for (int k = 0; k < taps; ++k) {
        const uint8x16_t v = vld1q_u8(rows[k] + at);
        const int16x8_t low = vreinterpretq_s16_u16(vmovl_u8(vget_low_u8(v)));
        const int16x8_t high = vreinterpretq_s16_u16(vmovl_high_u8(v));
        acc[0] = vmlal_n_s16(acc[0], vget_low_s16(low), weight[k]);
        acc[1] = vmlal_high_n_s16(acc[1], low, weight[k]);
        acc[2] = vmlal_n_s16(acc[2], vget_low_s16(high), weight[k]);
        acc[3] = vmlal_high_n_s16(acc[3], high, weight[k]);
    }
    vst1q_s16(out + at, vshrn_high_n_s32(vshrn_n_s32(acc[0], 7), acc[1], 7));
    vst1q_s16(out + at + 8, vshrn_high_n_s32(vshrn_n_s32(acc[2], 7), acc[3], 7));
}

typedef struct scaling {
    float32x4_t scale, bias; /* RGB: per channel and 0; grey: of the one channel */
} scaling;

/* NULL: not used. */
TARGET DTS_INLINE scaling scaling_of(const dts_norm *norm) {
    scaling s = {vdupq_n_f32(0.0f), vdupq_n_f32(0.0f)};
    if (norm) {
        s.scale = vmulq_f32(vld1q_f32(norm->scale), vdupq_n_f32(DTS_Q21));
        s.bias = vld1q_f32(norm->bias);
    }
    return s;
}

TARGET DTS_INLINE scaling scaling_of_grey(const dts_norm *norm) {
    scaling s = {vdupq_n_f32(0.0f), vdupq_n_f32(0.0f)};
    if (norm) {
        s.scale = vdupq_n_f32(norm->scale[0] * DTS_Q21);
        s.bias = vdupq_n_f32(norm->bias[0]);
    }
    return s;
}

TARGET DTS_INLINE float32x4_t normalized(const scaling *s, int32x4_t acc) {
    return vsubq_f32(vmulq_f32(vcvtq_f32_s32(acc), s->scale), s->bias);
}

/* Eight sums to eight 16-bit words with the value of a byte. */
TARGET DTS_INLINE int16x8_t words(int32x4_t low, int32x4_t high) {
    return vcombine_s16(vmovn_s32(vrshrq_n_s32(low, 21)), vmovn_s32(vrshrq_n_s32(high, 21)));
}

typedef int32x4x4_t quad;

/* Outputs past the last one repeat it. */
TARGET DTS_INLINE quad sums(const int16_t *in, const dts_filter *f, size_t i, int c, int taps) {
    quad q;
    for (int j = 0; j < 4; ++j) {
        const size_t one = i + (size_t)j < (size_t)f->out ? i + (size_t)j : (size_t)f->out - 1;
        const int16_t *px = in + c * (ptrdiff_t)f->start[one], *w = f->weight + one * (size_t)taps;
        int32x4_t acc = vdupq_n_s32(0);
        for (int k = 0; k < taps; ++k, px += c) acc = vmlal_n_s16(acc, vld1_s16(px), w[k]);
        q.val[j] = c == 3 ? vsetq_lane_s32(0, acc, 3) : acc;
    }
    return q;
}

TARGET DTS_INLINE quad reversed(quad q) { return (quad){{q.val[3], q.val[2], q.val[1], q.val[0]}}; }

/* Four pixels (r g b 0 each, or of four channels) to output pixels at .. at + 3. With three channels each store but
 * the last one reaches into the next pixel, which is stored after it. */
TARGET DTS_INLINE void store_quad(void *out, size_t at, quad q, const scaling *s, int oc, int kind) {
    at *= (size_t)oc;
    if (kind == F32) {
        float *to = (float *)out + at;
        for (int j = 0; j < 3; ++j) vst1q_f32(to + oc * j, normalized(s, q.val[j]));
        if (oc == 4) {
            vst1q_f32(to + 12, normalized(s, q.val[3]));
        } else {
            const float32x4_t v = normalized(s, q.val[3]);
            vst1_f32(to + 9, vget_low_f32(v));
            vst1q_lane_f32(to + 11, v, 2);
        }
    } else if (kind == F16) {
        const uint16x8_t low = dts_halves(normalized(s, q.val[0]), normalized(s, q.val[1]));
        const uint16x8_t high = dts_halves(normalized(s, q.val[2]), normalized(s, q.val[3]));
        uint16_t *to = (uint16_t *)out + at;
        if (oc == 4) {
            vst1q_u16(to, low);
            vst1q_u16(to + 8, high);
        } else {
            vst1_u16(to, vget_low_u16(low));
            vst1_u16(to + 3, vget_high_u16(low));
            vst1_u16(to + 6, vget_low_u16(high));
            vst1q_lane_u16(to + 9, high, 4);
            vst1q_lane_u16(to + 10, high, 5);
            vst1q_lane_u16(to + 11, high, 6);
        }
    } else {
        static const uint8_t rgb[16] = {0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, 255, 255, 255, 255};
        const int16x8_t low = words(q.val[0], q.val[1]), high = words(q.val[2], q.val[3]);
        const uint8x16_t v = vcombine_u8(vmovn_u16(vreinterpretq_u16_s16(low)), vmovn_u16(vreinterpretq_u16_s16(high)));
        uint8_t *to = (uint8_t *)out + at;
        if (oc == 4) {
            vst1q_u8(to, v);
        } else {
            const uint8x16_t packed = vqtbl1q_u8(v, vld1q_u8(rgb));
            const uint32_t last = vgetq_lane_u32(vreinterpretq_u32_u8(packed), 2);
            vst1_u8(to, vget_low_u8(packed));
            memcpy(to + 8, &last, sizeof last);
        }
    }
}

typedef int32x4x2_t eight;

/* The sums of four outputs. `keep` clears weights that are not theirs. */
TARGET DTS_INLINE int32x4_t sums_of_four(const int16_t *in, const int32_t *start, const int16_t *weight, ptrdiff_t taps,
                                         int16x4_t keep) {
    int32x4_t acc[4];
    for (int j = 0; j < 4; ++j) {
        const int16_t *px = in + start[j], *w = weight + j * taps;
        ptrdiff_t k = (taps - 1) & ~(ptrdiff_t)3;
        acc[j] = vmull_s16(vld1_s16(px + k), vand_s16(vld1_s16(w + k), keep));
        for (k -= 4; k >= 0; k -= 4) acc[j] = vmlal_s16(acc[j], vld1_s16(px + k), vld1_s16(w + k));
    }
    return vpaddq_s32(vpaddq_s32(acc[0], acc[1]), vpaddq_s32(acc[2], acc[3]));
}

TARGET DTS_INLINE eight sums_grey(const int16_t *in, const int32_t *start, const int16_t *weight, int taps, int many) {
    static const int16_t ones[8] = {-1, -1, -1, -1};
    const int16x4_t keep = vld1_s16(ones + (4 - taps % 4) % 4);
    return (eight){{sums_of_four(in, start, weight, taps, keep),
                    sums_of_four(in, start + 4, weight + 4 * taps, taps, keep)}};
}

TARGET DTS_INLINE eight reversed_grey(eight q) {
    const int32x4_t a = vrev64q_s32(q.val[1]), b = vrev64q_s32(q.val[0]);
    return (eight){{vextq_s32(a, a, 2), vextq_s32(b, b, 2)}};
}

/* Eight grey pixels to output pixels at .. at + 7. */
TARGET DTS_INLINE void store_grey(void *out, size_t at, eight q, const scaling *s, int oc, int kind) {
    at *= (size_t)oc;
    if (kind == F32) {
        float *to = (float *)out + at;
        const float32x4_t low = normalized(s, q.val[0]), high = normalized(s, q.val[1]), zero = vdupq_n_f32(0.0f);
        if (oc == 1) {
            vst1q_f32(to, low);
            vst1q_f32(to + 4, high);
        } else {
            vst4q_f32(to, (float32x4x4_t){{low, zero, zero, zero}});
            vst4q_f32(to + 16, (float32x4x4_t){{high, zero, zero, zero}});
        }
    } else if (kind == F16) {
        const uint16x8_t v = dts_halves(normalized(s, q.val[0]), normalized(s, q.val[1])), zero = vdupq_n_u16(0);
        if (oc == 1)
            vst1q_u16((uint16_t *)out + at, v);
        else
            vst4q_u16((uint16_t *)out + at, (uint16x8x4_t){{v, zero, zero, zero}});
    } else {
        const uint8x8_t v = vmovn_u16(vreinterpretq_u16_s16(words(q.val[0], q.val[1]))), zero = vdup_n_u8(0);
        if (oc == 1)
            vst1_u8((uint8_t *)out + at, v);
        else
            vst4_u8((uint8_t *)out + at, (uint8x8x4_t){{v, zero, zero, zero}});
    }
}

#include "resize_template.h"

#endif
