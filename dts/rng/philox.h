/* Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011), counter based, stateless,
 * and the two functions of real numbers that the sample path needs, in arithmetic that no CPU changes
 * (glibc picks exp and log by CPU, and their last bits differ). */
#ifndef DTS_PHILOX_H
#define DTS_PHILOX_H

#include <stdint.h>
#include <string.h>

typedef struct dts_philox_block { uint32_t r[4]; } dts_philox_block;

static inline dts_philox_block dts_philox(uint64_t seed, uint32_t c0, uint32_t c1, uint32_t c2, uint32_t c3) {
    uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);
    dts_philox_block out;
    for (int round = 0; round < 10; ++round) {
        const uint64_t p0 = (uint64_t)0xD2511F53u * c0, p1 = (uint64_t)0xCD9E8D57u * c2;
        const uint32_t n0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0, n2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c1 = (uint32_t)p1;
        c3 = (uint32_t)p0;
        c0 = n0;
        c2 = n2;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    out.r[0] = c0; out.r[1] = c1; out.r[2] = c2; out.r[3] = c3;
    return out;
}

/* Kinds of stream: bits 28-31 of counter word 3. */
enum {
    DTS_KIND_SAMPLE_ORDER = 0,
    DTS_KIND_BLOCK_ORDER = 1,
    DTS_KIND_WINDOW_ORDER = 2,
    DTS_KIND_AUGMENT = 3,
    DTS_KIND_REPLACE = 4,
    DTS_KIND_MIX = 5,
};

static inline uint32_t dts_stream_word(int kind, int split, int view, int op, int64_t id) {
    return ((uint32_t)kind << 28) | ((uint32_t)split << 27) | ((uint32_t)(view & 0x7F) << 20) |
           ((uint32_t)(op & 0xFF) << 12) | (uint32_t)((id >> 32) & 0xFFF);
}

/* The draws of one (seed, epoch, id, split, operation, view): words r0..r3 of block 0, then of block 1, ... */
typedef struct dts_stream {
    uint64_t seed;
    uint32_t c0, c1, c2, c3, used;
    dts_philox_block block;
} dts_stream;

static inline dts_stream dts_stream_open(uint64_t seed, int kind, int split, int view, int op, uint32_t epoch,
                                         int64_t id) {
    dts_stream s;
    s.seed = seed;
    s.c0 = 0;
    s.c1 = (uint32_t)id;
    s.c2 = epoch;
    s.c3 = dts_stream_word(kind, split, view, op, id);
    s.used = 4;
    memset(&s.block, 0, sizeof s.block);
    return s;
}

static inline uint32_t dts_stream_next(dts_stream *s) {
    if (s->used == 4) {
        s->block = dts_philox(s->seed, s->c0++, s->c1, s->c2, s->c3);
        s->used = 0;
    }
    return s->block.r[s->used++];
}

/* [0, 1) on a grid of 2^-24. */
static inline double dts_uniform(uint32_t word) { return (double)(word >> 8) * (1.0 / 16777216.0); }

/* [0, n). */
static inline uint32_t dts_random_int(uint32_t word, uint32_t n) { return (uint32_t)(((uint64_t)word * n) >> 32); }

/* exp for |x| < 700: x = k ln2 + r, Taylor series of degree 13 (error under 1 ulp of double for |r| <= ln2 / 2). */
static inline double dts_exp(double x) {
    const double k = (double)(int)(x * 1.4426950408889634 + (x < 0 ? -0.5 : 0.5));
    const double r = (x - k * 6.93147180369123816490e-01) - k * 1.90821492927058770002e-10;
    double p = 1.0;
    uint64_t bits;
    double two_k;
    for (int i = 13; i > 0; --i) p = 1.0 + p * r / (double)i;
    bits = (uint64_t)((int64_t)k + 1023) << 52;
    memcpy(&two_k, &bits, 8);
    return p * two_k;
}

/* log for positive normal x: x = m 2^k, m in [sqrt(1/2), sqrt(2)), 2 atanh((m-1)/(m+1)). */
static inline double dts_log(double x) {
    uint64_t bits;
    int k;
    double m, s, s2, p = 0.0;
    memcpy(&bits, &x, 8);
    k = (int)(bits >> 52) - 1023;
    bits = (bits & 0x000FFFFFFFFFFFFFull) | 0x3FF0000000000000ull;
    memcpy(&m, &bits, 8);
    if (m > 1.4142135623730951) { m *= 0.5; k += 1; }
    s = (m - 1.0) / (m + 1.0);
    s2 = s * s;
    for (int i = 23; i >= 1; i -= 2) p = p * s2 + 1.0 / (double)i;
    return 2.0 * s * p + (double)k * 6.93147180559945286227e-01;
}

#endif
