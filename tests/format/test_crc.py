"""The checksum that multiplies without carries, against zlib's."""

import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dts.format import crc
from dts.format.checksum import crc32_around
from dts.format.crc import crc32

WORDS = st.integers(0, 2**32 - 1)


@given(st.binary(max_size=600), WORDS, st.integers(0, 20))
def test_equals_zlib(data, value, skipped):
    assert crc32(data, value) == zlib.crc32(data, value)
    view = memoryview(data)[skipped:]  # begins anywhere
    assert crc32(view) == zlib.crc32(view)


@pytest.mark.parametrize("size", [63, 64, 79, 80, 128, 1023, 1024, 65_537, (1 << 20) + 3])
def test_sizes_at_which_the_way_changes(size):
    data = np.random.default_rng(size).bytes(size)
    assert crc32(data) == zlib.crc32(data)
    assert crc32(bytes(size), 0xFFFFFFFF) == zlib.crc32(bytes(size), 0xFFFFFFFF)


def test_pieces_go_on_from_one_another():
    data = bytearray(np.random.default_rng(1).bytes(5000))
    value = 0
    for start in range(0, 5000, 333):
        value = crc32(memoryview(data)[start : start + 333], value)
    assert value == zlib.crc32(data)


def test_says_what_computes():
    assert crc.implementation() in ("pclmul", "zlib")


def test_refuses_what_is_no_buffer():
    with pytest.raises(TypeError):
        crc32(None)
    with pytest.raises(TypeError):
        crc32("text")
    with pytest.raises(OverflowError):
        crc32(b"", -1)


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 200)), max_size=8), st.randoms())
def test_around_pieces_that_are_known(pieces, random):
    data = random.randbytes(sum(map(sum, pieces)) + random.randrange(50))
    offsets, lengths, at = [], [], 0
    for gap, length in pieces:
        offsets.append(at + gap)
        lengths.append(length)
        at += gap + length
    crcs = [zlib.crc32(data[o : o + n]) for o, n in zip(offsets, lengths, strict=True)]
    assert crc32_around(data, offsets, lengths, crcs) == zlib.crc32(data)


def test_around_believes_what_it_is_told():
    data = bytes(100)
    assert crc32_around(data, [10], [50], [zlib.crc32(b"\1" * 50)]) == zlib.crc32(
        bytes(10) + b"\1" * 50 + bytes(40)
    )


@pytest.mark.parametrize(
    ("offsets", "lengths"),
    [([0, 5], [6, 1]), ([0], [11]), ([11], [0]), ([0], [-1]), ([0], [1, 2])],
)
def test_around_refuses_pieces_that_overlap_or_reach_out(offsets, lengths):
    with pytest.raises(ValueError, match=r"piece|length"):
        crc32_around(bytes(10), offsets, lengths, [0] * len(offsets))
