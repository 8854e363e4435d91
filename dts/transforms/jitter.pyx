"""ColorJitter: brightness, contrast, saturation and hue in a random order."""

from numbers import Real

from dts.rng.philox cimport dts_random_int, dts_stream, dts_stream_next, dts_uniform
from dts.status cimport DTS_OK, dts_error
from dts.transforms.colour cimport (
    colour_brightness, colour_contrast, colour_hue, colour_saturation,
)
from dts.transforms.op cimport OP_PIXELS, Op, dts_draw, dts_image, dts_op
from dts.transforms.op import Transform, check_number

_PARTS = ("brightness", "contrast", "saturation", "hue")


cdef void _draw(const dts_op *op, dts_stream *s, dts_draw *d) noexcept nogil:
    # Seven words, always: three shuffle the parts 0..3 (Fisher and Yates, from the last place
    # down), four are the factors of brightness, contrast, saturation and hue.
    cdef int k, other, swap
    d.out_w = d.in_w
    d.out_h = d.in_h
    d.applied = 0
    for k in range(4):
        d.choice[k] = k
    for k in range(3, 0, -1):
        other = <int> dts_random_int(dts_stream_next(s), k + 1)
        swap = d.choice[k]
        d.choice[k] = d.choice[other]
        d.choice[other] = swap
    for k in range(4):
        d.value[k] = (op.number[2 * k] + dts_uniform(dts_stream_next(s))
                      * (op.number[2 * k + 1] - op.number[2 * k]))
        d.applied |= op.flag[k]


cdef int _run(const dts_op *op, const dts_draw *d, const dts_image *src, const dts_image *dst,
              void *temp, dts_error *error) noexcept nogil:
    cdef const dts_image *now = src
    cdef int place, k
    for place in range(4):
        k = d.choice[place]
        if not op.flag[k]:
            continue
        if k == 0:
            colour_brightness(now, dst, d.value[0])
        elif k == 1:
            colour_contrast(now, dst, d.value[1])
        elif k == 2:
            colour_saturation(now, dst, d.value[2])
        else:
            colour_hue(now, dst, d.value[3])
        now = dst   # all further parts work in place
    return DTS_OK


def _range(name, value, centre, low, high):
    """Return the (min, max) of a factor, or None where it never changes anything."""
    if value is None:
        return None
    if isinstance(value, (tuple, list)):
        if len(value) != 2:
            raise ValueError(f"{name} must be a number or a (min, max) pair, not {value!r}")
        a, b = (check_number(f"{name}[{i}]", v, low, high) for i, v in enumerate(value))
        if a > b:
            raise ValueError(f"{name} must satisfy min <= max, not ({a:g}, {b:g})")
    elif isinstance(value, Real):
        spread = check_number(name, value, 0.0, high - centre)
        a, b = max(centre - spread, low), centre + spread
    else:
        raise ValueError(f"{name} must be a number or a (min, max) pair, not {value!r}")
    return None if a == b == centre else (a, b)


class ColorJitter(Transform):
    """Change brightness, contrast, saturation and hue by random factors, in a random order.

    Arguments and arithmetic are torchvision's. A number x stands for factors of
    max(0, 1 - x)..1 + x, for the hue for -x..x.

    Parameters
    ----------
    brightness : float or (float, float), optional
        Number, or least and greatest factor, 0 or more. Values are multiplied by it.
    contrast : float or (float, float), optional
        The same; 0 makes all pixels the mean luminance.
    saturation : float or (float, float), optional
        The same; 0 makes pixels gray.
    hue : float or (float, float), optional
        0..0.5, or a range within -0.5..0.5, in turns of the colour circle.

    Raises
    ------
    ValueError
        A number that is negative or not finite, a reversed range, a hue beyond half a turn, a
        factor over 1e6.

    Notes
    -----
    All factors and the order are uniform. On pictures of one channel saturation and hue do
    nothing, as in torchvision. For the same factors the result is torchvision's, but for the
    three colours of all that `RandomGrayscale` names, and for single values of the contrast where
    torchvision itself gives another result at the end of its vectors.
    """

    is_random = True
    is_pixels = True

    def __init__(self, brightness=None, contrast=None, saturation=None, hue=None):
        self.brightness = _range("brightness", brightness, 1.0, 0.0, 1e6)
        self.contrast = _range("contrast", contrast, 1.0, 0.0, 1e6)
        self.saturation = _range("saturation", saturation, 1.0, 0.0, 1e6)
        self.hue = _range("hue", hue, 0.0, -0.5, 0.5)

    def drawn(self, values, choices):
        """Return the factors by name, and the order of the parts that are in use."""
        used = [part for part in _PARTS if getattr(self, part) is not None]
        factors = {part: values[_PARTS.index(part)] for part in used}
        order = tuple(_PARTS[k] for k in choices[:4] if _PARTS[k] in used)
        return {**factors, "order": order}

    def compile(self, position):
        cdef Op out = Op()
        cdef int k
        out.op.kind = OP_PIXELS
        out.op.position = position
        for k, part in enumerate(_PARTS):
            limits = getattr(self, part)
            out.op.flag[k] = limits is not None
            if limits is not None:
                out.op.number[2 * k], out.op.number[2 * k + 1] = limits
        out.op.draw = _draw
        out.op.run = _run
        return out
