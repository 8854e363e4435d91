"""Base class of the transforms, and the checks that their constructors share."""

from dts.rng.philox cimport dts_stream, dts_stream_next, dts_uniform

import copy
import math
from numbers import Integral, Real

MAX_SIDE = 65_500  # the longest side a JPEG can have


cdef class Op:
    """One operation as the workers see it; made by ``Transform.compile``."""


cdef void draw_coin(const dts_op *op, dts_stream *s, dts_draw *d) noexcept nogil:
    d.out_w = d.in_w
    d.out_h = d.in_h
    d.applied = dts_uniform(dts_stream_next(s)) < op.p


cdef Op coin_op(int kind, transform, position):
    cdef Op out = Op()
    out.op.kind = kind
    out.op.position = position
    out.op.p = transform.p
    out.op.draw = draw_coin
    return out


class Transform:
    """Base of all transforms: immutable parameters, checked when made.

    Attributes
    ----------
    is_random : bool
        Whether it draws random numbers.
    is_carrier : bool
        Whether it only hands parameters to FusedNormalization, which comes last.
    is_pixels : bool
        Whether it makes a new picture of one that is held in memory.
    resamples : bool
        Whether it resizes: a view that was resized or padded before is rendered first.
    pads : bool
        Whether its result may reach over the edges of its input.
    may_block : bool
        Whether it may wait for something other than the CPU: code that is not ours.
    """

    is_random = False
    is_carrier = False
    is_pixels = False
    resamples = False
    pads = False
    may_block = False

    def compile(self, position):
        """Make the C form. `position` is the place in the chain: part of the random key."""
        raise NotImplementedError

    def output_size(self, size):
        """Return the size after this step.

        Parameters
        ----------
        size : tuple of (int, int) or None
            Height and width before, None when they differ from picture to picture.

        Returns
        -------
        tuple of (int, int) or None
        """
        return size

    def at_size(self, old, new):
        """Return what this step is in a chain that shall end at another size.

        Parameters
        ----------
        old, new : (int, int)
            Final height and width of the chain as it was given, and those wanted.

        Returns
        -------
        (Transform, bool)
            The step, and whether the steps before it must follow.

        Raises
        ------
        ValueError
            It cannot.
        """
        return self, True

    def check_channels(self, channels):
        """Raise ValueError where this cannot work on pictures of so many channels, 1 or 3."""

    def temp_bytes(self, size, channels):
        """Return how many bytes of memory it needs beside the pictures it reads and writes.

        Parameters
        ----------
        size : tuple of (int, int)
            Height and width of its input.
        channels : int
            1 or 3.

        Returns
        -------
        int
        """
        return 0

    def drawn(self, values, choices):
        """Name what a draw holds beside its box, for ``Preprocessor.draws``.

        Parameters
        ----------
        values : tuple of float
            The eight numbers of the draw.
        choices : tuple of int
            The eight choices of the draw.

        Returns
        -------
        dict
        """
        return {}

    def parameters(self):
        """Return the constructor's arguments, by name."""
        return dict(vars(self))

    def __repr__(self):
        args = ", ".join(f"{k}={v!r}" for k, v in self.parameters().items())
        return f"{type(self).__name__}({args})"

    def __eq__(self, other):
        if type(other) is not type(self):
            return NotImplemented
        return self.parameters() == other.parameters()

    def __hash__(self):
        return hash((type(self), *self.parameters().items()))


def check_side(name, value):
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise ValueError(f"{name} must be an integer, not {value!r}")
    value = int(value)
    if not 1 <= value <= MAX_SIDE:
        raise ValueError(f"{name} must lie in 1..{MAX_SIDE}, not {value}")
    return value


def check_pair_or_side(name, value):
    """Return an int (one side) or a (h, w) pair, checked."""
    if isinstance(value, (tuple, list)):
        if len(value) != 2:
            raise ValueError(f"{name} must be an int or (height, width), not {value!r}")
        return check_side(f"{name}[0]", value[0]), check_side(f"{name}[1]", value[1])
    return check_side(name, value)


def check_size(name, value):
    """Return (h, w); one int stands for both."""
    value = check_pair_or_side(name, value)
    return value if isinstance(value, tuple) else (value, value)


def with_size(transform, old, new):
    """Return a copy whose ``size`` changes as a chain's final size does, from `old` to `new`."""
    changed = copy.copy(transform)
    if isinstance(transform.size, tuple):
        changed.size = check_size("size", tuple(map(_side_at, transform.size, old, new)))
    elif old[0] * new[1] != old[1] * new[0]:
        raise ValueError(
            f"it keeps the aspect ratio, {old[0]} x {old[1]} and {new[0]} x {new[1]} have two"
        )
    else:
        changed.size = check_side("size", _side_at(transform.size, old[0], new[0]))
    return changed


def _side_at(side, old, new):
    return max((2 * side * new + old) // (2 * old), 1)


def check_number(name, value, low=-math.inf, high=math.inf):
    if isinstance(value, bool) or not isinstance(value, Real):
        raise ValueError(f"{name} must be a number, not {value!r}")
    try:
        value = float(value)
    except OverflowError:  # an integer of more than 308 digits
        value = math.inf if value > 0 else -math.inf
    if not (math.isfinite(value) and low <= value <= high):
        raise ValueError(f"{name} must lie in [{low:g}, {high:g}], not {value:g}")
    return value


def check_integer(name, value, low, high):
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise ValueError(f"{name} must be an integer, not {value!r}")
    if not low <= value <= high:
        raise ValueError(f"{name} must lie in {low}..{high}, not {value}")
    return int(value)


def check_range(name, value, low, high=math.inf, closed=False):
    """Return an ordered pair of finite numbers above `low` and up to `high`.

    `closed`: the lesser one may be `low`.
    """
    if not isinstance(value, (tuple, list)) or len(value) != 2:
        raise ValueError(f"{name} must be a (min, max) pair, not {value!r}")
    a, b = (check_number(f"{name}[{i}]", v) for i, v in enumerate(value))
    if not (low < a or (closed and low == a < b)) or not a <= b <= high:
        above = "<=" if closed else "<"
        raise ValueError(
            f"{name} must satisfy {low:g} {above} min <= max <= {high:g}, not ({a:g}, {b:g})"
        )
    return a, b


def check_flag(name, value):
    if not isinstance(value, (bool, type(None))) and value not in (0, 1):
        raise ValueError(f"{name} must be True or False, not {value!r}")
    return bool(value)


def check_fill(name, value):
    """Return a pixel value, or a tuple of 1 or 3, each 0..255."""
    if isinstance(value, (tuple, list)):
        if len(value) not in (1, 3):
            raise ValueError(f"{name} must be a number or one for each channel, not {value!r}")
        return tuple(check_number(f"{name}[{i}]", v, 0.0, 255.0) for i, v in enumerate(value))
    return check_number(name, value, 0.0, 255.0)


def check_fill_channels(name, value, channels):
    """Raise ValueError where a fill has one value for each of three channels, and one is there."""
    if isinstance(value, tuple) and len(value) not in (1, channels):
        raise ValueError(f"{name} has {len(value)} values for {channels} channels")


def write_fill(Op op, value):
    """Put a fill into the first three numbers of an operation."""
    values = value if isinstance(value, tuple) else (value,)
    cdef int k
    for k in range(3):
        op.op.number[k] = values[k % len(values)]


def check_padding(name, value):
    """Return (left, top, right, bottom) of one number, of (left and right, top and bottom), or of
    all four."""
    values = tuple(value) if isinstance(value, (tuple, list)) else (value,)
    for v in values:
        if isinstance(v, bool) or not isinstance(v, Integral) or not 0 <= v <= MAX_SIDE:
            raise ValueError(f"{name} must be integers in 0..{MAX_SIDE}, not {value!r}")
    if len(values) not in (1, 2, 4):
        raise ValueError(f"{name} must have 1, 2 or 4 numbers, not {len(values)}")
    left, top, right, bottom = (int(values[k % len(values)]) for k in range(4))
    return left, top, right, bottom


def check_interpolation(name, value):
    """Return "nearest" or "bilinear"; an enum member with such a value will do."""
    value = getattr(value, "value", value)
    if value not in ("nearest", "bilinear"):
        raise ValueError(f"{name} must be 'nearest' or 'bilinear', not {value!r}")
    return value
