/* Weights of one axis of a resize. Rules of Pillow's antialiased bilinear filter (Resample.c, precompute_coeffs):
 * output i looks at positions within `support` of its centre and weighs them by a triangle of that half width.
 * The weights are then made integers by rounding their running sum, not each for itself: they add up to 16384 with
 * nothing left over, and no error builds up along the axis, even where single weights are far below 1. */
#include "isa.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define POSITIONS (1 << 30)
#define LINE 64

typedef struct axis {
    double box0, scale, support;
    int clip0, clip1;
} axis;

static double centre_of(const axis *a, int i) { return a->box0 + (i + 0.5) * a->scale; }

/* Positions [*lo, *hi) that the output centred there sees; at least one. */
static void window(const axis *a, double centre, int32_t *lo, int32_t *hi) {
    const double from = centre - a->support + 0.5, to = centre + a->support + 0.5;
    *lo = from <= a->clip0 ? a->clip0 : from >= a->clip1 - 1 ? a->clip1 - 1 : (int)from;
    *hi = to >= a->clip1 ? a->clip1 : to <= *lo + 1 ? *lo + 1 : (int)to;
}

static size_t up_to_line(uint64_t bytes) { return (size_t)((bytes + LINE - 1) / LINE * LINE); }

/* Places the arrays in one block, each on a whole cache line, and clears the weights. */
static int reserve(dts_filter *f, int out, int taps) {
    const uint64_t fours = ((uint64_t)out + 3) / 4;
    const size_t index = up_to_line(fours * 4 * sizeof(int32_t)), pick = (size_t)(fours * LINE);
    const size_t lanes = (size_t)(fours * (uint64_t)taps * 8 * sizeof(int32_t));
    /* And a line more of weights, since kernels read whole vectors of them. */
    const size_t weight = up_to_line((uint64_t)out * (uint64_t)taps * sizeof(int16_t)) + LINE;
    const size_t bytes = LINE + 2 * index + pick + lanes + weight;
    char *at;
    if (bytes > f->capacity) {
        void *memory = malloc(bytes);
        if (!memory) return -1;
        free(f->memory);
        f->memory = memory;
        f->capacity = bytes;
    }
    at = (char *)f->memory + (LINE - (uintptr_t)f->memory % LINE);
    f->start = (int32_t *)at;
    f->count = (int32_t *)(at += index);
    f->pick = (uint8_t *)(at += index);
    f->lanes = (int32_t *)(at += pick);
    f->weight = (int16_t *)(at += lanes);
    memset(f->weight, 0, weight);
    return 0;
}

/* Weight of position x by its distance from the centre; without a branch, which nobody could predict. */
static double triangle(double centre, double per_support, int x) {
    const double t = 1.0 - fabs((x - centre + 0.5) * per_support);
    return 0.5 * (t + fabs(t));
}

DTS_INLINE void fill_so_many(double centre, double per_support, int lo, int count, int16_t *weight) {
    double few[8], total = 0.0, running = 0.0, unit;
    int before = 0;
    for (int k = 0; k < count; ++k) {
        const double t = triangle(centre, per_support, lo + k);
        if (k < 8) few[k] = t;
        total += t;
    }
    if (!(total > 0.0)) { /* a box outside what may be seen: the nearest position */
        weight[0] = 16384;
        return;
    }
    unit = 16384.0 / total;
    for (int k = 0; k < count; ++k) {
        int upto;
        running += k < 8 ? few[k] : triangle(centre, per_support, lo + k);
        upto = (int)(running * unit + 0.5);
        weight[k] = (int16_t)(upto - before);
        before = upto;
    }
}

static void fill(double centre, double per_support, int lo, int count, int16_t *weight) {
    if (count == 2)
        fill_so_many(centre, per_support, lo, 2, weight);
    else if (count == 4)
        fill_so_many(centre, per_support, lo, 4, weight);
    else
        fill_so_many(centre, per_support, lo, count, weight);
}

/* Moves outputs that reach past the end of what is needed, with their taps, back into it. */
static void keep_inside(dts_filter *f) {
    const int latest = f->last - f->taps > f->first ? f->last - f->taps : f->first;
    for (int i = f->out; i-- > 0 && f->start[i] > latest;) {
        int16_t *w = f->weight + (size_t)i * (size_t)f->taps;
        const int shift = f->start[i] - latest;
        memmove(w + shift, w, (size_t)f->count[i] * sizeof *w);
        memset(w, 0, (size_t)shift * sizeof *w);
        f->start[i] = latest;
        f->count[i] += shift;
    }
}

static void lay_out_for_quads(dts_filter *f) {
    static const uint8_t pairs[16] = {0, 1, 6, 7, 2, 3, 8, 9, 4, 5, 10, 11, 0, 0, 0, 0}; /* r r g g b b of two pixels */
    const int out = f->out, half = f->taps / 2;
    const int16_t *weight = f->weight;
    int32_t *start = f->start, *lane = f->lanes;
    uint8_t *pick = f->pick;
    int reach = 0;
    for (int i = 0; i < out; i += 4, lane += 16 * half) {
        for (int j = 0; j < 4; ++j, pick += 16) {
            const int past = i + j >= out;
            uint8_t bytes[16];
            int offset;
            if (past) start[i + j] = start[out - 1];
            offset = 6 * (start[i + j] - start[i]);
            if (offset > reach) reach = offset;
            for (int b = 0; b < 16; ++b) bytes[b] = (uint8_t)(offset + pairs[b]);
            memcpy(pick, bytes, sizeof bytes);
            for (int k = 0; k < half; ++k) {
                int32_t pair = 0, *to = lane + 16 * k + 4 * j;
                if (!past) memcpy(&pair, weight + 2 * k, sizeof pair);
                to[0] = to[1] = to[2] = to[3] = pair;
            }
            weight += past ? 0 : f->taps;
        }
    }
    f->narrow = reach + 12 <= LINE;
}

int dts_filter_make(dts_filter *f, double box0, double box, int clip0, int clip1, int virtual_out, int out0, int out,
                    int antialias) {
    const double key[7] = {box0, box, clip0, clip1, virtual_out, out0, antialias ? out : -(double)out};
    axis a = {box0, box / virtual_out, 1.0, clip0, clip1};
    double per_support;
    int taps = 0;
    if (f->out > 0 && memcmp(f->key, key, sizeof key) == 0) return 0;
    f->out = 0;
    if (!(box > 0.0 && box < POSITIONS && box0 > -POSITIONS && box0 < POSITIONS) || clip1 <= clip0 ||
        clip0 < -POSITIONS || clip1 > POSITIONS || out < 1 || out0 < 0 || out > virtual_out - out0)
        return -1;
    if (antialias && a.scale > 1.0) a.support = a.scale;
    per_support = 1.0 / a.support;
    for (int i = 0; i < out; ++i) {
        int32_t lo, hi;
        window(&a, centre_of(&a, out0 + i), &lo, &hi);
        if (hi - lo > taps) taps = hi - lo;
    }
    taps += taps & 1;
    if (reserve(f, out, taps) != 0) return -1;
    f->taps = taps;
    f->first = clip1;
    f->last = clip0;
    for (int i = 0; i < out; ++i) {
        const double centre = centre_of(&a, out0 + i);
        int32_t lo, hi;
        window(&a, centre, &lo, &hi);
        /* Positions past hi weigh nothing; taking them along where there are some keeps the number of turns the
         * same, which the CPU can predict. */
        fill(centre, per_support, lo, lo + taps <= clip1 ? taps : hi - lo, f->weight + (size_t)i * (size_t)taps);
        f->start[i] = lo;
        f->count[i] = hi - lo;
        if (lo < f->first) f->first = lo;
        if (hi > f->last) f->last = hi;
    }
    memcpy(f->key, key, sizeof key);
    f->out = out;
    keep_inside(f);
    lay_out_for_quads(f);
    return 0;
}

void dts_filter_free(dts_filter *f) {
    free(f->memory);
    memset(f, 0, sizeof *f);
}
