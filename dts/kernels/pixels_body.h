/* The kernels of pixels.h, written once: each file that includes this compiles them for its instruction set.
 *
 * Before: PX(name) makes the name of a function, PX_TARGET is the attribute of its instruction set. Loops run over
 * fixed numbers of pixels, split in planes, so that the compiler makes vectors of them; all arithmetic is that of the
 * source, so that every instruction set gives the same bits. */
#include "isa.h"
#include "pixels.h"

#include "pixels_lanes.h"

#include <math.h>
#include <string.h>

typedef struct px_planes {
    uint8_t r[PX_BLOCK], g[PX_BLOCK], b[PX_BLOCK];
} px_planes;

/* ---- planes, and the blocks of a row -------------------------------------------------------------------------- */

/* Runs `work` over n pixels, PX_BLOCK at a time; a last one that is not full goes by a copy. */
#define PX_EACH_BLOCK(out, in, n, work)                             \
    do {                                                            \
        size_t at_ = 0;                                             \
        for (; at_ + PX_BLOCK <= (n); at_ += PX_BLOCK) {            \
            const uint8_t *from = (in) + 3 * at_;                   \
            uint8_t *to = (out) + 3 * at_;                          \
            work;                                                   \
        }                                                           \
        if (at_ < (n)) {                                            \
            uint8_t rest_[3 * PX_BLOCK] = {0};                      \
            const uint8_t *from = rest_;                            \
            uint8_t *to = rest_;                                    \
            memcpy(rest_, (in) + 3 * at_, 3 * ((n) - at_));         \
            work;                                                   \
            memcpy((out) + 3 * at_, rest_, 3 * ((n) - at_));        \
        }                                                           \
    } while (0)

/* Sums of 2989 r + 5870 g + 1140 b are below 2^24: exact in float32, and so is the floor of a ten-thousandth. */
DTS_INLINE int32_t px_luminance(uint8_t r, uint8_t g, uint8_t b) {
    return (int32_t)((2989.0f * (float)r + 5870.0f * (float)g + 1140.0f * (float)b) * 1e-4f);
}

/* Rounded towards 0 and held to 0..255; |v| is below 2^31. */
DTS_INLINE uint8_t px_level(float v) {
    int32_t whole = (int32_t)v;
    whole = whole < 0 ? 0 : whole;
    whole = whole > 255 ? 255 : whole;
    return (uint8_t)whole;
}

/* A factor in two parts of 12 bits each: whole numbers of up to 12 bits times either part are exact. */
typedef struct px_factor {
    float high, low;
} px_factor;

DTS_INLINE px_factor px_cut(float v) {
    union { float f; uint32_t i; } u = {v};
    px_factor cut;
    u.i &= 0xFFFFF000u;
    cut.high = u.f;
    cut.low = v - u.f;
    return cut;
}

/* v + high + low, rounded once, as a fused multiplication and addition would: torchvision has those (the error of the
 * first sum by Knuth's two-sum). */
DTS_INLINE float px_fused(float v, float high, float low) {
    const float sum = v + high, part = sum - v;
    return sum + (((v - (sum - part)) + (high - part)) + low);
}

/* ---- luminance and saturation --------------------------------------------------------------------------------- */

PX_TARGET DTS_INLINE void PX(gray_block)(uint8_t *to, const uint8_t *from) {
    px_planes p;
    PX_SPLIT(from, p.r, p.g, p.b);
    for (int i = 0; i < PX_BLOCK; ++i) p.r[i] = (uint8_t)px_luminance(p.r[i], p.g[i], p.b[i]);
    PX_MERGE(to, p.r, p.r, p.r);
}

PX_TARGET void PX(gray)(uint8_t *out, const uint8_t *in, size_t n) {
    PX_EACH_BLOCK(out, in, n, PX(gray_block)(to, from));
}

PX_TARGET DTS_INLINE uint32_t PX(gray_sum_block)(const uint8_t *from) {
    px_planes p;
    int32_t sum = 0;
    PX_SPLIT(from, p.r, p.g, p.b);
    for (int i = 0; i < PX_BLOCK; ++i) sum += px_luminance(p.r[i], p.g[i], p.b[i]);
    return (uint32_t)sum;
}

PX_TARGET uint64_t PX(gray_sum)(const uint8_t *in, size_t n) {
    uint64_t sum = 0;
    uint8_t rest[3 * PX_BLOCK] = {0};
    size_t at = 0;
    for (; at + PX_BLOCK <= n; at += PX_BLOCK) sum += PX(gray_sum_block)(in + 3 * at);
    memcpy(rest, in + 3 * at, 3 * (n - at));
    return sum + PX(gray_sum_block)(rest);
}

PX_TARGET DTS_INLINE void PX(saturate_block)(uint8_t *to, const uint8_t *from, float factor, px_factor rest) {
    px_planes p;
    PX_SPLIT(from, p.r, p.g, p.b);
    for (int i = 0; i < PX_BLOCK; ++i) {
        const float y = (float)px_luminance(p.r[i], p.g[i], p.b[i]), high = y * rest.high, low = y * rest.low;
        p.r[i] = px_level(px_fused((float)p.r[i] * factor, high, low));
        p.g[i] = px_level(px_fused((float)p.g[i] * factor, high, low));
        p.b[i] = px_level(px_fused((float)p.b[i] * factor, high, low));
    }
    PX_MERGE(to, p.r, p.g, p.b);
}

PX_TARGET void PX(saturate)(uint8_t *out, const uint8_t *in, size_t n, float factor, float rest) {
    const px_factor cut = px_cut(rest);
    PX_EACH_BLOCK(out, in, n, PX(saturate_block)(to, from, factor, cut));
}

/* ---- hue ------------------------------------------------------------------------------------------------------ */

/* yes where mask is all ones, no where it is 0: a choice that no compiler makes a jump of. */
DTS_INLINE uint8_t px_pick(int mask, uint8_t yes, uint8_t no) { return (uint8_t)((yes & mask) | (no & ~mask)); }

DTS_INLINE float px_pick_float(int32_t mask, float yes, float no) {
    union { float f; int32_t i; } a = {yes}, b = {no};
    a.i = (a.i & mask) | (b.i & ~mask);
    return a.f;
}

/* What the arithmetic of a hue needs of each pixel: greatest and least channel, the two whose difference the angle
 * follows from, the angle (in sixths) where that is 0, and whether all are equal. */
typedef struct px_hexagon {
    uint8_t high[PX_BLOCK], low[PX_BLOCK], first[PX_BLOCK], second[PX_BLOCK], sector[PX_BLOCK], flat[PX_BLOCK];
} px_hexagon;

PX_TARGET DTS_INLINE void PX(hexagon)(px_hexagon *x, const px_planes *p) {
    for (int i = 0; i < PX_BLOCK; ++i) {
        const uint8_t r = p->r[i], g = p->g[i], b = p->b[i];
        const uint8_t more = r > g ? r : g, less = r < g ? r : g;
        const uint8_t high = more > b ? more : b, low = less < b ? less : b;
        const int is_r = -(high == r), is_g = -(high == g);
        x->high[i] = high;
        x->low[i] = low;
        x->first[i] = px_pick(is_r, b, px_pick(is_g, r, g));
        x->second[i] = px_pick(is_r, g, px_pick(is_g, b, r));
        x->sector[i] = px_pick(is_r, 0, px_pick(is_g, 2, 4));
        x->flat[i] = high == low;
    }
}

/* The steps, their order and their constants decide the last bit before the result is rounded down: they are those of
 * torchvision v2's adjust_hue on float32. What a mask makes 0 there is left out here by a choice among bytes; its
 * greatest channel comes back as it was. */
PX_TARGET DTS_INLINE void PX(hue_block)(uint8_t *to, const uint8_t *from, float shift) {
    const float unit = 1.0f / 255.0f, top = 255.999f, sixth = 1.0f / 6.0f;
    uint8_t sextant[PX_BLOCK], least[PX_BLOCK], middle[PX_BLOCK];
    px_planes p;
    px_hexagon x;
    PX_SPLIT(from, p.r, p.g, p.b);
    PX(hexagon)(&x, &p);
    for (int i = 0; i < PX_BLOCK; ++i) {
        const float high = (float)x.high[i] * unit, range = high - (float)x.low[i] * unit, flat = (float)x.flat[i];
        const float first = high - (float)x.first[i] * unit, second = high - (float)x.second[i] * unit;
        /* flat: 0 / 1 and 0 / (1 + v) */
        const float divisor = range + flat, s = range / (high + flat);
        float h = ((first / divisor + (float)x.sector[i]) - second / divisor) * sixth + 1.0f, h6, part, v_q, v_t;
        int32_t k;
        h = h - (float)(int32_t)h + shift;
        h = h - (float)(int32_t)h;
        h = px_pick_float(-(h < 0.0f), h + 1.0f, h);
        h6 = h * 6.0f;
        k = (int32_t)h6;
        part = s * (h6 - (float)k);
        v_q = (1.0f - part) * high;
        v_t = (part + (1.0f - s)) * high;
        v_t = v_t > 1.0f ? 1.0f : v_t;
        sextant[i] = (uint8_t)(k > 5 ? 0 : k); /* 6 where h was rounded up to 1 */
        least[i] = (uint8_t)(int32_t)((1.0f - s) * high * top);
        middle[i] = (uint8_t)(int32_t)(px_pick_float(-(k & 1), v_q, v_t) * top);
    }
    for (int i = 0; i < PX_BLOCK; ++i) {
        const uint8_t k = sextant[i], high = x.high[i], mid = middle[i], low = least[i];
        p.r[i] = px_pick(-((k == 0) | (k == 5)), high, px_pick(-((k == 1) | (k == 4)), mid, low));
        p.g[i] = px_pick(-((k == 1) | (k == 2)), high, px_pick(-((k == 0) | (k == 3)), mid, low));
        p.b[i] = px_pick(-((k == 3) | (k == 4)), high, px_pick(-((k == 2) | (k == 5)), mid, low));
    }
    PX_MERGE(to, p.r, p.g, p.b);
}

PX_TARGET void PX(hue)(uint8_t *out, const uint8_t *in, size_t n, float shift) {
    PX_EACH_BLOCK(out, in, n, PX(hue_block)(to, from, shift));
}

/* ---- least and greatest --------------------------------------------------------------------------------------- */

enum { PX_PERIOD = 192 }; /* bytes: a multiple of three channels and of every vector */

PX_TARGET void PX(extremes)(const uint8_t *in, size_t n, int c, uint8_t *low, uint8_t *high) {
    uint8_t least[PX_PERIOD], most[PX_PERIOD];
    const size_t bytes = n * (size_t)c;
    size_t at = 0;
    memset(least, 255, sizeof least);
    memset(most, 0, sizeof most);
    for (; at + PX_PERIOD <= bytes; at += PX_PERIOD)
        for (int i = 0; i < PX_PERIOD; ++i) {
            const uint8_t v = in[at + (size_t)i];
            least[i] = v < least[i] ? v : least[i];
            most[i] = v > most[i] ? v : most[i];
        }
    for (int i = 0; at < bytes; ++at, ++i) {
        least[i] = in[at] < least[i] ? in[at] : least[i];
        most[i] = in[at] > most[i] ? in[at] : most[i];
    }
    for (int i = 0; i < PX_PERIOD; ++i) {
        const int k = i % c;
        low[k] = least[i] < low[k] ? least[i] : low[k];
        high[k] = most[i] > high[k] ? most[i] : high[k];
    }
}

/* ---- sharpness ------------------------------------------------------------------------------------------------ */

PX_TARGET void PX(sharpen)(uint8_t *out, const uint8_t *above, const uint8_t *row, const uint8_t *below, size_t n,
                           int c, float rest) {
    const size_t end = (n - 1) * (size_t)c;
    const px_factor cut = px_cut(rest);
    memcpy(out, row, (size_t)c);
    memcpy(out + end, row + end, (size_t)c);
    for (size_t i = (size_t)c; i < end; ++i) {
        const uint8_t *a = above + i, *m = row + i, *b = below + i;
        const uint16_t sum = (uint16_t)(a[-c] + a[0] + a[c] + m[-c] + 5 * m[0] + m[c] + b[-c] + b[0] + b[c] + 6);
        /* sum / 13, for all sums up to 13 * 255 + 6; a thirteenth is never a half */
        const int16_t blurred = (int16_t)(uint16_t)(((uint32_t)sum * 5042u) >> 16), by = (int16_t)(blurred - m[0]);
        out[i] = px_level(px_fused((float)m[0], (float)by * cut.high, (float)by * cut.low));
    }
}

/* ---- noise ---------------------------------------------------------------------------------------------------- */

enum { PX_GROUP = 4 * PX_LANES };

/* sqrt(-2 ln u), u = (a / 2^8 + 1) / 2^24 in (0, 1]. u = m 2^k with m in [sqrt(1/2), sqrt(2)), ln m by the series of
 * 2 atanh((m - 1) / (m + 1)); errors below 3e-7. */
DTS_INLINE float px_radius(uint32_t a) {
    union { float f; int32_t i; } u;
    int32_t k;
    float s, s2, ln;
    u.f = (float)(int32_t)((a >> 8) + 1) * (1.0f / 16777216.0f);
    k = (u.i - 0x3F3504F3) >> 23;
    u.i -= k * (1 << 23);
    s = (u.f - 1.0f) / (u.f + 1.0f);
    s2 = s * s;
    ln = s * (2.0f + s2 * (2.0f / 3.0f + s2 * (2.0f / 5.0f + s2 * (2.0f / 7.0f + s2 * (2.0f / 9.0f)))));
    ln = (float)k * 0.693147180559945f + ln;
    ln = ln < 0.0f ? ln * -2.0f : 0.0f;
    return sqrtf(ln);
}

/* Two normal numbers of two words: the upper two bits of b are a quarter turn, the rest an angle of -45..45 degrees,
 * whose sine and cosine are Taylor series with errors below 3e-8. */
DTS_INLINE void px_normals(uint32_t a, uint32_t b, float *first, float *second) {
    const float radius = px_radius(a);
    const float x = (float)((int32_t)(b << 2) >> 8) * (0.785398163397448f / 8388608.0f), x2 = x * x;
    const float sine =
        x * (1.0f + x2 * (-1.0f / 6.0f + x2 * (1.0f / 120.0f + x2 * (-1.0f / 5040.0f + x2 * (1.0f / 362880.0f)))));
    const float cosine =
        1.0f + x2 * (-0.5f + x2 * (1.0f / 24.0f + x2 * (-1.0f / 720.0f + x2 * (1.0f / 40320.0f))));
    const float along = b & 0x40000000u ? sine : cosine, across = b & 0x40000000u ? cosine : sine;
    const uint32_t quarter = b >> 30;
    *first = radius * (((quarter + 1) & 2) ? -along : along);
    *second = radius * ((quarter & 2) ? -across : across);
}

PX_TARGET DTS_INLINE void PX(normal_group)(float *normal, const dts_noise *s, uint32_t c0) {
    uint32_t word[4][PX_LANES];
    PX_WORDS(s, c0, word);
    for (int pair = 0; pair < 2; ++pair)
        for (int l = 0; l < PX_LANES; ++l)
            px_normals(word[2 * pair][l], word[2 * pair + 1][l], &normal[2 * PX_LANES * pair + l],
                       &normal[2 * PX_LANES * pair + PX_LANES + l]);
}

PX_TARGET void PX(normals)(float *out, const dts_noise *s) { PX(normal_group)(out, s, s->c0); }

PX_TARGET DTS_INLINE void PX(noise_group)(uint8_t *out, const uint8_t *in, const dts_noise *s, uint32_t c0) {
    float normal[PX_GROUP];
    const float mean = s->mean, sigma = s->sigma;
    PX(normal_group)(normal, s, c0);
    if (s->clip)
        for (int i = 0; i < PX_GROUP; ++i)
            out[i] = px_level((float)in[i] + (mean + sigma * normal[i]) + 0.5f);
    else
        for (int i = 0; i < PX_GROUP; ++i) {
            const float v = (float)in[i] + (mean + sigma * normal[i]) + 0.5f;
            const int32_t whole = (int32_t)v;
            out[i] = (uint8_t)(whole - (v < (float)whole));
        }
}

PX_TARGET void PX(noise)(uint8_t *out, const uint8_t *in, size_t n, const dts_noise *s) {
    uint32_t c0 = s->c0;
    size_t at = 0;
    for (; at + PX_GROUP <= n; at += PX_GROUP, c0 += PX_LANES) PX(noise_group)(out + at, in + at, s, c0);
    if (at < n) {
        uint8_t rest[PX_GROUP];
        PX(noise_group)(rest, in + at, s, c0);
        memcpy(out + at, rest, n - at);
    }
}
