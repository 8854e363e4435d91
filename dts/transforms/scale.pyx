"""RandomScale."""

from libc.math cimport floor

from dts.rng.philox cimport dts_stream, dts_stream_next, dts_uniform
from dts.transforms.op cimport (
    OP_GEOMETRY, Op, centred, dts_draw, dts_op, dts_view, view_crop, view_resize,
)
from dts.transforms.op import Transform, check_flag, check_range

cdef double LONGEST = 1073741824.0


cdef int _scaled(int side, double factor) noexcept nogil:
    return <int> min(max(floor(side * factor + 0.5), 1.0), LONGEST)


cdef void _draw(const dts_op *op, dts_stream *s, dts_draw *d) noexcept nogil:
    # Words: factor of the width, factor of the height.
    cdef double range_ = op.high[0] - op.low[0]
    d.applied = 1
    d.value[1] = op.low[0] + dts_uniform(dts_stream_next(s)) * range_
    d.value[0] = op.low[0] + dts_uniform(dts_stream_next(s)) * range_
    d.choice[0] = _scaled(d.in_h, d.value[0])
    d.choice[1] = _scaled(d.in_w, d.value[1])
    d.w = d.out_w = d.in_w
    d.h = d.out_h = d.in_h
    d.x = centred(d.choice[1], d.in_w)
    d.y = centred(d.choice[0], d.in_h)


cdef int _apply(const dts_op *op, const dts_draw *d, dts_view *v) noexcept nogil:
    # A view just resized is whole, so that cutting it cannot fail.
    return (view_resize(v, d.choice[1], d.choice[0], op.antialias)
            and view_crop(v, d.x, d.y, d.w, d.h))


class RandomScale(Transform):
    """Stretch or shrink each axis by a factor of its own, and keep the size.

    The same as ``Resize((h', w'))`` and ``CenterCrop((h, w))`` for a picture of h x w: h' and w'
    are h and w times two independent factors, uniform in the range, rounded, and at least 1. What
    the smaller picture lacks is 0. torchvision has no such operation (its RandomAffine scales both
    axes by one factor).

    Parameters
    ----------
    min_ratio, max_ratio : float
        Range of the factors, above 0 and up to 1,000.
    antialias : bool
        Widen the filter of an axis that shrinks.

    Raises
    ------
    ValueError
        A range that is empty, reversed or not finite.
    """

    is_random = True
    resamples = True
    pads = True

    def __init__(self, min_ratio, max_ratio, antialias=True):
        self.min_ratio, self.max_ratio = check_range("ratio", (min_ratio, max_ratio), 0.0, 1e3)
        self.antialias = check_flag("antialias", antialias)

    def drawn(self, values, choices):
        return {"scale": values[:2], "scaled_size": choices[:2]}

    def compile(self, position):
        cdef Op out = Op()
        out.op.kind = OP_GEOMETRY
        out.op.position = position
        out.op.antialias = self.antialias
        out.op.low[0], out.op.high[0] = self.min_ratio, self.max_ratio
        out.op.draw = _draw
        out.op.apply = _apply
        return out
