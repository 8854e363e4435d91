"""DoNothing."""

from dts.rng.philox cimport dts_stream
from dts.transforms.op cimport OP_GEOMETRY, Op, dts_draw, dts_op, dts_view
from dts.transforms.op import Transform


cdef void _draw(const dts_op *op, dts_stream *s, dts_draw *d) noexcept nogil:
    d.applied = 0
    d.w = d.out_w = d.in_w
    d.h = d.out_h = d.in_h


cdef int _apply(const dts_op *op, const dts_draw *d, dts_view *v) noexcept nogil:
    return 1


class DoNothing(Transform):
    """Leave the picture as it is; a step to put where none is wanted."""

    def compile(self, position):
        cdef Op out = Op()
        out.op.kind = OP_GEOMETRY
        out.op.position = position
        out.op.draw = _draw
        out.op.apply = _apply
        return out
