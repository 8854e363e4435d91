import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dts.errors import CorruptError, FormatError
from dts.format.block import pack_table, parse_table
from dts.format.layout import BLOCK_BYTES, BLOCK_HEADER_SIZE, TABLE_CAPACITY, up64


@st.composite
def tables(draw):
    level = draw(st.integers(0, 3))
    n = draw(st.integers(0, 40) | st.just(TABLE_CAPACITY[level]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    sizes = rng.integers(0, (BLOCK_BYTES - BLOCK_HEADER_SIZE[level]) // max(n, 1) - 64, n)
    offsets = BLOCK_HEADER_SIZE[level] + np.cumsum(up64(sizes)) - up64(sizes)
    return level, int(rng.integers(2**32)), offsets, sizes, rng.integers(0, 2**31, n)


@given(tables())
def test_round_trip(table):
    level, number, offsets, sizes, labels = table
    data = pack_table(level, number, offsets, sizes, labels)
    assert len(data) == BLOCK_HEADER_SIZE[level]
    assert data[:12] == struct.pack("<4sII", f"LV{level}B".encode(), number, len(sizes))
    parsed = parse_table(data, level=level, block_id=number, count=len(sizes))
    assert [column.dtype for column in parsed] == [np.uint32, np.uint32, np.int32]
    for column, packed in zip(parsed, (offsets, sizes, labels), strict=True):
        np.testing.assert_array_equal(column, packed)


@given(tables(), st.data())
def test_mutated_tables_are_within_bounds_or_an_error(table, data):
    level, number, offsets, sizes, labels = table
    packed = bytearray(pack_table(level, number, offsets, sizes, labels))
    for _ in range(data.draw(st.integers(1, 4))):
        where = data.draw(st.integers(0, 12 + 12 * len(sizes) - 1))
        packed[where] = data.draw(st.integers(0, 255))
    try:
        o, s, y = parse_table(packed, level=level, num_classes=1000)
    except CorruptError:
        return
    assert (o.astype(np.int64) + s <= BLOCK_BYTES).all()
    assert (o >= 12 + 12 * len(o)).all()
    assert ((y >= 0) & (y < 1000)).all()


@given(st.binary(max_size=600), st.integers(0, 3))
def test_any_bytes_are_a_table_or_an_error(data, level):
    try:
        offsets, sizes, labels = parse_table(data, level=level)
    except CorruptError:
        return
    assert len(offsets) == len(sizes) == len(labels) <= len(data) // 12


def test_result_does_not_depend_on_the_buffer():
    data = bytearray(pack_table(1, 0, [16384], [9], [3]))
    offsets, _, _ = parse_table(memoryview(data), level=1)
    data[12:16] = b"\0\0\0\0"
    assert offsets.tolist() == [16384]


GOOD = {"level": 0, "block_id": 7, "offsets": [4096, 4160], "sizes": [64, 10], "labels": [0, 9]}


@pytest.mark.parametrize(
    ("at", "value", "asked", "reason", "sample"),
    [
        (0, 0x4230564D, {}, "magic", None),
        (0, 0x4233564C, {}, "says level 3", None),
        (4, 8, {"block_id": 7}, "number 8.*place 7", None),
        (8, 341, {}, "341 pictures.*340", None),
        (8, 2**32 - 1, {}, "4294967295 pictures", None),
        (8, 1, {"count": 2}, "holds 1 pictures, 2", None),
        (12, 35, {}, "lies outside", 0),  # inside the table, which ends at 36
        (16, BLOCK_BYTES - 9, {}, "lies outside", 1),  # the last byte is one too far
        (24, 2**32 - 10, {}, "lies outside", 1),  # offset + size wraps in 32 bits
        (28, 10, {"num_classes": 10}, "label 10", 0),
        (28, 2**31, {}, "label 2147483648", 0),
    ],
)
def test_what_is_checked(at, value, asked, reason, sample):
    data = bytearray(pack_table(**GOOD))
    parse_table(data, level=0, block_id=7, count=2, num_classes=10)
    data[at : at + 4] = struct.pack("<I", value)
    with pytest.raises(CorruptError, match=reason) as caught:
        parse_table(data, level=0, **asked)
    assert caught.value.sample == sample
    assert caught.value.block == asked.get("block_id")


def test_last_byte_of_a_block_may_be_used():
    data = bytearray(pack_table(**GOOD))
    data[16:20] = struct.pack("<I", BLOCK_BYTES - 10)
    assert parse_table(data, level=0)[0].tolist() == [4096, BLOCK_BYTES - 10]


def test_more_pictures_than_the_reference_reads():
    n = TABLE_CAPACITY[3]
    data = pack_table(3, 0, np.arange(n) * 64 + 16384, np.ones(n, int), np.arange(n))
    assert parse_table(data, level=3)[2].tolist() == list(range(1364))


@pytest.mark.parametrize("length", [0, 3, 11])
def test_shorter_than_a_head(length):
    with pytest.raises(CorruptError, match="shorter"):
        parse_table(pack_table(**GOOD)[:length], level=0)


def test_table_cut_off_by_the_buffer():
    with pytest.raises(CorruptError, match="claims 2 pictures, its table holds 1"):
        parse_table(pack_table(**GOOD)[:35], level=0)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"labels": [0]}, "differ in length"),
        ({"labels": [0, -1]}, "label"),
        ({"labels": [0, 2**31]}, "label"),
        ({"sizes": [64, 2**32]}, "size"),
        ({"sizes": [64, 1.5]}, "size"),
        ({"offsets": [0, 4160]}, "outside"),
        ({"sizes": [64, BLOCK_BYTES]}, "outside"),
        ({"level": 4}, "level is 4"),
    ],
)
def test_pack_refuses_what_could_not_be_read(change, reason):
    with pytest.raises(FormatError, match=reason):
        pack_table(**GOOD | change)


def test_pack_refuses_a_table_that_overflows():
    n = TABLE_CAPACITY[0] + 1
    with pytest.raises(FormatError, match="341 pictures, its table holds 340"):
        pack_table(0, 5, np.arange(n) * 64 + 4096, np.ones(n, int), np.zeros(n, int))


def test_parse_refuses_a_level_that_does_not_exist():
    with pytest.raises(FormatError, match="level"):
        parse_table(pack_table(**GOOD), level=-1)
