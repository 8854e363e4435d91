"""What the operations on colours draw: words in their documented order, and distributions."""

import itertools
import math

import colour_reference as colour
import numpy as np
import pytest
import reference
from hypothesis import given, settings
from hypothesis import strategies as st

from dts import (
    ColorJitter,
    GaussianBlur,
    RandomAdjustSharpness,
    RandomAutocontrast,
    RandomEqualize,
    RandomGrayscale,
    RandomPosterize,
    RandomSolarize,
    apply_transforms,
)
from dts.transforms import Chain

DRAWS = 100_000
PARTS = ("brightness", "contrast", "saturation", "hue")


def describe(op, n, seed=11):
    chain = Chain([op])
    return [chain.describe(seed, 0, 0, i, 9, 9)[0] for i in range(n)]


def uniform_distance(values, low, high):
    """Return the Kolmogorov-Smirnov distance from a uniform distribution over its 0.1 % bound."""
    values = np.sort((np.asarray(values) - low) / (high - low))
    n = len(values)
    steps = np.arange(n + 1) / n
    distance = max(np.abs(values - steps[1:]).max(), np.abs(values - steps[:-1]).max())
    return distance / (1.95 / math.sqrt(n))


@pytest.fixture(scope="module")
def jitters():
    return describe(ColorJitter(0.4, (0.2, 3.0), 1.5, (-0.1, 0.3)), DRAWS)


@pytest.mark.parametrize(
    ("part", "low", "high"),
    [
        ("brightness", 0.6, 1.4),
        ("contrast", 0.2, 3.0),
        ("saturation", 0.0, 2.5),
        ("hue", -0.1, 0.3),
    ],
)
def test_factors_are_uniform(jitters, part, low, high):
    assert uniform_distance([d[part] for d in jitters], low, high) < 1


def test_all_orders_have_the_same_chance(jitters):
    orders = dict.fromkeys(itertools.permutations(PARTS), 0)
    for d in jitters:
        orders[d["order"]] += 1
    counts = np.array(list(orders.values()))
    chi2 = ((counts - DRAWS / 24) ** 2 / (DRAWS / 24)).sum()
    assert chi2 < 49.7  # 23 degrees of freedom, 0.1 %


def test_factors_do_not_depend_on_each_other(jitters):
    table = np.corrcoef([[d[part] for d in jitters] for part in PARTS])
    assert np.abs(table - np.eye(4)).max() < 4 / math.sqrt(DRAWS)


@given(st.integers(0, 2**64 - 1), st.integers(0, 2**44 - 1), st.integers(0, 2**32 - 1))
@settings(max_examples=50, deadline=None)
def test_words_of_a_jitter(seed, id, epoch):
    op = ColorJitter(0.3, None, (0.5, 0.9), 0.2)
    stream = reference.Stream(seed, epoch, 0, id, 0)
    order = [0, 1, 2, 3]
    for k in (3, 2, 1):
        other = stream.integer(k + 1)
        order[k], order[other] = order[other], order[k]
    u = [stream.uniform() for _ in range(4)]
    d = Chain([op]).describe(seed, epoch, 0, id, 5, 5)[0]
    assert d["order"] == tuple(PARTS[k] for k in order if k != 1)
    assert d["brightness"] == pytest.approx(0.7 + 0.6 * u[0], rel=1e-15)
    assert "contrast" not in d
    assert d["saturation"] == pytest.approx(0.5 + 0.4 * u[2], rel=1e-15)
    assert d["hue"] == pytest.approx(-0.2 + 0.4 * u[3], rel=1e-14, abs=1e-16)


@pytest.mark.parametrize("channels", [1, 3])
def test_parts_come_in_the_drawn_order(channels):
    op = ColorJitter(0.5, 0.5, 0.5, 0.3)
    image = np.random.default_rng(3).integers(0, 256, (31, 40, channels), np.uint8)
    orders = set()
    for id in range(40):
        d = Chain([op]).describe(2, 1, 0, id, 40, 31)[0]
        wanted = image
        for part in d["order"]:
            wanted = getattr(colour, part)(wanted, d[part])
        got = colour.on_each_isa(lambda i=id: apply_transforms(image, op, seed=2, epoch=1, id=i))
        assert np.array_equal(got, wanted)
        orders.add(d["order"])
    assert len(orders) > 15


def test_no_part_no_work():
    assert not describe(ColorJitter(), 1)[0]["applied"]
    assert not describe(ColorJitter(0, (1, 1), 0.0, (0, 0)), 1)[0]["applied"]


@pytest.mark.parametrize("p", [0.0, 0.1, 0.75, 1.0])
@pytest.mark.parametrize(
    "make",
    [
        RandomGrayscale,
        RandomAutocontrast,
        RandomEqualize,
        lambda p: RandomPosterize(3, p),
        lambda p: RandomSolarize(9, p),
        lambda p: RandomAdjustSharpness(2, p),
    ],
)
def test_probabilities(make, p):
    n = 4000
    share = np.mean([d["applied"] for d in describe(make(p), n)])
    assert abs(share - p) <= 4 * math.sqrt(p * (1 - p) / n)


def test_defaults_are_those_of_torchvision():
    assert RandomGrayscale().p == 0.1
    others = [RandomAutocontrast(), RandomEqualize(), RandomPosterize(4), RandomSolarize(128)]
    assert {op.p for op in [*others, RandomAdjustSharpness(2)]} == {0.5}
    assert GaussianBlur(3).sigma == (0.1, 2.0)


def test_sigma_is_uniform():
    sigmas = [d["sigma"] for d in describe(GaussianBlur(5, (0.5, 3.5)), DRAWS)]
    assert uniform_distance(sigmas, 0.5, 3.5) < 1


def test_a_range_of_one_number_is_a_fixed_factor():
    for d in describe(ColorJitter((1.3, 1.3), hue=(0.2, 0.2)), 20):
        assert (d["brightness"], d["hue"]) == (1.3, 0.2)
    assert {d["sigma"] for d in describe(GaussianBlur(5, 1.7), 20)} == {1.7}
