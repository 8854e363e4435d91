"""The contract of jpeg.pxd, the simplejpeg fallback, and decoding from Python.

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
from typing import NamedTuple

import numpy as np

from dts.errors import from_status

from cpython.buffer cimport (
    Py_buffer,
    PyBUF_READ,
    PyBUF_SIMPLE,
    PyBuffer_Release,
    PyObject_GetBuffer,
)
from cpython.memoryview cimport PyMemoryView_FromMemory
from cpython.ref cimport Py_DECREF, Py_INCREF
from libc.stdint cimport int64_t, uint8_t
from libc.stdlib cimport free, realloc
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

    dts_jpeg *dts_jpeg_new(const dts_jpeg_ops *ops, const void *library) noexcept
    void dts_jpeg_free(dts_jpeg *j) noexcept
    int dts_jpeg_header(dts_jpeg *j, const uint8_t *data, int64_t size,
                        dts_jpeg_info *info) noexcept
    int dts_jpeg_start(dts_jpeg *j, int x, int y, int w, int h, int channels,
                       int *row_x, int *row_w) noexcept
    int dts_jpeg_rows(dts_jpeg *j, uint8_t *const *rows, int n) noexcept
    int dts_jpeg_stop(dts_jpeg *j) noexcept
    int dts_jpeg_check_scans(dts_jpeg *j) noexcept
    int dts_jpeg_fail(dts_jpeg *j, int status, const char *format, ...) noexcept
    void dts_jpeg_set_pixel_limit(int64_t pixels) noexcept
    int64_t dts_jpeg_pixel_limit() noexcept
    void dts_jpeg_cmyk_row(uint8_t *out, const uint8_t *cmyk, int n, int channels) noexcept


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


cdef dts_jpeg_ops _whole_picture = dts_jpeg_ops(_nothing, _drop, _nothing, _start, _rows, _stop)


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


cdef int jpeg_start(dts_jpeg *j, int x, int y, int w, int h, int channels,
                    int *row_x, int *row_w) noexcept nogil:
    return dts_jpeg_start(j, x, y, w, h, channels, row_x, row_w)


cdef int jpeg_rows(dts_jpeg *j, uint8_t *const *rows, int n) noexcept nogil:
    return dts_jpeg_rows(j, rows, n)


cdef int jpeg_stop(dts_jpeg *j) noexcept nogil:
    return dts_jpeg_stop(j)


cdef const char *jpeg_reason(dts_jpeg *j) noexcept nogil:
    return j.reason


cdef int64_t jpeg_warnings(dts_jpeg *j) noexcept nogil:
    return j.warnings


# --- choosing a library

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


# --- decoding from Python

class JpegHeader(NamedTuple):
    """What the header of a JPEG says.

    Attributes
    ----------
    width, height : int
        In pixels.
    components : int
        1 grey, 3 colour, 4 CMYK or YCCK.
    mcu_width, mcu_height : int
        The unit of coding, in pixels.
    progressive : bool
        A region of it costs as much entropy decoding as the whole.
    """

    width: int
    height: int
    components: int
    mcu_width: int
    mcu_height: int
    progressive: bool


cdef int ROWS = 16  # decoded at a time; an MCU is at most 32 high, mostly 16


cdef class Decoder:
    """A decoder that is kept from picture to picture. One thread at a time may use it.

    It belongs to the library that was in use when it was made.

    Attributes
    ----------
    warnings : int
        Harmless oddities of the last picture: end marker missing with all pixels there, stray
        bytes.
    """

    cdef dts_jpeg *j
    cdef uint8_t *scratch
    cdef size_t scratch_size
    cdef bint busy

    def __cinit__(self):
        self.j = jpeg_new()
        if self.j == NULL:
            raise MemoryError("no memory for a JPEG decoder")

    def __dealloc__(self):
        jpeg_free(self.j)
        free(self.scratch)

    @property
    def warnings(self):
        return jpeg_warnings(self.j)

    def header(self, data):
        """Read the header of a JPEG. See `header`."""
        return self._run(data, True, None, 0, None)

    def decode(self, data, region=None, channels=3, out=None):
        """Decode a JPEG or a region of it. See `decode`.

        Parameters
        ----------
        data, region, channels
            As for `decode`.
        out : ndarray (h, w, channels) of uint8, optional
            Where to put the pixels; C-contiguous.
        """
        if channels not in (1, 3):
            raise ValueError(f"channels must be 1 or 3, not {channels!r}")
        return self._run(data, False, region, channels, out)

    cdef _run(self, data, bint only_header, region, int channels, out):
        cdef Py_buffer buffer
        if self.busy:
            raise RuntimeError("this Decoder is in use by another thread")
        self.busy = True
        try:
            PyObject_GetBuffer(data, &buffer, PyBUF_SIMPLE)
            try:
                header = self._header(<const uint8_t *>buffer.buf, buffer.len)
                return header if only_header else self._region(header, region, channels, out)
            finally:
                jpeg_stop(self.j)
                PyBuffer_Release(&buffer)
        finally:
            self.busy = False

    cdef _header(self, const uint8_t *data, int64_t size):
        cdef dts_jpeg_info info
        cdef int status
        with nogil:
            status = jpeg_header(self.j, data, size, &info)
        self._check(status)
        return JpegHeader(info.width, info.height, info.components, info.mcu_width,
                          info.mcu_height, bool(info.progressive))

    cdef _region(self, header, region, int channels, out):
        cdef int x, y, w, h, status
        cdef uint8_t[:, :, ::1] pixels
        if region is None:
            region = (0, 0, header.width, header.height)
        x, y, w, h = map(index, region)
        if x < 0 or y < 0 or w < 1 or h < 1 or x > header.width - w or y > header.height - h:
            raise ValueError(f"region {(x, y, w, h)} is not within the picture, which is "
                             f"{header.width} x {header.height}")
        shape = (h, w, channels)
        if out is None:
            out = np.empty(shape, np.uint8)
        elif out.shape != shape:
            raise ValueError(f"out has the shape {out.shape}, the region is {shape}")
        pixels = out
        with nogil:
            status = self._fill(&pixels[0, 0, 0], x, y, w, h, channels)
        self._check(status)
        return out

    cdef _check(self, int status):
        if status != DTS_OK:
            raise from_status(status, jpeg_reason(self.j).decode("utf-8", "replace"))

    cdef int _fill(self, uint8_t *out, int x, int y, int w, int h, int channels) noexcept nogil:
        cdef uint8_t *rows[16]
        cdef int row_x, row_w, n, i, done = 0
        cdef int status = jpeg_start(self.j, x, y, w, h, channels, &row_x, &row_w)
        cdef size_t row = <size_t>row_w * channels, wanted = <size_t>w * channels
        if status == DTS_OK and row_w != w:
            status = self._scratch(ROWS * row)
        while status == DTS_OK and done < h:
            n = min(ROWS, h - done)
            for i in range(n):
                rows[i] = out + (done + i) * wanted if row_w == w else self.scratch + i * row
            status = jpeg_rows(self.j, rows, n)
            if status == DTS_OK and row_w != w:
                for i in range(n):
                    memcpy(out + (done + i) * wanted, rows[i] + (x - row_x) * channels, wanted)
            done += n
        i = jpeg_stop(self.j)
        return status if status != DTS_OK else i

    cdef int _scratch(self, size_t size) noexcept nogil:
        cdef uint8_t *memory
        if size > self.scratch_size:
            memory = <uint8_t *>realloc(self.scratch, size)
            if memory == NULL:
                return dts_jpeg_fail(self.j, DTS_NO_MEMORY, b"no memory for %zu bytes", size)
            self.scratch = memory
            self.scratch_size = size
        return DTS_OK


def decode(data, region=None, channels=3):
    """Decode a JPEG, or only a region of it.

    Parameters
    ----------
    data : bytes-like
        The file.
    region : tuple of int, optional
        ``(x, y, w, h)`` in pixels, within the picture. The pixels are those of a full decode, bit
        for bit. Default: all of it.
    channels : {3, 1}
        3: RGB (grey files give three equal channels). 1: grey (luma of colour files).

    Returns
    -------
    ndarray (h, w, channels) of uint8

    Raises
    ------
    DecodeError
        Not a JPEG, of a kind that is not supported, over the pixel limit, or damaged in the part
        that was read.
    ValueError
        The region is not within the picture.
    """
    return Decoder().decode(data, region, channels)


def header(data):
    """Read the header of a JPEG.

    Parameters
    ----------
    data : bytes-like
        The file.

    Returns
    -------
    JpegHeader

    Raises
    ------
    DecodeError
        As `decode` does; pixels are not looked at.
    """
    return Decoder().header(data)
