/* Permutations by Fisher and Yates: for i = n-1 .. 1, swap i with j = (r * (i + 1)) >> 64, where r is the 64-bit number
 * r0 r1 of the Philox block whose counter word c0 is i. A pure function of (seed, kind, split, epoch, window).
 * Random numbers are made some at a time, and the memory they lead to is fetched ahead: the swaps are all cache misses. */
#ifndef DTS_PERMUTATION_H
#define DTS_PERMUTATION_H

#include <stddef.h>

#include "philox.h"

#if defined(__GNUC__) || defined(__clang__)
#define DTS_PREFETCH(p) __builtin_prefetch((p), 1)
#else
#define DTS_PREFETCH(p) ((void)(p))
#endif

enum { DTS_AHEAD = 32 };

/* Where element i goes. The upper 64 bits of r (i + 1), by halves: exact, and without 128-bit numbers, as i < 2^32. */
static inline uint64_t dts_shuffle_target(uint32_t r0, uint32_t r1, uint64_t i) {
    return (r0 * (i + 1) + ((r1 * (i + 1)) >> 32)) >> 32;
}

/* The targets of elements top, top - 1, ... top - count + 1. Loops over the numbers are inside: compilers make vectors
 * of them. */
static inline void dts_shuffle_targets(uint64_t *target, uint64_t top, int count, uint64_t seed, uint32_t c1, uint32_t c2,
                                       uint32_t c3) {
    uint32_t x0[DTS_AHEAD], x1[DTS_AHEAD], x2[DTS_AHEAD], x3[DTS_AHEAD];
    uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);
    for (int t = 0; t < DTS_AHEAD; ++t) {
        x0[t] = (uint32_t)top - (uint32_t)t;
        x1[t] = c1;
        x2[t] = c2;
        x3[t] = c3;
    }
    for (int round = 0; round < 10; ++round, k0 += 0x9E3779B9u, k1 += 0xBB67AE85u) {
        for (int t = 0; t < DTS_AHEAD; ++t) {
            const uint64_t p0 = (uint64_t)0xD2511F53u * x0[t], p1 = (uint64_t)0xCD9E8D57u * x2[t];
            x0[t] = (uint32_t)(p1 >> 32) ^ x1[t] ^ k0;
            x1[t] = (uint32_t)p1;
            x2[t] = (uint32_t)(p0 >> 32) ^ x3[t] ^ k1;
            x3[t] = (uint32_t)p0;
        }
    }
    for (int t = 0; t < count; ++t) target[t] = dts_shuffle_target(x0[t], x1[t], top - (uint64_t)t);
}

/* Shuffles n elements, n at most 2^32. */
#define DTS_DEFINE_SHUFFLE(name, type)                                                                               \
    static inline void dts_shuffle_##name(type *a, uint64_t n, uint64_t seed, int kind, int split, uint32_t epoch,   \
                                          int64_t window) {                                                          \
        const uint32_t c3 = dts_stream_word(kind, split, 0, 0, window);                                              \
        uint64_t target[DTS_AHEAD];                                                                                  \
        uint64_t i = n ? n - 1 : 0;                                                                                  \
        while (i > 0) {                                                                                              \
            const int count = i < DTS_AHEAD ? (int)i : DTS_AHEAD;                                                    \
            dts_shuffle_targets(target, i, count, seed, (uint32_t)window, epoch, c3);                                \
            for (int t = 0; t < count; ++t) DTS_PREFETCH(a + target[t]);                                             \
            for (int t = 0; t < count; ++t, --i) {                                                                   \
                const type moved = a[i];                                                                             \
                a[i] = a[target[t]];                                                                                 \
                a[target[t]] = moved;                                                                                \
            }                                                                                                        \
        }                                                                                                            \
    }                                                                                                                \
                                                                                                                     \
    /* The permutation of 0 .. n-1. */                                                                               \
    static inline void dts_permutation_##name(type *a, uint64_t n, uint64_t seed, int kind, int split,               \
                                              uint32_t epoch, int64_t window) {                                      \
        for (uint64_t i = 0; i < n; ++i) a[i] = (type)i;                                                             \
        dts_shuffle_##name(a, n, seed, kind, split, epoch, window);                                                  \
    }

DTS_DEFINE_SHUFFLE(i64, int64_t)
DTS_DEFINE_SHUFFLE(u32, uint32_t)

#endif
