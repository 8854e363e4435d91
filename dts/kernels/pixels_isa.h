/* Private to this room: what the files of pixels.h offer to its table (pixels.c). */
#ifndef DTS_PIXELS_ISA_H
#define DTS_PIXELS_ISA_H

#include "isa.h"
#include "pixels.h"

#define DTS_DECLARE_PIXELS(isa)                                                                                      \
    void dts_lut_##isa(uint8_t *, const uint8_t *, size_t, int, const uint8_t *);                                    \
    void dts_gray_##isa(uint8_t *, const uint8_t *, size_t);                                                         \
    uint64_t dts_gray_sum_##isa(const uint8_t *, size_t);                                                            \
    void dts_saturate_##isa(uint8_t *, const uint8_t *, size_t, float, float);                                       \
    void dts_hue_##isa(uint8_t *, const uint8_t *, size_t, float);                                                   \
    void dts_extremes_##isa(const uint8_t *, size_t, int, uint8_t *, uint8_t *);                                     \
    void dts_count_##isa(const uint8_t *, size_t, int, uint32_t *);                                                  \
    void dts_sharpen_##isa(uint8_t *, const uint8_t *, const uint8_t *, const uint8_t *, size_t, int, float);        \
    void dts_blur_h_##isa(uint8_t *, const int16_t *, const int16_t *, int, int, size_t);                            \
    void dts_noise_##isa(uint8_t *, const uint8_t *, size_t, const dts_noise *);                                     \
    void dts_normals_##isa(float *, const dts_noise *);

DTS_DECLARE_PIXELS(scalar)
DTS_DECLARE_PIXELS(avx2)
DTS_DECLARE_PIXELS(avx512)

#endif
