/* Kernels of the operations on colours: one table for each instruction set, beside that of kernels.h, chosen with it.
 *
 * Every table gives the same bits: whole numbers, or float32 in a fixed order of single operations, never fused.
 * `in` is readable 64 bytes past its end, `out` is not written past it; both may be the same memory where the
 * comment says "in place". n counts pixels, if nothing else is said, c channels. */
#ifndef DTS_PIXELS_H
#define DTS_PIXELS_H

#include <stddef.h>
#include <stdint.h>

/* Where the words of a noise come from: Philox blocks of this key and counter, c0 rising. */
typedef struct dts_noise {
    uint64_t seed;
    uint32_t c0, c1, c2, c3;
    float mean, sigma; /* in levels */
    int clip;          /* 0: results outside 0..255 wrap around, as the low byte of a whole number */
} dts_noise;

typedef struct dts_pixels {
    const char *isa;
    /* out = table[channel][in]; table holds c times 256 bytes, c is 1 or 3. In place. */
    void (*lut)(uint8_t *out, const uint8_t *in, size_t n, int c, const uint8_t *table);
    /* RGB only. Luminance y = (2989 r + 5870 g + 1140 b) / 10000, rounded down; to all three channels. In place. */
    void (*gray)(uint8_t *out, const uint8_t *in, size_t n);
    uint64_t (*gray_sum)(const uint8_t *in, size_t n);
    /* RGB only, in place. out = v factor + y rest, in 0..255, rounded down; in float32, the first product rounded, the
     * second and the sum together once. */
    void (*saturate)(uint8_t *out, const uint8_t *in, size_t n, float factor, float rest);
    /* RGB only, in place. Adds shift (-0.5..0.5 of a turn) to the hue, in the single steps of torchvision v2. */
    void (*hue)(uint8_t *out, const uint8_t *in, size_t n, float shift);
    /* Least and greatest value of each channel, along with what low[c] and high[c] hold. */
    void (*extremes)(const uint8_t *in, size_t n, int c, uint8_t *low, uint8_t *high);
    /* Counts values into histogram[c][256], which are added to. */
    void (*count)(const uint8_t *in, size_t n, int c, uint32_t *histogram);
    /* One row of n pixels, which may not be the first or last; its two ends are copied. b = mean of the 3 x 3
     * pixels around with the middle one counted five times, rounded; out = v + (b - v) rest in float32, rounded
     * once, then held to 0..255 and rounded down. */
    void (*sharpen)(uint8_t *out, const uint8_t *above, const uint8_t *row, const uint8_t *below, size_t n, int c,
                    float rest);
    /* Horizontal pass of a blur, n values: out[i] = (sum of in[i + k step] weight[k] + 2^20) >> 21, with weights in
     * Q14 and `in` in Q7 (what resize_v makes), readable 32 values past the last that is needed. taps is even. */
    void (*blur_h)(uint8_t *out, const int16_t *in, const int16_t *weight, int taps, int step, size_t n);
    /* One row of n values, in place. Blocks of 16 Philox counters give 64 normal numbers (Box and Muller): value
     * 64 g + 16 q + l takes those of counter c0 + 16 g + l: q = 0, 1 cosine and sine of r0, r1; 2, 3 of r2, r3. */
    void (*noise)(uint8_t *out, const uint8_t *in, size_t n, const dts_noise *noise);
    /* The 64 normal numbers of one such group, mean 0 and deviation 1: those of counters c0 to c0 + 15. */
    void (*normals)(float *out, const dts_noise *noise);
} dts_pixels;

/* Of the instruction set that dts_kernels_get() has. */
const dts_pixels *dts_pixels_get(void);

#endif
