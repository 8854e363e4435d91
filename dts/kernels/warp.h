/* Affine warp of a uint8 picture: where each output pixel comes from, and its value.
 *
 * Conventions are those of torchvision's tensor path (affine_grid and grid_sample, align_corners false), down to the
 * float32 roundings of the coordinates, so that the nearest pixel is the same one. With bx = x - (w - 1) / 2 and
 * by = y - (h - 1) / 2, the distance of an output pixel from the picture's centre, it looks at
 *   sx = (theta[0] bx + theta[1] by + theta[2]) + (w - 1) / 2
 *   sy = (theta[3] bx + theta[4] by + theta[5]) + (h - 1) / 2
 * theta goes from output to input; source and destination have one size. Nearest rounds halves to even. Bilinear takes
 * what lies outside as 0; where `blend` is set it then blends with `fill` by how much of the four taps lay inside. */
#ifndef DTS_WARP_H
#define DTS_WARP_H

#include <stdint.h>

typedef struct dts_warp {
    const uint8_t *src; /* readable 64 bytes past the last row */
    int64_t src_stride; /* bytes; src_stride * height is below 2^31 */
    uint8_t *dst;       /* never the same memory */
    int64_t dst_stride;
    int width, height;  /* 1..65500 */
    int channels;       /* 1 or 3 */
    int bilinear;
    int blend;          /* for bilinear */
    float theta[6];     /* finite */
    float fill[3];      /* 0..255 for each channel; halves round to even */
} dts_warp;

void dts_warp_run(const dts_warp *job);

#endif
