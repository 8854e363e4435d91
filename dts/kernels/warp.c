/* Affine warp (see warp.h). Coordinates are computed for a run of pixels at a time in loops that the compiler turns
 * into vectors, pixels are fetched one by one: gathers are slower than that. Built twice from one text; both give the
 * same bits, since nothing here is fused. */
#include "warp.h"

#include "isa.h"

#include <math.h>
#include <string.h>

enum { RUN = 256 };

/* Adding and taking away 1.5 * 2^23 rounds to an integer, halves to even; larger numbers stay large. */
#define ROUND(v) (((v) + 12582912.0f) - 12582912.0f)

/* One axis of theta, in the units of affine_grid: -1..1 over the picture. */
typedef struct axis {
    float by_x, by_y, constant;
    float half; /* half the side */
    float last; /* largest position */
} axis;

static axis axis_of(const dts_warp *t, int k) {
    const int side = k ? t->height : t->width;
    const float half = (float)side * 0.5f;
    const float *row = t->theta + 3 * k;
    axis a = {row[0] / half, row[1] / half, row[2] / half, half, (float)(side - 1)};
    /* At 90 degrees this is 1e-17 or so, and only says which of two equally near pixels to take: where double would
     * lose it, make it just large enough to be seen. */
    if (fabsf(a.by_x) < 1e-14f && a.by_x != 0.0f) a.by_x = copysignf(1e-14f, a.by_x);
    return a;
}

/* Positions on one axis of n output pixels from x0 on. torch's product of matrices adds with one rounding, as does its
 * way back from -1..1: double holds those products exactly, so that rounding to float once gives the same. */
DTS_INLINE void positions(const axis *a, float left, float by, int n, float *restrict out) {
    const double row = (double)by * a->by_y;
    for (int i = 0; i < n; ++i) {
        const float across = (left + (float)i) * a->by_x;
        const float g = (float)((double)across + row) + a->constant;
        out[i] = (float)((double)(g + 1.0f) * a->half - 0.5);
    }
}

/* Copies `channels` bytes from src + at[i] for each pixel. Four at a time: the next pixel overwrites what is too many,
 * the last one is done with care. */
DTS_INLINE void pick(uint8_t *restrict out, const uint8_t *src, const int32_t *at, int n, int channels) {
    int i = 0;
    if (channels == 1) {
        for (; i < n; ++i) out[i] = src[at[i]];
        return;
    }
    for (; i < n - 1; ++i) memcpy(out + 3 * i, src + at[i], 4);
    if (i < n) memcpy(out + 3 * i, src + at[i], 3);
}

DTS_INLINE void put(uint8_t *out, const uint8_t *value, int n, int channels) {
    for (int i = 0; i < n; ++i)
        for (int c = 0; c < channels; ++c) out[i * channels + c] = value[c];
}

DTS_INLINE void nearest(const dts_warp *t, const axis *ax, const axis *ay, int n, const float *x,
                        const float *y, int32_t *restrict at, uint8_t *out) {
    const int stride = (int)t->src_stride, c = t->channels;
    uint8_t fill[3];
    int from = 0, to = n;
    for (int k = 0; k < 3; ++k) fill[k] = (uint8_t)ROUND(t->fill[k]);
    for (int i = 0; i < n; ++i) {
        const float px = ROUND(x[i]), py = ROUND(y[i]);
        const int inside = (px >= 0.0f) & (px <= ax->last) & (py >= 0.0f) & (py <= ay->last);
        const float qx = inside ? px : 0.0f, qy = inside ? py : 0.0f;
        at[i] = inside ? (int)qy * stride + (int)qx * c : -1;
    }
    /* Positions rise or fall along a row, so those inside lie together. */
    while (from < n && at[from] < 0) ++from;
    while (to > from && at[to - 1] < 0) --to;
    put(out, fill, from, c);
    pick(out + from * c, t->src, at + from, to - from, c);
    put(out + to * c, fill, n - to, c);
}

/* The four taps around one position, as r | g << 8 | b << 16 | (1 << 24 where the tap lies inside). */
DTS_INLINE uint32_t tap(const dts_warp *t, int x, int y) {
    const uint8_t *p = t->src + y * t->src_stride + (int64_t)x * t->channels;
    if (x < 0 || y < 0 || x >= t->width || y >= t->height) return 0;
    return (t->channels == 1 ? p[0] : (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16) | 1u << 24;
}

DTS_INLINE uint32_t four(const uint8_t *p) {
    uint32_t v;
    memcpy(&v, p, 4);
    return (v & 0xFFFFFFu) | 1u << 24;
}

DTS_INLINE float part(uint32_t v, int c) { return (float)(int)(v >> (8 * c) & 255u); }

DTS_INLINE void bilinear(const dts_warp *t, int n, float *restrict x, float *restrict y, uint32_t *restrict nw,
                         uint32_t *restrict ne, uint32_t *restrict sw, uint32_t *restrict se, uint8_t *out) {
    const int channels = t->channels, width = t->width, height = t->height, blend = t->blend;
    const float wide = (float)width, high = (float)height;
    const float fill[3] = {t->fill[0] * (float)blend, t->fill[1] * (float)blend, t->fill[2] * (float)blend};
    float *restrict fx = x, *restrict fy = y;
    int32_t ix[RUN], iy[RUN];
    for (int i = 0; i < n; ++i) {
        /* Two and more outside is as good as one and a bit. */
        const float px = x[i] < -1.5f ? -1.5f : x[i] > wide ? wide : x[i];
        const float py = y[i] < -1.5f ? -1.5f : y[i] > high ? high : y[i];
        const int kx = (int)(px + 2.0f) - 2, ky = (int)(py + 2.0f) - 2;
        ix[i] = kx;
        iy[i] = ky;
        fx[i] = px - (float)kx;
        fy[i] = py - (float)ky;
    }
    for (int i = 0; i < n; ++i) {
        const int kx = ix[i], ky = iy[i];
        if (channels == 3 && kx >= 0 && ky >= 0 && kx + 1 < width && ky + 1 < height) {
            const uint8_t *p = t->src + ky * t->src_stride + 3 * kx;
            nw[i] = four(p);
            ne[i] = four(p + 3);
            sw[i] = four(p + t->src_stride);
            se[i] = four(p + t->src_stride + 3);
        } else {
            nw[i] = tap(t, kx, ky);
            ne[i] = tap(t, kx + 1, ky);
            sw[i] = tap(t, kx, ky + 1);
            se[i] = tap(t, kx + 1, ky + 1);
        }
    }
    for (int i = 0; i < n; ++i) {
        const float w = fx[i], e = 1.0f - w, south = fy[i], north = 1.0f - south;
        const float a = north * e, b = north * w, c = south * e, d = south * w;
        const float inside = part(nw[i], 3) * a + part(ne[i], 3) * b + part(sw[i], 3) * c + part(se[i], 3) * d;
        const float mask = blend ? inside : 1.0f;
        uint32_t pixel = 0;
        for (int k = 0; k < 3; ++k) {
            const float sum = part(nw[i], k) * a + part(ne[i], k) * b + part(sw[i], k) * c + part(se[i], k) * d;
            float v = (sum - fill[k]) * mask + fill[k];
            v = ROUND(v);
            v = v < 0.0f ? 0.0f : v > 255.0f ? 255.0f : v;
            pixel |= (uint32_t)(int)v << (8 * k);
        }
        nw[i] = pixel;
    }
    if (channels == 1) {
        for (int i = 0; i < n; ++i) out[i] = (uint8_t)nw[i];
        return;
    }
    for (int i = 0; i < n - 1; ++i) memcpy(out + 3 * i, nw + i, 4);
    memcpy(out + 3 * (n - 1), nw + n - 1, 3);
}

DTS_INLINE void warp(const dts_warp *t) {
    const axis ax = axis_of(t, 0), ay = axis_of(t, 1);
    float x[RUN], y[RUN];
    int32_t at[RUN];
    uint32_t taps[4][RUN];
    for (int row = 0; row < t->height; ++row) {
        const float by = (float)(1 - t->height) * 0.5f + (float)row;
        uint8_t *out = t->dst + row * t->dst_stride;
        for (int x0 = 0; x0 < t->width; x0 += RUN) {
            const int n = t->width - x0 < RUN ? t->width - x0 : RUN;
            const float left = (float)(1 - t->width) * 0.5f + (float)x0;
            positions(&ax, left, by, n, x);
            positions(&ay, left, by, n, y);
            if (t->bilinear)
                bilinear(t, n, x, y, taps[0], taps[1], taps[2], taps[3], out + (int64_t)x0 * t->channels);
            else
                nearest(t, &ax, &ay, n, x, y, at, out + (int64_t)x0 * t->channels);
        }
    }
}

static void warp_plain(const dts_warp *t) { warp(t); }

#ifdef DTS_X86
DTS_TARGET_AVX2 static void warp_avx2(const dts_warp *t) { warp(t); }
#endif

void dts_warp_run(const dts_warp *job) {
#ifdef DTS_X86
    if (strcmp(dts_kernels_get()->isa, "scalar") != 0) {
        warp_avx2(job);
        return;
    }
#endif
    warp_plain(job);
}
