"""One sample, from bytes to its row of a batch."""

from libc.stdint cimport int64_t, uint8_t, uint32_t
from libc.stdio cimport snprintf
from libc.string cimport memcpy

from dts.decode.jpeg cimport (
    dts_jpeg_info, jpeg_header, jpeg_orientation, jpeg_reason, jpeg_stop, upright_size,
)
from dts.pipeline.render cimport (
    dts_scratch, dts_sink, dts_source, format_bytes, materialise, render,
)
from dts.sample cimport dts_sample
from dts.status cimport (
    DTS_INTERNAL, DTS_NO_MEMORY, DTS_OK, DTS_TOO_LARGE, dts_error, dts_error_set,
)
from dts.transforms.chain cimport chain_draw
from dts.transforms.op cimport (
    OP_ERASE, OP_FLIP, OP_GEOMETRY, dts_draw, dts_view, view_is_inside, view_open,
)


cdef void erase(const dts_plan *plan, int op, const dts_draw *d, uint8_t *out) noexcept nogil:
    cdef int pixel = plan.out_channels * format_bytes(plan.format)
    cdef int64_t stride = <int64_t> plan.width * pixel
    cdef uint8_t *first = out + d.y * stride + <int64_t> d.x * pixel
    cdef int x, y
    for x in range(d.w):
        memcpy(first + x * pixel, plan.fill[op], pixel)
    for y in range(1, d.h):
        memcpy(first + y * stride, first, <size_t> d.w * pixel)


cdef int failed(dts_scratch *s, int status, dts_error *error) noexcept nogil:
    """Name what went wrong: the decoder knows, unless memory ran out."""
    cdef const char *reason = jpeg_reason(s.jpeg)
    if status == DTS_NO_MEMORY:
        reason = "no memory for the rows of a picture"
    elif status == DTS_TOO_LARGE and reason[0] == 0:
        reason = "the picture that the transforms need in between takes over 2 GiB"
    dts_error_set(error, status, reason)
    jpeg_stop(s.jpeg)
    return status


cdef int process_sample(dts_scratch *s, const dts_plan *plan, const dts_sample *sample,
                        uint32_t epoch, uint8_t *out, dts_error *error) noexcept nogil:
    """Decode what the chain wants of one picture, apply it, and write the finished sample to
    `out`."""
    cdef dts_jpeg_info info
    cdef dts_source source
    cdef dts_source between
    cdef dts_view view
    cdef dts_sink sink
    cdef int i, which = 0, status
    cdef dts_draw *draws = s.draws
    source.channels = plan.channels
    source.orientation = 1
    if plan.array_height > 0:
        source.pixels = sample.data
        source.width = plan.array_width
        source.height = plan.array_height
        source.stride = <int64_t> plan.array_width * plan.channels
    else:
        status = jpeg_header(s.jpeg, sample.data, sample.size, &info)
        if status != DTS_OK:
            return failed(s, status, error)
        source.pixels = NULL
        source.width = info.width
        source.height = info.height
        source.stride = 0
        if plan.exif:
            source.orientation = jpeg_orientation(s.jpeg)
            upright_size(source.orientation, &source.width, &source.height)
    chain_draw(plan.ops, plan.n_ops, plan.seed, epoch, plan.split, 0, sample.id, source.width,
               source.height, draws)
    view_open(&view, source.width, source.height)
    sink.flip = 0
    for i in range(plan.n_ops):
        if plan.ops[i].kind == OP_FLIP:
            sink.flip ^= draws[i].applied
        if plan.ops[i].kind != OP_GEOMETRY or plan.ops[i].apply(&plan.ops[i], &draws[i], &view):
            continue
        status = materialise(s, &source, &view, which, &between)
        if status != DTS_OK:
            return failed(s, status, error)
        source = between
        which ^= 1
        view_open(&view, source.width, source.height)
        plan.ops[i].apply(&plan.ops[i], &draws[i], &view)
    if not view_is_inside(&view):
        status = materialise(s, &source, &view, which, &between)
        if status != DTS_OK:
            return failed(s, status, error)
        source = between
        view_open(&view, source.width, source.height)
    if view.win_w != plan.width or view.win_h != plan.height:
        jpeg_stop(s.jpeg)
        snprintf(error.reason, sizeof(error.reason),
                 "the transforms made %d x %d, %d x %d was planned", view.win_w, view.win_h,
                 plan.width, plan.height)
        error.status = DTS_INTERNAL
        return DTS_INTERNAL
    sink.data = out
    sink.stride = <int64_t> plan.width * plan.out_channels * format_bytes(plan.format)
    sink.format = plan.format
    sink.channels = plan.out_channels
    sink.norm = &plan.norm
    status = render(s, &source, &view, &sink)
    if status != DTS_OK:
        return failed(s, status, error)
    for i in range(plan.n_ops):
        if plan.ops[i].kind == OP_ERASE and draws[i].applied:
            erase(plan, i, &draws[i], out)
    return DTS_OK
