"""What users call: arguments are checked here, the work is done by the kernels without the GIL."""

import numpy as np

from dts.kernels import kernels

_MAX_SIDE = 65500  # of a JPEG, and small enough for the kernels' 32-bit positions
_HALF_MAX = 65504.0


def norm_constants(mean, std, *, dtype="float32"):
    """Turn mean and standard deviation into what the kernels use.

    They compute ``out = v * scale - bias`` in float32, with two roundings, for a pixel value v of
    0..255.

    Parameters
    ----------
    mean, std : array_like of 1 to 4 numbers
        Per channel, in 0..1 units.
    dtype : {"float32", "float16"}
        What the result is written as.

    Returns
    -------
    scale, bias : (channels,) float32 arrays
        ``1 / (255 std)`` and ``mean / std``, every operation in float32.

    Raises
    ------
    ValueError
        Wrong count, mean or std not finite, std not positive, or values that pass the range of
        dtype (65504 for float16).
    """
    mean, std = _numbers("mean", mean), _numbers("std", std)
    if not 1 <= mean.size <= 4:
        raise ValueError(f"mean: 1 to 4 numbers expected, got {mean.size}")
    if std.size != mean.size:
        raise ValueError(f"std: {mean.size} numbers expected, as many as in mean, got {std.size}")
    if not np.all(np.isfinite(mean)):
        raise ValueError(f"mean: finite numbers expected, got {mean.tolist()}")
    if not np.all(np.isfinite(std) & (std > 0)):
        raise ValueError(f"std: finite numbers above 0 expected, got {std.tolist()}")
    with np.errstate(all="ignore"):  # what overflows or vanishes here is reported below
        mean32, std32 = mean.astype(np.float32), std.astype(np.float32)
        scale = np.float32(1) / (np.float32(255) * std32)
        bias = mean32 / std32
        ends = np.stack([-bias, np.float32(255) * scale - bias])
    limit = _HALF_MAX if np.dtype(dtype) == np.float16 else float(np.finfo(np.float32).max)
    if not np.all(np.isfinite(scale) & (np.abs(ends) <= limit)):
        raise ValueError(f"std: {std.tolist()} gives values beyond the range of {dtype}")
    return scale, bias


def fused_normalize(
    images, mean, std, *, dtype="float16", channels=None, flip=None, erase=None, out=None
):
    """Flip, normalise, erase and convert a batch of images in one pass.

    A pixel value v becomes ``(v / 255 - mean) / std``, computed as ``v * scale - bias``
    (see `norm_constants`); float16 is rounded to nearest even.

    Parameters
    ----------
    images : (n, h, w, c) uint8 array
        c is 1 to 4. Copied first if it is not C-contiguous.
    mean, std : array_like of c numbers
        Per channel, in 0..1 units. Not used for uint8, and may be None then.
    dtype : {"float16", "float32", "uint8"}
        Of the result. uint8 is not normalised.
    channels : int, optional
        Channels of the result: c, or 4. By default 4 for float16 and c otherwise.
        Channels past c are 0.
    flip : (n,) bool array, optional
        Images to be mirrored left to right.
    erase : (n, 4) int array, optional
        Top, left, height, width, in pixels of the result, of a rectangle to be set to 0 in all
        channels, after normalisation. Height 0: none.
    out : (n, h, w, channels) array of dtype, optional
        Where to write: C-contiguous, and apart from images.

    Returns
    -------
    (n, h, w, channels) array of dtype
        `out`, if given.

    Raises
    ------
    TypeError, ValueError
        An argument of the wrong kind; of the wrong shape or value. The message names it.
    """
    images = _images(images, (4,))
    n, h, w, c = images.shape
    dtype = _dtype(dtype)
    channels = _channels(channels, c, dtype)
    scale, bias = _constants(mean, std, c, dtype)
    if flip is not None:
        flip = _flip(flip, n)
    if erase is not None:
        erase = _erase(erase, n, h, w)
    shape = (n, h, w, channels)
    if out is None:
        out = np.empty(shape, dtype)
    else:
        _check_out(out, shape, dtype, images)
    kernels._normalize(_bytes(out), images, dtype.itemsize, channels, scale, bias, flip, erase)
    return out


def resize(images, size, *, box=None, antialias=True):
    """Resize with a bilinear filter, as Pillow's ``Image.resize(size, BILINEAR, box)`` does.

    Both passes in whole numbers, at most 1 level from Pillow's result.

    Parameters
    ----------
    images : (n, h, w, c) or (h, w, c) uint8 array
        c is 1 to 4; h and w are 1 to 65,500. Copied first if it is not C-contiguous.
    size : int or (height, width)
        Of the result, 1 to 65,500; one number makes it square.
    box : (left, top, right, bottom), optional
        The part to be resized, in pixels, fractions allowed; the whole image by default.
        The filter sees pixels outside it.
    antialias : bool
        True: the triangle filter widens as the image shrinks. False: four pixels at most make one.

    Returns
    -------
    (n, height, width, c) or (height, width, c) uint8 array

    Raises
    ------
    TypeError, ValueError
        An argument of the wrong kind; of the wrong shape or value. The message names it.
    """
    images = _images(images, (3, 4))
    batch = images if images.ndim == 4 else images[np.newaxis]
    n, h, w, c = batch.shape
    if not (1 <= h <= _MAX_SIDE and 1 <= w <= _MAX_SIDE):
        raise ValueError(f"images: sides of 1 to {_MAX_SIDE} pixels expected, got {h} x {w}")
    height, width = _size(size)
    out = np.empty((n, height, width, c), np.uint8)
    none = np.zeros(c, np.float32)
    kernels._resize(
        _bytes(out),
        batch,
        1,
        c,
        height,
        width,
        _box(box, h, w),
        bool(antialias),
        none,
        none,
        False,
    )
    return out if images.ndim == 4 else out[0]


def _numbers(name, value):
    try:
        numbers = np.atleast_1d(np.asarray(value, np.float64))
    except (TypeError, ValueError) as error:
        raise TypeError(f"{name}: numbers expected, got {value!r}") from error
    if numbers.ndim != 1:
        raise ValueError(f"{name}: one number per channel expected, got shape {numbers.shape}")
    return numbers


def _images(images, dimensions):
    images = np.asarray(images)
    if images.dtype != np.uint8:
        raise TypeError(f"images: uint8 expected, got {images.dtype}")
    if images.ndim not in dimensions:
        expected = " or ".join({3: "(h, w, c)", 4: "(n, h, w, c)"}[d] for d in dimensions)
        raise ValueError(f"images: shape {expected} expected, got {images.shape}")
    if not 1 <= images.shape[-1] <= 4:
        raise ValueError(f"images: 1 to 4 channels expected, got {images.shape[-1]}")
    return np.ascontiguousarray(images)


def _dtype(dtype):
    try:
        found = np.dtype(dtype)
    except TypeError as error:
        raise TypeError(f"dtype: {dtype!r} is not a dtype") from error
    if found not in (np.float16, np.float32, np.uint8):
        raise ValueError(f"dtype: float16, float32 or uint8 expected, got {found}")
    return found


def _channels(channels, c, dtype):
    if channels is None:
        return 4 if dtype == np.float16 else c
    if channels not in (c, 4):
        raise ValueError(f"channels: {c} or 4 expected, got {channels!r}")
    return int(channels)


def _constants(mean, std, c, dtype):
    if dtype == np.uint8:
        return np.zeros(c, np.float32), np.zeros(c, np.float32)
    scale, bias = norm_constants(mean, std, dtype=dtype)
    if scale.size != c:
        raise ValueError(f"mean: {c} numbers expected, one per channel, got {scale.size}")
    return scale, bias


def _flip(flip, n):
    flip = np.asarray(flip)
    if flip.dtype != np.bool_:
        raise TypeError(f"flip: bool expected, got {flip.dtype}")
    if flip.shape != (n,):
        raise ValueError(f"flip: shape ({n},) expected, got {flip.shape}")
    return np.ascontiguousarray(flip).view(np.uint8)


def _erase(erase, n, h, w):
    erase = np.asarray(erase)
    if not np.issubdtype(erase.dtype, np.integer):
        raise TypeError(f"erase: whole numbers expected, got {erase.dtype}")
    if erase.shape != (n, 4):
        raise ValueError(f"erase: shape ({n}, 4) expected, got {erase.shape}")
    wide = erase.astype(np.int64)
    top, left, height, width = wide.T
    wrong = (wide < 0).any(axis=1) | (top + height > h) | (left + width > w)
    wrong &= height != 0
    if wrong.any():
        i = int(np.argmax(wrong))
        raise ValueError(f"erase: row {i}, {erase[i].tolist()}, is not inside {h} x {w}")
    return np.where(height[:, np.newaxis] == 0, 0, wide).astype(np.int32)


def _check_out(out, shape, dtype, images):
    if not isinstance(out, np.ndarray):
        raise TypeError(f"out: a numpy array expected, got {type(out).__name__}")
    if out.dtype != dtype:
        raise TypeError(f"out: {dtype} expected, got {out.dtype}")
    if out.shape != shape:
        raise ValueError(f"out: shape {shape} expected, got {out.shape}")
    if not (out.flags.c_contiguous and out.flags.writeable):
        raise ValueError("out: a writable, C-contiguous array expected")
    if np.may_share_memory(out, images):
        raise ValueError("out: shares memory with images")


def _bytes(array):
    return array.reshape(-1).view(np.uint8)


def _size(size):
    height, width = size if isinstance(size, (tuple, list)) and len(size) == 2 else (size, size)
    for side in (height, width):
        if isinstance(side, bool) or not isinstance(side, (int, np.integer)):
            raise TypeError(f"size: a whole number or (height, width) expected, got {size!r}")
        if not 1 <= side <= _MAX_SIDE:
            raise ValueError(f"size: 1 to {_MAX_SIDE} expected, got {side}")
    return int(height), int(width)


def _box(box, h, w):
    if box is None:
        return 0.0, 0.0, float(w), float(h)
    numbers = _numbers("box", box)
    if numbers.size != 4:
        raise ValueError(f"box: (left, top, right, bottom) expected, got {box!r}")
    left, top, right, bottom = numbers.tolist()
    if not (0 <= left < right <= w and 0 <= top < bottom <= h):
        raise ValueError(f"box: {box!r} is not a part of {w} x {h} pixels (width x height)")
    return left, top, right, bottom
