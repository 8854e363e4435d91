"""RandomRotation."""

from libc.math cimport floor

from dts.rng.philox cimport dts_stream, dts_stream_next, dts_uniform
from dts.status cimport DTS_OK, dts_error
from dts.transforms.op cimport OP_PIXELS, Op, dts_draw, dts_image, dts_op
from dts.transforms.op import (
    Transform, check_fill, check_fill_channels, check_interpolation, check_number, write_fill,
)
from dts.transforms.warp cimport WARP_BILINEAR, WARP_NEAREST, warp, warp_rotation

cdef enum:
    # dts_op.number; 0 to 2 are the fill
    LOW = 3
    HIGH = 4
    CENTRE_X = 5
    CENTRE_Y = 6
    # dts_op.flag
    INTERPOLATION = 0
    CENTRED = 1
    FILLED = 2

LIMIT = 1e5     # degrees


cdef void _draw(const dts_op *op, dts_stream *s, dts_draw *d) noexcept nogil:
    # One word: the angle.
    cdef double low = op.number[LOW]
    cdef double angle = low + dts_uniform(dts_stream_next(s)) * (op.number[HIGH] - low)
    d.out_w = d.in_w
    d.out_h = d.in_h
    d.value[0] = angle
    d.applied = angle != 360.0 * floor(angle / 360.0)


cdef int _run(const dts_op *op, const dts_draw *d, const dts_image *src, const dts_image *dst,
              void *temp, dts_error *error) noexcept nogil:
    cdef double matrix[6]
    cdef float fill[3]
    cdef double cx = 0.0, cy = 0.0
    cdef int k
    if not op.flag[CENTRED]:
        cx = op.number[CENTRE_X] - src.width * 0.5
        cy = op.number[CENTRE_Y] - src.height * 0.5
    for k in range(3):
        fill[k] = <float> op.number[k]
    warp_rotation(d.value[0], cx, cy, matrix)
    warp(src, dst, matrix, op.flag[INTERPOLATION], fill if op.flag[FILLED] else NULL)
    return DTS_OK


class RandomRotation(Transform):
    """Turn the picture by a random angle, counter-clockwise, as torchvision's.

    The result has the size of the input; there is no ``expand``. "nearest" takes the same pixels
    as torchvision's tensor path; with "bilinear", values that lie within 1e-5 of a half may round
    the other way (1 level, about 20 values in a million).

    Parameters
    ----------
    degrees : float or (float, float)
        The angle is uniform in this range; a number d means (-d, d). Up to 100,000.
    interpolation : str
        "nearest" or "bilinear".
    center : None or (float, float)
        x and y of the point that stays, in pixels from the upper left corner; None: the centre.
    fill : None, float or sequence of float
        What comes from outside, 0..255, for all channels or one for each. With "bilinear" the
        pixels at the edge are first mixed with 0 and then with this, as torchvision does; None
        leaves the second out.

    Raises
    ------
    ValueError
        A negative number of degrees, a reversed range, numbers that are not finite, an unknown
        interpolation, a fill outside 0..255.
    """

    is_random = True
    is_pixels = True

    def __init__(self, degrees, interpolation="nearest", *, center=None, fill=0):
        if isinstance(degrees, (tuple, list)):
            if len(degrees) != 2:
                raise ValueError(f"degrees must be a number or (min, max), not {degrees!r}")
            low, high = (check_number("degrees", v, -LIMIT, LIMIT) for v in degrees)
            if low > high:
                raise ValueError(f"degrees must satisfy min <= max, not ({low:g}, {high:g})")
            self.degrees = low, high
        else:
            high = check_number("degrees", degrees, 0.0, LIMIT)
            self.degrees = -high, high
        self.interpolation = check_interpolation("interpolation", interpolation)
        if center is not None:
            if not isinstance(center, (tuple, list)) or len(center) != 2:
                raise ValueError(f"center must be (x, y), not {center!r}")
            center = tuple(check_number("center", v, -1e6, 1e6) for v in center)
        self.center = center
        self.fill = None if fill is None else check_fill("fill", fill)

    def check_channels(self, channels):
        check_fill_channels("fill", self.fill, channels)

    def drawn(self, values, choices):
        return {"angle": values[0]}

    def compile(self, position):
        cdef Op out = Op()
        out.op.kind = OP_PIXELS
        out.op.position = position
        write_fill(out, 0 if self.fill is None else self.fill)
        out.op.flag[FILLED] = self.fill is not None
        out.op.number[LOW], out.op.number[HIGH] = self.degrees
        out.op.flag[INTERPOLATION] = (
            WARP_BILINEAR if self.interpolation == "bilinear" else WARP_NEAREST
        )
        out.op.flag[CENTRED] = self.center is None
        if self.center is not None:
            out.op.number[CENTRE_X], out.op.number[CENTRE_Y] = self.center
        out.op.draw = _draw
        out.op.run = _run
        return out
