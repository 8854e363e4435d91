"""Constructors refuse what cannot work, when they are called."""

import copy
import pickle

import pytest

from dts.transforms import (
    CenterCrop,
    Chain,
    DoNothing,
    FastRandomResizedCrop,
    Pad,
    RandomCrop,
    RandomErasing,
    RandomHorizontalFlip,
    RandomResizedCrop,
    RandomRotation,
    RandomScale,
    RandomVerticalFlip,
    Resize,
)

NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize(
    "make", [CenterCrop, FastRandomResizedCrop, RandomCrop, RandomResizedCrop, Resize]
)
@pytest.mark.parametrize(
    "size", [0, -1, 1.5, "8", None, True, (1,), (1, 2, 3), (0, 5), 65_501, NAN]
)
def test_sizes(make, size):
    with pytest.raises(ValueError, match="size"):
        make(size)


@pytest.mark.parametrize(
    "scale",
    [(0, 0), (1, 0.5), (0.5, 1.5), (NAN, 1), (0.1, NAN), (-1, 1), (0.1,), (0.1, 0.2, 0.3), "x"],
)
@pytest.mark.parametrize(
    "make", [lambda s: RandomResizedCrop(8, s), lambda s: RandomErasing(0.5, s)]
)
def test_scales(make, scale):
    with pytest.raises(ValueError, match="scale"):
        make(scale)


def test_a_box_to_erase_may_be_as_small_as_nothing():
    chain = Chain([RandomErasing(1.0, (0, 0.01))])
    boxes = [chain.describe(3, 0, 0, id, 20, 30)[0]["box"] for id in range(200)]
    areas = [height * width for _, _, height, width in boxes]
    assert min(areas) <= 1
    assert max(areas) <= 9  # 1 % is 6 pixels; sides are rounded
    with pytest.raises(ValueError, match="0 <= min"):
        RandomErasing(0.5, (-0.1, 0.2))


@pytest.mark.parametrize("ratio", [(0, 1), (2, 1), (NAN, 1), (1, INF), (1,), (1, 2, 3, 4, 5)])
@pytest.mark.parametrize(
    "make",
    [lambda r: RandomResizedCrop(8, (0.1, 1), r), lambda r: RandomErasing(0.5, (0.1, 0.2), r)],
)
def test_ratios(make, ratio):
    with pytest.raises(ValueError, match="ratio"):
        make(ratio)


@pytest.mark.parametrize("p", [-0.1, 1.1, NAN, "x", None])
@pytest.mark.parametrize("make", [RandomHorizontalFlip, RandomVerticalFlip, RandomErasing])
def test_probabilities(make, p):
    with pytest.raises(ValueError, match="p must"):
        make(p)


@pytest.mark.parametrize("value", ["mean", (1, 2), NAN, (0, 0, INF)])
def test_fill_values(value):
    with pytest.raises(ValueError, match="value"):
        RandomErasing(value=value)


def test_the_positional_forms_of_the_reference():
    assert RandomResizedCrop(224, 0.08, 1.0) == RandomResizedCrop(224)
    assert RandomResizedCrop(224, 0.2, 0.9, 0.5, 2.0) == RandomResizedCrop(
        224, (0.2, 0.9), (0.5, 2)
    )
    assert RandomErasing(0.25, (0.02, 0.33), (0.3, 3.3)) == RandomErasing(0.25)
    with pytest.raises(ValueError, match="four numbers"):
        RandomResizedCrop(224, 0.1, 0.2, 0.3, 0.4, 0.5)


def test_they_are_values():
    for op in (
        RandomResizedCrop(8),
        Resize(5),
        CenterCrop((4, 5)),
        RandomHorizontalFlip(),
        RandomErasing(),
        RandomErasing(0.2, value="random"),
        RandomVerticalFlip(0.1),
        RandomCrop(32, padding=4, fill=(1, 2, 3)),
        Pad((1, 2), padding_mode="edge"),
        FastRandomResizedCrop((5, 6), (0.2, 0.3)),
        RandomScale(0.5, 2),
        RandomRotation((3, 7), "bilinear", center=(1, 2), fill=None),
        DoNothing(),
    ):
        assert pickle.loads(pickle.dumps(op)) == op == copy.deepcopy(op)
        assert hash(op) == hash(copy.copy(op))
        assert eval(repr(op)) == op
    assert Resize(5) != CenterCrop(5)
    assert Resize(5) != Resize(6)


def test_a_chain_is_bounded():
    assert Chain([CenterCrop(4)] * 64).n == 64
    with pytest.raises(ValueError, match="64"):
        Chain([CenterCrop(4)] * 65)


@pytest.mark.parametrize(
    "make",
    [
        lambda v: RandomHorizontalFlip(v),
        lambda v: RandomResizedCrop(8, (0.1, v)),
        lambda v: RandomErasing(1.0, value=v),
        lambda v: RandomErasing(1.0, value=(0, v, 0)),
        lambda v: RandomErasing(1.0, ratio=(-v, 1)),
    ],
)
def test_integers_that_no_float_can_hold(make):
    with pytest.raises(ValueError, match="inf"):
        make(10**400)
