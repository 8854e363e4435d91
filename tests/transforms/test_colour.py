"""Operations on colours against numpy, on every instruction set; the bounds of the docstrings."""

import colour_reference as colour
import numpy as np
import pytest
from PIL import Image, ImageOps

from dts import (
    ColorJitter,
    GaussianBlur,
    RandomAdjustSharpness,
    RandomAutocontrast,
    RandomEqualize,
    RandomGrayscale,
    RandomInvert,
    RandomPosterize,
    RandomSolarize,
    apply_transforms,
)

SIZES = [(1, 1), (1, 9), (7, 1), (2, 2), (3, 3), (5, 21), (37, 53), (64, 64), (70, 129)]
FACTORS = [0.0, 0.3, 0.77, 1.0, 1.3, 2.0, 3.7, 100.0]


def pictures(channels):
    """Noise of many sizes, gradients, flat pictures, few levels."""
    rng = np.random.default_rng(channels)
    found = [rng.integers(0, 256, (h, w, channels), np.uint8) for h, w in SIZES]
    y, x = np.mgrid[0:60, 0:83]
    slope = np.stack([x * 3 + y, y * 4, 255 - x * 2], -1) % 256
    found.append(slope[..., :channels].astype(np.uint8))
    levels = np.arange(256, dtype=np.uint8).reshape(16, 16, 1)
    found.append(np.repeat(levels, channels, 2))
    found += [np.full((6, 11, channels), v, np.uint8) for v in (0, 1, 128, 255)]
    found.append(rng.normal(120, 12, (50, 41, channels)).clip(0, 255).astype(np.uint8))
    return found


def run(image, transform):
    kept = image.copy()
    got = colour.on_each_isa(lambda: apply_transforms(image, transform))
    assert np.array_equal(image, kept)
    return got


EXACT = [
    *((RandomPosterize(b, 1.0), lambda v, b=b: colour.posterize(v, b)) for b in range(9)),
    *(
        (RandomSolarize(t, 1.0), lambda v, t=t: colour.solarize(v, t))
        for t in (0, 100, 127.5, 128, 255)
    ),
    *(
        (make(f), lambda v, f=f, wanted=wanted: wanted(v, f))
        for f in FACTORS
        for make, wanted in (
            (lambda f: ColorJitter(brightness=(f, f)), colour.brightness),
            (lambda f: ColorJitter(contrast=(f, f)), colour.contrast),
            (lambda f: ColorJitter(saturation=(f, f)), colour.saturation),
            (lambda f: RandomAdjustSharpness(f, 1.0), colour.sharpness),
        )
    ),
    *(
        (ColorJitter(hue=(f, f)), lambda v, f=f: colour.hue(v, f))
        for f in (-0.5, -0.3, -1e-4, 1e-4, 1 / 6, 0.25, 0.5)
    ),
    (RandomGrayscale(1.0), colour.gray),
    (RandomAutocontrast(1.0), colour.autocontrast),
    (RandomEqualize(1.0), colour.equalize),
    (RandomInvert(1.0), lambda v: 255 - v),
]


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize(("transform", "wanted"), EXACT, ids=lambda v: repr(v)[:60])
def test_equal_to_numpy(transform, wanted, channels):
    for image in pictures(channels):
        assert np.array_equal(run(image, transform), wanted(image)), image.shape


def every_colour(step):
    levels = np.unique([*range(0, 256, step), 1, 127, 128, 254, 255]).astype(np.uint8)
    cube = np.stack(np.meshgrid(levels, levels, levels, indexing="ij"), -1)
    return cube.reshape(len(levels), -1, 3)


@pytest.mark.parametrize("shift", [-0.5, -0.123, 0.05, 0.4])
def test_hue_of_all_kinds_of_colour(shift):
    image = every_colour(6)
    assert np.array_equal(run(image, ColorJitter(hue=(shift, shift))), colour.hue(image, shift))


def test_gray_of_all_kinds_of_colour():
    image = every_colour(4)
    assert np.array_equal(run(image, RandomGrayscale(1.0)), colour.gray(image))
    assert np.array_equal(run(image, ColorJitter(saturation=(0.0, 0.0))), colour.gray(image))


@pytest.mark.parametrize("shift", [-0.5, -0.2, 0.01, 0.5])
def test_gray_pixels_have_no_hue(shift):
    levels = np.repeat(np.arange(256, dtype=np.uint8).reshape(16, 16, 1), 3, 2)
    assert np.array_equal(run(levels, ColorJitter(hue=(shift, shift))), levels)


@pytest.mark.parametrize("channels", [1, 3])
def test_factor_one_changes_nothing(channels):
    for image in pictures(channels):
        for part in ("brightness", "contrast", "saturation"):
            op = ColorJitter(**{part: (1.0, 1.0 + 1e-12)})
            assert np.array_equal(run(image, op), image)
        assert np.array_equal(run(image, RandomAdjustSharpness(1.0, 1.0)), image)


def test_half_a_turn_twice_is_a_whole_one():
    image = every_colour(15)
    half = ColorJitter(hue=(0.5, 0.5))
    assert np.abs(run(run(image, half), half).astype(int) - image).max() <= 2


@pytest.mark.parametrize("channels", [1, 3])
def test_equalize_is_pillows(channels):
    for image in pictures(channels):
        plain = Image.fromarray(image[..., 0] if channels == 1 else image)
        wanted = np.asarray(ImageOps.equalize(plain)).reshape(image.shape)
        assert np.array_equal(run(image, RandomEqualize(1.0)), wanted)


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize(
    ("size", "sigma"),
    [((3, 3), 0.5), ((5, 3), 1.3), ((9, 9), 2.0), ((23, 23), 5.0), ((63, 63), 12.0)],
)
def test_blur_is_within_one_level(size, sigma, channels):
    for image in pictures(channels):
        got = run(image, GaussianBlur(size, sigma))
        wanted = colour.blur(image, size, sigma)
        assert np.abs(got - np.rint(wanted)).max() <= 1
        # Rounding of the result, of 1/128 levels, and of weights to 1/16384.
        weights = 255 * (sum(size) - 2) / 2**15
        assert np.abs(got - wanted).max() <= 0.5 + 1 / 256 + weights


@pytest.mark.parametrize("size", [(1, 1), (3, 3), (23, 1), (255, 255)])
def test_blur_keeps_flat_pictures_and_mirrors(size):
    flat = np.full((9, 8, 3), 201, np.uint8)
    assert np.array_equal(run(flat, GaussianBlur(size, 30.0)), flat)
    image = pictures(3)[6]
    mirrored = run(np.ascontiguousarray(image[::-1, ::-1]), GaussianBlur(size, 2.0))
    assert np.array_equal(mirrored[::-1, ::-1], run(image, GaussianBlur(size, 2.0)))


def test_small_sigma_blurs_nothing():
    image = pictures(3)[6]
    assert np.array_equal(run(image, GaussianBlur(23, 0.1)), image)


@pytest.mark.parametrize("sigma", [0.4, 1.0, 1.9, 2.0])
def test_kernel_size_follows_sigma(sigma):
    image = pictures(3)[6]
    n = 2 * int(np.ceil(3 * sigma)) + 1
    got = run(image, GaussianBlur(sigma=sigma))
    assert np.array_equal(got, run(image, GaussianBlur(n, sigma)))


def test_blur_of_pictures_smaller_than_the_kernel_reflects_again():
    row = np.array([[[10], [200]]], np.uint8)
    got = run(row, GaussianBlur((5, 1), 100.0))  # nearly even weights: 10 200 10 200 10
    assert got[0, 0, 0] == round((3 * 10 + 2 * 200) / 5)
    assert got[0, 1, 0] == round((3 * 200 + 2 * 10) / 5)


def test_results_are_the_same_after_other_steps():
    """A picture in memory of the workers, and one of the caller's, begin at other addresses."""
    image = pictures(3)[6]
    jitter = ColorJitter(0.4, 0.4, 0.4, 0.1)
    steps = [RandomInvert(1.0), RandomInvert(1.0)]
    plain = apply_transforms(image, [RandomInvert(0.0), RandomInvert(0.0), jitter], id=3)
    assert np.array_equal(apply_transforms(image, [*steps, jitter], id=3), plain)
