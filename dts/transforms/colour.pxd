"""Operations on the colours of a picture, as C functions that several transforms share.

`src` and `dst` have one size; where nothing else is said they may be the same picture. On pictures
of one channel `colour_saturation`, `colour_hue` and `colour_gray` copy, as torchvision does.
"""

from libc.stdint cimport uint8_t

from dts.transforms.op cimport dts_image


cdef void colour_copy(const dts_image *src, const dts_image *dst) noexcept nogil
# Factors are 0 or more: 0 black, 1 the same.
cdef void colour_brightness(const dts_image *src, const dts_image *dst,
                            double factor) noexcept nogil
# 0: everything the mean luminance.
cdef void colour_contrast(const dts_image *src, const dts_image *dst, double factor) noexcept nogil
# 0: gray.
cdef void colour_saturation(const dts_image *src, const dts_image *dst,
                            double factor) noexcept nogil
# `shift` in turns, -0.5..0.5.
cdef void colour_hue(const dts_image *src, const dts_image *dst, double shift) noexcept nogil
cdef void colour_gray(const dts_image *src, const dts_image *dst) noexcept nogil
cdef void colour_posterize(const dts_image *src, const dts_image *dst, int bits) noexcept nogil
cdef void colour_solarize(const dts_image *src, const dts_image *dst,
                          double threshold) noexcept nogil
cdef void colour_autocontrast(const dts_image *src, const dts_image *dst) noexcept nogil
cdef void colour_equalize(const dts_image *src, const dts_image *dst) noexcept nogil
# Never the same picture. 0: smoothed, 1: the same.
cdef void colour_sharpness(const dts_image *src, const dts_image *dst,
                           double factor) noexcept nogil
