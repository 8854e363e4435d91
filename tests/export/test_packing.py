"""The array code of packing.py against the same steps written as plain lists."""

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dts.export import packing

CAPACITY = 4096
LIMIT = 12


def slow_arrange(sizes, min_blocks, capacity, limit):
    """Take the greedy steps one by one on lists; an empty list ends the work."""
    rest = [[i, -(-s // 64) * 64] for i, s in enumerate(sizes)]

    def fits(item, block):
        used = sum(space for _, space in block)
        return item[1] <= capacity - used and len(block) < limit

    def finish(blocks):
        return [[i for i, _ in block] for block in blocks if block]

    blocks = [[] for _ in range(min_blocks)]
    rest.sort(key=lambda item: item[1])
    for block in blocks:
        if not rest:
            return finish(blocks)
        block.append(rest.pop())
    random.Random(42).shuffle(rest)
    for block in blocks:
        while rest and fits(rest[-1], block):
            block.append(rest.pop())
    for _ in range(32):
        if not rest:
            return finish(blocks)
        blocks.sort(key=lambda b: (capacity - sum(space for _, space in b), b))
        rest.sort(key=lambda item: -item[1])
        for block in blocks:
            if rest and fits(rest[-1], block):
                block.append(rest.pop())
    random.Random(42).shuffle(rest)
    last = blocks[-1]
    while rest:
        if not fits(rest[-1], last):
            last = []
            blocks.append(last)
        last.append(rest.pop())
    return finish(blocks)


def slow_sequential(sizes, capacity, limit):
    blocks, used = [[]], 0
    for i, size in enumerate(sizes):
        space = -(-size // 64) * 64
        if space > capacity - used or len(blocks[-1]) == limit:
            blocks.append([])
            used = 0
        blocks[-1].append(i)
        used += space
    return blocks


def as_lists(plan):
    return [plan.block(k).tolist() for k in range(plan.num_blocks)]


def check_blocks(blocks, sizes, capacity, limit):
    assert sorted(i for b in blocks for i in b) == list(range(len(sizes)))
    for block in blocks:
        assert 1 <= len(block) <= limit
        assert sum(-(-sizes[i] // 64) * 64 for i in block) <= capacity


sizes_lists = st.one_of(
    st.lists(st.integers(1, CAPACITY), min_size=1, max_size=150),
    st.lists(st.sampled_from([1, 64, 65, 640, 700, 4000, 4096]), min_size=1, max_size=150),
    st.lists(st.integers(1, 300), min_size=1, max_size=300),
)


@settings(max_examples=300, deadline=None)
@given(sizes=sizes_lists, min_blocks=st.integers(2, 40))
def test_arrange_equals_the_list_version(sizes, min_blocks):
    plan = packing.arrange(sizes, min_blocks, CAPACITY, LIMIT)
    assert as_lists(plan) == slow_arrange(sizes, min_blocks, CAPACITY, LIMIT)
    check_blocks(as_lists(plan), sizes, CAPACITY, LIMIT)


@settings(max_examples=200, deadline=None)
@given(sizes=sizes_lists)
def test_chosen_number_of_blocks(sizes):
    plan = packing.arrange(sizes, None, CAPACITY, LIMIT)
    check_blocks(as_lists(plan), sizes, CAPACITY, LIMIT)
    space = sum(-(-s // 64) * 64 for s in sizes)
    if space <= CAPACITY and len(sizes) <= LIMIT:
        order = list(range(len(sizes)))
        random.Random(42).shuffle(order)
        assert as_lists(plan) == [order]
    else:
        blocks = max(-(-space // CAPACITY) - 1, 1)
        assert as_lists(plan) == slow_arrange(sizes, blocks, CAPACITY, LIMIT)
        assert plan.num_blocks >= blocks


@settings(max_examples=200, deadline=None)
@given(sizes=sizes_lists)
def test_filler_equals_the_list_version(sizes):
    filler, blocks = packing.Filler(CAPACITY, LIMIT), [[]]
    for i, size in enumerate(sizes):
        if filler.add(size):
            blocks.append([])
        blocks[-1].append(i)
    assert blocks == slow_sequential(sizes, CAPACITY, LIMIT)
    check_blocks(blocks, sizes, CAPACITY, LIMIT)


@pytest.mark.parametrize("n", [0, 1, 2, 17, 1000])
def test_shuffle_is_pythons(n):
    expected = list(range(n))
    random.Random(42).shuffle(expected)
    assert packing.shuffled(n).tolist() == expected


def test_full_tables_open_new_blocks():
    plan = packing.arrange([600] * 1000, None, 16 << 20, 340)
    assert np.diff(plan.bounds).tolist() == [340, 340, 320]


def test_imagenet_begins_with_its_own_number():
    sizes = np.full(50_000, 134_200)
    assert packing.choose_min_blocks(sizes, 1000, 16 << 20) == 400
    assert packing.choose_min_blocks(sizes, 999, 16 << 20) == 399
    assert packing.choose_min_blocks(np.full(50_000, 1000), 1000, 16 << 20) == 3


@pytest.mark.parametrize(
    ("sizes", "min_blocks", "words"),
    [([], None, "no picture"), ([CAPACITY + 1], None, "larger"), ([1], 0, "at least 1")],
)
def test_what_cannot_be_arranged(sizes, min_blocks, words):
    with pytest.raises(ValueError, match=words):
        packing.arrange(sizes, min_blocks, CAPACITY, LIMIT)


def test_filler_refuses_and_forgets_a_large_picture():
    filler = packing.Filler(CAPACITY, LIMIT)
    assert filler.add(100) is False
    with pytest.raises(ValueError, match="larger"):
        filler.add(CAPACITY + 1)
    assert filler.add(100) is False
    assert filler.room == CAPACITY - 256
