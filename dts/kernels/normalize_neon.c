/* Normalisation and copy, NEON (AArch64). The loops are in the templates; a vector here is two registers. */
#include "isa.h"

#ifdef DTS_NEON

#include "neon.h"

#define ISA(name) name##_neon
#define TARGET
#define NARROWER(name) name##_scalar
#define LANES 8

typedef float32x4x2_t vec;
typedef uint8x16x2_t picks;

/* An index past the table makes 0. */
TARGET DTS_INLINE picks load_picks(const uint8_t pick[8]) {
    const uint16x8_t wide = vmovl_u8(vld1_u8(pick));
    const uint32x4_t past = vdupq_n_u32(0xFFFFFF00u);
    const uint32x4_t low = vmovl_u16(vget_low_u16(wide)), high = vmovl_u16(vget_high_u16(wide));
    return (picks){{vreinterpretq_u8_u32(vorrq_u32(low, past)), vreinterpretq_u8_u32(vorrq_u32(high, past))}};
}

TARGET DTS_INLINE vec spread(const float from[4], const int32_t lanes[8]) {
    float v[8];
    for (int j = 0; j < 8; ++j) v[j] = from[lanes[j]];
    return (vec){{vld1q_f32(v), vld1q_f32(v + 4)}};
}

TARGET DTS_INLINE vec pick_floats(const uint8_t *in, picks pick) {
    const uint8x16_t v = vld1q_u8(in);
    return (vec){{vcvtq_f32_u32(vreinterpretq_u32_u8(vqtbl1q_u8(v, pick.val[0]))),
                  vcvtq_f32_u32(vreinterpretq_u32_u8(vqtbl1q_u8(v, pick.val[1])))}};
}

TARGET DTS_INLINE vec mul_sub(vec v, vec scale, vec bias) {
    return (vec){{vsubq_f32(vmulq_f32(v.val[0], scale.val[0]), bias.val[0]),
                  vsubq_f32(vmulq_f32(v.val[1], scale.val[1]), bias.val[1])}};
}

TARGET DTS_INLINE void store_f32(float *out, vec v) {
    vst1q_f32(out, v.val[0]);
    vst1q_f32(out + 4, v.val[1]);
}

TARGET DTS_INLINE void store_f16(uint16_t *out, vec v) { vst1q_u16(out, dts_halves(v.val[0], v.val[1])); }

#include "normalize_template.h"

typedef uint8x16_t bytes;

TARGET DTS_INLINE bytes load_bytes(const uint8_t *in) { return vld1q_u8(in); }

TARGET DTS_INLINE bytes shuffle_bytes(bytes v, bytes pick) { return vqtbl1q_u8(v, pick); }

TARGET DTS_INLINE void store_bytes(uint8_t *out, bytes v) { vst1q_u8(out, v); }

TARGET DTS_INLINE void store_15_bytes(uint8_t *out, bytes v) {
    vst1_u8(out, vget_low_u8(v));
    vst1_u8(out + 7, vget_low_u8(vextq_u8(v, v, 7)));
}

#include "copy_template.h"

#endif
