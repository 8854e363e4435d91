/* The definition of normalisation, and of the plain copy. Every other instruction set gives these bits. */
#include "isa.h"

#include "half.h"

#include <string.h>

void dts_normalize_f32_scalar(float *out, const uint8_t *in, const dts_shape *s, const dts_norm *norm) {
    for (size_t y = 0; y < s->height; ++y, in += s->in_stride, out += s->out_stride / (ptrdiff_t)sizeof *out)
        for (size_t i = 0; i < s->width; ++i) {
            float *to = out + (s->flip ? s->width - 1 - i : i) * (size_t)s->oc;
            const uint8_t *px = in + i * (size_t)s->c;
            for (int k = 0; k < s->c; ++k) to[k] = (float)px[k] * norm->scale[k] - norm->bias[k];
            for (int k = s->c; k < s->oc; ++k) to[k] = 0.0f;
        }
}

void dts_normalize_f16_scalar(uint16_t *out, const uint8_t *in, const dts_shape *s, const dts_norm *norm) {
    for (size_t y = 0; y < s->height; ++y, in += s->in_stride, out += s->out_stride / (ptrdiff_t)sizeof *out)
        for (size_t i = 0; i < s->width; ++i) {
            uint16_t *to = out + (s->flip ? s->width - 1 - i : i) * (size_t)s->oc;
            const uint8_t *px = in + i * (size_t)s->c;
            for (int k = 0; k < s->c; ++k) to[k] = dts_half((float)px[k] * norm->scale[k] - norm->bias[k]);
            for (int k = s->c; k < s->oc; ++k) to[k] = 0;
        }
}

void dts_copy_u8_scalar(uint8_t *out, const uint8_t *in, const dts_shape *s) {
    const int plain = s->c == s->oc && !s->flip;
    const size_t row = s->width * (size_t)s->c;
    if (plain && (size_t)s->in_stride == row && s->out_stride == s->in_stride) {
        memcpy(out, in, row * s->height);
        return;
    }
    for (size_t y = 0; y < s->height; ++y, in += s->in_stride, out += s->out_stride) {
        if (plain) {
            memcpy(out, in, row);
            continue;
        }
        for (size_t i = 0; i < s->width; ++i) {
            uint8_t *to = out + (s->flip ? s->width - 1 - i : i) * (size_t)s->oc;
            const uint8_t *px = in + i * (size_t)s->c;
            for (int k = 0; k < s->c; ++k) to[k] = px[k];
            for (int k = s->c; k < s->oc; ++k) to[k] = 0;
        }
    }
}
