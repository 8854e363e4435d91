"""float32 to float16 by integer arithmetic, against numpy's conversion."""

import numpy as np

from dts.kernels import kernels


def half_bits(bits):
    values = np.ascontiguousarray(bits, np.uint32).view(np.float32)
    out = np.empty(values.shape, np.uint16)
    kernels._to_half(values, out)
    with np.errstate(over="ignore"):
        return out, values.astype(np.float16).view(np.uint16)


def test_every_half_and_its_neighbours():
    exact = np.arange(65536, dtype=np.uint16).view(np.float16)
    exact = exact[np.isfinite(exact)].astype(np.float32)
    between = (exact[1:] + exact[:-1]) / 2  # ties and near ties
    bits = np.concatenate([exact, between, [np.inf, -np.inf, 65519.996, 65520]]).astype(np.float32)
    bits = bits.view(np.uint32)
    for step in (-1, 0, 1):
        ours, numpys = half_bits((bits.astype(np.int64) + step).clip(0).astype(np.uint32))
        number = ~np.isnan(numpys.view(np.float16))
        np.testing.assert_array_equal(ours[number], numpys[number])


def test_random_bits():
    bits = np.random.default_rng(1).integers(0, 1 << 32, 1_000_000, np.uint32)
    ours, numpys = half_bits(bits)
    number = ~np.isnan(numpys.view(np.float16))
    assert number.any()
    np.testing.assert_array_equal(ours[number], numpys[number])


def test_nan_is_quiet_and_keeps_its_payload():
    ours, _ = half_bits([0x7F800001, 0xFFC00000, 0x7FFFFFFF, 0xFF802000])
    assert [hex(v) for v in ours] == ["0x7e00", "0xfe00", "0x7fff", "0xfe01"]
