"""Pad and RandomCrop: a box of a picture that may reach over its edges."""

from libc.stdint cimport int64_t, uint8_t
from libc.stdio cimport snprintf
from libc.string cimport memcpy

from dts.rng.philox cimport dts_random_int, dts_stream, dts_stream_next
from dts.status cimport DTS_BAD_IMAGE, DTS_OK, dts_error
from dts.transforms.op cimport OP_GEOMETRY, Op, dts_draw, dts_image, dts_op, dts_view, view_crop
from dts.transforms.op import (
    Transform, check_fill, check_fill_channels, check_flag, check_padding, check_size, with_size,
    write_fill,
)

cdef enum:
    CONSTANT = 0
    EDGE = 1
    REFLECT = 2         # the edge itself is not repeated
    SYMMETRIC = 3       # it is
    # dts_op.flag
    LEFT = 0
    TOP = 1
    RIGHT = 2
    BOTTOM = 3
    MODE = 4
    BLACK = 5           # constant 0, which the view itself has outside
    IF_NEEDED = 6

_MODES = {"constant": CONSTANT, "edge": EDGE, "reflect": REFLECT, "symmetric": SYMMETRIC}


cdef int64_t _fold(int64_t i, int64_t n, int mode) noexcept nogil:
    """Which of the positions 0..n-1 stands at position i."""
    cdef int64_t period
    if 0 <= i < n:
        return i
    if mode == EDGE or n == 1:
        return 0 if i < 0 else n - 1
    period = 2 * n - 2 if mode == REFLECT else 2 * n
    i = i % period
    if i < 0:
        i += period
    if i < n:
        return i
    return period - i if mode == REFLECT else period - 1 - i


cdef void _constant(const dts_op *op, uint8_t *out, int n, int channels) noexcept nogil:
    cdef int i, k
    for i in range(n):
        for k in range(channels):
            out[i * channels + k] = <uint8_t> op.number[k]


cdef void _folded(const dts_op *op, uint8_t *out, const uint8_t *row, int x, int n, int width,
                  int channels) noexcept nogil:
    """Columns x .. x+n-1, which lie outside."""
    cdef int i, k
    cdef const uint8_t *p
    for i in range(n):
        p = row + _fold(x + i, width, op.flag[MODE]) * channels
        for k in range(channels):
            out[i * channels + k] = p[k]


cdef int _apply(const dts_op *op, const dts_draw *d, dts_view *v) noexcept nogil:
    cdef bint inside = (d.x >= 0 and d.y >= 0 and d.x + d.w <= d.in_w and d.y + d.h <= d.in_h)
    if not d.applied or not (inside or op.flag[BLACK]):
        return 0
    return view_crop(v, d.x, d.y, d.w, d.h)


cdef int _run(const dts_op *op, const dts_draw *d, const dts_image *src, const dts_image *dst,
              void *temp, dts_error *error) noexcept nogil:
    cdef int c = src.channels, row, y
    cdef int left = min(max(-d.x, 0), d.w)              # columns of the result left of the picture
    cdef int right = min(max(d.x + d.w - src.width, 0), d.w)
    cdef int middle = d.w - left - right
    cdef const uint8_t *p
    cdef uint8_t *q
    if not d.applied:
        snprintf(error.reason, sizeof(error.reason),
                 "RandomCrop: a picture of %d x %d, padding included, is smaller than the crop of "
                 "%d x %d; pad_if_needed=True pads it", d.in_h + op.flag[TOP] + op.flag[BOTTOM],
                 d.in_w + op.flag[LEFT] + op.flag[RIGHT], d.h, d.w)
        return DTS_BAD_IMAGE
    for row in range(d.h):
        y = d.y + row
        q = dst.pixels + row * dst.stride
        if op.flag[MODE] == CONSTANT and (y < 0 or y >= src.height):
            _constant(op, q, d.w, c)
            continue
        p = src.pixels + _fold(y, src.height, op.flag[MODE]) * src.stride
        if op.flag[MODE] == CONSTANT:
            _constant(op, q, left, c)
            _constant(op, q + <int64_t> (left + middle) * c, right, c)
        else:
            _folded(op, q, p, d.x, left, src.width, c)
            _folded(op, q + <int64_t> (left + middle) * c, p, d.x + left + middle, right,
                    src.width, c)
        if middle > 0:
            memcpy(q + <int64_t> left * c, p + <int64_t> (d.x + left) * c, <size_t> middle * c)
    return DTS_OK


cdef void _draw_pad(const dts_op *op, dts_stream *s, dts_draw *d) noexcept nogil:
    d.applied = 1
    d.x = -op.flag[LEFT]
    d.y = -op.flag[TOP]
    d.w = d.out_w = d.in_w + op.flag[LEFT] + op.flag[RIGHT]
    d.h = d.out_h = d.in_h + op.flag[TOP] + op.flag[BOTTOM]


cdef void _draw_crop(const dts_op *op, dts_stream *s, dts_draw *d) noexcept nogil:
    # Words: column, row; both are always drawn.
    cdef int left = op.flag[LEFT], top = op.flag[TOP]
    cdef int room_w = d.in_w + left + op.flag[RIGHT] - op.size_w
    cdef int room_h = d.in_h + top + op.flag[BOTTOM] - op.size_h
    d.w = d.out_w = op.size_w
    d.h = d.out_h = op.size_h
    if op.flag[IF_NEEDED] and room_w < 0:   # what lacks is added on both sides
        left -= room_w
        room_w = -room_w
    if op.flag[IF_NEEDED] and room_h < 0:
        top -= room_h
        room_h = -room_h
    d.applied = room_w >= 0 and room_h >= 0
    d.x = <int> dts_random_int(dts_stream_next(s), max(room_w, 0) + 1) - left
    d.y = <int> dts_random_int(dts_stream_next(s), max(room_h, 0) + 1) - top


cdef Op _compiled(transform, int position):
    cdef Op out = Op()
    cdef int k
    out.op.kind = OP_GEOMETRY
    out.op.position = position
    for k in range(4):
        out.op.flag[LEFT + k] = (transform.padding or (0, 0, 0, 0))[k]
    out.op.flag[MODE] = _MODES[transform.padding_mode]
    write_fill(out, transform.fill)
    out.op.flag[BLACK] = not transform.is_pixels
    out.op.apply = _apply
    out.op.run = _run
    return out


class _Padding(Transform):
    """What the two share."""

    pads = True

    def _check_fill(self, fill, padding_mode):
        self.fill = check_fill("fill", fill)
        if padding_mode not in _MODES:
            raise ValueError(
                f"padding_mode must be one of {', '.join(_MODES)}, not {padding_mode!r}"
            )
        self.padding_mode = padding_mode

    @property
    def is_pixels(self):
        fill = self.fill if isinstance(self.fill, tuple) else (self.fill,)
        return self.padding_mode != "constant" or any(int(v) for v in fill)

    def check_channels(self, channels):
        check_fill_channels("fill", self.fill, channels)


class Pad(_Padding):
    """Add a border, as torchvision's.

    Parameters
    ----------
    padding : int or sequence of int
        Pixels to add: on all sides; (left and right, top and bottom); or (left, top, right,
        bottom). At least 0.
    fill : float or sequence of float
        Value of a constant border, 0..255, for all channels or one for each; truncated to an
        integer, as torchvision does with tensors.
    padding_mode : str
        "constant"; "edge" repeats the last pixel; "reflect" mirrors without repeating it,
        "symmetric" with. A border wider than the picture goes on mirroring, as `numpy.pad` does
        (torchvision refuses it).

    Raises
    ------
    ValueError
        Padding that is negative or of another length, a fill outside 0..255, an unknown mode.
    """

    def __init__(self, padding, fill=0, padding_mode="constant"):
        self.padding = check_padding("padding", padding)
        self._check_fill(fill, padding_mode)

    def output_size(self, size):
        if size is None:
            return None
        left, top, right, bottom = self.padding
        return size[0] + top + bottom, size[1] + left + right

    def compile(self, position):
        cdef Op out = _compiled(self, position)
        out.op.draw = _draw_pad
        return out


class RandomCrop(_Padding):
    """Cut out a box at a random place, in the picture's own pixels, as torchvision's.

    All places are equally likely. A constant border of 0 costs next to nothing: the picture is not
    padded, what the box lacks is left 0.

    Parameters
    ----------
    size : int or (int, int)
        Height and width of the result, in pixels.
    padding : None, int or sequence of int
        Border to add first, as in `Pad`.
    pad_if_needed : bool
        Where the picture, padded, is shorter than the crop: add what lacks on both sides of that
        axis. False: such a picture is an error (of the sample, see ``Setup.on_error``; in commit()
        where all pictures of a set have one size).
    fill, padding_mode
        As in `Pad`.

    Raises
    ------
    ValueError
        A size outside 1..65,500, padding that is negative or of another length, a fill outside
        0..255, an unknown mode.
    """

    is_random = True

    def __init__(self, size, padding=None, pad_if_needed=False, fill=0, padding_mode="constant"):
        self.size = check_size("size", size)
        self.padding = None if padding is None else check_padding("padding", padding)
        self.pad_if_needed = check_flag("pad_if_needed", pad_if_needed)
        self._check_fill(fill, padding_mode)

    def output_size(self, size):
        if size is not None and not self.pad_if_needed:
            left, top, right, bottom = self.padding or (0, 0, 0, 0)
            padded = size[0] + top + bottom, size[1] + left + right
            if padded[0] < self.size[0] or padded[1] < self.size[1]:
                raise ValueError(
                    f"a picture of {padded[0]} x {padded[1]}, padding included, is smaller than "
                    f"the crop of {self.size[0]} x {self.size[1]}; pad_if_needed=True pads it"
                )
        return self.size

    def at_size(self, old, new):
        return with_size(self, old, new), True

    def compile(self, position):
        cdef Op out = _compiled(self, position)
        out.op.size_h, out.op.size_w = self.size
        out.op.flag[IF_NEEDED] = self.pad_if_needed
        out.op.draw = _draw_crop
        return out
