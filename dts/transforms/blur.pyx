"""GaussianBlur: a vertical and a horizontal pass in whole numbers."""

from libc.math cimport ceil, floor
from libc.stdint cimport int16_t, int64_t, uint8_t

from numbers import Integral, Real

from dts.kernels.kernels cimport dts_kernels, dts_pixels, get_kernels, get_pixels
from dts.rng.philox cimport dts_exp, dts_stream, dts_stream_next, dts_uniform
from dts.status cimport DTS_OK, dts_error
from dts.transforms.colour cimport colour_copy
from dts.transforms.op cimport OP_PIXELS, Op, dts_draw, dts_image, dts_op
from dts.transforms.op import Transform, check_integer, check_range

cdef enum:
    MAX_RADIUS = 127
    MAX_KERNEL = 255
    MAX_TAPS = 256
    ONE = 1 << 14               # weights are in Q14
    SLACK = 64                  # values that the kernels may read past a line


cdef struct Weights:
    int radius                  # of the weights that are not 0
    int taps                    # 2 radius + 1, and one more of weight 0
    int16_t weight[MAX_TAPS]


cdef void weights_make(Weights *w, int radius, double sigma) noexcept nogil:
    """Weights exp(-x^2 / (2 sigma^2)), rounded, the middle one such that they add up to 1."""
    cdef double value[MAX_RADIUS + 1]
    cdef double total = 1.0, x
    cdef int k, rest = ONE, q
    w.radius = 0
    for k in range(1, radius + 1):
        x = k / sigma
        x = 0.5 * x * x
        value[k] = dts_exp(-x) if x < 700.0 else 0.0
        total += 2.0 * value[k]
    for k in range(1, radius + 1):
        if floor(ONE * value[k] / total + 0.5) > 0.0:
            w.radius = k
    for k in range(1, w.radius + 1):
        q = <int> floor(ONE * value[k] / total + 0.5)
        w.weight[w.radius - k] = w.weight[w.radius + k] = <int16_t> q
        rest -= 2 * q
    w.weight[w.radius] = <int16_t> rest
    w.weight[2 * w.radius + 1] = 0
    w.taps = 2 * w.radius + 2


cdef inline int radius_of(const dts_op *op, int axis, double sigma) noexcept nogil:
    if op.flag[axis] > 0:
        return op.flag[axis] // 2
    return <int> ceil(3.0 * sigma)


cdef inline int reflect(int at, int size) noexcept nogil:
    """The position mirrored at the first and the last, which are not repeated, as often as it
    takes."""
    cdef int period = 2 * (size - 1)
    if size == 1:
        return 0
    at %= period
    if at < 0:
        at += period
    return at if at < size else period - at


cdef void _draw(const dts_op *op, dts_stream *s, dts_draw *d) noexcept nogil:
    # One word: sigma.
    d.out_w = d.in_w
    d.out_h = d.in_h
    d.applied = 1
    d.value[0] = op.low[0] + dts_uniform(dts_stream_next(s)) * (op.high[0] - op.low[0])


cdef int64_t _temp(const dts_op *op, const dts_draw *d, int channels) noexcept nogil:
    """One line with its reflected ends."""
    cdef int64_t pixels = d.in_w + 2 * radius_of(op, 0, d.value[0]) + 1
    return (pixels * channels + SLACK) * <int64_t> sizeof(int16_t)


cdef int _run(const dts_op *op, const dts_draw *d, const dts_image *src, const dts_image *dst,
              void *temp, dts_error *error) noexcept nogil:
    cdef const dts_kernels *kernels = get_kernels()
    cdef const dts_pixels *pixels = get_pixels()
    cdef const uint8_t *rows[MAX_TAPS]
    cdef Weights across, down
    cdef int16_t *line
    cdef int y, k, c, n = src.width * src.channels, channels = src.channels
    weights_make(&across, radius_of(op, 0, d.value[0]), d.value[0])
    weights_make(&down, radius_of(op, 1, d.value[0]), d.value[0])
    if across.radius == 0 and down.radius == 0:
        colour_copy(src, dst)
        return DTS_OK
    line = <int16_t *> temp + across.radius * channels
    for y in range(src.height):
        for k in range(down.taps):
            rows[k] = src.pixels + reflect(y + k - down.radius, src.height) * src.stride
        kernels.resize_v(line, rows, down.weight, down.taps, <size_t> n)
        for k in range(1, across.radius + 1):
            for c in range(channels):
                line[-k * channels + c] = line[reflect(-k, src.width) * channels + c]
                line[n + (k - 1) * channels + c] = line[
                    reflect(src.width - 1 + k, src.width) * channels + c]
        pixels.blur_h(dst.pixels + y * dst.stride, <const int16_t *> temp, across.weight,
                      across.taps, channels, <size_t> n)
    return DTS_OK


def _kernel_size(value):
    pair = value if isinstance(value, (tuple, list)) else (value, value)
    if len(pair) != 2:
        raise ValueError(f"kernel_size must be an int or (width, height), not {value!r}")
    pair = tuple(check_integer("kernel_size", v, 1, MAX_KERNEL) for v in pair)
    if pair[0] % 2 == 0 or pair[1] % 2 == 0:
        raise ValueError(f"kernel_size must be odd, not {value!r}")
    return pair


class GaussianBlur(Transform):
    """Blur with a Gaussian kernel whose sigma is drawn uniformly; as torchvision's.

    Edges are reflected, without repeating the outermost pixel. Pictures smaller than the kernel,
    which torchvision refuses, are reflected more than once.

    Parameters
    ----------
    kernel_size : int or (int, int), optional
        Width and height of the kernel in pixels, odd, 1..255. None: 2 ceil(3 sigma) + 1 for the
        sigma that is drawn.
    sigma : float or (float, float)
        Standard deviation in pixels, above 0, or its range. Without a kernel_size up to 42.

    Raises
    ------
    ValueError
        A kernel size that is even or outside 1..255, a sigma that is not above 0, a range that is
        reversed or not finite.

    Notes
    -----
    The positional form ``GaussianBlur(0.1, 2.0)``, two floats, is a range of sigma.

    Weights are rounded to 1/16384, the middle one such that they add up to 1, and the result of
    the vertical pass to 1/128 of a level: at most 1 level from torchvision for kernels of up to 63
    pixels.
    """

    is_random = True
    is_pixels = True

    def __init__(self, kernel_size=None, sigma=(0.1, 2.0)):
        if isinstance(kernel_size, Real) and not isinstance(kernel_size, Integral):
            if isinstance(sigma, (tuple, list)):
                raise ValueError(
                    f"kernel_size must be an int or (width, height), not {kernel_size!r}"
                )
            kernel_size, sigma = None, (kernel_size, sigma)
        self.kernel_size = None if kernel_size is None else _kernel_size(kernel_size)
        pair = sigma if isinstance(sigma, (tuple, list)) else (sigma, sigma)
        self.sigma = check_range("sigma", pair, 0.0, 42.0 if kernel_size is None else 1e6)

    def temp_bytes(self, size, channels):
        kernel = self.kernel_size
        radius = kernel[0] // 2 if kernel is not None else int(3 * self.sigma[1] + 1)
        return ((size[1] + 2 * radius + 1) * channels + SLACK) * sizeof(int16_t)

    def drawn(self, values, choices):
        """Return sigma, in pixels."""
        return {"sigma": values[0]}

    def compile(self, position):
        cdef Op out = Op()
        out.op.kind = OP_PIXELS
        out.op.position = position
        out.op.low[0], out.op.high[0] = self.sigma
        if self.kernel_size is not None:
            out.op.flag[0], out.op.flag[1] = self.kernel_size
        out.op.draw = _draw
        out.op.run = _run
        out.op.temp_bytes = _temp
        return out
