"""GaussianNoise: a fresh normal number for each value of each picture."""

from libc.stdint cimport int64_t, uint32_t

from dts.kernels.kernels cimport dts_noise, dts_pixels, get_pixels
from dts.rng.philox cimport dts_stream
from dts.status cimport DTS_OK, dts_error
from dts.transforms.op cimport OP_PIXELS, Op, dts_draw, dts_image, dts_op
from dts.transforms.op import Transform, check_flag, check_number


cdef void _draw(const dts_op *op, dts_stream *s, dts_draw *d) noexcept nogil:
    # No word: all of the stream is for the pixels.
    d.out_w = d.in_w
    d.out_h = d.in_h
    d.applied = 1


cdef int _run(const dts_op *op, const dts_draw *d, const dts_image *src, const dts_image *dst,
              void *temp, dts_error *error) noexcept nogil:
    cdef const dts_pixels *kernels = get_pixels()
    cdef dts_noise noise
    cdef int y
    cdef int64_t n = <int64_t> src.width * src.channels
    noise.seed = d.stream.seed
    noise.c1 = d.stream.c1
    noise.c2 = d.stream.c2
    noise.c3 = d.stream.c3
    noise.mean = op.value[0]
    noise.sigma = op.value[1]
    noise.clip = op.flag[0]
    # Each row begins a group of 16 blocks (64 values) of its own.
    for y in range(src.height):
        noise.c0 = d.stream.c0 + <uint32_t> (y * ((n + 63) // 64) * 16)
        kernels.noise(dst.pixels + y * dst.stride, src.pixels + y * src.stride, <size_t> n,
                      &noise)
    return DTS_OK


class GaussianNoise(Transform):
    """Add normal noise, independent for each pixel and channel, picture and epoch.

    Parameters
    ----------
    mean, sigma : float
        Mean and standard deviation of the noise in units of 0..1, as torchvision's: 0.1 is 25.5
        levels. -1000..1000 and 0..1000.
    clip : bool
        Hold the result to 0..255. False: it wraps around, as a uint8 does.

    Raises
    ------
    ValueError
        A number that is not finite or outside its range.

    Notes
    -----
    The result is rounded; torchvision cuts the noise off towards 0 before it is added, and so
    adds about 0.4 levels less than sigma says.

    Each four words of the stream give four normal numbers by the method of Box and Muller
    (Annals of Mathematical Statistics 29, 1958) in float32, up to 5.8 sigma; which of them falls
    to which value is written in ``dts/kernels/pixels.h``. All instruction sets give the same.
    """

    is_random = True
    is_pixels = True

    def __init__(self, mean=0.0, sigma=0.1, clip=True):
        self.mean = check_number("mean", mean, -1000.0, 1000.0)
        self.sigma = check_number("sigma", sigma, 0.0, 1000.0)
        self.clip = check_flag("clip", clip)

    def compile(self, position):
        cdef Op out = Op()
        out.op.kind = OP_PIXELS
        out.op.position = position
        out.op.value[0] = 255.0 * self.mean
        out.op.value[1] = 255.0 * self.sigma
        out.op.flag[0] = self.clip
        out.op.draw = _draw
        out.op.run = _run
        return out
