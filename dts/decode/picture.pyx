"""Decoding from Python, over the contract of jpeg.pxd."""

from operator import index
from typing import NamedTuple

import numpy as np

from dts.errors import from_status

cimport cython
from cpython.buffer cimport Py_buffer, PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport int64_t, uint8_t
from libc.stdlib cimport free, realloc
from libc.string cimport memcpy

from dts.decode.jpeg cimport (
    dts_jpeg,
    dts_jpeg_info,
    jpeg_free,
    jpeg_header,
    jpeg_new,
    jpeg_orientation,
    jpeg_reason,
    jpeg_rows,
    jpeg_scale,
    jpeg_spliced,
    jpeg_start,
    jpeg_stop,
    jpeg_warnings,
)
from dts.status cimport DTS_NO_MEMORY, DTS_OK


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
    restart_interval : int
        MCUs between restart markers; 0 where there are none.
    """

    width: int
    height: int
    components: int
    mcu_width: int
    mcu_height: int
    progressive: bool
    restart_interval: int


cdef enum:
    ROWS = 16  # decoded at a time: the usual height of an MCU
    HEADER = 0
    ORIENTATION = 1
    CHECK = 2
    DECODE = 3


@cython.final
cdef class Decoder:
    """A decoder that is kept from picture to picture. One thread at a time may use it.

    It belongs to the library that was in use when it was made.

    Attributes
    ----------
    spliced : int
        Pictures so far of which only the restart intervals were read that the region needs.
    warnings : int
        Harmless oddities of the last picture: end marker missing with all pixels there, stray
        bytes, and broken EXIF where `orientation` was asked for.
    own_entropy : bool
        Whether the Huffman codes of the last picture were read by this package's own decoder:
        baseline files in one scan, as far as they were without fault. libjpeg read them else.
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
    def own_entropy(self):
        return bool(self.j.own_entropy)

    @property
    def spliced(self):
        return jpeg_spliced(self.j)

    @property
    def warnings(self):
        return jpeg_warnings(self.j)

    def header(self, data):
        """Read the header of a JPEG. See `header`."""
        return self._run(data, HEADER, None, 0, None, 1)

    def orientation(self, data):
        """Read the EXIF orientation of a JPEG. See `orientation`."""
        return self._run(data, ORIENTATION, None, 0, None, 1)

    def check(self, data):
        """Look for damage in a JPEG: read all of it, keep no pixel. See `check`."""
        return self._run(data, CHECK, None, 0, None, 1)

    def decode(self, data, region=None, channels=3, out=None, scale=1):
        """Decode a JPEG or a region of it. See `decode`.

        Parameters
        ----------
        data, region, channels, scale
            As for `decode`.
        out : ndarray (h, w, channels) of uint8, optional
            Where to put the pixels; C-contiguous.
        """
        if channels not in (1, 3):
            raise ValueError(f"channels must be 1 or 3, not {channels!r}")
        if scale not in (1, 2, 4, 8):
            raise ValueError(f"scale must be 1, 2, 4 or 8, not {scale!r}")
        return self._run(data, DECODE, region, channels, out, scale)

    cdef _run(self, data, int wanted, region, int channels, out, int scale):
        cdef Py_buffer buffer
        if self.busy:
            raise RuntimeError("this Decoder is in use by another thread")
        self.busy = True
        try:
            PyObject_GetBuffer(data, &buffer, PyBUF_SIMPLE)
            try:
                header = self._header(<const uint8_t *>buffer.buf, buffer.len)
                if wanted == HEADER:
                    return header
                if wanted == ORIENTATION:
                    return jpeg_orientation(self.j)
                if wanted == CHECK:
                    return self._read_through(header)
                if jpeg_scale(self.j, scale) != scale:
                    raise ValueError("simplejpeg is the JPEG library: it decodes at scale 1 only")
                return self._region(region, channels, out)
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
                          info.mcu_height, bool(info.progressive), info.restart_interval)

    cdef _region(self, region, int channels, out):
        cdef int x, y, w, h, status, width = self.j.width, height = self.j.height
        cdef uint8_t[:, :, ::1] pixels
        if region is None:
            region = (0, 0, width, height)
        x, y, w, h = map(index, region)
        if x < 0 or y < 0 or w < 1 or h < 1 or x > width - w or y > height - h:
            raise ValueError(f"region {(x, y, w, h)} is not within the picture, which is "
                             f"{width} x {height}")
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

    cdef _read_through(self, header):
        cdef uint8_t *rows[ROWS]
        cdef int n, i, row_x, row_w, width = header.width, height = header.height, done = 0
        cdef int status = DTS_OK
        with nogil:
            # Grey, so that no colours are computed: the data must be read all the same.
            status = jpeg_start(self.j, 0, 0, width, height, 1, &row_x, &row_w)
            if status == DTS_OK:
                status = self._reserve(row_w)
            while status == DTS_OK and done < height:
                n = min(ROWS, height - done)
                for i in range(n):
                    rows[i] = self.scratch
                status = jpeg_rows(self.j, rows, n)
                done += n
            i = jpeg_stop(self.j)
            status = status if status != DTS_OK else i
        self._check(status)
        return jpeg_warnings(self.j)

    cdef _check(self, int status):
        if status != DTS_OK:
            raise from_status(status, jpeg_reason(self.j).decode("utf-8", "replace"))

    cdef int _fill(self, uint8_t *out, int x, int y, int w, int h, int channels) noexcept nogil:
        cdef uint8_t *rows[ROWS]
        cdef int row_x, row_w, n, i, done = 0
        cdef int status = jpeg_start(self.j, x, y, w, h, channels, &row_x, &row_w)
        cdef size_t row = <size_t>row_w * channels, wanted = <size_t>w * channels
        if status == DTS_OK and row_w != w:
            status = self._reserve(ROWS * row)
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

    cdef int _reserve(self, size_t size) noexcept nogil:
        cdef uint8_t *memory
        if size > self.scratch_size:
            memory = <uint8_t *>realloc(self.scratch, size)
            if memory == NULL:
                return DTS_NO_MEMORY
            self.scratch = memory
            self.scratch_size = size
        return DTS_OK


def decode(data, region=None, channels=3, scale=1):
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
    scale : {1, 2, 4, 8}
        Decode at one over this: sides are divided and rounded up, and `region` is in those pixels.
        About the mean of each square of pixels, and much cheaper than that. With a libjpeg only.

    Returns
    -------
    ndarray (h, w, channels) of uint8

    Raises
    ------
    DecodeError
        Not a JPEG, of a kind that is not supported, over the pixel limit, or damaged in the part
        that was read.
    ValueError
        The region is not within the picture, or simplejpeg is asked for another scale than 1.

    Notes
    -----
    Only what the region needs is read, so damage below it is not seen. Bytes that were changed
    within the coded data and still decode are seen by no decoder: that is what checksums are for.
    """
    return Decoder().decode(data, region, channels, scale=scale)


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


def orientation(data):
    """Read the EXIF orientation of a JPEG.

    Parameters
    ----------
    data : bytes-like
        The file.

    Returns
    -------
    int
        1 to 8, as TIFF tag 0x0112 counts: 1 upright, 2 mirrored, 3 upside down, 6 and 8 lying on
        a side, and so on. 1 where there is no tag, and where the EXIF data makes no sense (which
        counts as a warning of a `Decoder`).

    Raises
    ------
    DecodeError
        As `header` does.
    """
    return Decoder().orientation(data)


def check(data):
    """Look for damage in a JPEG: read all of it, keep no pixel.

    Parameters
    ----------
    data : bytes-like
        The file.

    Returns
    -------
    int
        Harmless oddities: end marker missing with all pixels there, stray bytes.

    Raises
    ------
    DecodeError
        Exactly where `decode` of the whole picture raises it.
    """
    return Decoder().check(data)
