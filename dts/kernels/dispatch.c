/* The tables, and the one choice between them. */
#include "isa.h"

#include "half.h"

#include <string.h>

static const dts_kernels scalar = {
    "scalar",
    dts_normalize_f32_scalar,
    dts_normalize_f16_scalar,
    dts_copy_u8_scalar,
    dts_resize_v_scalar,
    dts_resize_h_f32_scalar,
    dts_resize_h_f16_scalar,
    dts_resize_h_u8_scalar,
};

#ifdef DTS_X86
static const dts_kernels avx2 = {
    "avx2",
    dts_normalize_f32_avx2,
    dts_normalize_f16_avx2,
    dts_copy_u8_avx2,
    dts_resize_v_avx2,
    dts_resize_h_f32_avx2,
    dts_resize_h_f16_avx2,
    dts_resize_h_u8_avx2,
};

static const dts_kernels avx512 = {
    "avx512",
    dts_normalize_f32_avx512,
    dts_normalize_f16_avx512,
    dts_copy_u8_avx2,
    dts_resize_v_avx512,
    dts_resize_h_f32_avx512,
    dts_resize_h_f16_avx512,
    dts_resize_h_u8_avx512,
};
#endif

#ifdef DTS_NEON
static const dts_kernels neon = {
    "neon",
    dts_normalize_f32_neon,
    dts_normalize_f16_neon,
    dts_copy_u8_neon,
    dts_resize_v_neon,
    dts_resize_h_f32_neon,
    dts_resize_h_f16_neon,
    dts_resize_h_u8_neon,
};
#endif

/* Best first. */
static const struct {
    const dts_kernels *table;
    unsigned needs;
} all[] = {
#ifdef DTS_X86
    {&avx512, DTS_CPU_AVX512},
    {&avx2, DTS_CPU_AVX2},
#endif
#ifdef DTS_NEON
    {&neon, 0}, /* part of every AArch64 */
#endif
    {&scalar, 0},
};

static const dts_kernels *current = &scalar;

const char *dts_kernels_available(int i) {
    const unsigned cpu = dts_cpu_probe();
    for (size_t k = 0; k < sizeof all / sizeof *all; ++k)
        if ((all[k].needs & ~cpu) == 0 && i-- == 0) return all[k].table->isa;
    return NULL;
}

const dts_kernels *dts_kernels_get(void) { return current; }

int dts_kernels_select(const char *isa) {
    const unsigned cpu = dts_cpu_probe();
    for (size_t k = 0; k < sizeof all / sizeof *all; ++k) {
        if ((all[k].needs & ~cpu) != 0 || (isa && strcmp(all[k].table->isa, isa) != 0)) continue;
        current = all[k].table;
        return 0;
    }
    return -1;
}

uint16_t dts_half_from_float(float v) { return dts_half(v); }
