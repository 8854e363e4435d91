"""The kernels as other modules reach them, and the loops that call them for numpy arrays.

One table serves all modules of the process: it is chosen here, once, when this module is imported.
"""

import os

from libc.stddef cimport size_t
from libc.stdint cimport int16_t, int32_t, uint8_t, uint16_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset

import numpy as np


cdef extern from "dts/kernels/mix.h" nogil:
    const dts_mix_kernels *dts_mix_get()
    void dts_swap_bytes(void *a, void *b, size_t n)

cdef extern from "dts/kernels/kernels.h" nogil:
    const dts_kernels *dts_kernels_get()
    int dts_kernels_select(const char *isa)
    const char *dts_kernels_available(int i)
    int dts_filter_make(dts_filter *f, double box0, double box, int clip0, int clip1,
                        int virtual_out, int out0, int out, int antialias)
    void dts_filter_free(dts_filter *f)
    uint16_t dts_half_from_float(float v)


cdef extern from "dts/kernels/pixels.h" nogil:
    const dts_pixels *dts_pixels_get()


cdef extern from "dts/kernels/warp.h" nogil:
    void dts_warp_run(const dts_warp *job)


cdef enum:
    SLACK = 64  # bytes past the end of a row that kernels may read, see kernels.h
    EDGE = 16  # pixels that begin a vector whatever the channels

cdef enum Kind:
    UINT8 = 1  # the size of an element, too
    FLOAT16 = 2
    FLOAT32 = 4


cdef const dts_kernels *get_kernels() noexcept nogil:
    return dts_kernels_get()


cdef const dts_mix_kernels *get_mix() noexcept nogil:
    return dts_mix_get()


cdef void swap_bytes(void *a, void *b, size_t n) noexcept nogil:
    dts_swap_bytes(a, b, n)


cdef const dts_pixels *get_pixels() noexcept nogil:
    return dts_pixels_get()


cdef int filter_make(dts_filter *f, double box0, double box, int clip0, int clip1,
                     int virtual_out, int out0, int out, int antialias) noexcept nogil:
    return dts_filter_make(f, box0, box, clip0, clip1, virtual_out, out0, out, antialias)


cdef void filter_free(dts_filter *f) noexcept nogil:
    dts_filter_free(f)


cdef void warp_run(const dts_warp *job) noexcept nogil:
    dts_warp_run(job)


# ---- instruction sets ------------------------------------------------------------------------

cdef extern from *:
    """
    #if defined(__clang__)
    #define DTS_COMPILER "clang " __clang_version__
    #elif defined(__GNUC__)
    #define DTS_COMPILER "gcc " __VERSION__
    #elif defined(_MSC_VER)
    #define DTS_COMPILER "msvc"
    #else
    #define DTS_COMPILER "unknown"
    #endif
    """
    const char *DTS_COMPILER


def compiler():
    """Name and version of the compiler that built the kernels."""
    return (<bytes> DTS_COMPILER).decode()


def isa():
    """Name the instruction set in use.

    Returns
    -------
    str
        ``"scalar"``, ``"avx2"``, ``"avx512"`` or ``"neon"``.
    """
    return dts_kernels_get().isa.decode()


def available_isas():
    """Name the instruction sets that this CPU and operating system have.

    Returns
    -------
    tuple of str
        Best first; the last is ``"scalar"``.
    """
    names = []
    while dts_kernels_available(len(names)) != NULL:
        names.append(dts_kernels_available(len(names)).decode())
    return tuple(names)


def select_isa(name):
    """Use another instruction set from now on, in the whole process; for tests and benchmarks.

    All give the same bits. The environment variable ``DTS_ISA`` does the same at import.

    Parameters
    ----------
    name : str
        One of `available_isas`.

    Raises
    ------
    ValueError
        Unknown, or not available here.
    """
    if not isinstance(name, str):
        raise TypeError(f"name: str expected, got {type(name).__name__}")
    if dts_kernels_select(name.encode()) != 0:
        raise ValueError(f"name: {name!r} is not one of {', '.join(available_isas())}")


def _choose():
    name = os.environ.get("DTS_ISA")
    if name and dts_kernels_select(os.fsencode(name)) != 0:
        raise ImportError(f"DTS_ISA={name}: not one of {', '.join(available_isas())}, "
                          "which is what this CPU and operating system have")
    if not name:
        dts_kernels_select(NULL)


_choose()


# ---- rows of arrays --------------------------------------------------------------------------

cdef struct Source:
    const uint8_t *rows  # all rows of all images, one after the other
    uint8_t *last_rows  # a copy, readable past its end, of those too near the end
    Py_ssize_t copied_from  # number of the first row that is in it
    size_t stride


cdef int source_open(Source *s, const uint8_t *rows, Py_ssize_t n, size_t stride) noexcept nogil:
    cdef Py_ssize_t copied = <Py_ssize_t>(SLACK // stride + 1)
    if copied > n:
        copied = n
    s.rows = rows
    s.stride = stride
    s.copied_from = n - copied
    s.last_rows = <uint8_t *>malloc(<size_t>copied * stride + SLACK)
    if s.last_rows == NULL:
        return -1
    memcpy(s.last_rows, rows + <size_t>s.copied_from * stride, <size_t>copied * stride)
    memset(s.last_rows + <size_t>copied * stride, 0, SLACK)
    return 0


cdef const uint8_t *source_row(const Source *s, Py_ssize_t row) noexcept nogil:
    if row >= s.copied_from:
        return s.last_rows + <size_t>(row - s.copied_from) * s.stride
    return s.rows + <size_t>row * s.stride


cdef dts_norm norm_of(const float[::1] scale, const float[::1] bias) noexcept:
    cdef dts_norm norm
    cdef Py_ssize_t i
    memset(&norm, 0, sizeof(norm))
    for i in range(scale.shape[0]):
        norm.scale[i] = scale[i]
        norm.bias[i] = bias[i]
    return norm


# ---- normalisation ---------------------------------------------------------------------------

cdef void normalize_rows(const dts_kernels *k, int kind, uint8_t *out, const uint8_t *src,
                         const dts_shape *shape, const dts_norm *norm) noexcept nogil:
    if kind == FLOAT16:
        k.normalize_f16(<uint16_t *>out, src, shape, norm)
    elif kind == FLOAT32:
        k.normalize_f32(<float *>out, src, shape, norm)
    else:
        k.copy_u8(out, src, shape)


cdef void normalize_part(const dts_kernels *k, int kind, uint8_t *out, const Source *source,
                         Py_ssize_t first, const dts_shape *whole, Py_ssize_t top, Py_ssize_t left,
                         Py_ssize_t height, Py_ssize_t width, const dts_norm *norm) noexcept nogil:
    """A box of the output, which begins with source row `first`; rows of the copy go apart."""
    cdef dts_shape part = whole[0]
    cdef Py_ssize_t column = left, plain
    if height == 0 or width == 0:
        return
    if whole.flip:
        column = <Py_ssize_t>whole.width - left - width
    out += top * whole.out_stride + left * whole.oc * kind
    first += top
    part.width = <size_t>width
    plain = min(max(source.copied_from - first, 0), height)
    if plain > 0:
        part.height = <size_t>plain
        normalize_rows(k, kind, out, source_row(source, first) + column * whole.c, &part, norm)
    if plain < height:
        part.height = <size_t>(height - plain)
        normalize_rows(k, kind, out + plain * whole.out_stride,
                       source_row(source, first + plain) + column * whole.c, &part, norm)


cdef void normalize_around(const dts_kernels *k, int kind, uint8_t *out, const Source *source,
                           Py_ssize_t first, const dts_shape *whole, const int32_t *box,
                           const dts_norm *norm) noexcept nogil:
    """All but the box, which is set to 0. What lies well inside it costs no arithmetic."""
    cdef Py_ssize_t w = <Py_ssize_t>whole.width, h = <Py_ssize_t>whole.height
    cdef Py_ssize_t top = box[0], left = box[1], height = box[2], width = box[3], y
    cdef Py_ssize_t bottom = top + height, pixel = whole.oc * kind
    # Both sides reach into the box, so that their vectors are whole and lie as in other rows.
    cdef Py_ssize_t inner = (left + EDGE - 1) & -EDGE, outer = (left + width) & -EDGE
    if outer - inner < EDGE:
        normalize_part(k, kind, out, source, first, whole, 0, 0, h, w, norm)
    else:
        normalize_part(k, kind, out, source, first, whole, 0, 0, top, w, norm)
        normalize_part(k, kind, out, source, first, whole, top, 0, height, inner, norm)
        normalize_part(k, kind, out, source, first, whole, top, outer, height, w - outer, norm)
        normalize_part(k, kind, out, source, first, whole, bottom, 0, h - bottom, w, norm)
    out += top * whole.out_stride + left * pixel
    for y in range(height):
        memset(out + y * whole.out_stride, 0, <size_t>(width * pixel))


def _normalize(uint8_t[::1] out, const uint8_t[:, :, :, ::1] images, int itemsize, int channels,
               const float[::1] scale, const float[::1] bias, const uint8_t[::1] flip,
               const int32_t[:, ::1] erase):
    """Normalise images into the bytes of out; everything was checked by functions.py."""
    cdef Py_ssize_t n = images.shape[0], h = images.shape[1], w = images.shape[2], i
    cdef const dts_kernels *k = dts_kernels_get()
    cdef dts_norm norm = norm_of(scale, bias)
    cdef dts_shape shape
    cdef Source source
    cdef uint8_t *to
    cdef int failed
    if n * h * w == 0:
        return
    shape.width = <size_t>w
    shape.height = <size_t>h
    shape.c = <int>images.shape[3]
    shape.oc = channels
    shape.flip = 0
    shape.in_stride = w * shape.c
    shape.out_stride = w * channels * itemsize
    with nogil:
        failed = source_open(&source, &images[0, 0, 0, 0], n * h, <size_t>shape.in_stride)
        if not failed and flip is None and erase is None:
            normalize_part(k, itemsize, &out[0], &source, 0, &shape, 0, 0, n * h, w, &norm)
        elif not failed:
            for i in range(n):
                to = &out[0] + i * h * shape.out_stride
                if flip is not None:
                    shape.flip = flip[i]
                if erase is not None and erase[i, 2] > 0 and erase[i, 3] > 0:
                    normalize_around(k, itemsize, to, &source, i * h, &shape, &erase[i, 0], &norm)
                else:
                    normalize_part(k, itemsize, to, &source, i * h, &shape, 0, 0, h, w, &norm)
        free(source.last_rows)
    if failed:
        raise MemoryError


def _to_half(const float[::1] values, uint16_t[::1] out):
    """The bits of float16, for the tests."""
    cdef Py_ssize_t i
    for i in range(values.shape[0]):
        out[i] = dts_half_from_float(values[i])


# ---- resize ----------------------------------------------------------------------------------

cdef int resize_one(const dts_kernels *k, const Source *source, Py_ssize_t first_row, uint8_t *out,
                    int kind, int c, int oc, const dts_filter *fx, const dts_filter *fy,
                    int16_t *line, const uint8_t **rows, const dts_norm *norm,
                    int flip) noexcept nogil:
    cdef size_t n = <size_t>((fx.last - fx.first) * c)
    cdef size_t out_row = <size_t>fx.out * <size_t>oc * <size_t>kind
    cdef int y, j, row
    for y in range(fy.out):
        for j in range(fy.taps):
            row = fy.start[y] + j
            if row >= fy.last:
                row = fy.last - 1
            rows[j] = source_row(source, first_row + row) + fx.first * c
        k.resize_v(line, rows, fy.weight + y * fy.taps, fy.taps, n)
        if kind == UINT8:
            k.resize_h_u8(out, line, fx.first, fx, c, oc, flip)
        elif kind == FLOAT16:
            k.resize_h_f16(<uint16_t *>out, line, fx.first, fx, c, oc, norm, flip)
        else:
            k.resize_h_f32(<float *>out, line, fx.first, fx, c, oc, norm, flip)
        out += out_row
    return 0


def _resize(uint8_t[::1] out, const uint8_t[:, :, :, ::1] images, int itemsize, int channels,
            int height, int width, box, bint antialias, const float[::1] scale,
            const float[::1] bias, bint flip):
    """Resize the box of images into the bytes of out; everything was checked by functions.py."""
    cdef Py_ssize_t n = images.shape[0], h = images.shape[1], w = images.shape[2], i
    cdef int c = <int>images.shape[3]
    cdef double left = box[0], top = box[1], right = box[2], bottom = box[3]
    cdef size_t out_image = <size_t>height * <size_t>width * <size_t>channels * <size_t>itemsize
    cdef const dts_kernels *k = dts_kernels_get()
    cdef dts_norm norm = norm_of(scale, bias)
    cdef dts_filter fx, fy
    cdef Source source
    cdef int16_t *line = NULL
    cdef const uint8_t **rows = NULL
    cdef int failed
    memset(&fx, 0, sizeof(fx))
    memset(&fy, 0, sizeof(fy))
    memset(&source, 0, sizeof(source))
    if n == 0:
        return
    with nogil:
        failed = dts_filter_make(&fx, left, right - left, 0, <int>w, width, 0, width, antialias)
        failed |= dts_filter_make(&fy, top, bottom - top, 0, <int>h, height, 0, height, antialias)
        failed |= source_open(&source, &images[0, 0, 0, 0], n * h, <size_t>(w * c))
        if not failed:
            line = <int16_t *>malloc(<size_t>((fx.last - fx.first) * c) * sizeof(int16_t) + SLACK)
            rows = <const uint8_t **>malloc(<size_t>fy.taps * sizeof(uint8_t *))
            failed = line == NULL or rows == NULL
        if not failed:
            for i in range(n):
                resize_one(k, &source, i * h, &out[0] + <size_t>i * out_image, itemsize, c,
                           channels, &fx, &fy, line, rows, &norm, flip)
        free(rows)
        free(line)
        free(source.last_rows)
        dts_filter_free(&fx)
        dts_filter_free(&fy)
    if failed:
        raise MemoryError


def filter_weights(double box0, double box, int clip0, int clip1, int virtual_out, int out0,
                   int out, bint antialias=True):
    """Show the integer filter of one axis, as the resize kernels use it.

    Parameters
    ----------
    box0, box : float
        First position and length of the part of the source axis that is resized.
    clip0, clip1 : int
        The filter sees the source positions clip0 .. clip1 - 1 only.
    virtual_out : int
        Outputs that the box is resized to.
    out0, out : int
        Of these, the outputs out0 .. out0 + out - 1 are made.
    antialias : bool
        False: the two nearest positions only.

    Returns
    -------
    start : (out,) int32 array
        First source position of each output.
    weight : (out, taps) int16 array
        In units of 1/16384; each row adds up to 16384.
    span : tuple of int
        Half-open range of source positions that any output needs.

    Raises
    ------
    ValueError
        Empty box, clip range or outputs, or outputs that are not among virtual_out.
    """
    cdef dts_filter f
    memset(&f, 0, sizeof(f))
    if dts_filter_make(&f, box0, box, clip0, clip1, virtual_out, out0, out, antialias) != 0:
        raise ValueError("these numbers describe no filter")
    try:
        start = np.array(<int32_t[:out]>f.start)
        weight = np.array(<int16_t[:out * f.taps]>f.weight).reshape(out, f.taps)
        return start, weight, (f.first, f.last)
    finally:
        dts_filter_free(&f)
