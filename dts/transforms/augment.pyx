"""TrivialAugmentWide and RandAugment: one of 14 operations by lot, with a magnitude."""

from libc.math cimport floor
from libc.stdint cimport int64_t, uint8_t

from dts.rng.philox cimport dts_random_int, dts_stream, dts_stream_next
from dts.status cimport DTS_OK, dts_error
from dts.transforms.colour cimport (
    colour_autocontrast, colour_brightness, colour_contrast, colour_equalize,
    colour_posterize, colour_saturation, colour_sharpness, colour_solarize,
)
from dts.transforms.op cimport OP_PIXELS, Op, dts_draw, dts_image, dts_op
from dts.transforms.warp cimport (
    WARP_BILINEAR, WARP_NEAREST, warp, warp_rotation, warp_shear_x, warp_shear_y,
    warp_translation,
)

from dts.transforms.op import (
    Transform, check_fill, check_fill_channels, check_integer, check_interpolation,
)

cdef enum:
    IDENTITY, SHEAR_X, SHEAR_Y, TRANSLATE_X, TRANSLATE_Y, ROTATE, BRIGHTNESS, COLOR, CONTRAST
    SHARPNESS, POSTERIZE, SOLARIZE, AUTOCONTRAST, EQUALIZE
    OPERATIONS
    MAX_STEPS = 8               # that a dts_draw has room for

# Places in number and flag of the compiled operation.
cdef enum:
    TOP_SHEAR, TOP_TRANSLATE, TOP_ROTATE, TOP_FACTOR, LOST_BITS
    STEPS = 0, BINS, BIN, OF_SIZE, INTERPOLATION

_NAMES = ("Identity", "ShearX", "ShearY", "TranslateX", "TranslateY", "Rotate", "Brightness",
          "Color", "Contrast", "Sharpness", "Posterize", "Solarize", "AutoContrast", "Equalize")


cdef double spaced(double start, double end, int bins, int at) noexcept nogil:
    """Number `at` of `bins` evenly spaced ones: to the last bit those of torch.linspace, which
    has steps in float32 and rounds a product and a sum at once."""
    cdef float first = <float> start, last = <float> end
    cdef float step = (last - first) / <float> (bins - 1)
    if at < bins // 2:
        return <float> (<double> first + <double> step * at)
    return <float> (<double> last - <double> step * (bins - 1 - at))


cdef double kept_bits(double lost, int bins, int at) noexcept nogil:
    """8 less what bin `at` loses, `lost` in the last; float32, halves to the even number."""
    cdef float bits = <float> 8.0 - <float> at / <float> ((bins - 1) / lost)
    cdef double whole = floor(<double> bits + 0.5)
    if whole - bits == 0.5 and floor(whole / 2.0) * 2.0 != whole:
        whole -= 1.0
    return whole


cdef double parameter(const dts_op *op, int operation, int at, bint negative, int width,
                      int height) noexcept nogil:
    """What the operation takes: a slope, pixels, degrees, a factor, bits or a threshold."""
    cdef int bins = op.flag[BINS]
    cdef double sign = -1.0 if negative else 1.0, side
    if operation == SHEAR_X or operation == SHEAR_Y:
        return sign * spaced(0.0, op.number[TOP_SHEAR], bins, at)
    if operation == TRANSLATE_X or operation == TRANSLATE_Y:
        side = 1.0
        if op.flag[OF_SIZE]:
            side = width if operation == TRANSLATE_X else height
        return sign * floor(spaced(0.0, op.number[TOP_TRANSLATE] * side, bins, at))
    if operation == ROTATE:
        return sign * spaced(0.0, op.number[TOP_ROTATE], bins, at)
    if BRIGHTNESS <= operation <= SHARPNESS:
        return 1.0 + sign * spaced(0.0, op.number[TOP_FACTOR], bins, at)
    if operation == POSTERIZE:
        return kept_bits(op.number[LOST_BITS], bins, at)
    if operation == SOLARIZE:
        return 255.0 * spaced(1.0, 0.0, bins, at)
    return 0.0


cdef void _draw(const dts_op *op, dts_stream *s, dts_draw *d) noexcept nogil:
    # Three words for each step, always: the operation, the bin (not looked at where it is given),
    # and the sign, negative where the upper bit is 1.
    cdef int step, at
    d.out_w = d.in_w
    d.out_h = d.in_h
    d.applied = 0
    for step in range(op.flag[STEPS]):
        d.choice[step] = <int> dts_random_int(dts_stream_next(s), OPERATIONS)
        at = <int> dts_random_int(dts_stream_next(s), op.flag[BINS])
        if op.flag[BIN] >= 0:
            at = op.flag[BIN]
        d.value[step] = parameter(op, d.choice[step], at, dts_stream_next(s) >> 31, d.in_w,
                                  d.in_h)
        d.applied |= d.choice[step] != IDENTITY


cdef bint in_place(int operation) noexcept nogil:
    """Whether it can work in one picture."""
    return operation >= BRIGHTNESS and operation != SHARPNESS


cdef void perform(const dts_op *op, int operation, double value, const dts_image *src,
                  const dts_image *dst) noexcept nogil:
    cdef double matrix[6]
    if operation == BRIGHTNESS:
        colour_brightness(src, dst, value)
    elif operation == COLOR:
        colour_saturation(src, dst, value)
    elif operation == CONTRAST:
        colour_contrast(src, dst, value)
    elif operation == SHARPNESS:
        colour_sharpness(src, dst, value)
    elif operation == POSTERIZE:
        colour_posterize(src, dst, <int> value)
    elif operation == SOLARIZE:
        colour_solarize(src, dst, value)
    elif operation == AUTOCONTRAST:
        colour_autocontrast(src, dst)
    elif operation == EQUALIZE:
        colour_equalize(src, dst)
    else:
        if operation == SHEAR_X:
            warp_shear_x(value, src.height, matrix)
        elif operation == SHEAR_Y:
            warp_shear_y(value, src.width, matrix)
        elif operation == TRANSLATE_X:
            warp_translation(value, 0.0, matrix)
        elif operation == TRANSLATE_Y:
            warp_translation(0.0, value, matrix)
        else:
            warp_rotation(value, 0.0, 0.0, matrix)
        warp(src, dst, matrix, op.flag[INTERPOLATION], op.value)


cdef int _run(const dts_op *op, const dts_draw *d, const dts_image *src, const dts_image *dst,
              void *temp, dts_error *error) noexcept nogil:
    cdef dts_image other = dst[0]
    cdef const dts_image *now = src
    cdef const dts_image *target
    cdef int step, moves = 0
    other.pixels = <uint8_t *> temp
    # How often the picture moves to other memory: so many that the last time it is dst.
    for step in range(op.flag[STEPS]):
        if d.choice[step] != IDENTITY and (moves == 0 or not in_place(d.choice[step])):
            moves += 1
    for step in range(op.flag[STEPS]):
        if d.choice[step] == IDENTITY:
            continue
        target = now
        if now == src or not in_place(d.choice[step]):
            moves -= 1
            target = dst
            if moves % 2:
                target = &other
        perform(op, d.choice[step], d.value[step], now, target)
        now = target
    return DTS_OK


cdef int64_t _temp(const dts_op *op, const dts_draw *d, int channels) noexcept nogil:
    # dst has no gaps between its rows, and neither has the picture in between.
    return (<int64_t> d.in_w * d.in_h * channels + 64) if op.flag[STEPS] > 1 else 0


cdef Op _op(transform, position, int steps, int at):
    cdef Op out = Op()
    cdef int k
    out.op.kind = OP_PIXELS
    out.op.position = position
    out.op.flag[STEPS] = steps
    out.op.flag[BINS] = transform.num_magnitude_bins
    out.op.flag[BIN] = at
    out.op.flag[INTERPOLATION] = (
        WARP_BILINEAR if transform.interpolation == "bilinear" else WARP_NEAREST
    )
    fill = transform.fill if isinstance(transform.fill, tuple) else (transform.fill,)
    for k in range(3):
        out.op.value[k] = fill[k % len(fill)]
    out.op.draw = _draw
    out.op.run = _run
    out.op.temp_bytes = _temp
    return out


class _Augment(Transform):
    is_random = True
    is_pixels = True

    def __init__(self, num_magnitude_bins, interpolation, fill):
        self.num_magnitude_bins = check_integer("num_magnitude_bins", num_magnitude_bins, 2, 1000)
        self.interpolation = check_interpolation("interpolation", interpolation)
        self.fill = check_fill("fill", 0 if fill is None else fill)

    def check_channels(self, channels):
        check_fill_channels("fill", self.fill, channels)


class TrivialAugmentWide(_Augment):
    """One of 14 operations by lot, with a magnitude by lot; as torchvision's.

    All with the same chance: Identity; ShearX, ShearY (slope 0..0.99); TranslateX, TranslateY
    (0..32 pixels); Rotate (0..135 degrees); Brightness, Color, Contrast, Sharpness (factor 1 and
    up to 0.99 more or less); Posterize (8..2 bits); Solarize (threshold 255..0); AutoContrast;
    Equalize. Magnitudes are evenly spaced; those of the first nine after Identity are negative
    with a chance of one half.

    Parameters
    ----------
    num_magnitude_bins : int
        How many magnitudes there are, 2..1000.
    interpolation : str
        "nearest" or "bilinear", of shears, translations and rotations.
    fill : float or sequence of float, optional
        What comes from outside the picture, 0..255, for all channels or one for each; None: 0.

    Raises
    ------
    ValueError
        A number out of range, another interpolation; fill values that are not as many as the
        channels, at commit().

    Notes
    -----
    Source: Mueller and Hutter, "TrivialAugment: Tuning-free Yet State-of-the-Art Data
    Augmentation", ICCV 2021. For the same operation and magnitude the result is torchvision's, but
    for the three colours that `RandomGrayscale` names.
    """

    def __init__(self, num_magnitude_bins=31, interpolation="nearest", fill=None):
        super().__init__(num_magnitude_bins, interpolation, fill)

    def drawn(self, values, choices):
        """Return the operation and what it takes: slope, pixels, degrees, factor, bits, ..."""
        return {"operation": _NAMES[choices[0]], "magnitude": values[0]}

    def compile(self, position):
        cdef Op out = _op(self, position, 1, -1)
        out.op.number[TOP_SHEAR] = out.op.number[TOP_FACTOR] = 0.99
        out.op.number[TOP_TRANSLATE] = 32.0
        out.op.number[TOP_ROTATE] = 135.0
        out.op.number[LOST_BITS] = 6.0
        return out


class RandAugment(_Augment):
    """Some of 14 operations by lot, one after the other, of one magnitude; as torchvision's.

    Each time all with the same chance: Identity; ShearX, ShearY (slope 0..0.3); TranslateX,
    TranslateY (0..150/331 of the width or height); Rotate (0..30 degrees); Brightness, Color,
    Contrast, Sharpness (factor 1 and up to 0.9 more or less); Posterize (8..4 bits); Solarize
    (threshold 255..0); AutoContrast; Equalize. The sign of a magnitude is as in
    `TrivialAugmentWide`.

    Parameters
    ----------
    num_ops : int
        How many operations, 0..8.
    magnitude : int
        Which of the evenly spaced magnitudes, 0..num_magnitude_bins - 1.
    num_magnitude_bins : int
        How many magnitudes there are, 2..1000.
    interpolation : str
        "nearest" or "bilinear", of shears, translations and rotations.
    fill : float or sequence of float, optional
        What comes from outside the picture, 0..255, for all channels or one for each; None: 0.

    Raises
    ------
    ValueError
        A number out of range, another interpolation; fill values that are not as many as the
        channels, at commit().

    Notes
    -----
    Source: Cubuk and others, "RandAugment: Practical automated data augmentation with a reduced
    search space", NeurIPS 2020. For the same operations and magnitudes the result is
    torchvision's, but for what `TrivialAugmentWide` says.
    """

    def __init__(self, num_ops=2, magnitude=9, num_magnitude_bins=31, interpolation="nearest",
                 fill=None):
        self.num_ops = check_integer("num_ops", num_ops, 0, MAX_STEPS)
        super().__init__(num_magnitude_bins, interpolation, fill)
        self.magnitude = check_integer("magnitude", magnitude, 0, self.num_magnitude_bins - 1)

    def temp_bytes(self, size, channels):
        return size[0] * size[1] * channels + 64 if self.num_ops > 1 else 0

    def drawn(self, values, choices):
        """Return the operations, and what each takes: slope, pixels, degrees, factor, bits, ..."""
        steps = range(self.num_ops)
        return {
            "operations": tuple(_NAMES[choices[k]] for k in steps),
            "magnitudes": tuple(values[k] for k in steps),
        }

    def compile(self, position):
        cdef Op out = _op(self, position, self.num_ops, self.magnitude)
        out.op.flag[OF_SIZE] = 1
        out.op.number[TOP_SHEAR] = 0.3
        out.op.number[TOP_FACTOR] = 0.9
        out.op.number[TOP_TRANSLATE] = 150.0 / 331.0
        out.op.number[TOP_ROTATE] = 30.0
        out.op.number[LOST_BITS] = 4.0
        return out
