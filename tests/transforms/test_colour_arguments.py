"""Constructors of the operations on colours refuse what cannot work; they are values."""

import copy
import pickle

import numpy as np
import pytest

from dts import (
    ColorJitter,
    GaussianBlur,
    GaussianNoise,
    RandAugment,
    RandomAdjustSharpness,
    RandomAutocontrast,
    RandomEqualize,
    RandomGrayscale,
    RandomPosterize,
    RandomSolarize,
    TrivialAugmentWide,
    apply_transforms,
)

NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize("part", ["brightness", "contrast", "saturation"])
@pytest.mark.parametrize(
    "value",
    [
        -0.1,
        NAN,
        INF,
        "1",
        True,
        (0.5,),
        (1, 2, 3),
        (2, 1),
        (-0.5, 1),
        (NAN, 1),
        (0, INF),
        [1, "x"],
    ],
)
def test_factors(part, value):
    with pytest.raises(ValueError, match=part):
        ColorJitter(**{part: value})


@pytest.mark.parametrize("value", [-0.1, 0.51, NAN, "x", (0.2, 0.1), (-0.6, 0), (0, 0.6), (0,)])
def test_hues(value):
    with pytest.raises(ValueError, match="hue"):
        ColorJitter(hue=value)


def test_forms_of_a_factor():
    assert ColorJitter(0.4).brightness == (0.6, 1.4)
    assert ColorJitter(contrast=1.5).contrast == (0.0, 2.5)
    assert ColorJitter(hue=0.5).hue == (-0.5, 0.5)
    assert ColorJitter(saturation=[0.2, 1]).saturation == (0.2, 1.0)
    assert ColorJitter(0, 0.0, (1, 1), (0, 0)) == ColorJitter()
    assert ColorJitter(0.4, 0.3, 0.2, 0.1) == ColorJitter(
        (0.6, 1.4), (0.7, 1.3), (0.8, 1.2), (-0.1, 0.1)
    )


@pytest.mark.parametrize("p", [-0.1, 1.1, NAN, "x", None])
@pytest.mark.parametrize(
    "make",
    [
        RandomGrayscale,
        RandomAutocontrast,
        RandomEqualize,
        lambda p: RandomPosterize(4, p),
        lambda p: RandomSolarize(4, p),
        lambda p: RandomAdjustSharpness(4, p),
    ],
)
def test_probabilities(make, p):
    with pytest.raises(ValueError, match="p must"):
        make(p)


@pytest.mark.parametrize(
    ("make", "argument"),
    [
        (lambda: RandomPosterize(9), "bits"),
        (lambda: RandomPosterize(-1), "bits"),
        (lambda: RandomPosterize(4.0), "bits"),
        (lambda: RandomPosterize(True), "bits"),
        (lambda: RandomSolarize(256), "threshold"),
        (lambda: RandomSolarize(-1), "threshold"),
        (lambda: RandomSolarize(NAN), "threshold"),
        (lambda: RandomAdjustSharpness(-0.1), "sharpness_factor"),
        (lambda: RandomAdjustSharpness(INF), "sharpness_factor"),
        (lambda: GaussianBlur(4), "kernel_size"),
        (lambda: GaussianBlur(0), "kernel_size"),
        (lambda: GaussianBlur(257), "kernel_size"),
        (lambda: GaussianBlur((3, 5, 7)), "kernel_size"),
        (lambda: GaussianBlur((3, 2)), "kernel_size"),
        (lambda: GaussianBlur("3"), "kernel_size"),
        (lambda: GaussianBlur(3.0, (1, 2)), "kernel_size"),
        (lambda: GaussianBlur(3, 0), "sigma"),
        (lambda: GaussianBlur(3, (2, 1)), "sigma"),
        (lambda: GaussianBlur(3, (0.0, 1)), "sigma"),
        (lambda: GaussianBlur(3, (1,)), "sigma"),
        (lambda: GaussianBlur(3, NAN), "sigma"),
        (lambda: GaussianBlur(sigma=43), "sigma"),
        (lambda: GaussianBlur(2.0, 0.1), "sigma"),
        (lambda: GaussianNoise(NAN), "mean"),
        (lambda: GaussianNoise(1001), "mean"),
        (lambda: GaussianNoise(0, -0.1), "sigma"),
        (lambda: GaussianNoise(0, INF), "sigma"),
        (lambda: GaussianNoise(clip="yes"), "clip"),
        (lambda: TrivialAugmentWide(1), "num_magnitude_bins"),
        (lambda: TrivialAugmentWide(31.0), "num_magnitude_bins"),
        (lambda: TrivialAugmentWide(interpolation="bicubic"), "interpolation"),
        (lambda: TrivialAugmentWide(fill=256), "fill"),
        (lambda: TrivialAugmentWide(fill=(1, 2)), "fill"),
        (lambda: RandAugment(-1), "num_ops"),
        (lambda: RandAugment(9), "num_ops"),
        (lambda: RandAugment(2.5), "num_ops"),
        (lambda: RandAugment(2, -1), "magnitude"),
        (lambda: RandAugment(2, 31), "magnitude"),
        (lambda: RandAugment(2, 9, 9), "magnitude"),
        (lambda: RandAugment(fill=-1), "fill"),
    ],
)
def test_numbers_out_of_range(make, argument):
    with pytest.raises(ValueError, match=argument):
        make()


def test_the_positional_form_of_the_reference():
    assert GaussianBlur(0.1, 2.0) == GaussianBlur(sigma=(0.1, 2.0)) == GaussianBlur()
    assert GaussianBlur(5, 2.0) == GaussianBlur((5, 5), (2.0, 2.0))


@pytest.mark.parametrize("make", [TrivialAugmentWide, RandAugment])
def test_fill_values_must_fit_the_channels(make):
    gray = np.zeros((4, 4, 1), np.uint8)
    with pytest.raises(ValueError, match="3 values for 1 channel"):
        apply_transforms(gray, make(fill=(1, 2, 3)))
    assert apply_transforms(gray, make(fill=(1,))).shape == gray.shape
    assert make(fill=None) == make(fill=0)


def test_they_are_values():
    for op in (
        ColorJitter(0.1, (0.2, 1.3), None, 0.1),
        GaussianBlur(3),
        GaussianBlur(),
        GaussianNoise(0.1, 0.2, False),
        RandAugment(3, fill=(1, 2, 3)),
        RandomAdjustSharpness(2),
        RandomAutocontrast(),
        RandomEqualize(0.3),
        RandomGrayscale(),
        RandomPosterize(3),
        RandomSolarize(100.5),
        TrivialAugmentWide(interpolation="bilinear"),
    ):
        assert pickle.loads(pickle.dumps(op)) == op == copy.deepcopy(op)
        assert hash(op) == hash(copy.copy(op))
        assert eval(repr(op)) == op


@pytest.mark.parametrize(
    ("op", "size", "channels", "least"),
    [
        (GaussianBlur(23), (10, 50), 3, 2 * 3 * (50 + 22)),
        (GaussianBlur(sigma=(1, 42)), (10, 50), 1, 2 * (50 + 252)),
        (RandAugment(2), (10, 50), 3, 1500),
    ],
)
def test_memory_is_announced(op, size, channels, least):
    assert least <= op.temp_bytes(size, channels) <= least + 400
    assert RandAugment(1).temp_bytes(size, channels) == 0
