"""Our Huffman decoder against libjpeg's: same pixels, same errors, same warnings, always."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dts import decode
from dts.decode import jpeg
from dts.errors import DecodeError

PROPERTY = settings(
    max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@pytest.fixture(autouse=True)
def own_decoder(libjpeg):
    before = jpeg.set_own_entropy(True)
    yield
    jpeg.set_own_entropy(before)


def outcome(decoder, data, region=None, channels=3):
    """(pixels or None, reason or None, warnings)."""
    try:
        return decoder.decode(data, region, channels), None, decoder.warnings
    except DecodeError as error:
        return None, str(error), decoder.warnings


def libjpegs(data, region=None, channels=3):
    """What a new decoder gives that leaves everything to libjpeg."""
    jpeg.set_own_entropy(False)
    decoder = decode.Decoder()
    found = outcome(decoder, data, region, channels)
    assert not decoder.own_entropy
    jpeg.set_own_entropy(True)
    return found


def check_same(decoder, data, region=None, channels=3):
    ours, theirs = (
        outcome(decoder, data, region, channels),
        libjpegs(data, region, channels),
    )
    assert ours[1:] == theirs[1:]
    assert np.array_equal(ours[0], theirs[0])


@st.composite
def pictures(draw, photo):
    width, height = draw(st.integers(1, 120)), draw(st.integers(1, 100))
    return photo(
        width,
        height,
        mode=draw(st.sampled_from(["RGB", "RGB", "RGB", "L", "CMYK"])),
        seed=draw(st.integers(0, 99)),
        quality=draw(st.integers(1, 100)),
        subsampling=draw(st.sampled_from(["4:4:4", "4:2:2", "4:2:0"])),
        optimize=draw(st.booleans()),
        progressive=draw(st.integers(0, 9)) == 0,
        restart_marker_blocks=draw(st.sampled_from([0, 0, 1, 3, 50])),
    )


@st.composite
def regions(draw, width, height):
    x, y = draw(st.integers(0, width - 1)), draw(st.integers(0, height - 1))
    return x, y, draw(st.integers(1, width - x)), draw(st.integers(1, height - y))


@given(st.data())
@PROPERTY
def test_whole_files(photo, data):
    file = data.draw(pictures(photo))
    head = decode.header(file)
    region = data.draw(st.none() | regions(head.width, head.height))
    decoder = decode.Decoder()
    check_same(decoder, file, region, data.draw(st.sampled_from([1, 3])))
    assert decoder.own_entropy == (not head.progressive)


@given(st.data())
@PROPERTY
def test_damaged_files(photo, data):
    """And the decoder that met them reads the next picture as a new one would."""
    file = data.draw(pictures(photo))
    head = decode.header(file)
    region = data.draw(st.none() | regions(head.width, head.height))
    decoder = decode.Decoder()
    rng = np.random.default_rng(data.draw(st.integers(0, 1 << 32)))
    for _ in range(12):
        bad = bytearray(file)
        for _ in range(rng.integers(1, 4)):
            bad[rng.integers(2, len(bad))] = rng.choice([0, 0xFF, rng.integers(256)])
        if rng.random() < 0.2:
            del bad[rng.integers(len(bad)) :]
        if rng.random() < 0.1:
            bad[-2:-2] = bytes(int(rng.integers(1, 9)))
        try:
            changed = decode.header(bytes(bad))
        except DecodeError:
            continue
        where = region if changed[:2] == head[:2] else None
        if changed.width * changed.height < 1 << 18:
            check_same(decoder, bytes(bad), where)
    check_same(decoder, file, region)


def test_rows_before_the_fault_are_kept(photo):
    """The decoder gives up in the middle: a region above the fault is good, the rest is told."""
    file = photo(200, 300, quality=90)
    whole = decode.decode(file)
    scan = file.index(b"\xff\xda") + 14
    at = scan + (len(file) - scan) * 2 // 3
    bad = file[:at] + b"\xff\xd9" + file[at:]
    decoder = decode.Decoder()
    with pytest.raises(DecodeError, match="end marker FF D9 after row"):
        decoder.decode(bad)
    assert not decoder.own_entropy
    assert np.array_equal(decoder.decode(bad, (0, 0, 200, 100)), whole[:100])
    assert decoder.own_entropy
    assert np.array_equal(decoder.decode(file), whole)


ENDS = [
    b"",
    b"\xff",
    b"\x00\xff\xd9",
    b"\xff\xff\xd9",
    b"\xff\xd0\xff\xd9",
    bytes(range(1, 40)) + b"\xff\xd9",
]


@pytest.mark.parametrize("end", ENDS)
def test_odd_ends(photo, end):
    """Stray bytes and what else may stand where the end marker should."""
    file = photo(64, 48)
    check_same(decode.Decoder(), file[:-2] + end)


@pytest.mark.parametrize("subsampling", ["4:2:0", "4:4:4"])
@pytest.mark.parametrize("end", ENDS)
def test_odd_ends_of_a_spliced_part(photo, end, subsampling):
    """Of the part, then of the whole picture, which is asked by its last row only."""
    file = photo(64, 47, subsampling=subsampling, restart_marker_rows=1)[:-2] + end
    before = jpeg.set_splicing("always")
    try:
        for region in (None, (0, 30, 64, 17), (10, 46, 3, 1)):
            check_same(decode.Decoder(), file, region)
    finally:
        jpeg.set_splicing(before)


@pytest.mark.parametrize("factors", [[(2, 2), (2, 1), (1, 2)], [(4, 2), (1, 1), (1, 1)], [(2, 2)]])
@pytest.mark.parametrize("restart", [0, 2])
def test_odd_sampling(make, factors, restart):
    file = make(75, 66, factors, restart=restart)
    decoder = decode.Decoder()
    for region in (None, (0, 0, 1, 1), (40, 30, 30, 30), (74, 65, 1, 1)):
        check_same(decoder, file, region)
        assert decoder.own_entropy


@pytest.mark.parametrize("scans", [[[0], [1], [2]], [[0], [1, 2]], [[0], [0, 1, 2]]])
def test_several_scans_are_left_to_libjpeg(make, scans):
    decoder = decode.Decoder()
    check_same(decoder, make(50, 45, [(1, 1)] * 3, scans=scans))
    assert not decoder.own_entropy


def test_oddities_of_a_spliced_part(make):
    """The part is read anew, so damage outside of it is unseen, as with libjpeg's decoder."""
    file = make(24, 8, [(1, 1)], restart=1)
    head = file[: file.index(b"\xff\xda") + 10]
    no_code = b"\xf0\x00"
    past_the_end = b"\x00\x10\x10\x10\x1f"  # DC 0, four times 16 zeros: libjpeg says nothing
    zero = b"\x00\x0f"
    bad = head + no_code + b"\xff\xd0" + past_the_end + b"\xff\xd1" + zero + b"\xff\xd9"
    decoder = decode.Decoder()
    assert decoder.decode(bad, (10, 0, 2, 2)).shape == (2, 2, 3)
    assert decoder.spliced == 1
    assert not decoder.own_entropy
    for region in ((10, 0, 2, 2), (18, 0, 2, 2), None):
        check_same(decoder, bad, region)


def test_tables_that_no_scan_uses_are_not_read(make):
    """Behind the last of several scans: codes that do not exist, values of 200 bits."""
    file = make(50, 45, [(1, 1)] * 3, scans=[[0], [0, 1, 2]])
    whole = decode.decode(file)
    for kind in (0x00, 0x10):
        table = bytes([kind, 200] + [0] * 15) + bytes(range(200))
        bad = file[:-2] + b"\xff\xc4" + (len(table) + 2).to_bytes(2, "big") + table + file[-2:]
        decoder = decode.Decoder()
        assert np.array_equal(decoder.decode(bad), whole)
        assert not decoder.own_entropy
        check_same(decoder, bad)


def test_a_file_without_tables_fails_as_in_a_new_decoder(photo):
    """Tables of the picture before, equal or not, must not serve it."""
    file = photo(64, 48)
    bare = bytearray(file[:2])
    at = 2
    while file[at + 1] != 0xDA:
        length = 2 + int.from_bytes(file[at + 2 : at + 4], "big")
        if file[at + 1] != 0xC4:
            bare += file[at : at + length]
        at += length
    bare = bytes(bare) + file[at:]
    decoder = decode.Decoder()
    for other in (file, photo(64, 48, optimize=True)):
        decoder.decode(other)
        check_same(decoder, bare)


def test_runs_and_values_of_every_size(make):
    """Coefficients up to 10 bits, runs up to 16 zeros, by codes that are all 8 bits long."""
    decoder = decode.Decoder()
    for seed in range(20):
        file = make(64, 64, [(1, 1)] * 3, seed=seed)
        check_same(decoder, file)
        check_same(decoder, file, (24, 24, 8, 8))
        assert decoder.own_entropy


def test_tables_that_come_often_are_shared_by_threads(photo):
    """Standard tables become common after some pictures; those of one file in between do not."""
    files = [
        photo(
            150,
            120,
            seed=k,
            quality=60 + k,
            optimize=k % 5 == 4,
            mode="L" if k % 7 == 6 else "RGB",
        )
        for k in range(30)
    ]
    region = (40, 50, 60, 40)
    wanted = [(libjpegs(f, region), libjpegs(f)) for f in files]

    def one(start):
        decoder = decode.Decoder()
        for k in [*range(start, 30), *range(start)] * 3:
            for got, expected in (
                (outcome(decoder, files[k], region), wanted[k][0]),
                (outcome(decoder, files[k]), wanted[k][1]),
            ):
                assert decoder.own_entropy
                assert got[1:] == expected[1:]
                assert np.array_equal(got[0], expected[0])

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(one, range(0, 30, 5)))
