"""Crops: RandomResizedCrop, FastRandomResizedCrop and CenterCrop."""

from libc.math cimport floor, sqrt

from dts.rng.philox cimport (
    dts_exp, dts_log, dts_random_int, dts_stream, dts_stream_next, dts_uniform,
)
from dts.transforms.op cimport (
    OP_GEOMETRY, Op, centred, dts_draw, dts_op, dts_view, view_crop, view_resize,
)
from dts.transforms.op import (
    Transform, check_flag, check_number, check_range, check_size, with_size,
)

cdef int ATTEMPTS = 10

cdef enum:
    LOG_AREA = 0        # of dts_op.flag: the range of areas is one of logarithms


cdef void _draw_resized_crop(const dts_op *op, dts_stream *s, dts_draw *d) noexcept nogil:
    cdef double area = <double> d.in_w * <double> d.in_h
    cdef double wanted, ratio, w, h
    cdef int _attempt, k
    d.applied = 1
    d.out_w = op.size_w
    d.out_h = op.size_h
    for _attempt in range(ATTEMPTS):
        wanted = op.low[0] + dts_uniform(dts_stream_next(s)) * (op.high[0] - op.low[0])
        wanted = area * (dts_exp(wanted) if op.flag[LOG_AREA] else wanted)
        ratio = dts_exp(op.low[1] + dts_uniform(dts_stream_next(s)) * (op.high[1] - op.low[1]))
        w = floor(sqrt(wanted * ratio) + 0.5)
        h = floor(sqrt(wanted / ratio) + 0.5)
        if 0 < w <= d.in_w and 0 < h <= d.in_h:
            d.w = <int> w
            d.h = <int> h
            d.x = <int> dts_random_int(dts_stream_next(s), d.in_w - d.w + 1)
            d.y = <int> dts_random_int(dts_stream_next(s), d.in_h - d.h + 1)
            return
    # Nothing fitted: the largest centred box of an allowed ratio.
    ratio = <double> d.in_w / <double> d.in_h
    d.w = d.in_w
    d.h = d.in_h
    if ratio < dts_exp(op.low[1]):
        k = <int> floor(d.w / dts_exp(op.low[1]) + 0.5)
        d.h = min(max(k, 1), d.in_h)
    elif ratio > dts_exp(op.high[1]):
        k = <int> floor(d.h * dts_exp(op.high[1]) + 0.5)
        d.w = min(max(k, 1), d.in_w)
    d.x = (d.in_w - d.w) // 2
    d.y = (d.in_h - d.h) // 2


cdef int _apply_resized_crop(const dts_op *op, const dts_draw *d, dts_view *v) noexcept nogil:
    cdef dts_view old = v[0]
    if (view_crop(v, d.x, d.y, d.w, d.h)
            and view_resize(v, op.size_w, op.size_h, op.antialias)):
        return 1
    v[0] = old
    return 0


cdef void _draw_centre_crop(const dts_op *op, dts_stream *s, dts_draw *d) noexcept nogil:
    d.applied = 1
    d.out_w = d.w = op.size_w
    d.out_h = d.h = op.size_h
    d.x = centred(d.in_w, d.w)
    d.y = centred(d.in_h, d.h)


cdef int _apply_centre_crop(const dts_op *op, const dts_draw *d, dts_view *v) noexcept nogil:
    return view_crop(v, d.x, d.y, d.w, d.h)


class RandomResizedCrop(Transform):
    """Cut out a random box and resize it, as torchvision's.

    Up to ten times an area is drawn, uniform in ``scale`` times the picture's, and an aspect
    ratio, log-uniform in ``ratio``; the first box that fits is placed uniformly. Otherwise the
    largest centred box of an allowed ratio is taken. The filter sees nothing outside the box.

    Parameters
    ----------
    size : int or (int, int)
        Height and width of the result, in pixels.
    scale : (float, float)
        Least and greatest share of the picture's area, in (0, 1].
    ratio : (float, float)
        Least and greatest width / height, above 0.
    antialias : bool
        Widen the bilinear filter when the box shrinks.

    Raises
    ------
    ValueError
        A size outside 1..65,500, a range that is empty, reversed or not finite.

    Notes
    -----
    The positional form ``RandomResizedCrop(224, 0.08, 1.0, 3/4, 4/3)`` is accepted too.
    """

    is_random = True
    resamples = True

    def __init__(self, size, scale=(0.08, 1.0), ratio=(3.0 / 4.0, 4.0 / 3.0), *rest,
                 antialias=True):
        if isinstance(scale, (tuple, list)):
            if rest:
                if len(rest) > 1:
                    raise ValueError("RandomResizedCrop takes size, scale, ratio and antialias")
                antialias = rest[0]
        else:  # size, scale_min, scale_max, ratio_min, ratio_max
            given = [scale, *([] if isinstance(ratio, (tuple, list)) else [ratio]), *rest]
            defaults = [0.08, 1.0, 3.0 / 4.0, 4.0 / 3.0]
            if len(given) > 4:
                raise ValueError("RandomResizedCrop takes at most four numbers after size")
            numbers = [*given, *defaults[len(given):]]
            scale, ratio = tuple(numbers[:2]), tuple(numbers[2:])
        self.size = check_size("size", size)
        self.scale = check_range("scale", scale, 0.0, 1.0)
        self.ratio = check_range("ratio", ratio, 0.0)
        check_number("ratio[1]", self.ratio[1], 0.0, 1e6)
        check_number("ratio[0]", self.ratio[0], 1e-6)
        check_number("scale[0]", self.scale[0], 1e-12)
        self.antialias = check_flag("antialias", antialias)

    def output_size(self, size):
        return self.size

    def at_size(self, old, new):
        return with_size(self, old, new), False

    def compile(self, position):
        cdef Op out = Op()
        out.op.kind = OP_GEOMETRY
        out.op.position = position
        out.op.antialias = self.antialias
        out.op.size_h, out.op.size_w = self.size
        out.op.low[0], out.op.high[0] = self.scale
        out.op.low[1] = dts_log(self.ratio[0])
        out.op.high[1] = dts_log(self.ratio[1])
        out.op.draw = _draw_resized_crop
        out.op.apply = _apply_resized_crop
        return out


class FastRandomResizedCrop(RandomResizedCrop):
    """RandomResizedCrop with areas that are log-uniform: smaller boxes, faster to decode.

    **Another distribution than RandomResizedCrop's**, and so another augmentation: the share of
    the area is ``exp`` of a number uniform between the logarithms of ``scale``. Over the default
    range it is 0.36 on average instead of 0.54 (where every box fits), so a third fewer pixels are
    decoded and resized, and objects look larger. All else is as in `RandomResizedCrop`.

    Parameters
    ----------
    size, scale, ratio, antialias
        As in `RandomResizedCrop`.

    Raises
    ------
    ValueError
        A size outside 1..65,500, a range that is empty, reversed or not finite.
    """

    def compile(self, position):
        cdef Op out = RandomResizedCrop.compile(self, position)
        out.op.flag[LOG_AREA] = 1
        out.op.low[0] = dts_log(self.scale[0])
        out.op.high[0] = dts_log(self.scale[1])
        return out


class CenterCrop(Transform):
    """Cut out the centre; where the picture is smaller, pad with 0.

    Half a pixel rounds to the even side, as in torchvision.

    Parameters
    ----------
    size : int or (int, int)
        Height and width of the result, in pixels.

    Raises
    ------
    ValueError
        A size outside 1..65,500.
    """

    pads = True

    def __init__(self, size):
        self.size = check_size("size", size)

    def output_size(self, size):
        return self.size

    def at_size(self, old, new):
        return with_size(self, old, new), True

    def compile(self, position):
        cdef Op out = Op()
        out.op.kind = OP_GEOMETRY
        out.op.position = position
        out.op.size_h, out.op.size_w = self.size
        out.op.draw = _draw_centre_crop
        out.op.apply = _apply_centre_crop
        return out
