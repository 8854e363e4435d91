/* What the NEON files share. */
#ifndef DTS_NEON_H
#define DTS_NEON_H

#include <arm_neon.h>

/* Round to nearest even, as FPCR is set up; denormal halves are kept. */
DTS_INLINE uint16x8_t dts_halves(float32x4_t low, float32x4_t high) {
    return vreinterpretq_u16_f16(vcvt_high_f16_f32(vcvt_f16_f32(low), high));
}

#endif
