"""The obvious version of each stage, in plain Python, numpy and Pillow."""

import io
import math

import numpy as np
from PIL import Image

_M0, _M1, _W0, _W1 = 0xD2511F53, 0xCD9E8D57, 0x9E3779B9, 0xBB67AE85
_MASK = 0xFFFFFFFF


def philox(seed, c0, c1, c2, c3):
    """Four words of Philox4x32-10."""
    c = [c0 & _MASK, c1 & _MASK, c2 & _MASK, c3 & _MASK]
    k0, k1 = seed & _MASK, seed >> 32 & _MASK
    for _ in range(10):
        p0, p1 = _M0 * c[0], _M1 * c[2]
        c = [p1 >> 32 ^ c[1] ^ k0, p1 & _MASK, p0 >> 32 ^ c[3] ^ k1, p0 & _MASK]
        k0, k1 = k0 + _W0 & _MASK, k1 + _W1 & _MASK
    return c


class Stream:
    """The augmentation words of one operation on one sample."""

    def __init__(self, seed, epoch, split, id, op):
        kind_augment = 3
        self.seed, self.epoch, self.id = seed, epoch, id
        self.word3 = kind_augment << 28 | split << 27 | op << 12 | (id >> 32 & 0xFFF)
        self.words = self._all()

    def _all(self):
        block = 0
        while True:
            yield from philox(self.seed, block, self.id, self.epoch, self.word3)
            block += 1

    def uniform(self):
        return (next(self.words) >> 8) * 2.0**-24

    def integer(self, n):
        return next(self.words) * n >> 32


def resized_crop(stream, w, h, scale=(0.08, 1.0), ratio=(3 / 4, 4 / 3)):
    """Top, left, height, width of RandomResizedCrop."""
    low, high = math.log(ratio[0]), math.log(ratio[1])
    for _ in range(10):
        area = w * h * (scale[0] + stream.uniform() * (scale[1] - scale[0]))
        r = math.exp(low + stream.uniform() * (high - low))
        cw, ch = math.floor(math.sqrt(area * r) + 0.5), math.floor(math.sqrt(area / r) + 0.5)
        if 0 < cw <= w and 0 < ch <= h:
            x = stream.integer(w - cw + 1)
            return stream.integer(h - ch + 1), x, ch, cw
    cw, ch = w, h
    if w / h < ratio[0]:
        ch = min(max(math.floor(w / ratio[0] + 0.5), 1), h)
    elif w / h > ratio[1]:
        cw = min(max(math.floor(h * ratio[1] + 0.5), 1), w)
    return (h - ch) // 2, (w - cw) // 2, ch, cw


def erase_box(stream, w, h, p, scale=(0.02, 0.33), ratio=(0.3, 3.3)):
    """Top, left, height, width of RandomErasing, or None."""
    if stream.uniform() >= p:
        return None
    low, high = math.log(ratio[0]), math.log(ratio[1])
    for _ in range(10):
        area = w * h * (scale[0] + stream.uniform() * (scale[1] - scale[0]))
        r = math.exp(low + stream.uniform() * (high - low))
        eh, ew = math.floor(math.sqrt(area * r) + 0.5), math.floor(math.sqrt(area / r) + 0.5)
        if 0 < eh < h and 0 < ew < w:
            top = stream.integer(h - eh + 1)
            return top, stream.integer(w - ew + 1), eh, ew
    return None


def open_rgb(data):
    """Decode with Pillow; grey and CMYK become RGB."""
    return Image.open(io.BytesIO(data)).convert("RGB")


def crop_resize(image, box, size):
    """Cut out (top, left, height, width) and resize to (h, w), bilinear and antialiased."""
    top, left, height, width = box
    cut = image.crop((left, top, left + width, top + height))
    return cut.resize(size[::-1], Image.Resampling.BILINEAR)


def resize_short(image, size):
    """Resize so that the short side is `size`; the long one is truncated."""
    w, h = image.size
    new = (size, int(size * h / w)) if w <= h else (int(size * w / h), size)
    return image.resize(new, Image.Resampling.BILINEAR)


def centre_crop(array, h, w):
    """Cut the centre of an (h, w, c) array, half to even, zeros outside."""
    ih, iw, _ = array.shape
    if iw < w or ih < h:
        left, top = max((w - iw) // 2, 0), max((h - ih) // 2, 0)
        right, bottom = max((w - iw + 1) // 2, 0), max((h - ih + 1) // 2, 0)
        array = np.pad(array, ((top, bottom), (left, right), (0, 0)))
        ih, iw, _ = array.shape
    top, left = round((ih - h) / 2), round((iw - w) / 2)
    return array[top : top + h, left : left + w]


def normalise(pixels, mean, std, dtype, channels=None):
    """Out = v * scale - bias in float32, then float16 by round to nearest even."""
    one, top = np.float32(1), np.float32(255)
    scale = one / (top * np.asarray(std, np.float32))
    bias = np.asarray(mean, np.float32) / np.asarray(std, np.float32)
    out = (pixels.astype(np.float32) * scale - bias).astype(dtype)
    if channels is not None and channels > out.shape[-1]:
        pad = np.zeros((*out.shape[:-1], channels - out.shape[-1]), dtype)
        out = np.concatenate([out, pad], axis=-1)
    return out


def denormalise(batch, mean, std):
    """Back to 0..255 as float64, colour channels only."""
    return (batch[..., :3].astype(np.float64) * np.asarray(std) + np.asarray(mean)) * 255
