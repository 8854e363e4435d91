"""MixUp and CutMix: numbers of Beta(alpha, alpha), choices, boxes, kernels, arguments."""

import math

import numpy as np
import pytest
import reference

from dts import CutMix, MixUp
from dts.transforms import Mixing
from dts.transforms.mix import beta_numbers, mix_rows, shares_of


def beta_distribution(a, x):
    """P(Beta(a, a) <= x), by the continued fraction of the incomplete beta function (Lentz)."""
    x = np.asarray(x, float)
    small = x <= 0.5
    y = np.where(small, x, 1 - x)
    with np.errstate(divide="ignore"):
        front = np.exp(a * (np.log(y) + np.log1p(-y)) + math.lgamma(2 * a) - 2 * math.lgamma(a))
    tiny = 1e-300
    c, d = np.ones_like(y), 1 / np.where(np.abs(t := 1 - 2 * a * y / (a + 1)) < tiny, tiny, t)
    h = d.copy()
    for m in range(1, 400):
        for k in (
            m * (a - m) * y / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (2 * a + m) * y / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 / (1 + k * d)
            c = 1 + k / c
            h *= d * c
    value = front * h / a
    return np.where(small, value, 1 - value)


def ks(samples, distribution):
    """Kolmogorov-Smirnov distance times the square root of n."""
    x = np.sort(samples)
    n = len(x)
    f = distribution(x)
    steps = np.arange(1, n + 1) / n
    return max((steps - f).max(), (f - steps + 1 / n).max()) * math.sqrt(n)


@pytest.mark.parametrize("alpha", [0.1, 0.2, 0.5, 1.0, 1.0001, 2.0, 8.0, 100.0, 1000.0])
def test_lam_is_beta_distributed(alpha):
    numbers = beta_numbers(alpha, 7, 100_000)
    assert numbers.min() >= 0
    assert numbers.max() <= 1
    # Close to 1 a float64 cannot tell them apart: each half by its distance from the end.
    low, high = numbers[numbers < 0.5], 1 - numbers[numbers > 0.5]
    assert ks(low, lambda x: 2 * beta_distribution(alpha, x)) < 1.95  # passes in 99.9 %
    far = high[high > 1e-9]
    least = float(beta_distribution(alpha, 1e-9))
    assert ks(far, lambda x: (beta_distribution(alpha, x) - least) / (0.5 - least)) < 1.95
    assert abs(len(low) - 50_000) < 3.3 * math.sqrt(25_000)
    assert abs(numbers.mean() - 0.5) < 5 * numbers.std() / math.sqrt(len(numbers))
    assert numbers.std() == pytest.approx(math.sqrt(0.25 / (2 * alpha + 1)), rel=0.02)


def test_the_reference_distribution_is_right():
    x = np.linspace(0.01, 0.99, 99)
    assert np.allclose(beta_distribution(1.0, x), x)
    assert np.allclose(beta_distribution(2.0, x), x * x * (3 - 2 * x))
    assert np.allclose(beta_distribution(0.5, x), 2 / np.pi * np.arcsin(np.sqrt(x)))


def test_a_tiny_alpha_takes_one_of_two():
    numbers = beta_numbers(0.001, 3, 20_000)
    assert np.isfinite(numbers).all()
    ends = (numbers < 1e-6) | (numbers > 1 - 1e-6)
    assert ends.mean() > 0.97
    assert (numbers > 0.5).mean() == pytest.approx(0.5, abs=0.02)


class MixStream(reference.Stream):
    """The words of a batch."""

    def __init__(self, seed, epoch, batch, view=0):
        super().__init__(seed, epoch, 0, batch, 0)
        self.word3 = 5 << 28 | view << 20

    def between(self):
        return (next(self.words) + 0.5) / 2**32


def johnk(alpha, stream):
    while True:
        x, y = (math.log(stream.between()) / alpha for _ in range(2))
        if math.exp(x) + math.exp(y) <= 1:
            return 1 / (1 + math.exp(y - x))


def test_draws_follow_the_documented_words():
    mixing = Mixing([MixUp(0.3), CutMix(1.0)], (0.5, 0.3), 10)
    chosen = []
    for batch in range(300):
        stream = MixStream(11, 4, batch, 3)
        op, lam, box = mixing.describe(11, 4, batch, 48, 64, 3)
        u = stream.uniform()
        chosen.append(op)
        if u >= 0.8:
            assert (op, lam, box) == (None, 1.0, None)
        elif u < 0.5:
            assert op == MixUp(0.3)
            assert box is None
            assert lam == pytest.approx(johnk(0.3, stream), rel=1e-6)
        else:
            assert op == CutMix(1.0)
            half = 0.5 * math.sqrt(1 - johnk(1.0, stream))
            cx, cy = stream.integer(64), stream.integer(48)
            rx, ry = int(half * 64), int(half * 48)
            left, top = max(cx - rx, 0), max(cy - ry, 0)
            right, bottom = min(cx + rx, 64), min(cy + ry, 48)
            assert box == (top, left, bottom - top, right - left)
            area = (right - left) * (bottom - top)
            assert lam == np.float32(1 - area / (48 * 64))
    assert chosen.count(None) == pytest.approx(60, abs=25)
    assert chosen.count(CutMix(1.0)) == pytest.approx(90, abs=30)


def test_the_centre_of_the_box_is_anywhere():
    mixing = Mixing([CutMix(1000.0)], (1.0,), 2)  # lam about 1/2: sides of 0.7
    boxes = [mixing.describe(1, 0, batch, 1000, 1000)[2] for batch in range(100_000)]
    jitter = np.random.default_rng(0)
    for axis in range(2):
        left, width = (np.array(boxes)[:, axis + k] for k in (0, 2))
        inside = (left > 0) & (left + width < 1000)
        left, width = left[inside], width[inside]
        assert len(left) > 20_000
        # Any of 999 - width places is as likely; what is drawn beside spreads each to an interval.
        spread = (left - 1 + jitter.random(len(left))) / (999 - width)
        assert ks(spread, lambda x: np.clip(x, 0, 1)) < 1.95
    assert abs(inside.mean() - 0.29) < 0.01


def test_operations_are_chosen_as_often_as_they_should():
    shares = (0.1, 0.25, 0.4)
    ops = (MixUp(1.0), CutMix(1.0), MixUp(2.0))
    mixing = Mixing(ops, shares, 2)
    n = 100_000
    chosen = [mixing.describe(5, 1, batch, 8, 8)[0] for batch in range(n)]
    for op, p in (*zip(ops, shares, strict=True), (None, 0.25)):
        assert abs(chosen.count(op) - n * p) < 3.9 * math.sqrt(n * p * (1 - p))


def wanted(a, b, lam):
    lam = np.float32(lam)
    x, y = a.astype(np.float32), b.astype(np.float32)
    mixed = lam * x + (np.float32(1) - lam) * y
    if a.dtype == np.uint8:
        return np.floor(mixed + np.float32(0.5)).astype(np.uint8)
    return mixed.astype(a.dtype)


@pytest.mark.parametrize("dtype", ["float32", "float16", "uint8"])
@pytest.mark.parametrize("n", [0, 1, 7, 8, 9, 31, 1000])
def test_rows_are_mixed_exactly(each_isa, dtype, n):
    rng = np.random.default_rng(n)
    for lam in (0.0, 1.0, 0.5, 0.3, 0.9999, 1e-6, *rng.random(5)):
        if dtype == "uint8":
            a, b = rng.integers(0, 256, (2, n), np.uint8)
        else:
            a, b = rng.normal(0, 2, (2, n)).astype(dtype)
        x, y = a.copy(), b.copy()
        mix_rows(x, y, lam)
        assert np.array_equal(x, wanted(a, b, lam))
        assert np.array_equal(y, wanted(b, a, lam))


def test_all_half_numbers_survive(each_isa):
    bits = np.arange(1 << 16, dtype=np.uint16)
    values = bits.view(np.float16)
    a, b = values.copy(), np.zeros(1 << 16, np.float16)
    mix_rows(a, b, 1.0)
    finite = np.isfinite(values)
    assert np.array_equal(a[finite], values[finite])
    assert np.isnan(a[np.isnan(values)]).all()


def test_bytes_never_wrap(each_isa):
    full = np.full(256, 255, np.uint8)
    for lam in np.random.default_rng(0).random(500).astype(np.float32):
        a, b = full.copy(), full.copy()
        mix_rows(a, b, lam)
        assert (a == 255).all()
        assert (b == 255).all()


def test_rows_that_do_not_go_together():
    with pytest.raises(ValueError, match="same dtype"):
        mix_rows(np.zeros(3, np.float32), np.zeros(3, np.float16), 0.5)
    with pytest.raises(TypeError, match="float64"):
        mix_rows(np.zeros(3), np.zeros(3), 0.5)


@pytest.mark.parametrize("make", [MixUp, CutMix])
def test_arguments(make):
    for alpha in (0, -1, float("nan"), float("inf"), 2000, "1", None):
        with pytest.raises(ValueError, match="alpha"):
            make(alpha)
    for classes in (0, -1, 1.5, "3", True, 1 << 30):
        with pytest.raises(ValueError, match="num_classes"):
            make(1.0, classes)
    assert repr(make(0.2, 10)) == f"{make.__name__}(alpha=0.2, num_classes=10)"
    assert make() == make(1.0)
    assert make() != make(0.5)
    assert len({make(), make(1)}) == 1
    assert MixUp() != CutMix()


def test_shares():
    ops = (MixUp(), CutMix())
    assert shares_of(ops, None) == (0.5, 0.5)
    assert shares_of(ops, 0.5) == (0.25, 0.25)
    assert shares_of(ops, (0.2, 0.8)) == (0.2, 0.8)
    for p in (-0.1, 1.1, float("nan"), (0.5,), (0.6, 0.6), (0.5, "x"), (0.1, 0.1, 0.1)):
        with pytest.raises(ValueError, match="p"):
            shares_of(ops, p)
    ten = shares_of((MixUp(),) * 10, None)
    mixing = Mixing((MixUp(),) * 10, ten, 2)
    assert all(mixing.describe(0, 0, k, 4, 4)[0] is not None for k in range(2000))
    with pytest.raises(ValueError, match="at most 16"):
        Mixing((MixUp(),) * 17, (0.0,) * 17, 2)
