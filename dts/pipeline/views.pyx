"""Several views of one sample out of one decode.

The region that holds all that any view needs is decoded into a picture of its own, and each view
is made of that as if it were the whole one. A decoded region has the pixels of a full decode, so
view v is what it would be alone.
"""

from libc.stdint cimport int64_t, uint32_t

from dts.pipeline.render cimport dts_scratch, dts_source, materialise
from dts.pipeline.plan cimport dts_plan
from dts.status cimport DTS_OK
from dts.transforms.chain cimport chain_draw
from dts.transforms.op cimport (
    OP_PIXELS, dts_draw, dts_view, is_carrier, view_is_plain, view_open,
)

cdef enum:
    SHARED = 2      # of the scratch's pictures


ctypedef struct Region:
    int left
    int top
    int right
    int bottom


cdef void widen(Region *r, const dts_view *v) noexcept nogil:
    """Take in what a view reads of its picture."""
    cdef int left = v.box_x, top = v.box_y, right = v.box_x + v.box_w, bottom = v.box_y + v.box_h
    if view_is_plain(v):  # the window in the box; at least a pixel, so that there is a region
        left = v.box_x + min(max(v.win_x, 0), v.box_w - 1)
        top = v.box_y + min(max(v.win_y, 0), v.box_h - 1)
        right = max(v.box_x + min(v.win_x + v.win_w, v.box_w), left + 1)
        bottom = max(v.box_y + min(v.win_y + v.win_h, v.box_h), top + 1)
    r.left = min(r.left, left)
    r.top = min(r.top, top)
    r.right = max(r.right, right)
    r.bottom = max(r.bottom, bottom)


cdef void first_render(const dts_plan *plan, const dts_draw *draws, dts_view *v) noexcept nogil:
    """Follow the chain to where the picture is rendered for the first time."""
    cdef int i
    for i in range(plan.n_ops):
        if is_carrier(plan.ops[i].kind):
            continue
        if plan.ops[i].kind == OP_PIXELS and not draws[i].applied:
            continue
        if plan.ops[i].apply == NULL or not plan.ops[i].apply(&plan.ops[i], &draws[i], v):
            return


cdef int decode_for_all(dts_scratch *s, const dts_plan *plan, int64_t id, uint32_t epoch,
                        dts_source *source) noexcept nogil:
    cdef dts_source picture
    cdef dts_view v
    cdef Region r
    cdef int view, status
    r.left = source.width
    r.top = source.height
    r.right = r.bottom = 0
    for view in range(plan.views):
        chain_draw(plan.ops, plan.n_ops, plan.seed, epoch, plan.split, plan.first_view + view, id,
                   source.width, source.height, s.draws)
        view_open(&v, source.width, source.height)
        first_render(plan, s.draws, &v)
        widen(&r, &v)
    view_open(&v, source.width, source.height)
    v.win_x = r.left
    v.win_y = r.top
    v.win_w = r.right - r.left
    v.win_h = r.bottom - r.top
    status = materialise(s, source, &v, SHARED, &picture)
    if status == DTS_OK:
        # The whole picture, of which only the region is there.
        source.pixels = picture.pixels - r.top * picture.stride - r.left * picture.channels
        source.stride = picture.stride
        source.orientation = 1
    return status
