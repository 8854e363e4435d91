"""Permutations."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dts import rng
from dts.rng import Kind, philox


def plain_permutation(n, seed, kind=0, split=0, epoch=0, window=0):
    """Fisher and Yates with Python's integers."""
    values = list(range(n))
    c1, c3 = window & 0xFFFFFFFF, kind << 28 | split << 27 | window >> 32
    for i in range(n - 1, 0, -1):
        r0, r1 = rng.philox4x32(seed, [i, c1, epoch, c3]).tolist()[:2]
        j = ((r0 << 32 | r1) * (i + 1)) >> 64
        values[i], values[j] = values[j], values[i]
    return values


@settings(deadline=None, max_examples=80)
@given(
    n=st.integers(0, 150),
    seed=st.integers(0, 2**64 - 1),
    kind=st.sampled_from(Kind),
    split=st.integers(0, 1),
    epoch=st.integers(0, 2**32 - 1),
    window=st.integers(0, 2**44 - 1),
)
def test_equals_the_obvious_version(n, seed, kind, split, epoch, window):
    name = {"kind": kind, "split": split, "epoch": epoch, "window": window}
    ours = rng.permutation(n, seed, **name)
    assert ours.dtype == np.int64
    assert ours.tolist() == plain_permutation(n, seed, **name)
    if n:
        small = np.empty(n, np.uint32)
        philox._permutation_u32(small, seed, kind, split, epoch, window)
        assert small.tolist() == ours.tolist()


@pytest.mark.parametrize("n", [1, 2, 31, 32, 33, 34, 65, 1000, 60_000])
def test_is_a_permutation(n):
    np.testing.assert_array_equal(np.sort(rng.permutation(n, 3)), np.arange(n))


KNOWN = {
    (10, 0): [7, 1, 0, 3, 6, 8, 4, 9, 2, 5],
    (10, 42): [0, 8, 3, 7, 5, 6, 1, 9, 4, 2],
}


@pytest.mark.parametrize(("n", "seed"), KNOWN)
def test_known_answers(n, seed):
    """Orders that training runs depend on: they may never change."""
    assert rng.permutation(n, seed).tolist() == KNOWN[n, seed]


def test_epochs_splits_windows_and_kinds_differ():
    orders = [rng.permutation(50, 1)]
    orders += [rng.permutation(50, 1, **{part: 1}) for part in ("epoch", "split", "window")]
    orders += [rng.permutation(50, 1, kind=Kind.BLOCK_ORDER), rng.permutation(50, 2)]
    assert len({tuple(order) for order in orders}) == len(orders)


def test_every_order_is_equally_likely():
    codes = [int("".join(map(str, rng.permutation(4, seed)))) for seed in range(12_000)]
    _, counts = np.unique(codes, return_counts=True)
    assert len(counts) == 24
    assert ((counts - 500) ** 2 / 500).sum() < 60  # 23 degrees of freedom: p < 1e-4
