/* Two rows of a batch mixed in place: a table for each instruction set, chosen with the others (kernels.h).
 *
 * The scalar functions are the definition. With w = fl(1 - lam), both float32:
 *   a' = fl(fl(lam a) + fl(w b)),  b' = fl(fl(lam b) + fl(w a)), never fused
 * float16 is widened exactly, mixed in float32 and rounded once, to nearest even; uint8 becomes floor(fl(a' + 0.5)). */
#ifndef DTS_MIX_H
#define DTS_MIX_H

#include <stddef.h>
#include <stdint.h>

typedef struct dts_mix_kernels {
    const char *isa;
    /* n numbers each; a and b do not overlap. lam in 0..1. */
    void (*f32)(float *a, float *b, size_t n, float lam);
    void (*f16)(uint16_t *a, uint16_t *b, size_t n, float lam);
    void (*u8)(uint8_t *a, uint8_t *b, size_t n, float lam);
} dts_mix_kernels;

/* The table that goes with dts_kernels_get(): the best one that is not above it. */
const dts_mix_kernels *dts_mix_get(void);

/* Exchange n bytes of a and b, which do not overlap. */
void dts_swap_bytes(void *a, void *b, size_t n);

#endif
