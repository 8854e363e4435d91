"""GaussianNoise: normal, independent everywhere, the same on every instruction set."""

import math

import colour_reference as colour
import numpy as np
import pytest

from dts import GaussianNoise, apply_transforms

SIGMA = 0.05  # 12.75 levels: hardly anything reaches 0 or 255 from 128


def noise(h=512, w=512, c=3, sigma=SIGMA, **key):
    gray = np.full((h, w, c), 128, np.uint8)
    return apply_transforms(gray, GaussianNoise(0.0, sigma), **key).astype(float) - 128


def correlation(a, b):
    return np.corrcoef(a.ravel(), b.ravel())[0, 1]


@pytest.mark.parametrize("shape", [(1, 1, 1), (3, 28, 1), (9, 64, 1), (17, 43, 3), (2, 128, 3)])
@pytest.mark.parametrize("clip", [True, False])
def test_equal_to_numpy(shape, clip):
    image = np.random.default_rng(1).integers(0, 256, shape, np.uint8)
    kept = image.copy()
    op = GaussianNoise(0.02, 0.3, clip)
    got = colour.on_each_isa(
        lambda: apply_transforms(image, op, seed=1 << 63 | 5, epoch=9, id=1 << 40 | 7)
    )
    z = colour.normals(1 << 63 | 5, 9, 1 << 40 | 7, 0, shape[0], shape[1] * shape[2])
    wanted = image + 255 * (0.02 + 0.3 * z.reshape(shape))
    wanted = np.clip(wanted, 0, 255) if clip else wanted
    off = np.abs(got - np.floor(wanted + 0.5)) % 256
    near_half = np.abs(wanted - np.floor(wanted) - 0.5) < 1e-3
    assert (off[~near_half] == 0).all()
    assert near_half.mean() < 0.2
    assert np.array_equal(image, kept)


def test_mean_variance_and_shape():
    v = noise()
    n, sigma = v.size, 255 * SIGMA
    assert abs(v.mean()) < 4 * sigma / math.sqrt(n)
    variance = sigma**2 + 1 / 12  # rounding adds a twelfth
    assert abs(v.var() / variance - 1) < 4 * math.sqrt(2 / n)
    assert abs((v**3).mean() / sigma**3) < 4 * math.sqrt(15 / n)
    assert abs((v**4).mean() / variance**2 - 3) < 4 * math.sqrt(96 / n) + 1e-3


def test_kolmogorov_smirnov():
    v = noise()
    levels = np.arange(-128, 127)
    found = np.searchsorted(np.sort(v.ravel()), levels, side="right") / v.size
    wanted = [0.5 * (1 + math.erf((k + 0.5) / (255 * SIGMA * math.sqrt(2)))) for k in levels]
    assert np.abs(found - wanted).max() < 1.95 / math.sqrt(v.size)


def test_tails_are_there():
    v = np.abs(noise(1024, 1024)) / (255 * SIGMA)
    for limit, share in ((3.5, 4.65e-4), (4.5, 6.8e-6)):
        wanted = share * v.size
        half_level = 1 + 0.5 / (255 * SIGMA) * limit  # of rounding
        assert wanted / half_level - 5 * math.sqrt(wanted) < (v > limit).sum()
        assert (v > limit).sum() < wanted * half_level + 5 * math.sqrt(wanted)


def test_nothing_is_correlated():
    v = noise()
    bound = 4.5 / math.sqrt(v.size)
    flat = v.reshape(-1)
    for lag in (1, 2, 3, 15, 16, 17, 32, 48, 64, 65, 128, 1536):
        assert abs(correlation(flat[:-lag], flat[lag:])) < bound, lag
        squares = correlation(flat[:-lag] ** 2, flat[lag:] ** 2)
        assert abs(squares) < bound, lag
    for a, b in ((0, 1), (0, 2), (1, 2)):
        assert abs(correlation(v[..., a], v[..., b])) < 4.5 / math.sqrt(v.size / 3)


@pytest.mark.parametrize("other", [{"seed": 1}, {"epoch": 1}, {"id": 1}, {"split": "val"}])
def test_other_pictures_have_other_noise(other):
    a, b = noise(), noise(**other)
    assert abs(correlation(a, b)) < 4.5 / math.sqrt(a.size)
    assert np.array_equal(a, noise())


def test_two_in_a_chain_are_independent():
    gray = np.full((256, 256, 3), 128, np.uint8)
    once = GaussianNoise(0, SIGMA)
    twice = apply_transforms(gray, [once, once]).astype(float) - 128
    assert abs(twice.var() / (2 * (255 * SIGMA) ** 2) - 1) < 6 * math.sqrt(2 / twice.size) + 1e-3


def test_mean_is_in_units_of_one():
    image = np.full((4, 4, 3), 100, np.uint8)
    assert (apply_transforms(image, GaussianNoise(0.1, 0.0)) == 126).all()  # 125.5
    assert (apply_transforms(image, GaussianNoise(1.0, 0.0)) == 255).all()
    assert (apply_transforms(image, GaussianNoise(-1.0, 0.0)) == 0).all()
    assert (apply_transforms(image, GaussianNoise(1.0, 0.0, False)) == 99).all()
    assert (apply_transforms(image, GaussianNoise(-1.0, 0.0, False)) == 101).all()
