"""What transforms that run a user's code have in common."""

from dts.rng.philox cimport dts_stream, dts_stream_next
from dts.transforms.op cimport OP_PIXELS, Op, dts_draw, dts_op
from dts.transforms.op import Transform, check_flag, check_size


cdef void _draw_words(const dts_op *op, dts_stream *s, dts_draw *d) noexcept nogil:
    """The size, and four words where it is random."""
    cdef int k
    d.applied = 1
    d.out_w = op.size_w if op.size_w > 0 else d.in_w
    d.out_h = op.size_h if op.size_w > 0 else d.in_h
    for k in range(4 if op.flag[0] else 0):
        d.choice[k] = <int> dts_stream_next(s)


cdef Op user_op(transform, position):
    cdef Op out = Op()
    out.op.kind = OP_PIXELS
    out.op.position = position
    out.op.flag[0] = transform.random
    if transform.size is not None:
        out.op.size_h, out.op.size_w = transform.size
    out.op.draw = _draw_words
    return out


class UserTransform(Transform):
    """Base of transforms that run a user's code on the pixels of each picture.

    Parameters
    ----------
    size : int or (int, int), optional
        Height and width of what it makes, in pixels; None: those of what it gets.
    random : bool
        Whether it is given words of the sample's stream.

    Raises
    ------
    ValueError
        A size outside 1..65,500.
    """

    may_block = True
    is_pixels = True

    def __init__(self, size, random):
        self.size = None if size is None else check_size("size", size)
        self.random = check_flag("random", random)

    @property
    def is_random(self):
        return self.random

    def output_size(self, size):
        return size if self.size is None else self.size

    def at_size(self, old, new):
        return self, self.size is None


def name_of(function):
    """Return how a function is called in messages."""
    name = getattr(function, "__qualname__", None) or getattr(function, "__name__", None)
    return name if isinstance(name, str) else type(function).__name__


def random_words(choices):
    """Return the four words of 32 bits that a user's transform got."""
    return tuple(c & 0xFFFFFFFF for c in choices[:4])
