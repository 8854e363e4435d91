"""From a view of a picture to finished rows, in one pass over decoded rows.

Rows are decoded into a ring that holds no more than the vertical filter spans, so they are still
in the nearest cache when they are filtered, and no picture is ever held whole unless a chain needs
it in between.
"""

from libc.stddef cimport ptrdiff_t, size_t
from libc.stdint cimport int16_t, int64_t, uint8_t, uint16_t, uintptr_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset

from dts.decode.jpeg cimport (
    jpeg_free, jpeg_new, jpeg_rows, jpeg_scale, jpeg_start, jpeg_stop, stored_box, upright_rows,
    upright_size,
)
from dts.kernels.kernels cimport (
    dts_filter, dts_kernels, dts_shape, fetch_to_write, filter_free, filter_make, get_kernels,
)
from dts.status cimport DTS_NO_MEMORY, DTS_OK, DTS_TOO_LARGE
from dts.transforms.op cimport dts_view, view_is_plain

cdef enum:
    SLACK = 64              # kernels may read this far past a row
    LINE = 64               # bytes of a cache line
    # Where rows begin in a line. libjpeg-turbo writes rows that begin at a multiple of 16 or 32
    # past the caches, to memory; here they are read again at once.
    ROW_OFFSET = 8
    RING_ROWS = 8           # least rows of the ring
    TURNED_ROWS = 16        # decoded at a time where they are turned


ctypedef struct Feed:
    # Rows of a source, handed out in rising order.
    const dts_source *source
    const uint8_t *pixels   # first wanted pixel, where all are in memory; NULL: decode into ring
    int64_t pixels_stride
    int first_row           # that one's row
    int next_row            # decoder: first row not yet decoded
    int ring_rows
    int64_t stride          # of the ring
    int64_t shift           # bytes from where a ring row's place begins to column x


cdef void release(void *block) noexcept nogil:
    if block != NULL:
        free((<void **> block - 1)[0])


cdef int grow(void **block, int64_t *have, int64_t want) noexcept nogil:
    """Make room for `want` bytes that begin a cache line; what was there is lost.

    Vector stores that straddle cache lines cost a fifth of the whole pipeline.
    """
    cdef char *raw
    cdef char *line
    if want <= have[0]:
        return DTS_OK
    raw = <char *> malloc(<size_t> want + 2 * LINE)
    if raw == NULL:
        return DTS_NO_MEMORY
    line = <char *> ((<uintptr_t> raw + 2 * LINE - 1) & ~<uintptr_t> (LINE - 1))
    (<void **> line - 1)[0] = raw
    release(block[0])
    block[0] = line
    have[0] = want
    return DTS_OK


cdef int scratch_init(dts_scratch *s) noexcept nogil:
    memset(s, 0, sizeof(dts_scratch))
    s.jpeg = jpeg_new()
    s.kernels = get_kernels()
    return DTS_OK if s.jpeg != NULL else DTS_NO_MEMORY


cdef void scratch_free(dts_scratch *s) noexcept nogil:
    if s.jpeg != NULL:
        jpeg_free(s.jpeg)
    filter_free(&s.fx)
    filter_free(&s.fy)
    release(s.ring)
    release(s.line)
    release(s.rows)
    release(s.upright)
    release(s.picture[0])
    release(s.picture[1])
    release(s.picture[2])
    release(s.temp)
    memset(s, 0, sizeof(dts_scratch))


cdef int64_t scratch_bytes(const dts_scratch *s) noexcept nogil:
    return (s.ring_bytes + s.line_bytes + s.rows_bytes + s.upright_bytes + s.picture_bytes[0]
            + s.picture_bytes[1] + s.picture_bytes[2] + s.temp_bytes)


cdef int scratch_picture(dts_scratch *s, int which, int w, int h, int channels,
                         dts_source *out) noexcept nogil:
    cdef int64_t stride = <int64_t> w * channels, bytes = stride * h
    cdef int status
    if bytes > (<int64_t> 1 << 31):
        return DTS_TOO_LARGE
    status = grow(<void **> &s.picture[which], &s.picture_bytes[which], bytes + SLACK)
    out.pixels = s.picture[which]
    out.stride = stride
    out.width = w
    out.height = h
    out.channels = channels
    out.orientation = 1
    return status


cdef void *scratch_temp(dts_scratch *s, int64_t bytes) noexcept nogil:
    if grow(<void **> &s.temp, &s.temp_bytes, bytes + SLACK) != DTS_OK:
        return NULL
    return s.temp


cdef int64_t row_stride(int width, int channels) noexcept nogil:
    """Bytes from one row of the ring to the next: whole cache lines."""
    return (ROW_OFFSET + <int64_t> width * channels + SLACK + LINE - 1) & ~<int64_t> (LINE - 1)


cdef int feed_upright(dts_scratch *s, Feed *f, int x, int y, int w, int h) noexcept nogil:
    """Decode where [x, x + w) x [y, y + h) of the upright picture lies, and turn it."""
    cdef const dts_source *source = f.source
    cdef int stored_w = source.width, stored_h = source.height, channels = source.channels
    cdef int left = x, top = y, width = w, height = h, row_x = 0, row_w = 0, row = 0, n, k, status
    cdef int64_t stride = 0, bytes = <int64_t> w * h * channels
    cdef uint8_t *ring = NULL
    upright_size(source.orientation, &stored_w, &stored_h)
    stored_box(source.orientation, stored_w, stored_h, &left, &top, &width, &height)
    if bytes > (<int64_t> 1 << 31):
        return DTS_TOO_LARGE
    status = grow(<void **> &s.upright, &s.upright_bytes, bytes + SLACK)
    if status == DTS_OK:
        status = grow(<void **> &s.rows, &s.rows_bytes, TURNED_ROWS * <int64_t> sizeof(void *))
    if status == DTS_OK:
        status = jpeg_start(s.jpeg, left, top, width, height, channels, &row_x, &row_w)
    if status == DTS_OK:
        stride = row_stride(row_w, channels)
        status = grow(<void **> &s.ring, &s.ring_bytes, TURNED_ROWS * stride)
        ring = s.ring + ROW_OFFSET
    while status == DTS_OK and row < height:
        n = min(height - row, <int> TURNED_ROWS)
        for k in range(n):
            s.rows[k] = ring + k * stride
        status = jpeg_rows(s.jpeg, s.rows, n)
        if status == DTS_OK:
            upright_rows(s.upright, source.orientation, ring + (left - row_x) * channels, stride,
                         row, n, width, height, channels)
        row += n
    f.pixels = s.upright
    f.pixels_stride = <int64_t> w * channels
    return status


cdef int feed_open(dts_scratch *s, Feed *f, const dts_source *source, int x, int y, int w, int h,
                   int span) noexcept nogil:
    """Make ready to hand out columns [x, x + w) of rows [y, y + h), up to `span` at a time."""
    cdef int row_x = 0, row_w = 0, status
    cdef int ring_rows = max(span, <int> RING_ROWS)
    f.source = source
    f.first_row = y
    f.ring_rows = ring_rows
    f.pixels = NULL
    status = grow(<void **> &s.rows, &s.rows_bytes, 2 * ring_rows * <int64_t> sizeof(void *))
    if status != DTS_OK:
        return status
    if source.pixels != NULL:
        f.pixels = source.pixels + y * source.stride + x * source.channels
        f.pixels_stride = source.stride
        return DTS_OK
    if source.orientation > 1:
        return feed_upright(s, f, x, y, w, h)
    status = jpeg_start(s.jpeg, x, y, w, h, source.channels, &row_x, &row_w)
    if status != DTS_OK:
        return status
    f.next_row = y
    f.stride = row_stride(row_w, source.channels)
    f.shift = ROW_OFFSET + <int64_t> (x - row_x) * source.channels
    return grow(<void **> &s.ring, &s.ring_bytes, f.stride * ring_rows)


cdef int feed_rows(dts_scratch *s, Feed *f, int first, int count) noexcept nogil:
    """Put pointers to the first wanted column of rows first .. first+count-1 into s.rows."""
    cdef uint8_t **target = s.rows + f.ring_rows
    cdef int k, n, status
    if f.pixels != NULL:
        for k in range(count):
            s.rows[k] = <uint8_t *> f.pixels + (first + k - f.first_row) * f.pixels_stride
        return DTS_OK
    while f.next_row < first + count:
        n = min(first + count - f.next_row, f.ring_rows)
        for k in range(n):
            target[k] = s.ring + ROW_OFFSET + ((f.next_row + k) % f.ring_rows) * f.stride
        status = jpeg_rows(s.jpeg, target, n)
        if status != DTS_OK:
            return status
        f.next_row += n
    for k in range(count):
        s.rows[k] = s.ring + ((first + k) % f.ring_rows) * f.stride + f.shift
    return DTS_OK


cdef int format_bytes(int format) noexcept nogil:
    return 1 if format == FORMAT_UINT8 else (2 if format == FORMAT_FLOAT16 else 4)


cdef size_t row_bytes(const dts_sink *sink, int width) noexcept nogil:
    return <size_t> (width * sink.channels * format_bytes(sink.format))


cdef void put_pixels(const dts_kernels *k, const dts_sink *sink, uint8_t *out, const uint8_t *src,
                     int64_t stride, int width, int height, int channels) noexcept nogil:
    cdef dts_shape shape
    shape.width = <size_t> width
    shape.height = <size_t> height
    shape.in_stride = <ptrdiff_t> stride
    shape.out_stride = <ptrdiff_t> sink.stride
    shape.c = channels
    shape.oc = sink.channels
    shape.flip = sink.flip
    if sink.format == FORMAT_FLOAT16:
        k.normalize_f16(<uint16_t *> out, src, &shape, sink.norm)
    elif sink.format == FORMAT_FLOAT32:
        k.normalize_f32(<float *> out, src, &shape, sink.norm)
    else:
        k.copy_u8(out, src, &shape)


cdef void put_line(const dts_kernels *k, const dts_sink *sink, uint8_t *out, const int16_t *line,
                   const dts_filter *f, int channels) noexcept nogil:
    if sink.format == FORMAT_FLOAT16:
        k.resize_h_f16(<uint16_t *> out, line, f.first, f, channels, sink.channels, sink.norm,
                       sink.flip)
    elif sink.format == FORMAT_FLOAT32:
        k.resize_h_f32(<float *> out, line, f.first, f, channels, sink.channels, sink.norm,
                       sink.flip)
    else:
        k.resize_h_u8(out, line, f.first, f, channels, sink.channels, sink.flip)


cdef int render_plain(dts_scratch *s, const dts_source *source, const dts_view *v,
                      const dts_sink *sink) noexcept nogil:
    cdef Feed f
    cdef int x = v.box_x + v.win_x, y = v.box_y + v.win_y
    cdef int row, status = feed_open(s, &f, source, x, y, v.win_w, v.win_h, 1)
    if status != DTS_OK:
        return status
    if f.pixels != NULL:
        put_pixels(s.kernels, sink, sink.data, f.pixels, f.pixels_stride, v.win_w, v.win_h,
                   source.channels)
        return DTS_OK
    for row in range(v.win_h):
        fetch_to_write(sink.data + row * sink.stride, row_bytes(sink, v.win_w))
        status = feed_rows(s, &f, y + row, 1)
        if status != DTS_OK:
            return status
        put_pixels(s.kernels, sink, sink.data + row * sink.stride, s.rows[0], 0, v.win_w, 1,
                   source.channels)
    return DTS_OK


cdef int smaller(dts_scratch *s, const dts_source *source, const dts_view *v) noexcept nogil:
    """How much smaller to decode: as far as the box is still as large as what it is resized to.

    Without antialiasing a resize picks single pixels, so nothing may be averaged before it.
    """
    cdef int scale = 8
    if source.pixels != NULL or not source.fast or not v.antialias:
        return 1
    while scale > 1 and (v.box_w < <int64_t> scale * v.virtual_w
                         or v.box_h < <int64_t> scale * v.virtual_h):
        scale >>= 1
    return jpeg_scale(s.jpeg, scale) if scale > 1 else 1


cdef double at_scale(int *size, int scale, bint from_end) noexcept nogil:
    """Make the length of an axis that of the smaller picture.

    Its last pixel may reach past the end. Returns by how many pixels the axis is longer for that
    at its beginning, where it is counted from the other end of what is stored.
    """
    cdef int before = size[0]
    size[0] = (before + scale - 1) // scale
    return size[0] - <double> before / scale if from_end else 0.0


cdef int axis_filter(dts_filter *f, int box, int length, int scale, double shift, int *first,
                     int virtual, int window, int n) noexcept nogil:
    """The filter of an axis whose box lies between pixels of the smaller picture."""
    cdef double begin = <double> box / scale + shift, end = <double> (box + length) / scale + shift
    cdef int last = <int> end
    first[0] = <int> begin
    if last < end:
        last += 1
    return filter_make(f, begin - first[0], end - begin, 0, last - first[0], virtual, window, n, 1)


cdef int render_resized(dts_scratch *s, const dts_source *picture, const dts_view *v,
                        const dts_sink *sink) noexcept nogil:
    cdef dts_source small = picture[0]
    cdef const dts_source *source = &small
    cdef Feed f
    cdef dts_filter *fx = &s.fx
    cdef dts_filter *fy = &s.fy
    cdef int row, k, count, top, status, box_x = v.box_x, box_y = v.box_y, turn = small.orientation
    cdef int scale = smaller(s, picture, v)
    cdef int64_t width
    cdef size_t bytes = row_bytes(sink, v.win_w), half = bytes // 2 & ~<size_t> (LINE - 1)
    cdef uint8_t *out
    cdef double shift_x, shift_y
    if scale > 1:
        shift_x = at_scale(&small.width, scale, turn in (2, 3, 6, 7))
        shift_y = at_scale(&small.height, scale, turn in (3, 4, 7, 8))
        if (axis_filter(fx, v.box_x, v.box_w, scale, shift_x, &box_x, v.virtual_w, v.win_x,
                        v.win_w) != 0
                or axis_filter(fy, v.box_y, v.box_h, scale, shift_y, &box_y, v.virtual_h,
                               v.win_y, v.win_h) != 0):
            return DTS_NO_MEMORY
    elif (filter_make(fx, 0.0, v.box_w, 0, v.box_w, v.virtual_w, v.win_x, v.win_w,
                      v.antialias) != 0
            or filter_make(fy, 0.0, v.box_h, 0, v.box_h, v.virtual_h, v.win_y, v.win_h,
                           v.antialias) != 0):
        return DTS_NO_MEMORY
    width = <int64_t> (fx.last - fx.first) * source.channels
    status = grow(<void **> &s.line, &s.line_bytes, 2 * width + SLACK)
    if status != DTS_OK:
        return status
    status = feed_open(s, &f, source, box_x + fx.first, box_y + fy.first, fx.last - fx.first,
                       fy.last - fy.first, fy.taps)
    if status != DTS_OK:
        return status
    for row in range(v.win_h):
        count = fy.count[row]
        top = box_y + fy.start[row]
        out = sink.data + row * sink.stride
        fetch_to_write(out, half)
        status = feed_rows(s, &f, top, count)
        if status != DTS_OK:
            return status
        for k in range(count, fy.taps):
            s.rows[k] = s.rows[count - 1]
        fetch_to_write(out + half, bytes - half)
        s.kernels.resize_v(s.line, <const uint8_t *const *> s.rows,
                           fy.weight + <int64_t> row * fy.taps, fy.taps, <size_t> width)
        put_line(s.kernels, sink, out, s.line, fx, source.channels)
    return DTS_OK


cdef int render(dts_scratch *s, const dts_source *source, const dts_view *view,
                const dts_sink *sink) noexcept nogil:
    cdef int status, end
    if view_is_plain(view):
        status = render_plain(s, source, view, sink)
    else:
        status = render_resized(s, source, view, sink)
    if source.pixels == NULL:
        end = jpeg_stop(s.jpeg)
        if status == DTS_OK:
            status = end
    return status


cdef void copy_window(const dts_source *source, const dts_view *v, const dts_view *inside,
                      uint8_t *out) noexcept nogil:
    """Copy what a view shows of a picture in memory, where it is not resampled; 0 around it."""
    cdef int64_t c = source.channels, step = v.win_w * c
    cdef int64_t left = (inside.win_x - v.win_x) * c, middle = inside.win_w * c
    cdef int top = inside.win_y - v.win_y, _row
    cdef const uint8_t *p = (source.pixels + (v.box_y + inside.win_y) * source.stride
                             + (v.box_x + inside.win_x) * c)
    memset(out, 0, <size_t> (top * step))
    out += top * step
    for _row in range(inside.win_h):
        memset(out, 0, <size_t> left)
        memcpy(out + left, p, <size_t> middle)
        memset(out + left + middle, 0, <size_t> (step - left - middle))
        out += step
        p += source.stride
    memset(out, 0, <size_t> ((v.win_h - top - inside.win_h) * step))


cdef int materialise(dts_scratch *s, const dts_source *source, const dts_view *view, int which,
                     dts_source *out) noexcept nogil:
    cdef dts_view inside = view[0]
    cdef dts_sink sink
    cdef int64_t step = <int64_t> view.win_w * source.channels
    cdef int status = scratch_picture(s, which, view.win_w, view.win_h, source.channels, out)
    if status != DTS_OK:
        return status
    inside.win_x = max(view.win_x, 0)
    inside.win_y = max(view.win_y, 0)
    inside.win_w = min(view.win_x + view.win_w, view.virtual_w) - inside.win_x
    inside.win_h = min(view.win_y + view.win_h, view.virtual_h) - inside.win_y
    if inside.win_w <= 0 or inside.win_h <= 0:  # nothing but padding
        memset(s.picture[which], 0, <size_t> (step * view.win_h))
        return jpeg_stop(s.jpeg) if source.pixels == NULL else DTS_OK
    if source.pixels != NULL and view_is_plain(view):
        copy_window(source, view, &inside, s.picture[which])
        return DTS_OK
    if inside.win_w != view.win_w or inside.win_h != view.win_h:
        memset(s.picture[which], 0, <size_t> (step * view.win_h))
    sink.data = (s.picture[which] + (inside.win_y - view.win_y) * step
                 + <int64_t> (inside.win_x - view.win_x) * source.channels)
    sink.stride = step
    sink.format = FORMAT_UINT8
    sink.channels = source.channels
    sink.flip = 0
    sink.norm = NULL
    return render(s, source, &inside, &sink)
