"""Damaged files: one named error, never a crash, never a silent wrong picture, nothing leaked."""

import gc
import sys

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dts import decode
from dts.errors import DecodeError

PROPERTY = settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def outcome(data, region=None):
    """(pixels or None, reason or None, warnings)."""
    decoder = decode.Decoder()
    try:
        return decoder.decode(data, region), None, decoder.warnings
    except DecodeError as error:
        return None, str(error), decoder.warnings


@pytest.fixture
def no_huge_pictures():
    before = decode.set_pixel_limit(1 << 18)
    yield
    decode.set_pixel_limit(before)


@pytest.mark.parametrize("options", [{}, {"progressive": True}, {"restart_marker_blocks": 2}])
def test_cut_at_every_length(options, photo, backend, capfd):
    file = photo(40, 24, quality=30, subsampling="4:2:0", **options)
    whole = decode.decode(file)
    for length in range(len(file)):
        pixels, reason, warnings = outcome(file[:length])
        if length >= len(file) - 2 and backend != "simplejpeg":
            assert np.array_equal(pixels, whole)
            assert warnings == 1
        else:
            assert reason, length
    assert capfd.readouterr() == ("", "")


def test_missing_end_marker_counts_once(photo, make, backend):
    files = [
        photo(subsampling="4:2:0"),
        photo(subsampling="4:4:4", restart_marker_rows=1),
        photo(progressive=True),
        photo(mode="L"),
        photo(mode="CMYK"),
        make(50, 45, [(1, 1)] * 3, scans=[[0], [1], [2]]),
    ]
    for file in files:
        whole = decode.decode(file)
        for cut in (file[:-1], file[:-2]):
            pixels, reason, warnings = outcome(cut)
            if backend == "simplejpeg":
                assert reason == "simplejpeg: Premature end of JPEG file"
            else:
                assert np.array_equal(pixels, whole)
                assert warnings == 1
        assert outcome(file)[2] == 0


@pytest.mark.parametrize(
    "stray", [bytes(228), bytes(range(1, 229)), b"\xff\xd3", b"\xff\xe1\x00\x04ab"]
)
@pytest.mark.parametrize("progressive", [False, True])
def test_bytes_before_the_end_marker(stray, progressive, photo, backend, capfd):
    file = photo(progressive=progressive)
    pixels, reason, warnings = outcome(file[:-2] + stray + file[-2:])
    markers = stray[0] == 0xFF
    if backend == "simplejpeg" and not markers:
        assert "extraneous bytes before marker 0xd9" in reason
    else:
        assert np.array_equal(pixels, decode.decode(file))
        assert warnings == (0 if backend == "simplejpeg" or (progressive and markers) else 1)
    assert capfd.readouterr() == ("", "")


def test_region_above_the_damage_is_good(photo, libjpeg):
    file = photo(64, 96, subsampling="4:2:0")
    cut = file[: len(file) * 6 // 10]
    pixels, _, warnings = outcome(cut, (10, 3, 20, 30))
    assert np.array_equal(pixels, decode.decode(file)[3:33, 10:30])
    assert warnings == 0
    assert "of 96" in outcome(cut, (10, 60, 20, 30))[1]
    assert "of 96" in outcome(cut)[1]


def test_reasons(photo, make, backend):
    baseline = photo(64, 48, quality=90, subsampling="4:4:4")
    progressive = photo(64, 48, progressive=True)
    frame = baseline.index(b"\xff\xc0")
    larger = baseline[: frame + 5] + b"\x01\xe0\x02\x80" + baseline[frame + 9 :]
    restarts = make(50, 45, [(2, 2), (1, 1), (1, 1)], restart=2)
    cases = {
        "half": (baseline[: len(baseline) // 2], r"data ends after row (8|16|24) of 48"),
        "header": (baseline[:100], "data ends inside the header, at byte 100"),
        "last byte": (baseline[:-3], "data ends after row 40 of 48"),
        "progressive": (progressive[: len(progressive) // 2], r"data ends in scan \d"),
        "larger than its data": (
            larger,
            r"end marker FF D9 after row 0 of 480, pixels are missing",
        ),
        "lost restart marker": (
            restarts.replace(b"\xff\xd1", b""),
            r"lost restart marker after row 16 of 45: \d+ stray bytes before RST2",
        ),
        "wrong restart marker": (
            restarts.replace(b"\xff\xd1", b"\xff\xd5"),
            "lost restart marker after row .* found FF D5 instead of RST1",
        ),
        "stray bytes before a restart marker": (
            make(50, 45, [(2, 2), (1, 1), (1, 1)], restart=2, before=lambda n: b"\0\0" * (n == 1)),
            "after row 16 of 45: 2 stray bytes before RST2",
        ),
    }
    for name, (file, reason) in cases.items():
        if backend == "simplejpeg" and name != "header":
            reason = "simplejpeg: "
        with pytest.raises(DecodeError, match=reason):
            decode.decode(file)


def test_component_without_a_scan(make, libjpeg):
    with pytest.raises(DecodeError, match="no scan has component 2"):
        decode.decode(make(50, 45, [(1, 1)] * 3, scans=[[0], [1]]))


def test_progressive_that_ends_between_scans(photo, libjpeg):
    file = photo(progressive=True)
    starts = [i for i in range(len(file)) if file[i : i + 2] == b"\xff\xda"]
    for number, start in enumerate(starts[1:], 1):
        cut = file[: file.rindex(b"\xff\xc4", 0, start)]
        with pytest.raises(DecodeError, match=f"data ends after scan ({number}|{number - 1})"):
            decode.decode(cut)


def test_many_scans(make, photo, backend):
    repeated = [[0], [1], [2]] + [[1]] * 97
    file = make(9, 9, [(1, 1)] * 3, scans=repeated)
    assert decode.decode(file).shape == (9, 9, 3)
    with pytest.raises(DecodeError, match="more than 100 scans"):
        decode.decode(make(9, 9, [(1, 1)] * 3, scans=[*repeated, [1]]))
    progressive = photo(progressive=True)
    last = progressive.rindex(b"\xff\xda")
    bomb = progressive[:-2] + progressive[last:-2] * 200 + progressive[-2:]
    with pytest.raises(DecodeError, match="scan"):
        decode.decode(bomb)


def test_pixel_limit(photo, backend):
    file = photo(64, 48)
    before = decode.set_pixel_limit(64 * 48)
    try:
        assert decode.decode(file).shape == (48, 64, 3)
        decode.set_pixel_limit(64 * 48 - 1)
        with pytest.raises(DecodeError, match="64 x 48 = 3072 pixels, over the limit of 3071"):
            decode.decode(file)
    finally:
        assert decode.set_pixel_limit(before) == 64 * 48 - 1
    assert before == 1 << 28
    with pytest.raises(ValueError, match="0 pixels"):
        decode.set_pixel_limit(0)


@given(
    st.binary(max_size=300),
    st.sampled_from([b"", b"\xff\xd8", b"\xff\xd8\xff", b"\xff\xd8\xff\xc0"]),
)
@PROPERTY
def test_random_bytes(backend, data, start):
    pixels, reason, _ = outcome(start + data)
    assert (pixels is None) == bool(reason)


def test_every_header_byte_changed(photo, backend, no_huge_pictures, capfd):
    file = photo(24, 20, subsampling="4:2:0", quality=30)
    scan = file.index(b"\xff\xda") + 14
    for at in range(scan):
        for value in {0, 255, file[at] ^ 1, file[at] ^ 0x10} - {file[at]}:
            changed = file[:at] + bytes([value]) + file[at + 1 :]
            pixels, reason, _ = outcome(changed)
            assert (pixels is None) == bool(reason)
    assert capfd.readouterr() == ("", "")


@given(st.data())
@PROPERTY
def test_noise_in_the_data(backend, photo, data):
    file = bytearray(
        photo(
            48,
            40,
            seed=data.draw(st.integers(0, 3)),
            progressive=data.draw(st.booleans()),
            restart_marker_blocks=data.draw(st.sampled_from([0, 2])),
        )
    )
    for at in data.draw(st.lists(st.integers(150, len(file) - 1), min_size=1, max_size=8)):
        file[at] = data.draw(st.integers(0, 255))
    before = decode.set_pixel_limit(1 << 18)
    try:
        for region in (None, (5, 20, 17, 3)):
            try:
                pixels, reason, _ = outcome(bytes(file), region)
            except ValueError:  # the size was hit, and the region lies outside now
                continue
            assert (pixels is None) == bool(reason)
    finally:
        decode.set_pixel_limit(before)


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_nothing_leaks(photo, make, backend):
    baseline = photo(200, 150)
    progressive = photo(200, 150, progressive=True)
    files = [
        baseline[: len(baseline) // 2],
        progressive[: len(progressive) // 2],
        baseline[:300],
        b"<html>",
        make(50, 45, [(3, 1), (2, 1), (1, 1)]),
    ]
    good = photo(40, 30)
    decoder = decode.Decoder()

    def work(times):
        for _ in range(times):
            for file in files:
                with pytest.raises(DecodeError):
                    decoder.decode(file)
                with pytest.raises(DecodeError):
                    decode.decode(file)
            for _ in range(5):
                decoder.decode(good, (9, 9, 9, 9))
        gc.collect()

    work(30)
    before = resident()
    work(200)
    assert resident() - before < 1 << 20


def test_decoder_works_after_each_failure(photo, backend):
    file = photo(subsampling="4:2:0")
    whole = decode.decode(file)
    decoder = decode.Decoder()
    for length in (0, 50, 300, len(file) // 2, len(file) - 20):
        with pytest.raises(DecodeError):
            decoder.decode(file[:length])
        assert np.array_equal(decoder.decode(file), whole)
        with pytest.raises(DecodeError):
            decoder.header(file[: min(length, 100)])
        assert np.array_equal(decoder.decode(file, (3, 3, 9, 9)), whole[3:12, 3:12])
