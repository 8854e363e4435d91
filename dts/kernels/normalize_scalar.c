/* The definition of normalisation, and of the plain copy. Every other instruction set gives these bits. */
#include "isa.h"

#include "half.h"

#include <string.h>

void dts_normalize_f32_scalar(float *out, const uint8_t *in, size_t n, int c, int oc, const dts_norm *norm, int flip) {
    for (size_t i = 0; i < n; ++i, in += c) {
        float *to = out + (flip ? n - 1 - i : i) * (size_t)oc;
        for (int k = 0; k < c; ++k) to[k] = (float)in[k] * norm->scale[k] - norm->bias[k];
        for (int k = c; k < oc; ++k) to[k] = 0.0f;
    }
}

void dts_normalize_f16_scalar(uint16_t *out, const uint8_t *in, size_t n, int c, int oc, const dts_norm *norm,
                              int flip) {
    for (size_t i = 0; i < n; ++i, in += c) {
        uint16_t *to = out + (flip ? n - 1 - i : i) * (size_t)oc;
        for (int k = 0; k < c; ++k) to[k] = dts_half((float)in[k] * norm->scale[k] - norm->bias[k]);
        for (int k = c; k < oc; ++k) to[k] = 0;
    }
}

void dts_copy_u8_scalar(uint8_t *out, const uint8_t *in, size_t n, int c, int oc, int flip) {
    if (c == oc && !flip) {
        if (n) memcpy(out, in, n * (size_t)c);
        return;
    }
    for (size_t i = 0; i < n; ++i, in += c) {
        uint8_t *to = out + (flip ? n - 1 - i : i) * (size_t)oc;
        for (int k = 0; k < c; ++k) to[k] = in[k];
        for (int k = c; k < oc; ++k) to[k] = 0;
    }
}
