"""RandomErasing: drawn here, done after normalising."""

from libc.math cimport floor, sqrt
from libc.stdint cimport uint8_t, uint32_t

from dts.kernels.kernels cimport dts_noise, get_pixels
from dts.rng.philox cimport (
    dts_exp, dts_log, dts_philox, dts_philox_block, dts_random_int, dts_stream, dts_stream_next,
    dts_uniform,
)
from dts.transforms.op cimport ERASE_RANDOM, OP_ERASE, Op, dts_draw, dts_op
from dts.transforms.op import Transform, check_number, check_range

cdef int ATTEMPTS = 10


cdef void _draw_erase(const dts_op *op, dts_stream *s, dts_draw *d) noexcept nogil:
    cdef double area = <double> d.in_w * <double> d.in_h
    cdef double wanted, ratio, w, h
    cdef int _attempt
    d.out_w = d.in_w
    d.out_h = d.in_h
    d.applied = 0
    if dts_uniform(dts_stream_next(s)) >= op.p:
        return
    for _attempt in range(ATTEMPTS):
        wanted = area * (op.low[0] + dts_uniform(dts_stream_next(s)) * (op.high[0] - op.low[0]))
        ratio = dts_exp(op.low[1] + dts_uniform(dts_stream_next(s)) * (op.high[1] - op.low[1]))
        h = floor(sqrt(wanted * ratio) + 0.5)
        w = floor(sqrt(wanted / ratio) + 0.5)
        if 0 < w < d.in_w and 0 < h < d.in_h:
            d.w = <int> w
            d.h = <int> h
            d.y = <int> dts_random_int(dts_stream_next(s), d.in_h - d.h + 1)
            d.x = <int> dts_random_int(dts_stream_next(s), d.in_w - d.w + 1)
            d.applied = 1
            return


cdef void erase_bytes(const dts_draw *d, int g, uint8_t *out) noexcept nogil:
    cdef dts_philox_block block
    cdef int k, byte
    for k in range(4):
        block = dts_philox(d.stream.seed, d.stream.c0 + <uint32_t> (4 * g + k), d.stream.c1,
                           d.stream.c2, d.stream.c3)
        for byte in range(16):
            out[16 * k + byte] = <uint8_t> (block.r[byte // 4] >> (8 * (byte % 4)))


cdef void erase_normals(const dts_draw *d, int g, float *out) noexcept nogil:
    cdef dts_noise noise
    noise.seed = d.stream.seed
    noise.c0 = d.stream.c0 + <uint32_t> (16 * g)
    noise.c1 = d.stream.c1
    noise.c2 = d.stream.c2
    noise.c3 = d.stream.c3
    get_pixels().normals(out, &noise)


class RandomErasing(Transform):
    """Overwrite a random box of the normalised result, as torchvision's.

    It comes in the very last step, wherever it stands in a chain: the box is drawn on the result,
    as it looks after the flips.

    Parameters
    ----------
    p : float
        Probability, 0..1.
    scale : (float, float)
        Least and greatest share of the area, in [0, 1]. A box of no pixels is drawn again, ten
        times at most.
    ratio : (float, float)
        Least and greatest height / width, above 0.
    value : float, sequence of float or "random"
        What the box is filled with, after normalisation (0 is the mean colour); one number, or one
        for each channel. For uint8 output: a pixel value. "random": a normal number of mean 0 and
        deviation 1 for each pixel and channel; for uint8 output a uniform one of 0..255.

    Raises
    ------
    ValueError
        A probability outside 0..1, a range that is empty, reversed or not finite, another value.
    """

    is_random = True
    is_carrier = True

    def __init__(self, p=0.5, scale=(0.02, 0.33), ratio=(0.3, 3.3), value=0):
        if isinstance(value, str) and value != "random":
            raise ValueError(
                f"value must be a number, one for each channel or 'random', not {value!r}"
            )
        self.p = check_number("p", p, 0.0, 1.0)
        self.scale = check_range("scale", scale, 0.0, 1.0, closed=True)
        self.ratio = check_range("ratio", ratio, 0.0)
        check_number("ratio[1]", self.ratio[1], 0.0, 1e6)
        check_number("ratio[0]", self.ratio[0], 1e-6)
        if isinstance(value, str):
            self.value = value
        elif isinstance(value, (tuple, list)):
            if len(value) not in (1, 3):
                raise ValueError(f"value must have one number for each channel, not {value!r}")
            self.value = tuple(check_number("value", v) for v in value)
        else:
            self.value = check_number("value", value)

    def compile(self, position):
        cdef Op out = Op()
        cdef int k
        out.op.kind = OP_ERASE
        out.op.position = position
        out.op.p = self.p
        out.op.low[0], out.op.high[0] = self.scale
        out.op.low[1] = dts_log(self.ratio[0])
        out.op.high[1] = dts_log(self.ratio[1])
        out.op.draw = _draw_erase
        random = isinstance(self.value, str)
        out.op.flag[ERASE_RANDOM] = random
        values = self.value if isinstance(self.value, tuple) else (0 if random else self.value,)
        for k in range(3):
            out.op.value[k] = values[k % len(values)]
        out.op.value[3] = 0.0
        return out
