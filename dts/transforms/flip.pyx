"""Flips: drawn here, done while normalising."""

from dts.rng.philox cimport dts_stream, dts_stream_next, dts_uniform
from dts.transforms.op cimport OP_FLIP, OP_VFLIP, Op, dts_draw, dts_op
from dts.transforms.op import Transform, check_number


cdef void _draw_flip(const dts_op *op, dts_stream *s, dts_draw *d) noexcept nogil:
    d.out_w = d.in_w
    d.out_h = d.in_h
    d.applied = dts_uniform(dts_stream_next(s)) < op.p


class RandomHorizontalFlip(Transform):
    """Mirror left and right with probability ``p``.

    It comes in the last step, together with the normalisation, wherever it stands in a chain:
    steps after it see the picture as it was. Erased boxes are drawn on the flipped picture.

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
    is_carrier = True

    def __init__(self, p=0.5):
        self.p = check_number("p", p, 0.0, 1.0)

    def compile(self, position):
        cdef Op out = Op()
        out.op.kind = OP_FLIP
        out.op.position = position
        out.op.p = self.p
        out.op.draw = _draw_flip
        return out


class RandomVerticalFlip(Transform):
    """Mirror top and bottom with probability ``p``.

    As `RandomHorizontalFlip`, it comes in the last step wherever it stands.

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
    is_carrier = True

    def __init__(self, p=0.5):
        self.p = check_number("p", p, 0.0, 1.0)

    def compile(self, position):
        cdef Op out = Op()
        out.op.kind = OP_VFLIP
        out.op.position = position
        out.op.p = self.p
        out.op.draw = _draw_flip
        return out
