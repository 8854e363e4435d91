"""RandomScale, FastRandomResizedCrop and DoNothing."""

import geometry_reference as geometry
import numpy as np
import pytest
import reference
from hypothesis import given, settings
from hypothesis import strategies as st

from dts import apply_transforms
from dts.transforms import (
    CenterCrop,
    Chain,
    DoNothing,
    FastRandomResizedCrop,
    RandomResizedCrop,
    RandomScale,
    Resize,
)


@given(
    st.integers(1, 60), st.integers(1, 60), st.sampled_from([1, 3]), st.floats(0.01, 4),
    st.integers(0, 2**40), st.booleans(),
)  # fmt: skip
@settings(max_examples=200, deadline=None)
def test_scale_is_a_resize_and_a_centre_crop(h, w, c, low, id, antialias):
    image = np.random.default_rng(h * w).integers(0, 256, (h, w, c), np.uint8)
    op = RandomScale(low, 2 * low, antialias)
    stream = reference.Stream(0, 0, 0, id, 0)
    sx = low + stream.uniform() * low
    sy = low + stream.uniform() * low
    scaled = max(int(h * sy + 0.5), 1), max(int(w * sx + 0.5), 1)
    step = Chain([op]).describe(0, 0, 0, id, w, h)[0]
    assert step["scale"] == (sy, sx)
    assert step["scaled_size"] == scaled
    plain = apply_transforms(image, [Resize(scaled, antialias), CenterCrop((h, w))])
    assert np.array_equal(apply_transforms(image, op, id=id), plain)


def test_factors_are_uniform_and_independent():
    chain = Chain([RandomScale(0.5, 1.7)])
    factors = [chain.describe(1, 0, 0, id, 100, 100)[0]["scale"] for id in range(100_000)]
    unit = (np.array(factors) - 0.5) / 1.2
    assert geometry.ks_uniform(unit[:, 0]) < 1.95
    assert geometry.ks_uniform(unit[:, 1]) < 1.95
    assert abs(np.corrcoef(unit.T)[0, 1]) < 4 / np.sqrt(100_000)


@pytest.mark.parametrize(
    "ratios", [(0, 1), (2, 1), (-1, 1), (float("nan"), 1), (1, float("inf")), ("1", 2), (1, 1001)]
)
def test_ratios_that_are_none(ratios):
    with pytest.raises(ValueError, match="ratio"):
        RandomScale(*ratios)


def test_a_thread_of_a_picture_does_not_overflow(noise):
    image = noise(1, 60_000, 1)
    assert apply_transforms(image, RandomScale(999, 1000)).shape == image.shape


def test_fast_crops_have_log_uniform_areas():
    chain = Chain([FastRandomResizedCrop(8, ratio=(1, 1))])
    boxes = [chain.describe(7, 0, 0, id, 40_000, 40_000)[0]["box"] for id in range(100_000)]
    area = np.prod(np.array(boxes, float)[:, 2:], axis=1) / 16e8
    assert geometry.ks_uniform(1 - np.log(area) / np.log(0.08)) < 1.95
    assert abs(area.mean() - (1 - 0.08) / -np.log(0.08)) < 0.004  # 0.364


def test_fast_crops_are_drawn_as_written():
    # The same words as RandomResizedCrop's; only the area is another function of its word.
    w, h, low = 900, 700, np.log(0.08)
    for id in range(200):
        stream = reference.Stream(4, 0, 0, id, 0)
        wanted = None
        while wanted is None:
            area = w * h * np.exp(low - stream.uniform() * low)
            ratio = np.exp(np.log(3 / 4) + stream.uniform() * (np.log(4 / 3) - np.log(3 / 4)))
            bw, bh = int(np.sqrt(area * ratio) + 0.5), int(np.sqrt(area / ratio) + 0.5)
            if bw <= w and bh <= h:
                x = stream.integer(w - bw + 1)
                wanted = stream.integer(h - bh + 1), x, bh, bw
        step = Chain([FastRandomResizedCrop(24)]).describe(4, 0, 0, id, w, h)[0]
        assert step["box"] == wanted
        assert step["output_size"] == (24, 24)


def test_fast_crops_are_resized_as_the_others(noise):
    image = noise(70, 90)
    for id in range(10):
        top, left, h, w = Chain([FastRandomResizedCrop(24)]).describe(0, 0, 0, id, 90, 70)[0][
            "box"
        ]
        cut = np.ascontiguousarray(image[top : top + h, left : left + w])
        got = apply_transforms(image, FastRandomResizedCrop(24), id=id)
        assert np.array_equal(got, apply_transforms(cut, Resize((24, 24))))


def test_fast_crops_take_the_arguments_of_the_others():
    op = FastRandomResizedCrop(224, 0.2, 0.9, 0.5, 2.0)
    assert (op.scale, op.ratio) == ((0.2, 0.9), (0.5, 2.0))
    assert FastRandomResizedCrop(224) != RandomResizedCrop(224)
    with pytest.raises(ValueError, match="scale"):
        FastRandomResizedCrop(8, (0.5, 0.1))


def test_do_nothing(noise):
    image = noise(9, 7)
    assert np.array_equal(apply_transforms(image, DoNothing()), image)
    small = apply_transforms(image, Resize((4, 5)))
    assert np.array_equal(
        apply_transforms(image, [DoNothing(), Resize((4, 5)), DoNothing()]), small
    )
    step = Chain([DoNothing()]).describe(0, 0, 0, 0, 7, 9)[0]
    assert (step["input_size"], step["output_size"], step["applied"]) == ((9, 7), (9, 7), False)


@pytest.mark.parametrize("c", [1, 3])
@pytest.mark.parametrize(("h", "w"), [(1, 1), (9, 7), (40, 61), (3, 200)])
@pytest.mark.parametrize("size", [(1, 1), (5, 4), (20, 33), (100, 300)])
def test_without_antialias_two_pixels_of_each_axis_count(noise, each_isa, h, w, c, size):
    def axis(side, out):
        at = np.clip((np.arange(out) + 0.5) * side / out - 0.5, 0, side - 1)
        low = np.minimum(at.astype(int), side - 1)
        return low, np.minimum(low + 1, side - 1), at - low

    image = noise(h, w, c).astype(float)
    low, high, share = axis(h, size[0])
    rows = image[low] * (1 - share)[:, None, None] + image[high] * share[:, None, None]
    low, high, share = axis(w, size[1])
    wanted = rows[:, low] * (1 - share)[:, None] + rows[:, high] * share[:, None]
    whole = RandomResizedCrop(size, (1, 1), (w / h, w / h), antialias=False)
    for op in (Resize(size, antialias=False), whole):
        got = apply_transforms(noise(h, w, c), op)
        assert np.abs(got - wanted).max() <= 0.55
