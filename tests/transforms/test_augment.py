"""TrivialAugmentWide and RandAugment: what is drawn, and that it is done."""

import math

import colour_reference as colour
import numpy as np
import pytest
import reference

from dts import RandAugment, TrivialAugmentWide, apply_transforms
from dts.transforms import Chain
from dts.transforms.warp import warp_image, warp_matrix

OPERATIONS = ("Identity", "ShearX", "ShearY", "TranslateX", "TranslateY", "Rotate", "Brightness",
              "Color", "Contrast", "Sharpness", "Posterize", "Solarize", "AutoContrast",
              "Equalize")  # fmt: skip
SIGNED = OPERATIONS[1:10]

# What torchvision 0.29 makes of its 31 bins, from 0 to the last: translations of Trivial-
# AugmentWide, bits of it and of RandAugment, thresholds rounded up.
TRANSLATIONS = [*range(16), *range(17, 31), 32]
TRIVIAL_BITS = [8] * 3 + [7] * 5 + [6] * 5 + [5] * 5 + [4] * 5 + [3] * 5 + [2] * 3
RAND_BITS = [8] * 4 + [7] * 8 + [6] * 7 + [5] * 8 + [4] * 4
THRESHOLDS = [255, 247, 239, 230, 222, 213, 205, 196, 188, 179, 170, 162, 153, 145, 136, 128,
              120, 111, 103, 94, 86, 77, 69, 60, 52, 43, 35, 26, 18, 9, 0]  # fmt: skip


def apply_one(image, name, value, fill=0, interpolation="nearest"):
    """Do one operation with numpy, or with the warp that rotations use."""
    h, w, _ = image.shape
    warps = {
        "ShearX": ("shear_x", value, h),
        "ShearY": ("shear_y", value, w),
        "TranslateX": ("translation", value, 0),
        "TranslateY": ("translation", 0, value),
        "Rotate": ("rotation", value, 0, 0),
    }
    if name in warps:
        matrix = warp_matrix(*warps[name])
        return warp_image(image, matrix, fill=fill, interpolation=interpolation)
    return {
        "Identity": lambda: image,
        "Brightness": lambda: colour.brightness(image, value),
        "Color": lambda: colour.saturation(image, value),
        "Contrast": lambda: colour.contrast(image, value),
        "Sharpness": lambda: colour.sharpness(image, value),
        "Posterize": lambda: colour.posterize(image, int(value)),
        "Solarize": lambda: colour.solarize(image, value),
        "AutoContrast": lambda: colour.autocontrast(image),
        "Equalize": lambda: colour.equalize(image),
    }[name]()


def magnitudes(op, width=100, height=80):
    """Return what is drawn for each operation: sorted values without repetition."""
    chain = Chain([op])
    seen = {name: set() for name in OPERATIONS}
    for id in range(20_000):
        d = chain.describe(1, 0, 0, id, width, height)[0]
        name = d["operation"] if "operation" in d else d["operations"][0]
        seen[name].add(d["magnitude"] if "magnitude" in d else d["magnitudes"][0])
    return {name: sorted(values) for name, values in seen.items()}


@pytest.fixture(scope="module")
def trivial():
    chain = Chain([TrivialAugmentWide()])
    return [chain.describe(4, 0, 0, id, 60, 40)[0] for id in range(100_000)]


def test_operations_have_the_same_chance(trivial):
    counts = np.array([sum(d["operation"] == name for d in trivial) for name in OPERATIONS])
    assert (np.abs(counts - 1e5 / 14) < 4.5 * math.sqrt(1e5 / 14)).all()
    assert all(d["applied"] == (d["operation"] != "Identity") for d in trivial)


def test_magnitudes_and_signs_have_the_same_chance(trivial):
    angles = [d["magnitude"] for d in trivial if d["operation"] == "Rotate"]
    bins = np.rint(np.abs(angles) / 4.5).astype(int)
    counts = np.bincount(bins, minlength=31)
    chi2 = ((counts - len(bins) / 31) ** 2 / (len(bins) / 31)).sum()
    assert chi2 < 59.7  # 30 degrees of freedom, 0.1 %
    nonzero = [a for a in angles if a != 0]
    assert abs(np.mean(np.array(nonzero) < 0) - 0.5) < 2 / math.sqrt(len(nonzero))


def test_the_bins_of_trivial_augment():
    got = magnitudes(TrivialAugmentWide())
    both = [-t for t in TRANSLATIONS[:0:-1]] + TRANSLATIONS
    assert got["TranslateX"] == got["TranslateY"] == both
    assert got["Posterize"] == sorted(set(TRIVIAL_BITS))
    assert [math.ceil(t) for t in got["Solarize"]] == THRESHOLDS[::-1]
    for name, top in (("ShearX", 0.99), ("ShearY", 0.99), ("Rotate", 135)):
        assert np.allclose(got[name], np.linspace(-top, top, 61), rtol=1e-6, atol=1e-12)
    for name in ("Brightness", "Color", "Contrast", "Sharpness"):
        assert np.allclose(got[name], np.linspace(0.01, 1.99, 61), rtol=1e-6)
    for name in ("Identity", "AutoContrast", "Equalize"):
        assert got[name] == [0.0]


@pytest.mark.parametrize("at", range(31))
def test_the_bins_of_rand_augment(at):
    chain = Chain([RandAugment(8, at)])
    seen = {}
    for id in range(60):
        d = chain.describe(1, 0, 0, id, 331, 110)[0]
        for name, value in zip(d["operations"], d["magnitudes"], strict=True):
            seen.setdefault(name, set()).add(value)
    share = at / 30
    assert {abs(v) for v in seen["TranslateX"]} == {5 * at}
    assert {abs(v) for v in seen["TranslateY"]} == {math.floor(150 / 331 * 110 * share)}
    assert seen["Posterize"] == {RAND_BITS[at]}
    assert {math.ceil(v) for v in seen["Solarize"]} == {THRESHOLDS[at]}
    for name, centre, top in (("ShearX", 0, 0.3), ("Rotate", 0, 30), ("Color", 1, 0.9)):
        for v in seen[name]:
            assert abs(v - centre) == pytest.approx(top * share, rel=1e-6)


def test_translations_of_rand_augment_are_torchvisions():
    for at, wanted in ((9, [4, 13, 13, 14, 23, 30, 45]), (30, [14, 43, 44, 49, 79, 101, 150])):
        for width, pixels in zip((32, 96, 99, 110, 176, 224, 331), wanted, strict=True):
            got = magnitudes_of("TranslateX", RandAugment(8, at), width)
            assert got == {pixels}


def magnitudes_of(name, op, width):
    found = set()
    for id in range(40):
        d = Chain([op]).describe(0, 0, 0, id, width, 7)[0]
        pairs = zip(d["operations"], d["magnitudes"], strict=True)
        found |= {abs(v) for n, v in pairs if n == name}
    return found


def test_the_order_of_the_words():
    d = Chain([RandAugment(3, 30)]).describe(8, 2, 1, 77, 20, 30)[0]
    stream = reference.Stream(8, 2, 1, 77, 0)
    for name, value in zip(d["operations"], d["magnitudes"], strict=True):
        assert name == OPERATIONS[stream.integer(14)]
        stream.integer(31)
        negative = stream.integer(2) == 1
        if name in SIGNED:
            assert (value < (1 if name in SIGNED[5:] else 0)) == negative
    d = Chain([TrivialAugmentWide()]).describe(8, 2, 1, 77, 20, 30)[0]
    stream = reference.Stream(8, 2, 1, 77, 0)
    assert d["operation"] == OPERATIONS[stream.integer(14)]


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("interpolation", ["nearest", "bilinear"])
def test_trivial_augment_does_what_it_says(channels, interpolation):
    rng = np.random.default_rng(channels)
    fill = (20, 130, 250)[:channels]
    op = TrivialAugmentWide(interpolation=interpolation, fill=fill)
    done = set()
    for id in range(120):
        image = rng.integers(0, 256, (33 + id % 3, 47, channels), np.uint8)
        kept = image.copy()
        d = Chain([op]).describe(0, 5, 0, id, 47, image.shape[0])[0]
        wanted = apply_one(image, d["operation"], d["magnitude"], fill, interpolation)
        got = colour.on_each_isa(
            lambda image=image, id=id: apply_transforms(image, op, epoch=5, id=id)
        )
        assert np.array_equal(got, wanted), d
        assert np.array_equal(image, kept)
        done.add(d["operation"])
    assert done == set(OPERATIONS)


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("num_ops", range(9))
def test_rand_augment_does_one_after_the_other(num_ops, channels):
    image = np.random.default_rng(num_ops).integers(0, 256, (29, 36, channels), np.uint8)
    kept = image.copy()
    op = RandAugment(num_ops, 14, fill=99)
    for id in range(60):
        d = Chain([op]).describe(3, 0, 0, id, 36, 29)[0]
        wanted = image
        for name, value in zip(d["operations"], d["magnitudes"], strict=True):
            wanted = apply_one(wanted, name, value, 99)
        got = apply_transforms(image, op, seed=3, id=id)
        assert np.array_equal(got, wanted), d
    assert np.array_equal(image, kept)


@pytest.mark.parametrize("shape", [(1, 1, 3), (1, 8, 1), (9, 1, 3), (2, 2, 3)])
def test_tiny_pictures(shape):
    image = np.random.default_rng(0).integers(0, 256, shape, np.uint8)
    op = RandAugment(2, 30)
    for id in range(50):
        d = Chain([op]).describe(0, 0, 0, id, shape[1], shape[0])[0]
        wanted = image
        for name, value in zip(d["operations"], d["magnitudes"], strict=True):
            wanted = apply_one(wanted, name, value)
        assert np.array_equal(apply_transforms(image, op, id=id), wanted), d
