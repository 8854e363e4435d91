"""A region is the same, bit for bit, as that part of a full decode; a full decode is Pillow's."""

import numpy as np
import pytest
import simplejpeg
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dts import decode

FACTORS = {
    "444": [(1, 1)] * 3,
    "422": [(2, 1), (1, 1), (1, 1)],
    "420": [(2, 2), (1, 1), (1, 1)],
    "440": [(1, 2), (1, 1), (1, 1)],
    "411": [(4, 1), (1, 1), (1, 1)],
    "441": [(1, 4), (1, 1), (1, 1)],
    "410": [(4, 2), (1, 1), (1, 1)],
    "3x1": [(3, 1), (1, 1), (1, 1)],
    "1x3": [(1, 3), (1, 1), (1, 1)],
    "4-2-1": [(4, 1), (2, 1), (1, 1)],
    "coarse luma": [(1, 1), (2, 2), (2, 2)],
    "mixed": [(2, 2), (2, 1), (1, 2)],
    "all 2x1": [(2, 1)] * 3,
    "grey": [(1, 1)],
    "grey 2x2": [(2, 2)],
    "cmyk": [(1, 1)] * 4,
    "cmyk 420": [(2, 2), (1, 1), (1, 1), (2, 2)],
}
# TurboJPEG, under simplejpeg, knows no others.
COMMON = {
    "444",
    "422",
    "420",
    "440",
    "411",
    "441",
    "all 2x1",
    "grey",
    "grey 2x2",
    "cmyk",
    "cmyk 420",
}

PROPERTY = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def is_slice(decoder, data, whole, region, channels=3):
    x, y, w, h = region
    part = decoder.decode(data, region, channels)
    return np.array_equal(part, whole[y : y + h, x : x + w])


@st.composite
def boxes(draw, width, height):
    x = draw(st.integers(0, width - 1))
    y = draw(st.integers(0, height - 1))
    return x, y, draw(st.integers(1, width - x)), draw(st.integers(1, height - y))


@given(st.data())
@PROPERTY
def test_pictures_by_pillow(backend, photo, pillow, data):
    width, height = data.draw(st.integers(1, 90)), data.draw(st.integers(1, 70))
    mode = data.draw(st.sampled_from(["RGB", "RGB", "L", "CMYK"]))
    # Pillow leaves K at full height and width only in 4:4:4, and simplejpeg knows no such files.
    full = mode == "CMYK" and backend == "simplejpeg"
    file = photo(
        width,
        height,
        mode=mode,
        seed=data.draw(st.integers(0, 99)),
        quality=data.draw(st.integers(1, 100)),
        subsampling="4:4:4" if full else data.draw(st.sampled_from(["4:4:4", "4:2:2", "4:2:0"])),
        progressive=data.draw(st.booleans()),
        optimize=data.draw(st.booleans()),
        restart_marker_blocks=data.draw(st.sampled_from([0, 1, 3])),
    )
    decoder = decode.Decoder()
    whole = decoder.decode(file)
    assert np.array_equal(whole, pillow(file))
    for region in data.draw(st.lists(boxes(width, height), min_size=1, max_size=6)):
        assert is_slice(decoder, file, whole, region), region


@given(st.data())
@PROPERTY
def test_odd_files(backend, make, pillow, data):
    kind = data.draw(st.sampled_from(sorted(FACTORS if backend != "simplejpeg" else COMMON)))
    factors = FACTORS[kind]
    width, height = data.draw(st.integers(1, 70)), data.draw(st.integers(1, 70))
    apart = data.draw(st.booleans()) or sum(h * v for h, v in factors) > 10
    file = make(
        width,
        height,
        factors,
        scans=[[c] for c in range(len(factors))] if apart else None,
        restart=data.draw(st.sampled_from([0, 1, 2, 5])),
        seed=data.draw(st.integers(0, 99)),
    )
    channels = data.draw(st.sampled_from([3, 1]))
    decoder = decode.Decoder()
    assert np.array_equal(decoder.decode(file), pillow(file))
    whole = decoder.decode(file, channels=channels)
    for region in data.draw(st.lists(boxes(width, height), min_size=1, max_size=6)):
        assert is_slice(decoder, file, whole, region, channels), region


@pytest.mark.parametrize("kind", FACTORS)
def test_every_row_and_column(kind, make, libjpeg):
    """Each side and size in turn, on a picture that ends just after an MCU begins."""
    width, height = 34, 49
    file = make(width, height, FACTORS[kind], seed=5)
    decoder = decode.Decoder()
    whole = decoder.decode(file)
    for x in range(width):
        for w in {1, 2, 3, 15, 16, 17, width - x}:
            if x + w <= width:
                assert is_slice(decoder, file, whole, (x, 20, w, 3)), (x, w)
    for y in range(height):
        for h in {1, 2, 3, 15, 16, 17, height - y}:
            if y + h <= height:
                assert is_slice(decoder, file, whole, (9, y, 11, h)), (y, h)


@pytest.mark.parametrize("kept", [1, 2, 4, 7])
def test_progressive_with_too_few_scans_is_smoothed_like_pillows(kept, photo, pillow, libjpeg):
    """An end marker after the first scans: block smoothing needs neighbours that a crop lacks."""
    file = photo(70, 61, progressive=True, subsampling="4:2:0", quality=40)
    starts = [i for i in range(len(file) - 1) if file[i : i + 2] == b"\xff\xda"]
    file = file[: file.rindex(b"\xff\xc4", starts[kept - 1], starts[kept])] + b"\xff\xd9"
    decoder = decode.Decoder()
    whole = decoder.decode(file)
    if decode.library_info()["path"].startswith(pillow_libraries()):
        assert np.array_equal(whole, pillow(file))
    for x in range(0, 70, 9):
        for y in range(0, 61, 7):
            assert is_slice(decoder, file, whole, (x, y, min(20, 70 - x), min(9, 61 - y)))


def pillow_libraries():
    import PIL

    return PIL.__path__[0].removesuffix("PIL")


@pytest.mark.parametrize("subsampling", ["444", "422", "420", "440", "411"])
@pytest.mark.parametrize(
    "size", [(63, 47), (1, 1), (1, 100), (100, 1), (2, 2), (7, 9), (257, 130)]
)
def test_full_decode_equals_simplejpeg(subsampling, size, photo, backend):
    rng = np.random.default_rng(3)
    pixels = rng.integers(0, 256, (size[1], size[0], 3), np.uint8)
    file = simplejpeg.encode_jpeg(pixels, 90, colorsubsampling=subsampling)
    assert np.array_equal(decode.decode(file), simplejpeg.decode_jpeg(file))
    grey = simplejpeg.decode_jpeg(file, "GRAY")
    assert np.array_equal(decode.decode(file, channels=1), grey)


@pytest.mark.parametrize("size", [(65500, 1), (1, 65500)])
def test_longest_sides(size, photo, backend):
    file = photo(*size, subsampling="4:2:0")
    whole = decode.decode(file)
    decoder = decode.Decoder()
    for at in (0, 1, 32767, 65499):
        region = (at, 0, 1, 1) if size[1] == 1 else (0, at, 1, 1)
        assert is_slice(decoder, file, whole, region)


def test_rows_are_written_nowhere_else(photo, backend):
    file = photo(64, 48, subsampling="4:2:0")
    wall = np.full((14, 21, 3), 77, np.uint8)
    decode.Decoder().decode(file, (16, 5, 21, 12), out=wall[1:-1])
    assert (wall[[0, -1]] == 77).all()
    assert np.array_equal(wall[1:-1], decode.decode(file)[5:17, 16:37])
