"""Resize."""

from dts.rng.philox cimport dts_stream
from dts.transforms.op cimport OP_GEOMETRY, Op, dts_draw, dts_op, dts_view, view_resize
from dts.transforms.op import Transform, check_flag, check_pair_or_side, with_size


cdef int _side(int size, int long_side, int short_side) noexcept nogil:
    """The long side after the short one became `size`; a thread of a picture must not overflow."""
    return <int> min(<double> size * long_side / short_side, 1073741824.0)


cdef void _draw_resize(const dts_op *op, dts_stream *s, dts_draw *d) noexcept nogil:
    d.applied = 1
    d.x = d.y = 0
    d.w = d.in_w
    d.h = d.in_h
    if op.size_w > 0:
        d.out_w = op.size_w
        d.out_h = op.size_h
    elif d.in_w <= d.in_h:
        d.out_w = op.size_h
        d.out_h = _side(op.size_h, d.in_h, d.in_w)
    else:
        d.out_h = op.size_h
        d.out_w = _side(op.size_h, d.in_w, d.in_h)


cdef int _apply_resize(const dts_op *op, const dts_draw *d, dts_view *v) noexcept nogil:
    return view_resize(v, d.out_w, d.out_h, op.antialias)


class Resize(Transform):
    """Resize with an antialiased bilinear filter.

    Parameters
    ----------
    size : int or (int, int)
        An int is the new short side, in pixels; the long side keeps the aspect ratio and is
        truncated to an integer, as in torchvision. A pair is (height, width).
    antialias : bool
        Widen the filter when the picture shrinks, as Pillow does. False: two taps per axis.

    Raises
    ------
    ValueError
        A size outside 1..65,500.
    """

    resamples = True

    def __init__(self, size, antialias=True):
        self.size = check_pair_or_side("size", size)
        self.antialias = check_flag("antialias", antialias)

    def output_size(self, size):
        if isinstance(self.size, tuple):
            return self.size
        if size is None:
            return None
        h, w = size
        return ((int(self.size * h / w), self.size) if w <= h
                else (self.size, int(self.size * w / h)))

    def at_size(self, old, new):
        return with_size(self, old, new), False

    def compile(self, position):
        cdef Op out = Op()
        out.op.kind = OP_GEOMETRY
        out.op.position = position
        out.op.antialias = self.antialias
        if isinstance(self.size, tuple):
            out.op.size_h, out.op.size_w = self.size
        else:
            out.op.size_h, out.op.size_w = self.size, 0
        out.op.draw = _draw_resize
        out.op.apply = _apply_resize
        return out
