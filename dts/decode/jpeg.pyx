"""The contract of jpeg.pxd, the simplejpeg fallback, and the switch between libraries.

Which library stands behind a decoder is chosen by ``_select.py``, when ``dts.decode`` is imported.

With the simplejpeg fallback (``DTS_JPEG_LIB=none``, Windows, or no usable libjpeg) a picture is
decoded whole, with the GIL taken to start and to stop, and the region is copied out. Pixels are
the same. These are refused, with simplejpeg's reason, though a libjpeg decodes them:

- a missing end marker, or stray bytes before it, with all pixels there;
- any other oddity that is harmless to pixels, such as an Adobe marker with an unknown transform;
- subsampling other than 4:4:4, 4:2:2, 4:2:0, 4:4:0, 4:1:1 and 4:4:1.

The fallback also sees damage anywhere in a file, not only in the part that a region needs, but not
a component that has no scan.

Both read baseline, extended and progressive JPEG of 8 bits, Huffman or arithmetic coded (where the
library was built for that), with 1, 3 or 4 components and up to 100 scans.
"""

from operator import index

cimport cython
from cpython.buffer cimport PyBUF_READ
from cpython.memoryview cimport PyMemoryView_FromMemory
from cpython.ref cimport Py_DECREF, Py_INCREF
from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memcpy

from dts.status cimport DTS_BAD_IMAGE, DTS_NO_MEMORY, DTS_OK


cdef extern from "dts/decode/jpeg.h" nogil:
    ctypedef struct dts_jpeg_ops:
        int (*make)(dts_jpeg *j) noexcept
        void (*drop)(dts_jpeg *j) noexcept
        int (*header)(dts_jpeg *j) noexcept
        int (*start)(dts_jpeg *j, int x, int y, int w, int h) noexcept
        int (*rows)(dts_jpeg *j, uint8_t *const *rows, int n) noexcept
        void (*stop)(dts_jpeg *j) noexcept
        int scales

    dts_jpeg *dts_jpeg_new(const dts_jpeg_ops *ops, const void *library) noexcept
    void dts_jpeg_free(dts_jpeg *j) noexcept
    int dts_jpeg_header(dts_jpeg *j, const uint8_t *data, int64_t size,
                        dts_jpeg_info *info) noexcept
    int dts_jpeg_scale(dts_jpeg *j, int denominator) noexcept
    int dts_jpeg_start(dts_jpeg *j, int x, int y, int w, int h, int channels,
                       int *row_x, int *row_w) noexcept
    int dts_jpeg_rows(dts_jpeg *j, uint8_t *const *rows, int n) noexcept
    int dts_jpeg_stop(dts_jpeg *j) noexcept
    int dts_jpeg_check_scans(dts_jpeg *j) noexcept
    int dts_jpeg_fail(dts_jpeg *j, int status, const char *format, ...) noexcept
    void dts_jpeg_set_pixel_limit(int64_t pixels) noexcept
    int64_t dts_jpeg_pixel_limit() noexcept
    void dts_jpeg_set_own_entropy(int on) noexcept
    int dts_jpeg_own_entropy() noexcept
    int dts_jpeg_orientation(dts_jpeg *j) noexcept
    void dts_upright_size(int orientation, int *width, int *height) noexcept
    void dts_stored_box(int orientation, int width, int height, int *x, int *y, int *w,
                        int *h) noexcept
    void dts_upright_rows(uint8_t *out, int orientation, const uint8_t *rows, int64_t stride,
                          int first, int n, int width, int height, int channels) noexcept
    void dts_jpeg_cmyk_row(uint8_t *out, const uint8_t *cmyk, int n, int channels) noexcept


cdef extern from "dts/decode/restart.h" nogil:
    enum: DTS_SPLICE_AUTO
    enum: DTS_SPLICE_NEVER
    enum: DTS_SPLICE_ALWAYS

    void dts_splice_set_mode(int mode) noexcept
    int dts_splice_mode() noexcept


cdef extern from "dts/decode/library.h" nogil:
    ctypedef struct dts_libjpeg:
        const dts_jpeg_ops *ops
        int abi

    dts_libjpeg *dts_libjpeg_open(const char *path, char *why, size_t size) noexcept
    const char *dts_libjpeg_path(const dts_libjpeg *library) noexcept


# --- the simplejpeg fallback: whole pictures, kept as an array in j.codec from start to stop

cdef object _decode_jpeg = None  # simplejpeg.decode_jpeg


cdef int _nothing(dts_jpeg *j) noexcept nogil:
    return DTS_OK


cdef void _drop(dts_jpeg *j) noexcept nogil:
    pass


cdef int _decode_whole(dts_jpeg *j) noexcept with gil:
    cdef int channels = 4 if j.info.components == 4 else j.channels
    cdef const uint8_t[:, :, ::1] pixels
    try:
        data = PyMemoryView_FromMemory(<char *>j.data, j.size, PyBUF_READ)
        array = _decode_jpeg(data, {1: "GRAY", 3: "RGB", 4: "CMYK"}[channels])
        if array.shape != (j.info.height, j.info.width, channels):
            return dts_jpeg_fail(j, DTS_BAD_IMAGE, b"ambiguous header")
        pixels = array
        j.pixels = &pixels[0, 0, 0]
        j.codec = <void *>array
        Py_INCREF(array)
        return DTS_OK
    except MemoryError:
        return dts_jpeg_fail(j, DTS_NO_MEMORY, b"no memory for the picture")
    except BaseException as error:
        reason = str(error).encode("utf-8", "replace")
        return dts_jpeg_fail(j, DTS_BAD_IMAGE, b"simplejpeg: %s", <const char *>reason)


cdef int _start(dts_jpeg *j, int x, int y, int w, int h) noexcept nogil:
    j.row_x = x
    j.row_w = w
    cdef int status = dts_jpeg_check_scans(j)
    return status if status != DTS_OK else _decode_whole(j)


cdef int _rows(dts_jpeg *j, uint8_t *const *rows, int n) noexcept nogil:
    cdef int channels = 4 if j.info.components == 4 else j.channels
    cdef const uint8_t *row
    cdef int i
    for i in range(n):
        row = j.pixels + (<int64_t>(j.row + i) * j.info.width + j.row_x) * channels
        if channels == 4:
            dts_jpeg_cmyk_row(rows[i], row, j.row_w, j.channels)
        else:
            memcpy(rows[i], row, <size_t>j.row_w * channels)
    return DTS_OK


cdef void _stop(dts_jpeg *j) noexcept nogil:
    if j.codec != NULL:
        with gil:
            Py_DECREF(<object>j.codec)
        j.codec = NULL


cdef dts_jpeg_ops _whole_picture = dts_jpeg_ops(
    _nothing, _drop, _nothing, _start, _rows, _stop, 0
)


# --- the contract

# What stands behind decoders that are made from now on.
cdef const dts_jpeg_ops *_ops = &_whole_picture
cdef const void *_library = NULL


cdef dts_jpeg *jpeg_new() noexcept nogil:
    return dts_jpeg_new(_ops, _library)


cdef void jpeg_free(dts_jpeg *j) noexcept nogil:
    dts_jpeg_free(j)


cdef int jpeg_header(dts_jpeg *j, const uint8_t *data, int64_t size,
                     dts_jpeg_info *info) noexcept nogil:
    return dts_jpeg_header(j, data, size, info)


cdef int jpeg_scale(dts_jpeg *j, int denominator) noexcept nogil:
    return dts_jpeg_scale(j, denominator)


cdef int jpeg_start(dts_jpeg *j, int x, int y, int w, int h, int channels,
                    int *row_x, int *row_w) noexcept nogil:
    return dts_jpeg_start(j, x, y, w, h, channels, row_x, row_w)


cdef int jpeg_rows(dts_jpeg *j, uint8_t *const *rows, int n) noexcept nogil:
    return dts_jpeg_rows(j, rows, n)


cdef int jpeg_stop(dts_jpeg *j) noexcept nogil:
    return dts_jpeg_stop(j)


cdef const char *jpeg_reason(dts_jpeg *j) noexcept nogil:
    return j.reason


cdef int jpeg_orientation(dts_jpeg *j) noexcept nogil:
    return dts_jpeg_orientation(j)


cdef void upright_size(int orientation, int *width, int *height) noexcept nogil:
    dts_upright_size(orientation, width, height)


cdef void stored_box(int orientation, int width, int height, int *x, int *y, int *w,
                     int *h) noexcept nogil:
    dts_stored_box(orientation, width, height, x, y, w, h)


cdef void upright_rows(uint8_t *out, int orientation, const uint8_t *rows, int64_t stride,
                       int first, int n, int width, int height, int channels) noexcept nogil:
    dts_upright_rows(out, orientation, rows, stride, first, n, width, height, channels)


cdef int64_t jpeg_warnings(dts_jpeg *j) noexcept nogil:
    return j.warnings


cdef int64_t jpeg_spliced(dts_jpeg *j) noexcept nogil:
    return j.splice.count


# --- choosing a library

@cython.final
cdef class Library:
    """A libjpeg, opened but not yet tried. It stays open until the process ends.

    Parameters
    ----------
    path : str
        A file, or a name that the system's loader finds.

    Attributes
    ----------
    path : str
        The file that was loaded.
    abi : int
        62 or 80.

    Raises
    ------
    OSError
        It cannot be opened, lacks a function, or takes other structures than ours.
    """

    cdef dts_libjpeg *c
    cdef readonly str path
    cdef readonly int abi

    def __init__(self, path):
        cdef char why[512]
        self.c = dts_libjpeg_open(path.encode(), why, sizeof(why))
        if self.c == NULL:
            raise OSError(why.decode("utf-8", "replace"))
        cdef const char *loaded = dts_libjpeg_path(self.c)
        self.path = path if loaded == NULL else loaded.decode("utf-8", "surrogateescape")
        self.abi = self.c.abi


def set_library(library):
    """Put a library behind decoders that are made from now on.

    Parameters
    ----------
    library : Library or None
        None: simplejpeg.

    Raises
    ------
    ImportError
        simplejpeg is not installed.
    """
    global _ops, _library, _decode_jpeg
    cdef Library chosen
    if library is None:
        from simplejpeg import decode_jpeg
        _decode_jpeg = decode_jpeg
        _ops = &_whole_picture
        _library = NULL
    else:
        chosen = library
        _ops = chosen.c.ops
        _library = chosen.c


def set_own_entropy(bint on):
    """Say whether the Huffman codes of baseline pictures are read by this package's own decoder.

    For tests and benchmarks: pixels, errors and warnings are the same, the own decoder is faster.

    Parameters
    ----------
    on : bool
        The default is True; libjpeg's own decoder takes over at anything odd in a file.

    Returns
    -------
    bool
        The setting until now.
    """
    before = bool(dts_jpeg_own_entropy())
    dts_jpeg_set_own_entropy(on)
    return before


cdef dict _modes = {"auto": DTS_SPLICE_AUTO, "never": DTS_SPLICE_NEVER,
                    "always": DTS_SPLICE_ALWAYS}


def splicing():
    """Return when restart intervals are spliced. See `set_splicing`."""
    mode = dts_splice_mode()
    return next(name for name, number in _modes.items() if number == mode)


def set_splicing(when):
    """Choose when only the restart intervals of a JPEG are read that its region needs.

    For tests and measurements, in all decoders of the process. The pixels are the same.

    Parameters
    ----------
    when : {"auto", "never", "always"}
        "auto", the default: where it saves enough. "always": wherever it can be done, which it
        cannot with the simplejpeg fallback.

    Returns
    -------
    str
        The choice until now.

    Raises
    ------
    ValueError
        `when` is none of these.
    """
    if when not in _modes:
        raise ValueError(f"set_splicing: {when!r} is not 'auto', 'never' or 'always'")
    before = splicing()
    dts_splice_set_mode(_modes[when])
    return before


def pixel_limit():
    """Return the pixels of the largest picture that is decoded. See `set_pixel_limit`."""
    return dts_jpeg_pixel_limit()


def set_pixel_limit(pixels):
    """Set the largest picture that is decoded; all others are refused before memory is taken.

    Parameters
    ----------
    pixels : int
        Width times height, at least 1. The default is ``2**28``.

    Returns
    -------
    int
        The limit until now.
    """
    cdef int64_t limit = index(pixels)
    if limit < 1:
        raise ValueError(f"set_pixel_limit: {pixels} pixels")
    before = dts_jpeg_pixel_limit()
    dts_jpeg_set_pixel_limit(limit)
    return before
