/* The definition of the two passes of a resize. Every other instruction set gives these bits. */
#include "isa.h"

#include "half.h"

void dts_resize_v_scalar(int16_t *out, const uint8_t *const *rows, const int16_t *weight, int taps, size_t n) {
    for (size_t i = 0; i < n; ++i) {
        int32_t acc = 64;
        for (int k = 0; k < taps; ++k) acc += rows[k][i] * weight[k];
        out[i] = (int16_t)(acc >> 7);
    }
}

static int32_t sum(const int16_t *in, int origin, const dts_filter *f, int i, int c, int channel) {
    const int16_t *px = in + (ptrdiff_t)(f->start[i] - origin) * c + channel;
    const int16_t *w = f->weight + (size_t)i * (size_t)f->taps;
    int32_t acc = 0;
    for (int k = 0; k < f->count[i]; ++k) acc += px[(ptrdiff_t)k * c] * w[k];
    return acc;
}

void dts_resize_h_f32_scalar(float *out, const int16_t *in, int origin, const dts_filter *f, int c, int oc,
                             const dts_norm *norm, int flip) {
    for (int i = 0; i < f->out; ++i) {
        float *to = out + (size_t)(flip ? f->out - 1 - i : i) * (size_t)oc;
        for (int k = 0; k < c; ++k) to[k] = (float)sum(in, origin, f, i, c, k) * (norm->scale[k] * DTS_Q21) - norm->bias[k];
        for (int k = c; k < oc; ++k) to[k] = 0.0f;
    }
}

void dts_resize_h_f16_scalar(uint16_t *out, const int16_t *in, int origin, const dts_filter *f, int c, int oc,
                             const dts_norm *norm, int flip) {
    for (int i = 0; i < f->out; ++i) {
        uint16_t *to = out + (size_t)(flip ? f->out - 1 - i : i) * (size_t)oc;
        for (int k = 0; k < c; ++k)
            to[k] = dts_half((float)sum(in, origin, f, i, c, k) * (norm->scale[k] * DTS_Q21) - norm->bias[k]);
        for (int k = c; k < oc; ++k) to[k] = 0;
    }
}

void dts_resize_h_u8_scalar(uint8_t *out, const int16_t *in, int origin, const dts_filter *f, int c, int oc, int flip) {
    for (int i = 0; i < f->out; ++i) {
        uint8_t *to = out + (size_t)(flip ? f->out - 1 - i : i) * (size_t)oc;
        for (int k = 0; k < c; ++k) to[k] = (uint8_t)((sum(in, origin, f, i, c, k) + (1 << 20)) >> 21);
        for (int k = c; k < oc; ++k) to[k] = 0;
    }
}
