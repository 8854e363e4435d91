/* The definition of the kernels on colours: plain C for every machine, and the two that are plain C everywhere. */
#define PX(name) dts_##name##_scalar
#define PX_TARGET
#define PX_SPLIT px_split_plain
#define PX_MERGE px_merge_plain
#define PX_WORDS px_words_plain
#include "pixels_body.h"

#include "pixels_isa.h"

void dts_lut_scalar(uint8_t *out, const uint8_t *in, size_t n, int c, const uint8_t *table) {
    if (c == 1) {
        for (size_t i = 0; i < n; ++i) out[i] = table[in[i]];
        return;
    }
    for (size_t i = 0; i < 3 * n; i += 3) {
        const uint8_t r = table[in[i]], g = table[256 + in[i + 1]], b = table[512 + in[i + 2]];
        out[i] = r;
        out[i + 1] = g;
        out[i + 2] = b;
    }
}

/* Two sets of counters by turns: an addition need not wait for the one before it. */
void dts_count_scalar(const uint8_t *in, size_t n, int c, uint32_t *histogram) {
    uint32_t other[3 * 256] = {0};
    const size_t pairs = n / 2, step = 2 * (size_t)c;
    for (size_t i = 0; i < pairs; ++i, in += step)
        for (int k = 0; k < c; ++k) {
            ++histogram[256 * k + in[k]];
            ++other[256 * k + in[c + k]];
        }
    if (n & 1)
        for (int k = 0; k < c; ++k) ++histogram[256 * k + in[k]];
    for (int i = 0; i < 256 * c; ++i) histogram[i] += other[i];
}

void dts_blur_h_scalar(uint8_t *out, const int16_t *in, const int16_t *weight, int taps, int step, size_t n) {
    for (size_t i = 0; i < n; ++i) {
        int32_t acc = 1 << 20;
        for (int k = 0; k < taps; ++k) acc += in[i + (size_t)k * (size_t)step] * weight[k];
        out[i] = (uint8_t)(acc >> 21);
    }
}
