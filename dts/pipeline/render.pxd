"""From a view of a picture to finished rows, in one pass over decoded rows."""

from libc.stdint cimport int16_t, int64_t, uint8_t

from dts.decode.jpeg cimport dts_jpeg
from dts.kernels.kernels cimport dts_filter, dts_kernels, dts_norm
from dts.transforms.op cimport MAX_OPS, dts_draw, dts_view


cdef enum:
    FORMAT_UINT8 = 0
    FORMAT_FLOAT16 = 1
    FORMAT_FLOAT32 = 2


ctypedef struct dts_source:
    const uint8_t *pixels   # NULL: the picture open in the scratch's decoder
    int64_t stride          # bytes from row to row of `pixels`
    int width
    int height
    int channels
    int fast                # it may be decoded at 1/2, 1/4 or 1/8 (Setup.fast_decode)
    int orientation         # of the picture in the decoder: EXIF, 1 to 8; width, height: upright


ctypedef struct dts_sink:
    uint8_t *data
    int64_t stride          # bytes from row to row
    int format
    int channels            # of the output: the source's, or 4
    int flip
    const dts_norm *norm    # not for FORMAT_UINT8


ctypedef struct dts_scratch:
    dts_jpeg *jpeg
    const dts_kernels *kernels
    dts_filter fx
    dts_filter fy
    uint8_t *ring           # decoded rows, as many as the filter spans
    int64_t ring_bytes
    int16_t *line           # one row after the vertical pass
    int64_t line_bytes
    uint8_t **rows
    int64_t rows_bytes
    uint8_t *upright        # the wanted part of a picture that does not lie upright
    int64_t upright_bytes
    # Whole pictures: two for chains that need one in between, and the part of a decoded one that
    # all views of a sample share.
    uint8_t *picture[3]
    int64_t picture_bytes[3]
    uint8_t *temp           # of one pixel operation
    int64_t temp_bytes
    dts_draw draws[MAX_OPS]


cdef int format_bytes(int format) noexcept nogil
cdef int scratch_init(dts_scratch *s) noexcept nogil
cdef void scratch_free(dts_scratch *s) noexcept nogil
# Scratch picture `which`, w x h, as *out; its bytes are not set. Returns a code of dts/status.h.
cdef int scratch_picture(dts_scratch *s, int which, int w, int h, int channels,
                         dts_source *out) noexcept nogil
# At least `bytes` of memory for one operation, aligned to 64, or NULL.
cdef void *scratch_temp(dts_scratch *s, int64_t bytes) noexcept nogil
cdef int64_t scratch_bytes(const dts_scratch *s) noexcept nogil

# Render a view whose window lies inside. Returns a code of dts/status.h.
cdef int render(dts_scratch *s, const dts_source *source, const dts_view *view,
                const dts_sink *sink) noexcept nogil

# Render any view into scratch picture `which`, 0 where the window lies outside; *out is that
# picture.
cdef int materialise(dts_scratch *s, const dts_source *source, const dts_view *view, int which,
                     dts_source *out) noexcept nogil
