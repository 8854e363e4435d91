"""JPEG region decoding without the GIL. One `dts_jpeg` per worker.

Whatever library was found at import (docs/architecture.md) stands behind these functions; with the
simplejpeg fallback `jpeg_start` takes the GIL and decodes the whole picture.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t


cdef extern from "dts/decode/jpeg.h" nogil:
    ctypedef struct dts_jpeg_info:
        int32_t width
        int32_t height
        int32_t components      # 1 grey, 3 colour, 4 CMYK or YCCK
        int32_t mcu_width       # pixels
        int32_t mcu_height
        int32_t progressive
        int32_t restart_interval    # MCUs between restart markers, 0: there are none

    ctypedef struct dts_splice:
        int64_t count

    # Its fields are for this room alone.
    ctypedef struct dts_jpeg:
        void *codec
        const uint8_t *data
        int64_t size
        dts_jpeg_info info
        int channels
        int width
        int height
        int row_x
        int row_w
        int row
        dts_splice splice
        const uint8_t *pixels
        int64_t warnings
        int own_entropy
        char reason[224]


# A decoder, or NULL when memory ran out.
cdef dts_jpeg *jpeg_new() noexcept nogil
cdef void jpeg_free(dts_jpeg *j) noexcept nogil

# Read the header of the picture in data[0:size]. DTS_OK, or DTS_BAD_IMAGE / DTS_TOO_LARGE.
cdef int jpeg_header(dts_jpeg *j, const uint8_t *data, int64_t size,
                     dts_jpeg_info *info) noexcept nogil

# After jpeg_header: decode at one over `denominator` (1, 2, 4 or 8), by transforming fewer
# coefficients of each block. Returns the denominator in effect: always 1 with the simplejpeg
# fallback. Sides are divided and rounded up, and the region of jpeg_start is in those pixels.
cdef int jpeg_scale(dts_jpeg *j, int denominator) noexcept nogil

# After jpeg_header, once: begin to decode rows [y, y + h) and at least columns [x, x + w), as 3
# channels RGB or as 1 channel grey. *row_x, *row_w: the columns that each row will really hold (a
# row has row_w * channels bytes). The pixels of [x, x + w) are equal, bit for bit, to those of a
# full decode; those beside them may differ at the ends of a row.
cdef int jpeg_start(dts_jpeg *j, int x, int y, int w, int h, int channels,
                    int *row_x, int *row_w) noexcept nogil

# The next n rows of the region, into rows[0..n-1].
cdef int jpeg_rows(dts_jpeg *j, uint8_t *const *rows, int n) noexcept nogil

# Done with this picture, whether or not all rows were read. Reads nothing more than libjpeg must.
# Returns DTS_OK, or the first failure of this picture: DTS_BAD_IMAGE when what was read proved
# damaged (missing data, lost restart marker). The data may go away after this.
cdef int jpeg_stop(dts_jpeg *j) noexcept nogil

# Why the last call failed, in words; never NULL. Valid until the next call.
cdef const char *jpeg_reason(dts_jpeg *j) noexcept nogil

# Between jpeg_header and jpeg_start: the EXIF orientation, 1 to 8. Without one it is 1; where the
# EXIF data makes no sense it is 1, and one more warning.
cdef int jpeg_orientation(dts_jpeg *j) noexcept nogil

# Pictures as they lie in a file, and upright: dts/decode/jpeg.h says what each does.
cdef void upright_size(int orientation, int *width, int *height) noexcept nogil
cdef void stored_box(int orientation, int width, int height, int *x, int *y, int *w,
                     int *h) noexcept nogil
cdef void upright_rows(uint8_t *out, int orientation, const uint8_t *rows, int64_t stride,
                       int first, int n, int width, int height, int channels) noexcept nogil

# Harmless warnings of the last picture (end marker missing with all pixels there, stray bytes,
# broken EXIF where its orientation was asked for).
cdef int64_t jpeg_warnings(dts_jpeg *j) noexcept nogil

# Pictures so far of which only the restart intervals were read that the region needs.
cdef int64_t jpeg_spliced(dts_jpeg *j) noexcept nogil
