"""Pad and RandomCrop: numpy's paddings, torchvision's places."""

import geometry_reference as geometry
import numpy as np
import pytest
import reference
from hypothesis import given, settings
from hypothesis import strategies as st

from dts import DecodeError, RandomInvert, Resize, apply_transforms
from dts.transforms import Chain, Pad, RandomCrop

MODES = ("constant", "edge", "reflect", "symmetric")
SIDES = st.integers(1, 40)
BORDER = st.integers(0, 60)


@st.composite
def borders(draw):
    """A padding as given, and what it means: left, top, right, bottom."""
    n = draw(st.sampled_from([None, 1, 2, 4]))
    if n is None:
        p = draw(BORDER)
        return p, (p,) * 4
    p = tuple(draw(BORDER) for _ in range(n))
    return p, (p * 4)[:4]


@given(SIDES, SIDES, st.sampled_from([1, 3]), borders(), st.sampled_from(MODES), st.data())
@settings(max_examples=300, deadline=None)
def test_pad_is_that_of_numpy(h, w, c, padding, mode, data):
    given_padding, sides = padding
    fill = data.draw(st.sampled_from([0, 7, 255, 127.9] if c == 1 else [0, 7, (1, 0, 200)]))
    image = np.random.default_rng(h * w).integers(0, 256, (h, w, c), np.uint8)
    kept = image.copy()
    op = Pad(given_padding, fill, mode)
    got = apply_transforms(image, op)
    assert np.array_equal(got, geometry.pad(image, *sides, mode=mode, fill=fill))
    assert op.output_size((h, w)) == got.shape[:2]
    assert np.array_equal(image, kept)


@given(
    SIDES, SIDES, SIDES, SIDES, st.none() | borders(), st.booleans(), st.sampled_from(MODES),
    st.integers(0, 2**40), st.booleans(),
)  # fmt: skip
@settings(max_examples=400, deadline=None)
def test_random_crop_cuts_a_padded_picture(h, w, ch, cw, padding, if_needed, mode, id, black):
    given_padding, sides = (None, (0, 0, 0, 0)) if padding is None else padding
    fill = 0 if black else (9, 0, 130)
    image = np.random.default_rng(h * w).integers(0, 256, (h, w, 3), np.uint8)
    op = RandomCrop((ch, cw), given_padding, if_needed, fill, mode)
    left, top, right, bottom = sides
    if if_needed:
        short_w, short_h = max(cw - w - left - right, 0), max(ch - h - top - bottom, 0)
        left, top, right, bottom = left + short_w, top + short_h, right + short_w, bottom + short_h
    padded = geometry.pad(image, left, top, right, bottom, mode=mode, fill=fill)
    room_w, room_h = padded.shape[1] - cw, padded.shape[0] - ch
    if room_w < 0 or room_h < 0:
        with pytest.raises(ValueError, match="smaller than the crop"):
            op.output_size((h, w))
        with pytest.raises(DecodeError, match=f"{padded.shape[0]} x {padded.shape[1]}, padding"):
            apply_transforms(image, op, id=id)
        return
    stream = reference.Stream(0, 0, 0, id, 0)
    x = stream.integer(room_w + 1)
    y = stream.integer(room_h + 1)
    got = apply_transforms(image, op, id=id)
    assert np.array_equal(got, padded[y : y + ch, x : x + cw])
    assert Chain([op]).describe(0, 0, 0, id, w, h)[0]["box"] == (y - top, x - left, ch, cw)
    assert op.output_size((h, w)) == op.output_size(None) == (ch, cw)


def test_every_place_is_as_likely_as_every_other():
    chain = Chain([RandomCrop((30, 28), padding=(1, 4, 2, 3))])  # 38 x 8 places
    boxes = [chain.describe(3, 0, 0, id, 32, 60)[0]["box"][:2] for id in range(100_000)]
    counts = np.zeros((38, 8))
    top, left = np.array(boxes).T
    np.add.at(counts, (top + 4, left + 1), 1)
    wanted = 100_000 / counts.size
    chi = ((counts - wanted) ** 2 / wanted).sum()
    # Chi squared of 303 degrees: mean 303, standard deviation 24.6.
    assert abs(chi - 303) < 4 * np.sqrt(2 * 303)


@pytest.mark.parametrize("mode", MODES)
def test_they_work_amid_other_steps(noise, mode):
    image = noise(40, 50)
    small = apply_transforms(image, [Resize((20, 25)), RandomInvert(1.0)])
    padded = 255 - geometry.pad(small, 3, 3, 3, 3, mode=mode, fill=0)
    chain = [Resize((20, 25)), RandomInvert(1.0), Pad(3, 0, mode), RandomInvert(1.0)]
    assert np.array_equal(apply_transforms(image, chain), padded)
    resized = geometry.pad(
        apply_transforms(image, Resize((20, 25))), 1, 2, 3, 4, mode=mode, fill=5
    )
    chain = [Resize((20, 25)), Pad((1, 2, 3, 4), 5, mode), Pad(2, 6)]
    assert np.array_equal(
        apply_transforms(image, chain), geometry.pad(resized, 2, 2, 2, 2, fill=6)
    )


def test_a_window_that_sees_nothing_is_all_fill(noise):
    image = noise(4, 5)
    for fill in (0, 9):
        crops = [
            apply_transforms(image, RandomCrop(3, padding=30, fill=fill), id=id)
            for id in range(40)
        ]
        assert sum((crop == fill).all() for crop in crops) > 10


@pytest.mark.parametrize(
    "padding", [-1, 1.5, "2", None, True, (), (1, 2, 3), (1, 2, 3, 4, 5), (1, -1), 65_501]
)
def test_paddings_that_are_none(padding):
    with pytest.raises(ValueError, match="padding"):
        Pad(padding)
    if padding is not None:
        with pytest.raises(ValueError, match="padding"):
            RandomCrop(4, padding)


@pytest.mark.parametrize("make", [lambda **k: Pad(1, **k), lambda **k: RandomCrop(4, **k)])
def test_other_arguments(make):
    for fill in (-1, 256, float("nan"), (1, 2), "black", None, (1, 2, 300)):
        with pytest.raises(ValueError, match="fill"):
            make(fill=fill)
    with pytest.raises(ValueError, match=r"padding_mode.*constant, edge, reflect, symmetric"):
        make(padding_mode="wrap")
    with pytest.raises(ValueError, match="fill has 3 values for 1 channels"):
        make(fill=(1, 2, 3)).check_channels(1)
    with pytest.raises(ValueError, match="pad_if_needed"):
        RandomCrop(4, pad_if_needed=2)
