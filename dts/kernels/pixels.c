/* The tables of pixels.h, and the one that goes with the instruction set in use. */
#include "pixels_isa.h"

#include <string.h>

static const dts_pixels all[] = {
#ifdef DTS_X86
    {"avx512", dts_lut_avx512, dts_gray_avx512, dts_gray_sum_avx512, dts_saturate_avx512, dts_hue_avx512,
     dts_extremes_avx512, dts_count_scalar, dts_sharpen_avx512, dts_blur_h_avx2, dts_noise_avx512,
     dts_normals_avx512},
    {"avx2", dts_lut_avx2, dts_gray_avx2, dts_gray_sum_avx2, dts_saturate_avx2, dts_hue_avx2, dts_extremes_avx2,
     dts_count_scalar, dts_sharpen_avx2, dts_blur_h_avx2, dts_noise_avx2, dts_normals_avx2},
#endif
    {"scalar", dts_lut_scalar, dts_gray_scalar, dts_gray_sum_scalar, dts_saturate_scalar, dts_hue_scalar,
     dts_extremes_scalar, dts_count_scalar, dts_sharpen_scalar, dts_blur_h_scalar, dts_noise_scalar,
     dts_normals_scalar},
};

const dts_pixels *dts_pixels_get(void) {
    const char *isa = dts_kernels_get()->isa;
    const size_t n = sizeof all / sizeof *all;
    size_t k = 0;
    while (k < n - 1 && strcmp(all[k].isa, isa) != 0) ++k;
    return &all[k];
}
