"""Operations on colours: the arithmetic of torchvision v2 on uint8 tensors, roundings included.

What maps each value of a channel to another is a table of 256, made in the float32 steps of
torchvision; so these agree with it in every value.
"""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from dts.kernels.kernels cimport dts_pixels, get_pixels
from dts.transforms.op cimport dts_image


cdef inline bint is_compact(const dts_image *image) noexcept nogil:
    return image.stride == <int64_t> image.width * image.channels


cdef inline int64_t row_pixels(const dts_image *src, const dts_image *dst) noexcept nogil:
    """Pixels of a row; all of them where the pictures have no gaps: one row then."""
    if is_compact(src) and is_compact(dst):
        return <int64_t> src.width * src.height
    return src.width


cdef inline int row_count(const dts_image *src, const dts_image *dst) noexcept nogil:
    return 1 if is_compact(src) and is_compact(dst) else src.height


cdef void colour_copy(const dts_image *src, const dts_image *dst) noexcept nogil:
    cdef int64_t n = row_pixels(src, dst) * src.channels
    cdef int y
    if src.pixels != dst.pixels:
        for y in range(row_count(src, dst)):
            memcpy(dst.pixels + y * dst.stride, src.pixels + y * src.stride, <size_t> n)


cdef void look_up(const dts_image *src, const dts_image *dst, const uint8_t *table,
                  int tables) noexcept nogil:
    """Through one table for all channels, or one for each."""
    cdef const dts_pixels *kernels = get_pixels()
    cdef int64_t n = row_pixels(src, dst)
    cdef int y
    if tables == 1:
        n *= src.channels
    for y in range(row_count(src, dst)):
        kernels.lut(dst.pixels + y * dst.stride, src.pixels + y * src.stride, <size_t> n, tables,
                    table)


cdef inline uint8_t level(float v) noexcept nogil:
    """Held to 0..255 and rounded down, as a tensor of floats becomes one of bytes."""
    return <uint8_t> (0.0 if v < 0.0 else 255.0 if v > 255.0 else v)


cdef inline float blend(float v, float ratio, float other, float rest) noexcept nogil:
    """Return v ratio + other rest, the second product and the sum rounded once.

    torchvision's processors fuse them; the product of two float32 is exact in double.
    """
    cdef float first = v * ratio
    return <float> (<double> first + <double> other * <double> rest)


cdef void colour_brightness(const dts_image *src, const dts_image *dst,
                            double factor) noexcept nogil:
    cdef uint8_t table[256]
    cdef float ratio = <float> factor
    cdef int v
    for v in range(256):
        table[v] = level(<float> v * ratio)
    look_up(src, dst, table, 1)


cdef float mean_luminance(const dts_image *image) noexcept nogil:
    """Mean over the picture of the luminance of each pixel, which is rounded down."""
    cdef const dts_pixels *kernels = get_pixels()
    cdef int64_t n = row_pixels(image, image), x
    cdef uint64_t total = 0
    cdef const uint8_t *row
    cdef int y
    for y in range(row_count(image, image)):
        row = image.pixels + y * image.stride
        if image.channels == 3:
            total += kernels.gray_sum(row, <size_t> n)
        else:
            for x in range(n):
                total += row[x]
    return <float> (<double> total / (<double> image.width * <double> image.height))


cdef void colour_contrast(const dts_image *src, const dts_image *dst,
                          double factor) noexcept nogil:
    cdef uint8_t table[256]
    cdef float mean = mean_luminance(src)
    cdef int v
    for v in range(256):
        table[v] = level(blend(<float> v, <float> factor, mean, <float> (1.0 - factor)))
    look_up(src, dst, table, 1)


cdef void colour_saturation(const dts_image *src, const dts_image *dst,
                            double factor) noexcept nogil:
    cdef const dts_pixels *kernels = get_pixels()
    cdef int64_t n = row_pixels(src, dst)
    cdef int y
    if src.channels == 1:
        colour_copy(src, dst)
        return
    for y in range(row_count(src, dst)):
        kernels.saturate(dst.pixels + y * dst.stride, src.pixels + y * src.stride, <size_t> n,
                         <float> factor, <float> (1.0 - factor))


cdef void colour_hue(const dts_image *src, const dts_image *dst, double shift) noexcept nogil:
    cdef const dts_pixels *kernels = get_pixels()
    cdef int64_t n = row_pixels(src, dst)
    cdef int y
    if src.channels == 1:
        colour_copy(src, dst)
        return
    for y in range(row_count(src, dst)):
        kernels.hue(dst.pixels + y * dst.stride, src.pixels + y * src.stride, <size_t> n,
                    <float> shift)


cdef void colour_gray(const dts_image *src, const dts_image *dst) noexcept nogil:
    cdef const dts_pixels *kernels = get_pixels()
    cdef int64_t n = row_pixels(src, dst)
    cdef int y
    if src.channels == 1:
        colour_copy(src, dst)
        return
    for y in range(row_count(src, dst)):
        kernels.gray(dst.pixels + y * dst.stride, src.pixels + y * src.stride, <size_t> n)


cdef void colour_posterize(const dts_image *src, const dts_image *dst, int bits) noexcept nogil:
    cdef uint8_t table[256]
    cdef int v, mask = ((1 << bits) - 1) << (8 - bits)
    for v in range(256):
        table[v] = <uint8_t> (v & mask)
    look_up(src, dst, table, 1)


cdef void colour_solarize(const dts_image *src, const dts_image *dst,
                          double threshold) noexcept nogil:
    cdef uint8_t table[256]
    cdef int v
    for v in range(256):
        table[v] = <uint8_t> (255 - v if <float> v >= <float> threshold else v)
    look_up(src, dst, table, 1)


cdef void colour_autocontrast(const dts_image *src, const dts_image *dst) noexcept nogil:
    cdef const dts_pixels *kernels = get_pixels()
    cdef uint8_t table[3 * 256]
    cdef uint8_t low[3]
    cdef uint8_t high[3]
    cdef float span
    cdef int k, v, y
    memset(low, 255, 3)
    memset(high, 0, 3)
    for y in range(row_count(src, src)):
        kernels.extremes(src.pixels + y * src.stride, <size_t> row_pixels(src, src),
                         src.channels, low, high)
    for k in range(src.channels):
        span = <float> (high[k] - low[k]) * <float> (1.0 / 255.0)
        if high[k] == low[k]:   # a flat channel stays as it is
            low[k] = 0
            span = 1.0
        for v in range(256):
            table[256 * k + v] = level(<float> (v - low[k]) / span)
    look_up(src, dst, table, src.channels)


cdef void equalize_table(const uint32_t *histogram, int64_t pixels, uint8_t *table) noexcept nogil:
    cdef int v, last = 255
    cdef int64_t step, below = 0
    while histogram[last] == 0:
        last -= 1
    step = (pixels - histogram[last]) // 255
    for v in range(256):
        table[v] = <uint8_t> (v if step == 0 else 0 if v == 0
                              else min((below + step // 2) // step, 255))
        below += histogram[v]


cdef void colour_equalize(const dts_image *src, const dts_image *dst) noexcept nogil:
    cdef const dts_pixels *kernels = get_pixels()
    cdef uint8_t table[3 * 256]
    cdef uint32_t histogram[3 * 256]
    cdef int k, y
    memset(histogram, 0, sizeof(histogram))
    for y in range(row_count(src, src)):
        kernels.count(src.pixels + y * src.stride, <size_t> row_pixels(src, src), src.channels,
                      histogram)
    for k in range(src.channels):
        equalize_table(histogram + 256 * k, <int64_t> src.width * src.height, table + 256 * k)
    look_up(src, dst, table, src.channels)


cdef void colour_sharpness(const dts_image *src, const dts_image *dst,
                           double factor) noexcept nogil:
    cdef const dts_pixels *kernels = get_pixels()
    cdef const uint8_t *row
    cdef uint8_t *out
    cdef int y
    cdef size_t bytes = <size_t> src.width * <size_t> src.channels
    if src.width <= 2 or src.height <= 2:
        colour_copy(src, dst)
        return
    for y in range(src.height):
        row = src.pixels + y * src.stride
        out = dst.pixels + y * dst.stride
        if y == 0 or y == src.height - 1:
            memcpy(out, row, bytes)
        else:
            kernels.sharpen(out, row - src.stride, row, row + src.stride, <size_t> src.width,
                            src.channels, <float> (1.0 - factor))
