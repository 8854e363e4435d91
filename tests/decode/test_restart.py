"""Reading only the restart intervals that a region needs: the same pixels, warnings and errors."""

import io
import struct

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from PIL import Image

from dts import decode
from dts.errors import DecodeError

PROPERTY = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
FACTORS = {
    "444": [(1, 1)] * 3,
    "422": [(2, 1), (1, 1), (1, 1)],
    "420": [(2, 2), (1, 1), (1, 1)],
    "440": [(1, 2), (1, 1), (1, 1)],
    "411": [(4, 1), (1, 1), (1, 1)],
    "441": [(1, 4), (1, 1), (1, 1)],
    "410": [(4, 2), (1, 1), (1, 1)],
    "3x1": [(3, 1), (1, 1), (1, 1)],
    "coarse luma": [(1, 1), (2, 2), (2, 2)],
    "mixed": [(2, 2), (2, 1), (1, 2)],
    "grey": [(1, 1)],
    "grey 2x2": [(2, 2)],
    "cmyk": [(1, 1)] * 4,
    "cmyk 420": [(2, 2), (1, 1), (1, 1), (2, 2)],
}


@pytest.fixture(autouse=True)
def _with_libjpeg(each_libjpeg):
    yield
    decode.set_splicing("auto")


def outcome(data, region, when, channels=3):
    """(pixels, reason, warnings, whether intervals were spliced)."""
    decode.set_splicing(when)
    decoder = decode.Decoder()
    try:
        pixels, reason = decoder.decode(data, region, channels), None
    except DecodeError as error:
        pixels, reason = None, str(error)
    return pixels, reason, decoder.warnings, decoder.spliced


def mcus(head):
    return -(-head.width // head.mcu_width), -(-head.height // head.mcu_height)


def intervals_line_up(head):
    across, down = mcus(head)
    n = head.restart_interval
    return 0 < n < across * down and (across % n == 0 if n < across else n % across == 0)


@st.composite
def boxes(draw, width, height):
    x, y = draw(st.integers(0, width - 1)), draw(st.integers(0, height - 1))
    return x, y, draw(st.integers(1, width - x)), draw(st.integers(1, height - y))


@given(st.data())
@PROPERTY
def test_any_crop_of_any_kind(make, data):
    """Sampling, odd sizes, intervals that line up and such that do not."""
    factors = FACTORS[data.draw(st.sampled_from(sorted(FACTORS)))]
    assume(sum(h * v for h, v in factors) <= 10)
    width, height = data.draw(st.integers(1, 120)), data.draw(st.integers(1, 90))
    head = decode.header(make(width, height, factors, seed=0))
    across, down = mcus(head)
    fitting = [n for n in range(1, across) if across % n == 0] + [across, 2 * across, 3 * across]
    restart = data.draw(st.sampled_from(fitting) | st.integers(1, across * down + 1))
    file = make(width, height, factors, restart=restart, seed=data.draw(st.integers(0, 99)))
    head = decode.header(file)
    assert head.restart_interval == restart
    channels = data.draw(st.sampled_from([3, 1]))
    whole = outcome(file, None, "never", channels)[0]
    for region in data.draw(st.lists(boxes(width, height), min_size=1, max_size=8)):
        x, y, w, h = region
        pixels, reason, warnings, spliced = outcome(file, region, "always", channels)
        assert (reason, warnings) == (None, 0)
        assert spliced == intervals_line_up(head), (restart, region)
        assert np.array_equal(pixels, whole[y : y + h, x : x + w]), region


@given(st.data())
@PROPERTY
def test_any_crop_of_pillows_files(photo, pillow, data):
    width, height = data.draw(st.integers(1, 200)), data.draw(st.integers(1, 90))
    mode = data.draw(st.sampled_from(["RGB", "RGB", "L", "CMYK"]))
    file = photo(
        width,
        height,
        mode=mode,
        subsampling=data.draw(st.sampled_from(["4:4:4", "4:2:2", "4:2:0"])),
        quality=data.draw(st.integers(1, 100)),
        optimize=data.draw(st.booleans()),
        restart_marker_blocks=data.draw(st.integers(1, 5)),
    )
    whole = pillow(file)
    head = decode.header(file)
    for region in data.draw(st.lists(boxes(width, height), min_size=1, max_size=8)):
        x, y, w, h = region
        pixels, _, warnings, spliced = outcome(file, region, "always")
        assert (spliced, warnings) == (intervals_line_up(head), 0)
        assert np.array_equal(pixels, whole[y : y + h, x : x + w]), region


@pytest.mark.parametrize("kind", FACTORS)
@pytest.mark.parametrize("rows", [False, True])
def test_every_row_and_column(kind, rows, make):
    """Each side and size in turn: context at the border of a part is that of the picture."""
    factors = FACTORS[kind]
    width, height = (66, 49) if not rows else (34, 98)
    across, _ = mcus(decode.header(make(width, height, factors)))
    restart = 2 * across if rows else max(n for n in range(1, across) if across % n == 0)
    file = make(width, height, factors, restart=restart, seed=5)
    whole = outcome(file, None, "never")[0]
    decode.set_splicing("always")
    decoder = decode.Decoder()
    regions = [(x, 20, w, 3) for x in range(width) for w in (1, 2, 15, 16, 17) if x + w <= width]
    regions += [(9, y, 11, h) for y in range(height) for h in (1, 2, 15, 17) if y + h <= height]
    for x, y, w, h in regions:
        part = decoder.decode(file, (x, y, w, h))
        assert np.array_equal(part, whole[y : y + h, x : x + w]), (x, y, w, h)
    assert decoder.spliced == len(regions)


def test_it_is_done_where_something_can_be_left_out(photo):
    file = photo(160, 96, subsampling="4:2:0", restart_marker_blocks=2)
    for region, spliced in [
        ((0, 0, 160, 96), 0),
        ((0, 0, 160, 50), 0),  # below the region nothing is read anyway
        ((0, 0, 130, 96), 0),  # the pixel beside it is in the last interval
        ((0, 0, 127, 96), 1),
        ((33, 0, 127, 96), 1),
        ((0, 16, 160, 80), 0),  # upsampling looks at the row above
        ((0, 17, 160, 79), 1),
    ]:
        assert outcome(file, region, "auto")[3] == spliced, region
        assert outcome(file, region, "never")[3] == 0
        assert outcome(file, region, "always")[3] == 1


def test_the_choice_is_told_and_checked():
    assert decode.splicing() == "auto"
    assert decode.set_splicing("never") == "auto"
    assert decode.splicing() == "never"
    with pytest.raises(ValueError, match="'sometimes' is not 'auto', 'never' or 'always'"):
        decode.set_splicing("sometimes")
    assert decode.set_splicing("auto") == "never"


def test_the_fallback_reads_whole_pictures(photo):
    file = photo(160, 96, restart_marker_blocks=2)
    libjpeg = outcome(file, (40, 40, 30, 20), "always")
    decode.use_backend("simplejpeg")
    fallback = outcome(file, (40, 40, 30, 20), "always")
    assert np.array_equal(libjpeg[0], fallback[0])
    assert (libjpeg[3], fallback[3]) == (1, 0)


def segment(marker, content):
    return bytes([0xFF, marker]) + struct.pack(">H", len(content) + 2) + content


def scan_start(file):
    at = file.rindex(b"\xff\xda")
    return at + 2 + int.from_bytes(file[at + 2 : at + 4], "big")


def test_segments_that_do_not_bear_on_pixels(photo):
    """Metadata is left out; what decides about colours is kept."""
    plain = photo(160, 96, subsampling="4:2:0", restart_marker_blocks=2)
    adobe = segment(0xEE, b"Adobe\0\x64\0\0\0\0\0")  # transform 0: RGB, without a JFIF marker
    jfif = plain.index(b"\xff\xe0")
    bare = plain[:jfif] + plain[jfif + 18 :]
    for file in (
        plain[:2] + segment(0xE1, bytes(60000)) + segment(0xFE, b"\xff\xda") + plain[2:],
        plain[:2] + adobe + plain[2:],
        bare[:2] + adobe + bare[2:],
        bare,
    ):
        region = (50, 40, 30, 20)
        never, always = (outcome(file, region, when) for when in ("never", "always"))
        assert always[3] == 1
        assert np.array_equal(never[0], always[0])
        assert never[1:3] == always[1:3]
    assert not np.array_equal(decode.decode(bare), decode.decode(bare[:2] + adobe + bare[2:]))


def odd_ones(photo, make):
    plain = photo(96, 96, subsampling="4:2:0", restart_marker_blocks=2)
    start = scan_start(plain)
    first, second = (plain.index(bytes([0xFF, 0xD0 + n]), start) for n in (0, 1))
    yield "progressive", photo(96, 96, progressive=True, restart_marker_blocks=2)
    yield "no markers", photo(96, 96)
    yield "one scan a component", make(96, 96, [(1, 1)] * 3, scans=[[0], [1], [2]], restart=2)
    yield "fill bytes", plain[:2] + b"\xff" + plain[2:]
    yield "fill bytes before a marker", plain[:first] + b"\xff" + plain[first:]
    yield "stray bytes between segments", plain[:2] + b"abc" + plain[2:]
    yield "marker lost", plain[:first] + plain[first + 2 :]
    yield "marker twice", plain[:first] + b"\xff\xd0" + plain[first:]
    yield (
        "markers exchanged",
        plain[: first + 1]
        + b"\xd1"
        + plain[first + 2 : second + 1]
        + (b"\xd0" + plain[second + 2 :]),
    )
    yield "another marker", plain[:first] + b"\xff\xe5\x00\x02" + plain[first:]
    yield (
        "interval says 4",
        plain.replace(b"\xff\xdd\x00\x04\x00\x02", b"\xff\xdd\x00\x04\x00\x04"),
    )
    yield (
        "interval says 1",
        plain.replace(b"\xff\xdd\x00\x04\x00\x02", b"\xff\xdd\x00\x04\x00\x01"),
    )
    yield (
        "interval of 3 bytes",
        plain.replace(b"\xff\xdd\x00\x04\x00\x02", b"\xff\xdd\x00\x05\x00\x02\x00"),
    )
    yield "arithmetic", plain.replace(b"\xff\xc0", b"\xff\xc9", 1)
    yield "12 bits", plain.replace(b"\xff\xc0\x00\x11\x08", b"\xff\xc1\x00\x11\x0c", 1)
    yield "cut", plain[: second - 3]
    yield "higher than its data", plain.replace(b"\x08\x00\x60", b"\x08\x01\x60", 1)


def test_what_is_odd_is_read_and_judged_whole(photo, make):
    for name, file in odd_ones(photo, make):
        region = (40, 60, 30, 36)
        never, always = (outcome(file, region, when) for when in ("never", "always"))
        assert always[1:] == (*never[1:3], 0), name
        assert (always[0] is None) == (never[0] is None), name
        if always[0] is not None:
            assert np.array_equal(always[0], never[0]), name


def test_missing_end_marker_is_one_warning(photo):
    file = photo(96, 96, subsampling="4:2:0", restart_marker_blocks=2)
    for cut in (file[:-2], file[:-2] + bytes(228) + file[-2:]):
        pixels, reason, warnings, spliced = outcome(cut, (40, 60, 30, 36), "always")
        assert (reason, warnings, spliced) == (None, 1, 0)
        assert np.array_equal(pixels, decode.decode(file)[60:, 40:70])
    # A region that ends above is sound, and nothing is said of what lies below.
    assert outcome(file[:-2], (40, 40, 30, 30), "always")[1:] == (None, 0, 1)


def interval_bounds(file):
    """[start, end) of the bytes of each interval."""
    bounds, start = [], scan_start(file)
    at = start
    while True:
        at = file.index(b"\xff", at)
        if file[at + 1] != 0:
            bounds.append((start, at))
            start = at + 2
            if file[at + 1] == 0xD9:
                return bounds
        at += 2


def needed(head, region):
    """Numbers of the intervals that a region touches, neighbours of its border included."""
    x, y, w, h = region
    across, _ = mcus(head)
    columns = head.restart_interval
    each = across // columns
    left, right = max(x - 1, 0) // head.mcu_width, min(x + w, head.width - 1) // head.mcu_width
    top, bottom = max(y - 1, 0) // head.mcu_height, min(y + h, head.height - 1) // head.mcu_height
    return {
        row * each + column
        for row in range(top, bottom + 1)
        for column in range(left // columns, right // columns + 1)
    }


@given(st.data())
@settings(PROPERTY, max_examples=150)
def test_damage(photo, data):
    """Judged as by a read of everything, but where the bytes belong to other intervals only."""
    file = photo(
        128, 80, subsampling="4:2:0", quality=60, restart_marker_blocks=2, seed=data.draw(
            st.integers(0, 5)
        )
    )  # fmt: skip
    head, bounds = decode.header(file), interval_bounds(file)
    region = data.draw(boxes(head.width, head.height))
    sound = outcome(file, region, "never")[0]
    at = data.draw(st.integers(bounds[0][0], len(file) - 1))
    broken = bytearray(file)
    broken[at] = data.draw(st.integers(0, 255))
    never, always = (outcome(bytes(broken), region, when) for when in ("never", "always"))
    if always[1] is not None:
        assert always[1:3] == never[1:3]
        assert always[3] == 0
        return
    assert always[2] <= never[2] or never[1] is not None
    if never[1] is None:
        assert np.array_equal(always[0], never[0])
        if always[2] == never[2]:
            return
    # The one sees an error or warns, the other one does not: it is not in what the region needs,
    # or in the last interval of it, whose end is not looked at to the byte.
    wanted = needed(head, region)
    hit = next(i for i, (start, end) in enumerate(bounds) if at < end + 2)
    assert hit not in wanted - {max(wanted)}, (at, region)
    if hit not in wanted:
        assert np.array_equal(always[0], sound)


def test_damage_below_the_first_rows_is_found_as_they_are_read(photo):
    """The part complains in the middle: the whole picture takes over, or gives the reason."""
    file = photo(160, 160, subsampling="4:2:0", quality=70, restart_marker_blocks=5, seed=3)
    head, bounds = decode.header(file), interval_bounds(file)
    region = (20, 20, 50, 120)
    inside = sorted(needed(head, region) - {max(needed(head, region))})
    for number in inside:
        end = bounds[number][1]
        shorter = file[: end - 3] + file[end:]  # the interval lacks its last bytes
        longer = file[:end] + b"\x55" * 3 + file[end:]
        for broken in (shorter, longer):
            never, always = (outcome(broken, region, when) for when in ("never", "always"))
            assert never[1] is not None
            assert always[1:] == (*never[1:3], 0)


def test_memory_is_kept_from_picture_to_picture(photo):
    """After the largest picture no other one makes the decoder grow; results stay right."""
    decode.set_splicing("always")
    files = [photo(160, 96, seed=s, restart_marker_blocks=2, quality=q) for s, q in
             [(0, 95), (1, 20), (2, 95), (3, 5)]]  # fmt: skip
    wholes = [np.asarray(Image.open(io.BytesIO(f)).convert("RGB")) for f in files]
    decoder = decode.Decoder()
    for turn in range(40):
        i = turn % 4
        x, y = turn * 7 % 100, turn * 5 % 60
        assert np.array_equal(
            decoder.decode(files[i], (x, y, 41, 30)), wholes[i][y : y + 30, x : x + 41]
        )
    assert decoder.spliced == 40
