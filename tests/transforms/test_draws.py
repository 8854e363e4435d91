"""Every draw is what architecture.md says, re-derived in plain Python."""

import geometry_reference as geometry
import numpy as np
import pytest
import reference
from hypothesis import given, settings
from hypothesis import strategies as st

from dts.transforms import (
    CenterCrop,
    Chain,
    RandomErasing,
    RandomHorizontalFlip,
    RandomResizedCrop,
    Resize,
)

SEEDS = st.integers(0, 2**64 - 1)
IDS = st.integers(0, 2**44 - 1)
SIDES = st.integers(1, 3000)


@given(SEEDS, st.integers(0, 2**32 - 1), st.integers(0, 1), IDS, SIDES, SIDES)
@settings(max_examples=200, deadline=None)
def test_resized_crop_flip_and_erase(seed, epoch, split, id, w, h):
    chain = Chain([RandomHorizontalFlip(0.3), RandomResizedCrop((60, 80)), RandomErasing(0.7)])
    flip, crop, erase = chain.describe(seed, epoch, split, id, w, h)
    assert crop["box"] == reference.resized_crop(reference.Stream(seed, epoch, split, id, 1), w, h)
    assert flip["applied"] == (reference.Stream(seed, epoch, split, id, 0).uniform() < 0.3)
    wanted = reference.erase_box(reference.Stream(seed, epoch, split, id, 2), 80, 60, 0.7)
    assert erase["applied"] == (wanted is not None)
    if wanted is not None:
        assert erase["box"] == wanted
    assert crop["input_size"] == (h, w)
    assert crop["output_size"] == erase["input_size"] == (60, 80)


@given(SEEDS, IDS, SIDES, SIDES, st.floats(0.01, 1), st.floats(0.1, 10))
@settings(max_examples=200, deadline=None)
def test_resized_crop_stays_inside(seed, id, w, h, scale, ratio):
    chain = Chain([RandomResizedCrop(7, (scale / 2, scale), (ratio / 2, ratio))])
    top, left, height, width = chain.describe(seed, 0, 0, id, w, h)[0]["box"]
    assert top >= 0
    assert left >= 0
    assert 1 <= height <= h - top
    assert 1 <= width <= w - left


def test_crop_area_and_ratio_follow_their_distributions():
    chain = Chain([RandomResizedCrop(8)])
    boxes = np.array([chain.describe(7, 0, 0, i, 4000, 4000)[0]["box"] for i in range(20_000)])
    area = boxes[:, 2] * boxes[:, 3] / 16e6
    ratio = np.log(boxes[:, 3] / boxes[:, 2])
    # Uniform in 0.08..1, but boxes that do not fit are drawn again: look below half, where all
    # fit.
    low = np.sort(area[area < 0.5])
    uniform = (low - 0.08) / (0.5 - 0.08)
    assert np.abs(uniform - np.linspace(0, 1, len(low))).max() < 1.63 / np.sqrt(len(low))
    small = np.sort(ratio[area < 0.5])
    uniform = (small / np.log(4 / 3) + 1) / 2
    assert np.abs(uniform - np.linspace(0, 1, len(small))).max() < 1.63 / np.sqrt(len(small))


def test_draws_depend_on_every_part_of_the_key():
    chain = Chain([RandomResizedCrop(8)])
    key = {"seed": 5, "epoch": 3, "split": 0, "id": 9, "width": 900, "height": 700}
    base = chain.describe(*key.values())[0]["box"]
    for part, value in (("seed", 6), ("seed", 5 | 1 << 32), ("epoch", 4), ("split", 1), ("id", 8)):
        assert chain.describe(*{**key, part: value}.values())[0]["box"] != base
    far = {**key, "id": 9 | 1 << 32}  # the upper bits of an id count too
    assert chain.describe(*far.values())[0]["box"] != base
    twice = Chain([RandomHorizontalFlip(0.0), RandomResizedCrop(8)])
    assert twice.describe(*key.values())[1]["box"] != base


@pytest.mark.parametrize(("p", "share"), [(0.0, 0.0), (1.0, 1.0), (0.25, 0.25)])
def test_flip_obeys_its_probability(p, share):
    chain = Chain([CenterCrop(4), RandomHorizontalFlip(p)])
    flips = [chain.describe(1, 0, 0, i, 9, 9)[1]["applied"] for i in range(4000)]
    assert abs(np.mean(flips) - share) < 4 * np.sqrt(share * (1 - share) / 4000) + 1e-9


@given(st.integers(1, 400), st.integers(1, 400), st.integers(1, 400), st.integers(1, 400))
@settings(max_examples=200, deadline=None)
def test_centre_crop_rounds_as_torchvision(w, h, cw, ch):
    top, left, height, width = Chain([CenterCrop((ch, cw))]).describe(0, 0, 0, 0, w, h)[0]["box"]
    assert (height, width) == (ch, cw)
    assert left == (round((w - cw) / 2) if w >= cw else -((cw - w) // 2))
    assert top == (round((h - ch) / 2) if h >= ch else -((ch - h) // 2))


@given(SIDES, SIDES, st.integers(1, 500))
@settings(max_examples=200, deadline=None)
def test_resize_keeps_the_aspect_ratio(w, h, size):
    got = Chain([Resize(size)]).describe(0, 0, 0, 0, w, h)[0]["output_size"]
    assert got == ((int(size * h / w), size) if w <= h else (size, int(size * w / h)))
    assert Resize(size).output_size((h, w)) == got
    assert Chain([Resize((size, 3))]).describe(0, 0, 0, 0, w, h)[0]["output_size"] == (size, 3)


def test_a_thread_of_a_picture_does_not_overflow():
    got = Chain([Resize(65_500)]).describe(0, 0, 0, 0, 65_500, 1)[0]["output_size"]
    assert got == (65_500, 1 << 30)


def test_erase_ends_when_nothing_fits():
    chain = Chain([CenterCrop((1, 1)), RandomErasing(1.0)])
    assert not chain.describe(0, 0, 0, 0, 5, 5)[1]["applied"]


def test_boxes_are_drawn_from_their_distributions():
    """Where every first try fits: areas uniform, ratios uniform in their logarithm, all places."""
    side = 40_000
    for make in (RandomErasing, lambda *a: RandomResizedCrop(9, *a[1:])):
        chain = Chain([make(1.0, (0.02, 0.25), (0.3, 3.3))])
        boxes = [chain.describe(5, 0, 0, id, side, side)[0]["box"] for id in range(100_000)]
        top, left, h, w = np.array(boxes, np.float64).T
        area = (h * w / side**2 - 0.02) / 0.23
        ratio = np.log(w / h / 0.3) / np.log(3.3 / 0.3)
        parts = np.array([area, ratio, top / (side - h), left / (side - w)])
        for part in parts:
            assert geometry.ks_uniform(part) < 1.95
        assert np.abs(np.corrcoef(parts) - np.eye(4)).max() < 5 / np.sqrt(100_000)
