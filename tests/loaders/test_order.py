"""The order of an epoch against the obvious Python version of docs/architecture.md."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dts.errors import ConfigError
from dts.loaders.order import check_blocks, epoch_order

MASK = 0xFFFFFFFF


def philox(seed, counter):
    c = list(counter)
    k0, k1 = seed & MASK, seed >> 32 & MASK
    for _ in range(10):
        p0, p1 = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(p1 >> 32) ^ c[1] ^ k0, p1 & MASK, (p0 >> 32) ^ c[3] ^ k1, p0 & MASK]
        k0, k1 = (k0 + 0x9E3779B9) & MASK, (k1 + 0xBB67AE85) & MASK
    return c


def permuted(items, seed, kind, split, epoch, c1=0):
    items = list(items)
    for i in range(len(items) - 1, 0, -1):
        r = philox(seed, (i, c1, epoch, kind << 28 | split << 27))
        j = ((r[0] << 32 | r[1]) * (i + 1)) >> 64
        items[i], items[j] = items[j], items[i]
    return items


def obvious_order(counts, order, window, seed, epoch, split):
    starts = np.cumsum([0, *counts])
    samples_of = [list(range(starts[b], starts[b + 1])) for b in range(len(counts))]
    if order == "global":
        return permuted(range(starts[-1]), seed, 0, split, epoch)
    blocks = list(range(len(counts)))
    if order == "window":
        blocks = permuted(blocks, seed, 1, split, epoch)
    windows = -(-len(blocks) // window) if blocks else 0
    out = []
    for w in range(windows):
        mine = blocks[w * len(blocks) // windows : (w + 1) * len(blocks) // windows]
        ids = [id for b in mine for id in samples_of[b]]
        out += permuted(ids, seed, 2, split, epoch, c1=w) if order == "window" else ids
    return out


def test_oracle_knows_philox():
    """Known answers of Random123 for Philox4x32-10."""
    assert philox(0, (0, 0, 0, 0)) == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]
    ones = (MASK,) * 4
    assert philox(2**64 - 1, ones) == [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]


@settings(max_examples=60, deadline=None)
@given(
    counts=st.lists(st.integers(0, 9), max_size=14),
    order=st.sampled_from(["sequential", "window", "global"]),
    window=st.integers(1, 16),
    seed=st.integers(0, 2**64 - 1),
    epoch=st.integers(0, 2**32 - 1),
    split=st.sampled_from(["train", "val"]),
)
def test_equals_the_obvious_version(counts, order, window, seed, epoch, split):
    ids = epoch_order(counts, order=order, window=window, seed=seed, epoch=epoch, split=split)
    assert ids.dtype == np.int64
    expected = obvious_order(counts, order, window, seed, epoch, int(split == "val"))
    assert ids.tolist() == expected
    assert sorted(expected) == list(range(sum(counts)))


def test_a_known_order():
    """Written down, so that no later change can move it unseen."""
    kw = {"seed": 42, "epoch": 3}
    assert epoch_order([10], order="global", **kw).tolist() == [2, 4, 6, 0, 8, 1, 7, 3, 9, 5]
    by_window = epoch_order([3, 2, 4, 1], order="window", window=2, **kw)
    assert by_window.tolist() == [0, 9, 2, 1, 4, 3, 6, 7, 8, 5]


def test_every_setting_counts():
    counts = [20] * 10
    base = epoch_order(counts, order="window", seed=1, epoch=1)
    for change in (
        {"seed": 2},
        {"seed": 1 + 2**32},
        {"epoch": 2},
        {"split": "val"},
        {"window": 4},
        {"order": "global"},
    ):
        other = epoch_order(counts, **{"order": "window", "seed": 1, "epoch": 1, **change})
        assert other.tolist() != base.tolist(), change


def test_windows_keep_their_blocks_together():
    """Sizes differ by one block at most: 10 blocks by 4 are windows of 3, 3 and 4."""
    ids = epoch_order([100] * 10, order="window", window=4, seed=9)
    blocks = ids // 100
    parts = [set(blocks[:300]), set(blocks[300:600]), set(blocks[600:])]
    assert [len(p) for p in parts] == [3, 3, 4]
    assert set.union(*parts) == set(range(10))


def test_seed_is_taken_mod_2_to_64():
    assert np.array_equal(
        epoch_order([50], order="global", seed=-1),
        epoch_order([50], order="global", seed=2**64 - 1),
    )
    assert np.array_equal(
        epoch_order([50], order="global", seed=np.int64(5)),
        epoch_order([50], order="global", seed=5),
    )


def test_order_of_a_large_set_is_a_permutation():
    ids = epoch_order(np.full(1000, 312), order="global", seed=3)
    assert np.array_equal(np.sort(ids), np.arange(312_000))


@pytest.mark.parametrize(
    "wrong", [{"order": "random"}, {"split": "test"}, {"window": 0}, {"window": -3}]
)
def test_wrong_settings(wrong):
    with pytest.raises(ConfigError):
        epoch_order([5], **wrong)


def test_blocks_out_of_range():
    with pytest.raises(ConfigError, match="2097153"):
        check_blocks(np.zeros(2**21 + 1, np.int8))
    with pytest.raises(ConfigError, match="1364"):
        check_blocks([1365])
    with pytest.raises(ConfigError, match="-1"):
        check_blocks([-1])
    with pytest.raises(OverflowError):
        epoch_order([5], epoch=-1)
