"""The integer filter of one axis."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dts.kernels import filter_weights


def dense(start, weight, columns):
    """Weights at their source positions; those stored past the last one must be 0."""
    result = np.zeros((len(start), columns + weight.shape[1]), np.int64)
    for i, first in enumerate(start):
        result[i, first : first + weight.shape[1]] = weight[i]
    assert not result[:, columns:].any()
    return result[:, :columns]


@st.composite
def axes(draw, most=400):
    source, virtual_out = draw(st.integers(1, most)), draw(st.integers(1, most))
    box0, box = 0.0, float(source)
    if draw(st.booleans()):
        box0 = draw(st.floats(0, source * 0.9))
        box = draw(st.floats(0.02, 1.0)) * (source - box0)
    clip0, clip1 = 0, source
    if draw(st.booleans()):
        clip0, clip1 = int(box0), min(source, int(np.ceil(box0 + box)))
    out0 = draw(st.integers(0, virtual_out - 1))
    out = draw(st.integers(1, virtual_out - out0))
    return box0, box, clip0, clip1, virtual_out, out0, out


@settings(deadline=None, max_examples=120)
@given(axis=axes(), antialias=st.booleans())
def test_equals_the_obvious_filter(reference, axis, antialias):
    start, weight, (first, last) = filter_weights(*axis, antialias=antialias)
    clip0, clip1 = axis[2:4]
    ours = dense(start, weight, clip1)
    np.testing.assert_array_equal(ours, reference.weights(*axis, antialias=antialias))
    assert clip0 <= first < last <= clip1
    assert not ours[:, :first].any()
    assert not ours[:, last:].any()
    assert weight.shape[1] % 2 == 0
    assert (np.diff(start) >= 0).all()
    assert (start >= first).all()
    assert (start + weight.shape[1] <= max(last, first + weight.shape[1])).all()


@pytest.mark.parametrize(
    ("source", "out"),
    [(1, 1), (1, 65500), (65500, 1), (65500, 65499), (65499, 65500), (65500, 224), (2, 3), (7, 7)],
)
@pytest.mark.parametrize("antialias", [True, False])
def test_sums_and_signs(source, out, antialias):
    start, weight, span = filter_weights(0, source, 0, source, out, 0, out, antialias=antialias)
    assert (weight.sum(axis=1) == 16384).all()
    assert weight.min() >= 0
    assert 0 <= span[0] <= start.min()
    assert span[1] <= source


def test_same_size_changes_nothing():
    start, weight, _ = filter_weights(0, 9, 0, 9, 9, 0, 9)
    np.testing.assert_array_equal(dense(start, weight, 9), 16384 * np.eye(9, dtype=int))


def test_two_taps_are_clamped_at_the_edges():
    """As torch without antialias: position (i + 0.5) * scale - 0.5, at least 0."""
    source, out = 10, 23
    start, weight, _ = filter_weights(0, source, 0, source, out, 0, out, antialias=False)
    position = np.maximum((np.arange(out) + 0.5) * source / out - 0.5, 0)
    low = np.floor(position).astype(int)
    wanted = np.zeros((out, source))
    np.add.at(wanted, (np.arange(out), low), 1 - (position - low))
    np.add.at(wanted, (np.arange(out), np.minimum(low + 1, source - 1)), position - low)
    assert np.abs(dense(start, weight, source) / 16384 - wanted).max() <= 1 / 16384


def test_part_of_the_outputs_is_a_part_of_the_filter():
    whole = filter_weights(3.5, 300, 0, 400, 256, 0, 256)
    part = filter_weights(3.5, 300, 0, 400, 256, 16, 224)
    np.testing.assert_array_equal(
        dense(*part[:2], part[2][1]), dense(*whole[:2], 400)[16:240, : part[2][1]]
    )


def test_a_box_outside_the_clip_takes_the_nearest():
    start, weight, span = filter_weights(20, 5, 0, 10, 2, 0, 2)
    np.testing.assert_array_equal(start + weight.argmax(axis=1), [9, 9])
    assert span == (9, 10)


@pytest.mark.parametrize(
    "axis",
    [
        (0, 0, 0, 5, 4, 0, 4),
        (0, -3, 0, 5, 4, 0, 4),
        (0, float("nan"), 0, 5, 4, 0, 4),
        (float("nan"), 5, 0, 5, 4, 0, 4),
        (0, float("inf"), 0, 5, 4, 0, 4),
        (float("-inf"), 5, 0, 5, 4, 0, 4),
        (0, 1e300, 0, 5, 4, 0, 4),
        (0, 5, 5, 5, 4, 0, 4),
        (0, 5, 0, 2**31 - 1, 4, 0, 4),
        (0, 5, 0, 5, 0, 0, 0),
        (0, 5, 0, 5, 4, 1, 4),
        (0, 5, 0, 5, 4, -1, 4),
        (0, 5, 0, 5, 2**31 - 1, 2**31 - 1, 1),
    ],
)
def test_numbers_that_describe_no_filter(axis):
    with pytest.raises(ValueError, match="no filter"):
        filter_weights(*axis)
