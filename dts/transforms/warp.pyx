"""Affine warps: what rotations, shears and translations share."""

from libc.math cimport floor
from libc.stdint cimport uint8_t

from dts.kernels.kernels cimport dts_warp, warp_run
from dts.rng.philox cimport dts_cos, dts_sin
from dts.transforms.op cimport dts_image

import numpy as np

from dts.transforms.op import check_fill, check_interpolation, check_number

cdef double RADIANS = 0.017453292519943295


cdef void warp(const dts_image *src, const dts_image *dst, const double *matrix, int interpolation,
               const float *fill) noexcept nogil:
    cdef dts_warp job
    cdef int k
    job.src = src.pixels
    job.src_stride = src.stride
    job.dst = dst.pixels
    job.dst_stride = dst.stride
    job.width = src.width
    job.height = src.height
    job.channels = src.channels
    job.bilinear = interpolation == WARP_BILINEAR
    for k in range(6):
        job.theta[k] = <float> matrix[k]
    job.blend = fill != NULL
    for k in range(3):
        job.fill[k] = 0 if fill == NULL else fill[k if src.channels == 3 else 0]
    warp_run(&job)


cdef void warp_rotation(double degrees, double cx, double cy, double *matrix) noexcept nogil:
    cdef double turn = -(degrees - 360.0 * floor(degrees / 360.0)) * RADIANS
    cdef double c = dts_cos(turn), s = dts_sin(turn)
    matrix[0] = c
    matrix[1] = s
    matrix[2] = cx - c * cx - s * cy
    matrix[3] = -s
    matrix[4] = c
    matrix[5] = cy + s * cx - c * cy


cdef void warp_shear_x(double level, int height, double *matrix) noexcept nogil:
    matrix[0] = matrix[4] = 1.0
    matrix[1] = level
    matrix[2] = level * (height * 0.5)
    matrix[3] = matrix[5] = 0.0


cdef void warp_shear_y(double level, int width, double *matrix) noexcept nogil:
    matrix[0] = matrix[4] = 1.0
    matrix[3] = level
    matrix[5] = level * (width * 0.5)
    matrix[1] = matrix[2] = 0.0


cdef void warp_translation(double x, double y, double *matrix) noexcept nogil:
    matrix[0] = matrix[4] = 1.0
    matrix[1] = matrix[3] = 0.0
    matrix[2] = -x
    matrix[5] = -y


def warp_image(image, matrix, *, interpolation="nearest", fill=0):
    """Warp a picture onto one of the same size.

    Parameters
    ----------
    image : ndarray of shape (h, w, 1) or (h, w, 3), uint8
    matrix : sequence of 6 float
        From the result to the input, (x, y) measured from the picture's centre in pixels:
        ``sx = m[0] x + m[1] y + m[2]``, ``sy = m[3] x + m[4] y + m[5]``.
    interpolation : str
        "nearest" or "bilinear".
    fill : None, float or sequence of float
        What comes from outside the picture, 0..255, for all channels or one for each. None: 0, and
        "bilinear" does not blend with it a second time at the edge, as torchvision does.

    Returns
    -------
    ndarray of the shape of `image`, uint8

    Raises
    ------
    ValueError
        Another shape or dtype, a number that is not finite, an unknown interpolation.
    """
    cdef dts_image src, dst
    cdef double m[6]
    cdef float values[3]
    cdef const uint8_t[::1] read
    cdef uint8_t[::1] write
    cdef bint given
    cdef int k, mode = check_interpolation("interpolation", interpolation) == "bilinear"
    image = np.asarray(image)
    if (image.dtype != np.uint8 or image.ndim != 3 or image.shape[2] not in (1, 3)
            or not image.size or max(image.shape) > 65_500):
        raise ValueError(f"image must be uint8 of shape (h, w, 1 or 3), not {image.shape}")
    matrix = [check_number("matrix", v) for v in matrix]
    if len(matrix) != 6:
        raise ValueError(f"matrix must have 6 numbers, not {len(matrix)}")
    given = fill is not None
    fill = check_fill("fill", fill) if given else 0
    for k in range(6):
        m[k] = matrix[k]
    for k in range(3):
        values[k] = fill[k % len(fill)] if isinstance(fill, tuple) else fill
    memory = np.zeros(image.size + 64, np.uint8)
    memory[:image.size] = image.reshape(-1)
    out = np.empty_like(image, order="C")
    read, write = memory, out.reshape(-1)
    src.pixels = <uint8_t *> &read[0]
    dst.pixels = &write[0]
    src.height, src.width, src.channels = dst.height, dst.width, dst.channels = image.shape
    src.stride = dst.stride = <long long> image.shape[1] * image.shape[2]
    with nogil:
        warp(&src, &dst, m, mode, values if given else NULL)
    return out


def warp_matrix(kind, *numbers):
    """Return the six numbers of a matrix.

    Parameters
    ----------
    kind : str
        "rotation" (degrees, cx, cy), "shear_x" (level, height), "shear_y" (level, width) or
        "translation" (x, y).
    *numbers : float

    Returns
    -------
    list of float

    Raises
    ------
    ValueError
        An unknown kind.
    """
    cdef double m[6]
    if kind == "rotation":
        warp_rotation(numbers[0], numbers[1], numbers[2], m)
    elif kind == "shear_x":
        warp_shear_x(numbers[0], numbers[1], m)
    elif kind == "shear_y":
        warp_shear_y(numbers[0], numbers[1], m)
    elif kind == "translation":
        warp_translation(numbers[0], numbers[1], m)
    else:
        raise ValueError(f"unknown kind of warp {kind!r}")
    return list(m)
