"""Flips, in both directions and together, and what stands on the flipped picture."""

import numpy as np
import pytest
import reference

from dts import apply_transforms
from dts.transforms import (
    Chain,
    RandomCrop,
    RandomErasing,
    RandomHorizontalFlip,
    RandomVerticalFlip,
    Resize,
)


@pytest.mark.parametrize("c", [1, 3])
@pytest.mark.parametrize(("h", "w"), [(1, 1), (7, 5), (1, 9), (9, 1), (64, 65)])
def test_rows_and_columns_are_reversed(noise, each_isa, h, w, c):
    image = noise(h, w, c)
    flips = RandomHorizontalFlip(1.0), RandomVerticalFlip(1.0)
    assert np.array_equal(apply_transforms(image, flips[0]), image[:, ::-1])
    assert np.array_equal(apply_transforms(image, flips[1]), image[::-1])
    assert np.array_equal(apply_transforms(image, flips), image[::-1, ::-1])
    assert np.array_equal(apply_transforms(image, flips[1:] * 2), image)


def test_it_comes_last_wherever_it_stands(noise):
    image = noise(30, 40)
    for steps in ([Resize((12, 17))], [RandomCrop(20, padding=4), Resize((8, 9))]):
        straight = apply_transforms(image, [RandomVerticalFlip(0.0), *steps])
        flipped = apply_transforms(image, [RandomVerticalFlip(1.0), *steps])
        assert np.array_equal(flipped, straight[::-1])


def test_erased_boxes_are_on_the_flipped_picture(noise):
    image = noise(30, 40)
    chain = [RandomErasing(1.0, value=7), RandomVerticalFlip(1.0), RandomHorizontalFlip(1.0)]
    for id in range(20):
        top, left, h, w = reference.erase_box(reference.Stream(0, 0, 0, id, 0), 40, 30, 1.0)
        wanted = image[::-1, ::-1].copy()
        wanted[top : top + h, left : left + w] = 7
        assert np.array_equal(apply_transforms(image, chain, id=id), wanted)


def test_it_obeys_its_probability():
    chain = Chain([RandomVerticalFlip(0.3)])
    steps = [chain.describe(2, 0, 0, id, 9, 9)[0] for id in range(100_000)]
    assert {step["kind"] for step in steps} == {"vflip"}
    share = np.mean([step["applied"] for step in steps])
    assert abs(share - 0.3) < 4 * np.sqrt(0.3 * 0.7 / 100_000)


@pytest.mark.parametrize("p", [-0.1, 1.1, float("nan"), "x", None])
def test_probabilities_that_are_none(p):
    with pytest.raises(ValueError, match="p must"):
        RandomVerticalFlip(p)
