"""What an operation is to the workers: parameters, a draw, and an effect on the view.

A *view* says which box of a picture is resized to what size and which window of that is wanted.
Geometric operations change the view and touch no pixel; the pipeline renders it once, as late as
it can. Pixel operations take a rendered picture and make another.
"""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

from dts.rng.philox cimport dts_stream
from dts.status cimport dts_error


cdef enum:
    OP_GEOMETRY = 0     # changes the view
    OP_FLIP = 1         # carriers: folded into the last step, wherever they stand
    OP_ERASE = 2
    OP_PIXELS = 3       # makes a new picture; skipped where the draw says "not applied"
    OP_VFLIP = 4        # a carrier
    MAX_OPS = 64
    ERASE_RANDOM = 0    # of dts_op.flag: noise instead of `value`


ctypedef struct dts_view:
    int src_w           # the picture looked at
    int src_h
    int box_x           # the box that is resized; its filter sees nothing outside
    int box_y
    int box_w
    int box_h
    int virtual_w       # what the box is resized to
    int virtual_h
    int win_x           # the part of that which is wanted; what lies outside is 0
    int win_y
    int win_w
    int win_h
    int antialias


ctypedef struct dts_image:
    # uint8, rows of width * channels bytes; 64 more may be read past the last
    uint8_t *pixels
    int64_t stride          # bytes from row to row
    int width
    int height
    int channels            # 1 or 3


ctypedef struct dts_draw:
    int kind
    int applied         # whether a random operation takes place
    int in_w
    int in_h
    int out_w
    int out_h
    int x               # crop or erase box
    int y
    int w
    int h
    double value[8]     # whatever else was drawn: factors, angles
    int choice[8]       # and what was chosen: orders, numbers of things
    dts_stream stream   # as it stands after the draw, for numbers that each pixel needs


ctypedef struct dts_op:
    int kind
    int position        # in the user's chain: part of the random key
    int antialias
    int size_h          # target size; size_w 0: short side size_h, aspect kept
    int size_w
    double p            # probability
    double low[2]       # ranges of the two uniform draws: area and log of the ratio
    double high[2]
    float value[4]      # fill, in normalised units
    double number[16]   # other parameters, as the family likes
    int flag[8]
    void *context       # kept alive by Op.keep
    # Draw for an input of d.in_w x d.in_h; sets the rest of d.
    void (*draw)(const dts_op *op, dts_stream *s, dts_draw *d) noexcept nogil
    # Change the view as drawn. 0: impossible on this view, which must be rendered first.
    # NULL: an operation that only has `run`.
    int (*apply)(const dts_op *op, const dts_draw *d, dts_view *v) noexcept nogil
    # Make `dst`, d.out_w x d.out_h, of `src`, which may not be written: it can be the loader's own
    # memory. `temp`: as many bytes as `temp_bytes` says, aligned to 64. Returns a code of
    # dts/status.h.
    int (*run)(const dts_op *op, const dts_draw *d, const dts_image *src, const dts_image *dst,
               void *temp, dts_error *error) noexcept nogil
    int64_t (*temp_bytes)(const dts_op *op, const dts_draw *d, int channels) noexcept nogil


cdef class Op:
    cdef dts_op op
    cdef public object keep     # what op.context points into


cdef inline bint is_carrier(int kind) noexcept nogil:
    return kind == OP_FLIP or kind == OP_VFLIP or kind == OP_ERASE


cdef inline void view_open(dts_view *v, int w, int h) noexcept nogil:
    v.src_w = v.box_w = v.virtual_w = v.win_w = w
    v.src_h = v.box_h = v.virtual_h = v.win_h = h
    v.box_x = v.box_y = v.win_x = v.win_y = 0
    v.antialias = 1


cdef inline bint view_is_plain(const dts_view *v) noexcept nogil:
    """Whether pixels are only cut out, not resampled."""
    return v.box_w == v.virtual_w and v.box_h == v.virtual_h


cdef inline bint view_is_inside(const dts_view *v) noexcept nogil:
    return (v.win_x >= 0 and v.win_y >= 0 and v.win_x + v.win_w <= v.virtual_w
            and v.win_y + v.win_h <= v.virtual_h)


cdef inline bint view_is_whole(const dts_view *v) noexcept nogil:
    """Whether this is the picture itself."""
    return (view_is_plain(v) and v.box_w == v.src_w and v.box_h == v.src_h and v.win_x == 0
            and v.win_y == 0 and v.win_w == v.src_w and v.win_h == v.src_h)


cdef inline int view_crop(dts_view *v, int x, int y, int w, int h) noexcept nogil:
    """Cut x, y, w, h out of the window. What lies outside a whole picture is padding; outside a
    window that was
    itself cut out there are pixels that must not come back: 0, render first."""
    cdef bint whole = (v.win_x == 0 and v.win_y == 0 and v.win_w == v.virtual_w
                       and v.win_h == v.virtual_h)
    if not whole and (x < 0 or y < 0 or x + w > v.win_w or y + h > v.win_h):
        return 0
    v.win_x += x
    v.win_y += y
    v.win_w = w
    v.win_h = h
    return 1


cdef inline int view_resize(dts_view *v, int w, int h, int antialias) noexcept nogil:
    """Resize the window to w x h: the window becomes the box. 0 when it is resampled or padded."""
    if not view_is_plain(v) or not view_is_inside(v):
        return 0
    v.box_x += v.win_x
    v.box_y += v.win_y
    v.box_w = v.win_w
    v.box_h = v.win_h
    v.virtual_w = v.win_w = w
    v.virtual_h = v.win_h = h
    v.win_x = v.win_y = 0
    v.antialias = antialias
    return 1


cdef inline int centred(int size, int crop) noexcept nogil:
    """First pixel of a centred crop: half to even as torchvision; padding floors to the left."""
    cdef int gap = size - crop, half
    if gap < 0:
        return -((-gap) // 2)
    half = gap // 2
    if gap & 1 and half & 1:
        half += 1
    return half


# One word: whether an operation that keeps the size takes place, with probability op.p.
cdef void draw_coin(const dts_op *op, dts_stream *s, dts_draw *d) noexcept nogil
# An operation that draws so, with the probability `transform.p`.
cdef Op coin_op(int kind, transform, position)
