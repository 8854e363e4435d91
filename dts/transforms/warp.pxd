"""Affine warps of a picture onto one of the same size, and the matrices of some.

A matrix has six numbers and goes from the result back to the input, both measured from the
picture's centre, in pixels: sx = m[0] x + m[1] y + m[2], sy = m[3] x + m[4] y + m[5]. Pixel
centres, roundings and what lies outside are as in torchvision's tensor path (dts/kernels/warp.h).
"""

from dts.transforms.op cimport dts_image


cdef enum:
    WARP_NEAREST = 0
    WARP_BILINEAR = 1


# Fill `dst`, of the size and channels of `src` and never the same memory. `fill`: what comes from
# outside, 0..255 for each channel; NULL, as torchvision's None: 0, and bilinear does not blend
# with it a second time.
cdef void warp(const dts_image *src, const dts_image *dst, const double *matrix, int interpolation,
               const float *fill) noexcept nogil

# Counter-clockwise, about a point that lies (cx, cy) from the centre. |degrees| up to 1e6.
cdef void warp_rotation(double degrees, double cx, double cy, double *matrix) noexcept nogil
# Each row (column) moves by `level` times its distance from the top (left) edge of a picture of
# that height (width): torchvision's ShearX and ShearY, with their centre at (0, 0).
cdef void warp_shear_x(double level, int height, double *matrix) noexcept nogil
cdef void warp_shear_y(double level, int width, double *matrix) noexcept nogil
# To the right and down by x and y pixels.
cdef void warp_translation(double x, double y, double *matrix) noexcept nogil
