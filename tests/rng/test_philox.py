"""Philox4x32-10 and the streams cut from it."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dts import rng
from dts.rng import Kind, philox

# Random123's known answers (kat_vectors, philox4x32 with 10 rounds): counter, key, result.
RANDOM123 = """
00000000 00000000 00000000 00000000 00000000 00000000 6627e8d5 e169c58d bc57ac4c 9b00dbd8
ffffffff ffffffff ffffffff ffffffff ffffffff ffffffff 408f276d 41c83b0e a20bc7c6 6d5451fd
243f6a88 85a308d3 13198a2e 03707344 a4093822 299f31d0 d16cfe09 94fdcceb 5001e420 24126ea1
"""

# Of the reference system: seed, 64-bit offset (counter words 0 and 1), r0..r3, bits of the uniform.
REFERENCE = """
0000000000000000 0000000000000000 6627E8D5 E169C58D BC57AC4C 9B00DBD8 3ECC4FD0
0000000000000000 0000000000000001 F8E4CCA4 5CB200DB B1A574EB 097EFF67 3F78E4CC
0000000000000000 0000000000000002 04FAA329 51C732A6 241513AD 459135E4 3C9F5460
0000000000000000 0000000000000003 C990EF29 6A4474A6 9AC9134F 6D413E04 3F4990EF
0000000000000000 00000000FFFFFFFF C5B20A9D 4434EC4E 11BBE4FB 2A1EF7A5 3F45B20A
0000000000000000 0000000100000000 6AD0C5EC EA236249 73A459F5 074944B3 3ED5A18A
0000000000000000 FFFFFFFFFFFFFFFF F3CE744D DFB9980F 5A7CAAD1 25D14252 3F73CE74
0000000000000001 0000000000000000 E3E80670 E50A0EBC 95F222C0 B615AA27 3F63E806
0000000000000001 0000000000000001 AC08141B DFC5CCBE 79C07A47 A7F66093 3F2C0814
000000000000002A 0000000000000000 9CEAF053 77F5493B 12BF50AD 5742B3D7 3F1CEAF0
000000000000002A 0000000000000001 FCDB2127 53BA6CFD 838F5A6E 744E06FB 3F7CDB21
000000000000002A 0000000000000002 D36C0225 A8875DCB 9A4D6D99 C609A559 3F536C02
000000000000002A 0000000000000003 BAC70475 ABAF0DAB 961E5543 610E67F7 3F3AC704
000000000000002A 00000000000003E8 C7F39578 AE44BF6C B9B0A1BB F42D5E4C 3F47F395
000000000000002A 0000000100000000 42E0B8B3 7DBF5DE8 2FE739D4 6AAF03EB 3E85C170
000000000000007B 0000000000000000 11237CDC 66FF3DD8 BFB09D90 30DB7E52 3D891BE0
000000000000007B 0000000000000001 A3C0144E 7D401EAD 34D6591E DE0ECDAF 3F23C014
000000000000007B 0000000000000002 2C1B5AA5 401E267D B2EF73A1 F88DCD49 3E306D68
FFFFFFFFFFFFFFFF 0000000000000000 72A47709 15474739 9F41B01F 22799A5A 3EE548EE
FFFFFFFFFFFFFFFF 0000000000000001 19FED511 4B67E034 9D2C02E2 9FE857B4 3DCFF6A8
0000000100000000 0000000000000000 FDDE3E0B FA7E58B6 3380EC46 D8D55C4F 3F7DDE3E
0000000100000000 0000000000000001 CCF3076A 6306F434 BEA71965 D96FE48A 3F4CF307
9E3779B97F4A7C15 0000000000000000 40892754 4F1A097E 261374E1 2F9E2F43 3E81124E
9E3779B97F4A7C15 0000000000000001 EE03F1F9 C3EB0C5E E467D641 9DC0D8D6 3F6E03F1
000000030000002A 0000000000000000 8072F3BE AC18CACA A1D7396C 24269E2F 3F0072F3
000000030000002A 0000000000000001 C0C0D368 0FCF666C 021FFF6C 30CA84CD 3F40C0D3
000000030005002A 0000000000000000 8B817BB9 7AF9CE1C 54ED9884 C57E0740 3F0B817B
000000030005002A 0000000000000001 3A533ACF 7D5B51D9 06BFB2CC 48D7ED76 3E694CE8
"""


def hexadecimal(table):
    return [[int(word, 16) for word in line.split()] for line in table.split("\n") if line]


def plain_philox(key, counter):
    """Ten rounds as the paper writes them."""
    (left0, right0, left1, right1), keys = counter, [key & 0xFFFFFFFF, key >> 32]
    for _ in range(10):
        high0, low0 = divmod(0xD2511F53 * left0, 2**32)
        high1, low1 = divmod(0xCD9E8D57 * left1, 2**32)
        left0, right0, left1, right1 = (
            high1 ^ right0 ^ keys[0],
            low1,
            high0 ^ right1 ^ keys[1],
            low0,
        )
        keys = [(keys[0] + 0x9E3779B9) % 2**32, (keys[1] + 0xBB67AE85) % 2**32]
    return [left0, right0, left1, right1]


def plain_words(seed, id, count, kind=3, split=0, epoch=0, op=0, view=0):
    c3 = kind << 28 | split << 27 | view << 20 | op << 12 | id >> 32
    blocks = [
        plain_philox(seed % 2**64, (c0, id & 0xFFFFFFFF, epoch, c3))
        for c0 in range(count // 4 + 1)
    ]
    return [word for block in blocks for word in block][:count]


@pytest.mark.parametrize("row", hexadecimal(RANDOM123))
def test_random123(row):
    counter, key, result = row[:4], row[4:6], row[6:]
    assert rng.philox4x32(tuple(key), counter).tolist() == result
    assert rng.philox4x32(key[0] | key[1] << 32, counter).tolist() == result


@pytest.mark.parametrize("row", hexadecimal(REFERENCE))
def test_reference_system(row):
    seed, offset, *result, uniform = row
    words = rng.philox4x32(seed, [offset & 0xFFFFFFFF, offset >> 32, 0, 0])
    assert words.tolist() == result
    assert np.float32((words[0] >> 8) * 2.0**-24).view(np.uint32) == uniform


def test_many_counters_at_once():
    counters = np.random.default_rng(0).integers(0, 2**32, (5, 3, 4))
    words = rng.philox4x32(99, counters)
    assert words.shape == (5, 3, 4)
    assert words.dtype == np.uint32
    for place in np.ndindex(5, 3):
        assert words[place].tolist() == plain_philox(99, counters[place].tolist())
    assert rng.philox4x32(1, np.zeros((0, 4), int)).shape == (0, 4)


STREAMS = {
    "seed": st.integers(-(2**65), 2**65),
    "id": st.integers(0, 2**44 - 1),
    "count": st.integers(0, 13),
    "kind": st.sampled_from(Kind),
    "split": st.integers(0, 1),
    "epoch": st.integers(0, 2**32 - 1),
    "op": st.integers(0, 255),
    "view": st.integers(0, 127),
}


@settings(deadline=None)
@given(st.fixed_dictionaries(STREAMS))
def test_words_of_a_stream(stream):
    assert rng.words(**stream).tolist() == plain_words(**stream)


@settings(deadline=None)
@given(st.fixed_dictionaries(STREAMS), st.integers(1, 2**32 - 1))
def test_uniform_and_random_int(stream, n):
    words = plain_words(**stream)
    uniform = rng.uniform(**stream)
    assert uniform.tolist() == [(word >> 8) / 2**24 for word in words]
    assert (uniform.astype(np.float32) == uniform).all()
    assert rng.random_int(n=n, **stream).tolist() == [word * n >> 32 for word in words]


def test_every_part_of_the_name_makes_another_stream():
    names = [{}, *({part: 1} for part in ("epoch", "op", "view", "split")), {"kind": Kind.MIX}]
    streams = [(42, 7, name) for name in names] + [(43, 7, {}), (42, 8, {}), (42, 7 + 2**32, {})]
    first = {tuple(rng.words(seed, id, 2, **name)) for seed, id, name in streams}
    assert len(first) == len(streams)


def test_draws_are_spread_evenly():
    draws = np.concatenate([rng.uniform(5, id, 8) for id in range(4000)])
    assert draws.min() >= 0
    assert draws.max() < 1
    counts = np.histogram(draws, bins=50, range=(0, 1))[0]
    expected = draws.size / 50
    assert ((counts - expected) ** 2 / expected).sum() < 100  # 49 degrees of freedom: p < 1e-4
    numbers = np.bincount(np.concatenate([rng.random_int(6, id, 7, 8) for id in range(4000)]))
    assert len(numbers) == 7
    assert ((numbers - 32000 / 7) ** 2 / (32000 / 7)).sum() < 30  # 6 degrees of freedom


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: rng.philox4x32(0, [0, 0, 0]), ValueError, "counter: shape"),
        (lambda: rng.philox4x32(0, [0, 0, 0, 2**32]), ValueError, "counter: words"),
        (lambda: rng.philox4x32(0, [0, 0, 0, -1]), ValueError, "counter: words"),
        (lambda: rng.philox4x32(0, [0.0, 0, 0, 0]), TypeError, "counter: whole numbers"),
        (lambda: rng.philox4x32((0, 2**32), [0] * 4), ValueError, "key: 0 to"),
        (lambda: rng.philox4x32((0, 1, 2), [0] * 4), ValueError, "key: a number"),
        (lambda: rng.philox4x32(1.5, [0] * 4), TypeError, "seed: whole"),
        (lambda: rng.words(0, -1), ValueError, "id: 0 to"),
        (lambda: rng.words(0, 2**44), ValueError, "id: 0 to"),
        (lambda: rng.words(0, 0, epoch=2**32), ValueError, "epoch"),
        (lambda: rng.words(0, 0, split=2), ValueError, "split"),
        (lambda: rng.words(0, 0, op=256), ValueError, "op"),
        (lambda: rng.words(0, 0, view=128), ValueError, "view"),
        (lambda: rng.words(0, 0, kind="augment"), TypeError, "kind"),
        (lambda: rng.words(0, 0, -1), ValueError, "count"),
        (lambda: rng.words(None, 0), TypeError, "seed"),
        (lambda: rng.random_int(0, 0, 0), ValueError, "n: 1 or more"),
        (lambda: rng.random_int(0, 0, 2**32), ValueError, "n: 0 to"),
        (lambda: rng.permutation(-1, 0), ValueError, "n: 0 to"),
        (lambda: rng.permutation(2**32 + 1, 0), ValueError, "n: 0 to"),
        (lambda: rng.permutation(3, 0, window=2**44), ValueError, "window"),
    ],
)
def test_wrong_arguments(call, error, message):
    with pytest.raises(error, match=message):
        call()


def ulps(ours, exact):
    return abs(ours - exact) / math.ulp(exact)


@pytest.mark.parametrize("width", [1e-3, 1.0, 20.0, 699.9])
def test_exp(width):
    for x in np.random.default_rng(1).uniform(-width, width, 5000):
        assert ulps(philox._exp(x), math.exp(x)) <= 2
    assert philox._exp(0.0) == 1.0


@pytest.mark.parametrize("width", [1e-3, 0.5, 20.0, 699.9])
def test_log(width):
    for x in np.exp(np.random.default_rng(2).uniform(-width, width, 5000)):
        assert ulps(philox._log(x), math.log(x)) <= 4
    assert philox._log(1.0) == 0.0
    assert philox._log(2.0**-1022) == math.log(2.0**-1022)


def test_log_undoes_exp():
    for x in np.linspace(-2, 2, 1001):
        assert abs(philox._log(philox._exp(x)) - x) < 1e-15
