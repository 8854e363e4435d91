"""Operations on colours once more in numpy: the steps of torchvision v2 on uint8."""

import contextlib

import numpy as np

from dts import kernels

F = np.float32
D = np.float64


@contextlib.contextmanager
def instruction_set(name):
    """Use another instruction set for a while."""
    before = kernels.isa()
    kernels.select_isa(name)
    try:
        yield
    finally:
        kernels.select_isa(before)


def on_each_isa(call):
    """Call once on each instruction set of this machine; the result, which must be the same."""
    results = []
    for name in kernels.available_isas():
        with instruction_set(name):
            results.append(call())
    for other in results[1:]:
        assert np.array_equal(results[0], other)
    return results[0]


def fused(product, other, factor):
    """Float32 of product + other * factor, rounded once."""
    return (product.astype(D) + np.asarray(other, D) * D(F(factor))).astype(F)


def bytes_of(values):
    return np.clip(values, F(0), F(255)).astype(np.uint8)


def luminance(image):
    if image.shape[2] == 1:
        return image[..., 0].astype(np.int64)
    return (image.astype(np.int64) @ np.array([2989, 5870, 1140])) // 10000


def gray(image):
    return np.repeat(luminance(image)[..., None], image.shape[2], 2).astype(np.uint8)


def brightness(image, factor):
    return bytes_of(image.astype(F) * F(factor))


def contrast(image, factor):
    mean = F(luminance(image).mean())
    return bytes_of(fused(image.astype(F) * F(factor), mean, 1 - factor))


def saturation(image, factor):
    if image.shape[2] == 1:
        return image
    return bytes_of(fused(image.astype(F) * F(factor), luminance(image)[..., None], 1 - factor))


def hue(image, shift):
    if image.shape[2] == 1:
        return image
    r, g, b = np.moveaxis(image.astype(F) * F(1 / 255), -1, 0)
    high, low = np.maximum(np.maximum(r, g), b), np.minimum(np.minimum(r, g), b)
    flat = high == low
    s = (high - low) / np.where(flat, F(1), high)
    divisor = np.where(flat, F(1), high - low)
    rc, gc, bc = (high - r) / divisor, (high - g) / divisor, (high - b) / divisor
    is_r, is_g = high == r, (high == g) & (high != r)
    is_b = ~is_r & ~is_g
    h = (bc - gc) * is_r + (rc + F(2) - bc) * is_g + (gc + F(4) - rc) * is_b
    h = np.fmod(h.astype(F) * F(1 / 6) + F(1), F(1))
    h = h + F(shift)
    h = np.fmod(h, F(1))
    h = np.where(h < 0, h + F(1), h)
    sector = np.floor(h * F(6))
    f = h * F(6) - sector
    sector = sector.astype(int) % 6
    p = np.clip((F(1) - s) * high, 0, 1)
    q = np.clip((F(1) - s * f) * high, 0, 1)
    t = np.clip((s * f + (F(1) - s)) * high, 0, 1)
    red = np.choose(sector, [high, q, p, p, t, high])
    green = np.choose(sector, [t, high, high, q, p, p])
    blue = np.choose(sector, [p, p, t, high, high, q])
    return (np.stack([red, green, blue], -1).astype(F) * F(255.999)).astype(np.uint8)


def posterize(image, bits):
    return image & np.uint8(256 - (1 << (8 - bits)))


def solarize(image, threshold):
    return np.where(image.astype(F) >= F(threshold), 255 - image, image)


def autocontrast(image):
    low, high = image.min((0, 1)).astype(F), image.max((0, 1)).astype(F)
    flat = low == high
    scale = np.where(flat, F(1), (high - low) * F(1 / 255))
    return bytes_of((image.astype(F) - np.where(flat, F(0), low)) / scale)


def equalize(image):
    out = image.copy()
    for k in range(image.shape[2]):
        counts = np.bincount(image[..., k].ravel(), minlength=256)
        step = (counts.sum() - counts[image[..., k].max()]) // 255
        if step:
            table = (np.cumsum(counts)[:-1] + step // 2) // step
            out[..., k] = np.concatenate([[0], np.minimum(table, 255)])[image[..., k]]
    return out


def sharpness(image, factor):
    h, w, _ = image.shape
    if h <= 2 or w <= 2:
        return image
    v = image.astype(D)
    total = sum(v[y : h - 2 + y, x : w - 2 + x] for y in range(3) for x in range(3))
    blurred = np.rint((total + 4 * v[1:-1, 1:-1]) / 13)
    out = image.copy()
    inner = v[1:-1, 1:-1]
    out[1:-1, 1:-1] = bytes_of(fused(inner, blurred - inner, 1 - factor))
    return out


def blur(image, size, sigma):
    """In float64, not rounded; size is (width, height)."""
    out = image.astype(D)
    for axis, n in ((1, size[0]), (0, size[1])):
        x = np.arange(n) - n // 2
        with np.errstate(over="ignore", under="ignore"):
            weight = np.exp(-0.5 * (x / sigma) ** 2)
        weight /= weight.sum()
        pad = [(0, 0)] * 3
        pad[axis] = (n // 2, n // 2)
        mode = "reflect" if image.shape[axis] > 1 else "edge"
        wide = np.pad(out, pad, mode=mode)
        side = image.shape[axis]
        out = sum(w * np.take(wide, range(k, k + side), axis) for k, w in enumerate(weight))
    return out


def philox(seed, c0, c1, c2, c3):
    """Words r0..r3 of the blocks with the counters c0, an array."""
    c = [np.asarray(c0, np.uint64), *(np.full(len(c0), v, np.uint64) for v in (c1, c2, c3))]
    low = np.uint64(0xFFFFFFFF)
    k0, k1 = seed & 0xFFFFFFFF, seed >> 32
    for _ in range(10):
        p0, p1 = np.uint64(0xD2511F53) * c[0], np.uint64(0xCD9E8D57) * c[2]
        c = [
            p1 >> np.uint64(32) ^ c[1] ^ np.uint64(k0),
            p1 & low,
            p0 >> np.uint64(32) ^ c[3] ^ np.uint64(k1),
            p0 & low,
        ]
        k0, k1 = (k0 + 0x9E3779B9) & 0xFFFFFFFF, (k1 + 0xBB67AE85) & 0xFFFFFFFF
    return c


def normals(seed, epoch, id, position, h, n, first=0):
    """Normal numbers of GaussianNoise in float64, for h rows of n values, from that block on."""
    groups = -(-n // 64)
    word3 = 3 << 28 | position << 12 | (id >> 32 & 0xFFF)
    words = philox(seed, first + np.arange(h * groups * 16), id & 0xFFFFFFFF, epoch, word3)
    pairs = []
    for a, b in (words[:2], words[2:]):
        u = ((a >> np.uint64(8)).astype(D) + 1) / 2**24
        below = (b & np.uint64(0x3FFFFFFF)).astype(np.int64)
        signed = np.where(below >= 1 << 29, below - (1 << 30), below) >> 6
        angle = np.pi / 4 * (signed / 2**23)
        angle += (b >> np.uint64(30)).astype(D) * (np.pi / 2)
        radius = np.sqrt(-2 * np.log(u))
        pairs += [radius * np.cos(angle), radius * np.sin(angle)]
    laid = np.stack(pairs).reshape(4, h, groups, 16).transpose(1, 2, 0, 3)
    return laid.reshape(h, groups * 64)[:, :n]
