"""The obvious version of paddings and warps, in numpy, and a test of distributions."""

import math

import numpy as np


def pad(array, left, top, right, bottom, mode="constant", fill=0):
    """Add a border to an (h, w, c) array."""
    sides = ((top, bottom), (left, right), (0, 0))
    if mode != "constant":
        return np.pad(array, sides, mode=mode)
    fills = np.broadcast_to(fill, array.shape[2]).astype(int)
    parts = [np.pad(array[..., k], sides[:2], constant_values=v) for k, v in enumerate(fills)]
    return np.stack(parts, axis=-1).astype(np.uint8)


def _positions(row, w, h, side):
    """One axis of affine_grid and grid_sample, in their float32 steps."""
    half = np.float32(side / 2)
    across, down, constant = (np.float32(v) / half for v in row)
    x = (np.arange(w) - (w - 1) / 2).astype(np.float32)[None]
    y = (np.arange(h) - (h - 1) / 2)[:, None]
    # A product and a sum with one rounding, as in torch's product of matrices.
    exact = (x * across).astype(np.longdouble) + y * np.longdouble(down)
    sums = exact.astype(np.float32) + constant
    return ((sums + np.float32(1)).astype(float) * float(half) - 0.5).astype(np.float32)


def warp(image, matrix, interpolation="nearest", fill=0):
    """Affine warp of an (h, w, c) array; fill None: 0, and no second blend at the edge."""
    h, w, c = image.shape
    x, y = _positions(matrix[:3], w, h, w), _positions(matrix[3:], w, h, h)
    blend, fill = fill is not None, np.broadcast_to(np.float32(fill or 0), c)
    room = np.pad(image.astype(np.float32), ((2, 2), (2, 2), (0, 0)))
    within = np.pad(np.ones((h, w, 1), np.float32), ((2, 2), (2, 2), (0, 0)))

    def take(of, column, row):
        return of[np.clip(row, -2, h + 1) + 2, np.clip(column, -2, w + 1) + 2]

    if interpolation == "nearest":
        column, row = np.rint(x).astype(int), np.rint(y).astype(int)
        inside = take(within, column, row) > 0
        return np.where(inside, take(room, column, row), np.rint(fill)).astype(np.uint8)
    left, top = np.floor(x), np.floor(y)
    fx, fy = (x - left)[..., None], (y - top)[..., None]
    left, top = left.astype(int), top.astype(int)
    value, mask = 0, 0
    for dx, dy in ((0, 0), (1, 0), (0, 1), (1, 1)):
        weight = (fx if dx else 1 - fx) * (fy if dy else 1 - fy)
        value = value + take(room, left + dx, top + dy) * weight
        mask = mask + take(within, left + dx, top + dy) * weight
    if blend:
        value = (value - fill) * mask + fill
    return np.clip(np.rint(value), 0, 255).astype(np.uint8)


def ks_uniform(values):
    """Kolmogorov-Smirnov distance of numbers in [0, 1] from uniform, times sqrt(n).

    Over 1.95 once in a thousand times.
    """
    n = len(values)
    ordered = np.sort(values)
    ranks = np.arange(n)
    return max((ordered - ranks / n).max(), ((ranks + 1) / n - ordered).max()) * math.sqrt(n)
