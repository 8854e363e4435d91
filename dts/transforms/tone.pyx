"""What is done or not: gray, autocontrast, equalize, posterize, solarize, sharpness."""

from dts.status cimport DTS_OK, dts_error
from dts.transforms.colour cimport (
    colour_autocontrast, colour_equalize, colour_gray, colour_posterize, colour_sharpness,
    colour_solarize,
)
from dts.transforms.op cimport OP_PIXELS, Op, coin_op, dts_draw, dts_image, dts_op
from dts.transforms.op import Transform, check_integer, check_number


cdef int _run_gray(const dts_op *op, const dts_draw *d, const dts_image *src,
                   const dts_image *dst, void *temp, dts_error *error) noexcept nogil:
    colour_gray(src, dst)
    return DTS_OK


cdef int _run_autocontrast(const dts_op *op, const dts_draw *d, const dts_image *src,
                           const dts_image *dst, void *temp, dts_error *error) noexcept nogil:
    colour_autocontrast(src, dst)
    return DTS_OK


cdef int _run_equalize(const dts_op *op, const dts_draw *d, const dts_image *src,
                       const dts_image *dst, void *temp, dts_error *error) noexcept nogil:
    colour_equalize(src, dst)
    return DTS_OK


cdef int _run_posterize(const dts_op *op, const dts_draw *d, const dts_image *src,
                        const dts_image *dst, void *temp, dts_error *error) noexcept nogil:
    colour_posterize(src, dst, op.flag[0])
    return DTS_OK


cdef int _run_solarize(const dts_op *op, const dts_draw *d, const dts_image *src,
                       const dts_image *dst, void *temp, dts_error *error) noexcept nogil:
    colour_solarize(src, dst, op.number[0])
    return DTS_OK


cdef int _run_sharpness(const dts_op *op, const dts_draw *d, const dts_image *src,
                        const dts_image *dst, void *temp, dts_error *error) noexcept nogil:
    colour_sharpness(src, dst, op.number[0])
    return DTS_OK


class RandomGrayscale(Transform):
    """Turn a picture gray with probability ``p``, keeping its channels; as torchvision's.

    Luminance is ``floor(0.2989 r + 0.587 g + 0.114 b)``. Pictures of one channel stay as they
    are.

    Parameters
    ----------
    p : float
        Probability, 0..1.

    Raises
    ------
    ValueError
        A probability outside 0..1.

    Notes
    -----
    Whole numbers decide here, float32 in torchvision: of all 2^24 colours three differ, by 1,
    such as (250, 47, 199).
    """

    is_random = True
    is_pixels = True

    def __init__(self, p=0.1):
        self.p = check_number("p", p, 0.0, 1.0)

    def compile(self, position):
        cdef Op out = coin_op(OP_PIXELS, self, position)
        out.op.run = _run_gray
        return out


class RandomAutocontrast(Transform):
    """Stretch each channel to 0..255 with probability ``p``; exactly torchvision's.

    ``floor((v - min) / ((max - min) / 255))`` in float32. A flat channel stays as it is.

    Parameters
    ----------
    p : float
        Probability, 0..1.

    Raises
    ------
    ValueError
        A probability outside 0..1.
    """

    is_random = True
    is_pixels = True

    def __init__(self, p=0.5):
        self.p = check_number("p", p, 0.0, 1.0)

    def compile(self, position):
        cdef Op out = coin_op(OP_PIXELS, self, position)
        out.op.run = _run_autocontrast
        return out


class RandomEqualize(Transform):
    """Even out each channel's histogram with probability ``p``; exactly as torchvision and Pillow.

    With ``step = (pixels - pixels of the greatest value) // 255``, v becomes
    ``(pixels below v + step // 2) // step``. Where step is 0 the channel stays as it is.

    Parameters
    ----------
    p : float
        Probability, 0..1.

    Raises
    ------
    ValueError
        A probability outside 0..1.
    """

    is_random = True
    is_pixels = True

    def __init__(self, p=0.5):
        self.p = check_number("p", p, 0.0, 1.0)

    def compile(self, position):
        cdef Op out = coin_op(OP_PIXELS, self, position)
        out.op.run = _run_equalize
        return out


class RandomPosterize(Transform):
    """Keep the upper bits of each value with probability ``p``; exactly torchvision's.

    Parameters
    ----------
    bits : int
        How many of the eight bits are kept, 0..8.
    p : float
        Probability, 0..1.

    Raises
    ------
    ValueError
        Bits outside 0..8, a probability outside 0..1.
    """

    is_random = True
    is_pixels = True

    def __init__(self, bits, p=0.5):
        self.bits = check_integer("bits", bits, 0, 8)
        self.p = check_number("p", p, 0.0, 1.0)

    def compile(self, position):
        cdef Op out = coin_op(OP_PIXELS, self, position)
        out.op.flag[0] = self.bits
        out.op.run = _run_posterize
        return out


class RandomSolarize(Transform):
    """Turn values v of ``threshold`` and more into 255 - v, with probability ``p``.

    Exactly torchvision's.

    Parameters
    ----------
    threshold : float
        0..255.
    p : float
        Probability, 0..1.

    Raises
    ------
    ValueError
        A threshold outside 0..255, a probability outside 0..1.
    """

    is_random = True
    is_pixels = True

    def __init__(self, threshold, p=0.5):
        self.threshold = check_number("threshold", threshold, 0.0, 255.0)
        self.p = check_number("p", p, 0.0, 1.0)

    def compile(self, position):
        cdef Op out = coin_op(OP_PIXELS, self, position)
        out.op.number[0] = self.threshold
        out.op.run = _run_solarize
        return out


class RandomAdjustSharpness(Transform):
    """Smooth or sharpen with probability ``p``; exactly torchvision's.

    The smoothed picture is the mean of 3 x 3 pixels with the middle one counted five times,
    rounded. The result is ``smoothed + factor (picture - smoothed)``, held to 0..255 and rounded
    down. The outermost pixels stay, and so does a picture of less than 3 pixels a side.

    Parameters
    ----------
    sharpness_factor : float
        0: smoothed; 1: the picture itself; 2: twice as sharp. Up to 1e6.
    p : float
        Probability, 0..1.

    Raises
    ------
    ValueError
        A factor that is negative or not finite, a probability outside 0..1.
    """

    is_random = True
    is_pixels = True

    def __init__(self, sharpness_factor, p=0.5):
        self.sharpness_factor = check_number("sharpness_factor", sharpness_factor, 0.0, 1e6)
        self.p = check_number("p", p, 0.0, 1.0)

    def compile(self, position):
        cdef Op out = coin_op(OP_PIXELS, self, position)
        out.op.number[0] = self.sharpness_factor
        out.op.run = _run_sharpness
        return out
