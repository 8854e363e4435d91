/* float32 to float16, round to nearest even, and back, the same bits as VCVTPS2PH and VCVTPH2PS. */
#ifndef DTS_HALF_H
#define DTS_HALF_H

#include <stdint.h>
#include <string.h>

static inline uint16_t dts_half(float v) {
    uint32_t bits, sign, magnitude, half;
    memcpy(&bits, &v, 4);
    sign = (bits >> 16) & 0x8000u;
    magnitude = bits & 0x7FFFFFFFu;
    if (magnitude > 0x7F800000u) return (uint16_t)(sign | 0x7E00u | ((magnitude >> 13) & 0x1FFu)); /* NaN, made quiet */
    if (magnitude >= 0x477FF000u) return (uint16_t)(sign | 0x7C00u); /* 65520 and up round to infinity */
    if (magnitude >= 0x38800000u) { /* 2^-14 and up: normal; a carry runs into the exponent, rightly */
        half = (magnitude - 0x38000000u + 0xFFFu + ((magnitude >> 13) & 1u)) >> 13;
    } else { /* beside 0.5 the unit of a float32 is 2^-24, that of subnormal float16 */
        float tiny;
        memcpy(&tiny, &magnitude, 4);
        tiny += 0.5f;
        memcpy(&half, &tiny, 4);
        half -= 0x3F000000u;
    }
    return (uint16_t)(sign | half);
}

static inline float dts_from_half(uint16_t h) {
    const uint32_t sign = (uint32_t)(h & 0x8000u) << 16, magnitude = h & 0x7FFFu;
    uint32_t bits;
    float v;
    if (magnitude >= 0x7C00u) { /* infinity; NaN, made quiet */
        bits = (magnitude << 13) + 0x70000000u;
        if (magnitude > 0x7C00u) bits |= 0x00400000u;
    } else if (magnitude >= 0x0400u) {
        bits = (magnitude << 13) + 0x38000000u;
    } else { /* a multiple of 2^-24 */
        v = (float)magnitude * (1.0f / 16777216.0f);
        memcpy(&bits, &v, 4);
    }
    bits |= sign;
    memcpy(&v, &bits, 4);
    return v;
}

#endif
