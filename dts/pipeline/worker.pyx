"""One sample, from bytes to its row of a batch."""

from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t
from libc.stdio cimport snprintf
from libc.string cimport memcpy

from dts.decode.jpeg cimport (
    dts_jpeg_info, jpeg_header, jpeg_orientation, jpeg_reason, jpeg_stop, upright_size,
)
from dts.pipeline.plan cimport dts_plan
from dts.pipeline.render cimport (
    FORMAT_FLOAT16, FORMAT_UINT8, dts_scratch, dts_sink, dts_source, format_bytes, materialise,
    render, scratch_picture, scratch_temp,
)
from dts.pipeline.views cimport decode_for_all
from dts.sample cimport dts_sample
from dts.status cimport (
    DTS_INTERNAL, DTS_NO_MEMORY, DTS_OK, DTS_TOO_LARGE, dts_error, dts_error_set,
)
from dts.transforms.chain cimport chain_draw
from dts.transforms.erase cimport erase_bytes, erase_normals
from dts.transforms.op cimport (
    ERASE_RANDOM, OP_ERASE, OP_FLIP, OP_PIXELS, OP_VFLIP, dts_draw, dts_image, dts_op, dts_view,
    view_is_inside, view_is_whole, view_open,
)


cdef extern from "dts/kernels/half.h" nogil:
    uint16_t dts_half(float v)


cdef void erase_row(const dts_plan *plan, const dts_draw *d, int row, uint8_t *out) noexcept nogil:
    """Noise for one row of a box, straight into the output's format."""
    cdef float normal[64]
    cdef uint8_t level[64]
    cdef int groups = (d.w * plan.channels + 63) // 64
    cdef int group = row * groups, used = 64, _x, c
    for _x in range(d.w):
        for c in range(plan.channels):
            if used == 64:
                if plan.format == FORMAT_UINT8:
                    erase_bytes(d, group, level)
                else:
                    erase_normals(d, group, normal)
                group += 1
                used = 0
            if plan.format == FORMAT_UINT8:
                out[c] = level[used]
            elif plan.format == FORMAT_FLOAT16:
                (<uint16_t *> out)[c] = dts_half(normal[used])
            else:
                (<float *> out)[c] = normal[used]
            used += 1
        out += plan.out_channels * format_bytes(plan.format)


cdef void erase(const dts_plan *plan, int op, const dts_draw *d, uint8_t *out) noexcept nogil:
    cdef int pixel = plan.out_channels * format_bytes(plan.format)
    cdef int64_t stride = <int64_t> plan.width * pixel
    cdef uint8_t *first = out + d.y * stride + <int64_t> d.x * pixel
    cdef int x, y
    if plan.ops[op].flag[ERASE_RANDOM]:
        for y in range(d.h):
            erase_row(plan, d, y, first + y * stride)
        return
    for x in range(d.w):
        memcpy(first + x * pixel, plan.fill[op], pixel)
    for y in range(1, d.h):
        memcpy(first + y * stride, first, <size_t> d.w * pixel)


cdef int settle(dts_scratch *s, dts_source *source, dts_view *view, int *which) noexcept nogil:
    """Render the view to a picture, which is the source from here on."""
    cdef dts_source picture
    cdef int status = materialise(s, source, view, which[0], &picture)
    if status == DTS_OK:
        which[0] ^= 1
        source[0] = picture
        view_open(view, picture.width, picture.height)
    return status


cdef int step(dts_scratch *s, const dts_op *op, const dts_draw *d, dts_source *source,
              dts_view *view, int *which, dts_error *error) noexcept nogil:
    """One operation: a change of the view where that is possible, else a new picture."""
    cdef dts_source picture
    cdef dts_image src
    cdef dts_image dst
    cdef void *temp = NULL
    cdef int64_t bytes
    cdef int status = DTS_OK
    if op.kind == OP_PIXELS and not d.applied:
        return DTS_OK
    if op.apply != NULL and op.apply(op, d, view):
        return DTS_OK
    if source.pixels == NULL or not view_is_whole(view):
        status = settle(s, source, view, which)
    if status != DTS_OK or op.run == NULL:
        if status == DTS_OK:
            op.apply(op, d, view)
        return status
    status = scratch_picture(s, which[0], d.out_w, d.out_h, source.channels, &picture)
    if status == DTS_OK and op.temp_bytes != NULL:
        bytes = op.temp_bytes(op, d, source.channels)
        temp = scratch_temp(s, bytes)
        if temp == NULL:
            status = DTS_NO_MEMORY
    if status != DTS_OK:
        return status
    src.pixels = <uint8_t *> source.pixels
    src.stride = source.stride
    src.width = source.width
    src.height = source.height
    src.channels = dst.channels = source.channels
    dst.pixels = s.picture[which[0]]
    dst.stride = picture.stride
    dst.width = picture.width
    dst.height = picture.height
    status = op.run(op, d, &src, &dst, temp, error)
    if status == DTS_OK:
        which[0] ^= 1
        source[0] = picture
        view_open(view, picture.width, picture.height)
    return status


cdef int failed(dts_scratch *s, int status, dts_error *error) noexcept nogil:
    """Name what went wrong: the decoder knows, unless memory ran out."""
    cdef const char *reason = jpeg_reason(s.jpeg)
    if error.reason[0] != 0:    # a transform did
        error.status = status
        jpeg_stop(s.jpeg)
        return status
    if status == DTS_NO_MEMORY:
        reason = "no memory for the rows of a picture"
    elif status == DTS_TOO_LARGE and reason[0] == 0:
        reason = "the picture that the transforms need in between takes over 2 GiB"
    dts_error_set(error, status, reason)
    jpeg_stop(s.jpeg)
    return status


cdef int process_view(dts_scratch *s, const dts_plan *plan, int64_t id, uint32_t epoch, int number,
                      const dts_source *picture, uint8_t *out, dts_error *error) noexcept nogil:
    cdef dts_source source = picture[0]
    cdef dts_view view
    cdef dts_sink sink
    cdef int i, which = 0, turned = 0, status
    cdef dts_draw *draws = s.draws
    chain_draw(plan.ops, plan.n_ops, plan.seed, epoch, plan.split, number, id, source.width,
               source.height, draws)
    view_open(&view, source.width, source.height)
    sink.flip = 0
    for i in range(plan.n_ops):
        if plan.ops[i].kind == OP_FLIP:
            sink.flip ^= draws[i].applied
        elif plan.ops[i].kind == OP_VFLIP:
            turned ^= draws[i].applied
        elif plan.ops[i].kind != OP_ERASE:
            status = step(s, &plan.ops[i], &draws[i], &source, &view, &which, error)
            if status != DTS_OK:
                return failed(s, status, error)
    if not view_is_inside(&view):
        status = settle(s, &source, &view, &which)
        if status != DTS_OK:
            return failed(s, status, error)
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
    if turned:  # from the last row up
        sink.data += (plan.height - 1) * sink.stride
        sink.stride = -sink.stride
    status = render(s, &source, &view, &sink)
    if status != DTS_OK:
        return failed(s, status, error)
    for i in range(plan.n_ops):
        if plan.ops[i].kind == OP_ERASE and draws[i].applied:
            erase(plan, i, &draws[i], out)
    return DTS_OK


cdef int process_sample(dts_scratch *s, const dts_plan *plan, const dts_sample *sample,
                        uint32_t epoch, uint8_t *out, int64_t view_bytes,
                        dts_error *error) noexcept nogil:
    """Decode what the chain wants of one picture, apply it, and write the finished sample to
    `out`."""
    cdef dts_jpeg_info info
    cdef dts_source source
    cdef int view, status
    error.reason[0] = 0
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
        source.fast = plan.fast_decode
        if plan.exif:
            source.orientation = jpeg_orientation(s.jpeg)
            upright_size(source.orientation, &source.width, &source.height)
        if plan.views > 1:
            status = decode_for_all(s, plan, sample.id, epoch, &source)
            if status != DTS_OK:
                return failed(s, status, error)
    for view in range(plan.views):
        status = process_view(s, plan, sample.id, epoch, plan.first_view + view, &source,
                              out + view * view_bytes, error)
        if status != DTS_OK:
            return status
    return DTS_OK
