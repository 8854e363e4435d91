/* CMYK rows to RGB or grey, equal to Pillow's convert.
 *
 * JPEG files hold CMYK inverted (255 = no ink), Adobe's habit, which everyone follows with or without
 * the Adobe marker. So with stored c and k: R = k - (255 - c) * k / 255, rounded. */
#include "dts/decode/jpeg.h"

static inline unsigned over_255(unsigned product) {
    product += 128;
    return (product + (product >> 8)) >> 8;
}

void dts_jpeg_cmyk_row(uint8_t *out, const uint8_t *cmyk, int n, int channels) {
    for (int i = 0; i < n; i++, cmyk += 4) {
        const unsigned k = cmyk[3];
        const unsigned r = k - over_255((255u - cmyk[0]) * k);
        const unsigned g = k - over_255((255u - cmyk[1]) * k);
        const unsigned b = k - over_255((255u - cmyk[2]) * k);
        if (channels == 3) {
            *out++ = (uint8_t)r;
            *out++ = (uint8_t)g;
            *out++ = (uint8_t)b;
        } else { /* ITU-R 601 luma in 16 bits of fraction */
            *out++ = (uint8_t)((19595 * r + 38470 * g + 7471 * b + 0x8000) >> 16);
        }
    }
}
