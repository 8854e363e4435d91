"""Affine warps and RandomRotation, against torchvision's steps written in numpy."""

import math

import geometry_reference as geometry
import numpy as np
import pytest
import reference
from hypothesis import given, settings
from hypothesis import strategies as st

from dts import apply_transforms
from dts.transforms import Chain, RandomRotation
from dts.transforms.warp import warp_image, warp_matrix

MODES = ("nearest", "bilinear")
SIZES = [(1, 1), (1, 9), (9, 1), (7, 5), (24, 31), (300, 280)]


def matrices(h, w, seed):
    rng = np.random.default_rng(seed)
    yield warp_matrix("shear_x", rng.uniform(-1, 1), h)
    yield warp_matrix("shear_y", rng.uniform(-1, 1), w)
    yield warp_matrix("translation", int(rng.integers(-w, w + 1)), int(rng.integers(-h, h + 1)))
    for degrees in (*rng.uniform(-180, 180, 3), 30, 45, 90, 180):
        yield warp_matrix("rotation", degrees, 0, 0)
    yield warp_matrix("rotation", rng.uniform(-180, 180), rng.uniform(-w, w), rng.uniform(-h, h))
    yield rng.uniform(-2, 2, 6)
    yield (1e6, -1e6, 3e7, 0, 1e-30, -1e9)  # far outside


@pytest.mark.parametrize("c", [1, 3])
@pytest.mark.parametrize(("h", "w"), SIZES)
@pytest.mark.parametrize("mode", MODES)
def test_warps_are_those_of_the_reference(noise, each_isa, mode, h, w, c):
    image = noise(h, w, c)
    for k, matrix in enumerate(matrices(h, w, h + w)):
        fill = (None, 0, 255, 127.5, (3, 0, 250))[k % 5]
        fill = 9 if c == 1 and isinstance(fill, tuple) else fill
        got = warp_image(image, matrix, interpolation=mode, fill=fill).astype(int)
        wanted = geometry.warp(image, matrix, mode, fill)
        # float32 sums in another order: halves may round the other way
        assert np.abs(got - wanted).max() <= (mode == "bilinear")
        assert (got != wanted).mean() < 1e-3


@pytest.mark.parametrize("mode", MODES)
def test_instruction_sets_agree(noise, mode):
    from dts.kernels import available_isas, isa, select_isa

    before = isa()
    image = noise(71, 533)
    matrix = warp_matrix("rotation", 33.3, 4, 5)
    try:
        made = []
        for name in available_isas():
            select_isa(name)
            made.append(warp_image(image, matrix, interpolation=mode, fill=(1, 2, 3)))
    finally:
        select_isa(before)
    assert all(np.array_equal(made[0], other) for other in made)


def test_translations_and_shears_go_where_they_say(noise):
    image = noise(20, 30)
    moved = warp_image(image, warp_matrix("translation", 3, -2), fill=7)
    assert np.array_equal(moved[:18, 3:], image[2:, :-3])
    assert (moved[18:] == 7).all()
    assert (moved[:, :3] == 7).all()
    sheared = warp_image(image, warp_matrix("shear_x", -2.0, 20), fill=7)
    down = warp_image(image, warp_matrix("shear_y", 2.0, 30), fill=7)
    for k in range(10):  # the middle of row k is k + 1/2 from the top
        shift = 2 * k + 1
        assert np.array_equal(sheared[k, shift:], image[k, :-shift])
        assert (sheared[k, :shift] == 7).all()
        assert np.array_equal(down[:-shift, k], image[shift:, k])


@given(st.floats(-1e5, 1e5))
@settings(max_examples=300, deadline=None)
def test_sine_and_cosine(degrees):
    cos, sin, _, minus_sin, other, _ = warp_matrix("rotation", degrees, 0, 0)
    turn = math.radians(-(degrees % 360.0))
    assert abs(cos - math.cos(turn)) < 4e-16
    assert abs(sin - math.sin(turn)) < 4e-16
    assert (other, minus_sin) == (cos, -sin)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (((2, 2), [1, 0, 0, 0, 1, 0], {}), "image"),
        (((2, 2, 3), [1, 0, 0, 0, 1], {}), "matrix"),
        (((2, 2, 3), [1, 0, 0, 0, 1, float("nan")], {}), "matrix"),
        (((2, 2, 3), [1, 0, 0, 0, 1, 0], {"interpolation": "cubic"}), "interpolation"),
        (((2, 2, 3), [1, 0, 0, 0, 1, 0], {"fill": 256}), "fill"),
    ],
)
def test_what_cannot_be_warped(arguments, message):
    shape, matrix, more = arguments
    with pytest.raises(ValueError, match=message):
        warp_image(np.zeros(shape, np.uint8), matrix, **more)
    with pytest.raises(ValueError, match="unknown kind"):
        warp_matrix("twist", 1)


# RandomRotation


@pytest.mark.parametrize("c", [1, 3])
@pytest.mark.parametrize("mode", MODES)
def test_quarter_turns_are_exact(noise, mode, c):
    image = noise(24, 24, c)
    for quarters in range(-3, 5):
        op = RandomRotation((90 * quarters, 90 * quarters), mode, fill=200)
        assert np.array_equal(apply_transforms(image, op), np.rot90(image, quarters))
    oblong = noise(11, 20, c)
    half = RandomRotation((180, 180), mode)
    assert np.array_equal(apply_transforms(oblong, half), oblong[::-1, ::-1])


@pytest.mark.parametrize("mode", MODES)
def test_a_rotation_is_the_warp_of_its_angle(noise, mode):
    image = noise(33, 47)
    kept = image.copy()
    for center in (None, (3, 40.5)):
        op = RandomRotation((-300, 200), mode, center=center, fill=(9, 8, 7))
        cx, cy = (0, 0) if center is None else (center[0] - 47 / 2, center[1] - 33 / 2)
        for id in range(5):
            angle = -300 + reference.Stream(1, 2, 0, id, 0).uniform() * 500
            step = Chain([op]).describe(1, 2, 0, id, 47, 33)[0]
            assert step["angle"] == angle
            assert step["output_size"] == (33, 47)
            got = apply_transforms(image, op, seed=1, epoch=2, id=id).astype(int)
            wanted = geometry.warp(image, warp_matrix("rotation", angle, cx, cy), mode, (9, 8, 7))
            assert np.abs(got - wanted).max() <= (mode == "bilinear")
    assert np.array_equal(image, kept)


def test_angles_are_uniform():
    chain = Chain([RandomRotation(25)])
    angles = [chain.describe(1, 0, 0, id, 9, 9)[0]["angle"] for id in range(100_000)]
    assert geometry.ks_uniform((np.array(angles) + 25) / 50) < 1.95


def test_a_point_of_white_goes_counter_clockwise():
    image = np.zeros((41, 41, 1), np.uint8)
    image[20, 35] = 255  # to the right of the centre
    up = apply_transforms(image, RandomRotation((90, 90)))
    assert up[5, 20] == 255


@pytest.mark.parametrize(
    "degrees",
    [-1, (5, 1), (1,), (1, 2, 3), float("nan"), "30", None, 1e6, (0, float("inf")), True],
)
def test_degrees_that_are_none(degrees):
    with pytest.raises(ValueError, match="degrees"):
        RandomRotation(degrees)


def test_other_arguments_of_a_rotation():
    for arguments, message in (
        ({"interpolation": "bicubic"}, "interpolation"),
        ({"center": 3}, "center"),
        ({"center": (1, 2, 3)}, "center"),
        ({"center": (1, float("nan"))}, "center"),
        ({"fill": -1}, "fill"),
        ({"fill": (1, 2)}, "fill"),
    ):
        with pytest.raises(ValueError, match=message):
            RandomRotation(10, **arguments)
    with pytest.raises(ValueError, match="3 values for 1"):
        RandomRotation(10, fill=(1, 2, 3)).check_channels(1)
    RandomRotation(10, fill=None).check_channels(1)
