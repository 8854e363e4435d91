"""Kinds of JPEG, and what each decodes to."""

import numpy as np
import pytest
from odd_jpeg import ARITHMETIC, ARITHMETIC_PROGRESSIVE, app14, patch_frame, without

from dts import decode
from dts.errors import DecodeError


def test_grey_gives_three_equal_channels_or_one(backend, photo, pillow):
    file = photo(mode="L")
    three, one = decode.decode(file), decode.decode(file, channels=1)
    assert one.shape == (48, 64, 1)
    assert np.array_equal(one, pillow(file, "L"))
    assert (three == one).all()


@pytest.mark.parametrize("case", ["J01 Adobe", "J02 no marker", "J03 YCCK"])
def test_cmyk_equals_pillow(case, backend, photo, pillow):
    file = photo(mode="CMYK", quality=90)
    if case == "J02 no marker":
        file = without(file, 0xEE)
    elif case == "J03 YCCK":
        file = file.replace(app14(0), app14(2))
    assert np.array_equal(decode.decode(file), pillow(file))
    assert np.array_equal(decode.decode(file, channels=1), pillow(file, "L"))
    assert decode.header(file).components == 4


def test_cmyk_of_every_value_equals_pillow(backend, pillow):
    """All pairs of one ink and black, at quality 100: few values are changed by the coding."""
    from PIL import Image

    ink, black = np.meshgrid(np.arange(256), np.arange(256))
    pixels = np.stack([ink, 255 - ink, ink // 2, black], -1).astype(np.uint8)
    import io

    file = io.BytesIO()
    Image.fromarray(pixels, "CMYK").save(file, "JPEG", quality=100, subsampling=0)
    assert np.array_equal(decode.decode(file.getvalue()), pillow(file.getvalue()))


def test_cmyk_with_subsampled_channels(backend, make, pillow):
    file = make(50, 45, [(2, 2), (1, 1), (1, 1), (2, 2)])
    assert np.array_equal(decode.decode(file), pillow(file))


def test_adobe_marker_decides_only_without_jfif(backend, photo, pillow):
    file = photo(subsampling="4:4:4")
    bare = without(file, 0xE0)
    as_rgb = bare[:2] + app14(0) + bare[2:]
    assert np.array_equal(decode.decode(as_rgb), pillow(as_rgb))
    assert np.abs(decode.decode(as_rgb).astype(int) - decode.decode(file)).max() > 100
    both = file[:20] + app14(0) + file[20:]
    assert np.array_equal(decode.decode(both), decode.decode(file))


def test_coded_in_rgb(backend, photo, pillow):
    file = photo(keep_rgb=True, quality=95)
    assert np.array_equal(decode.decode(file), pillow(file))
    luma = decode.decode(file).astype(float) @ [0.299, 0.587, 0.114]
    assert np.abs(decode.decode(file, channels=1)[..., 0] - luma).max() <= 0.51


def test_grey_of_colour_is_the_files_luma(backend, photo):
    from PIL import Image

    file = photo(subsampling="4:2:0")
    import io

    with Image.open(io.BytesIO(file)) as image:
        image.draft("L", None)
        assert np.array_equal(decode.decode(file, channels=1)[..., 0], np.asarray(image))


def test_progressive_with_restarts(backend, photo, pillow):
    file = photo(progressive=True, restart_marker_rows=1, subsampling="4:2:0")
    assert decode.header(file).progressive
    assert np.array_equal(decode.decode(file), pillow(file))


@pytest.mark.parametrize("file", [ARITHMETIC, ARITHMETIC_PROGRESSIVE], ids=["seq", "progressive"])
def test_arithmetic_coding_decodes_or_says_so(file, backend, pillow):
    try:
        whole = decode.decode(file)
    except DecodeError as error:
        assert "arithmetic" in str(error)  # noqa: PT017
    else:
        assert np.array_equal(whole, pillow(file))
        assert np.array_equal(decode.decode(file, (17, 3, 5, 9)), whole[3:12, 17:22])


def test_fill_bytes_and_bytes_after_the_end(backend, photo):
    file = photo()
    whole = decode.decode(file)
    assert np.array_equal(decode.decode(file[:2] + b"\xff" * 3 + file[2:]), whole)
    decoder = decode.Decoder()
    assert np.array_equal(decoder.decode(file + b"x" * 3000), whole)
    assert decoder.warnings == 0


def test_abbreviated_file_does_not_depend_on_the_file_before(backend, photo, make):
    """Without Huffman tables the standard ones hold, whatever the decoder saw last."""
    complete = photo(subsampling="4:2:0")
    file = complete
    while b"\xff\xc4" in file:
        file = without(file, 0xC4)
    whole = decode.decode(complete)
    decoder = decode.Decoder()
    for other in (make(20, 20, [(1, 1)] * 3), photo(optimize=True)):
        assert np.array_equal(decoder.decode(file), whole)
        decoder.decode(other)
        assert np.array_equal(decoder.decode(file), whole)
    decoder.decode(complete)
    with pytest.raises(DecodeError, match="uantization table"):
        decoder.decode(without(without(complete, 0xDB), 0xDB))


@pytest.mark.parametrize(
    ("file", "reason"),
    [
        (b"", r"not a JPEG: empty \(0 bytes\)"),
        (b"\xff\xd8", r"not a JPEG: too short \(2 bytes\)"),
        (b"\x89PNG\r\n\x1a\n....", r"not a JPEG: starts with 89 50 4E 47 \(PNG\)"),
        (b"GIF89a......", r"\(GIF\)"),
        (b"RIFF\x10\x00\x00\x00WEBPVP8 ", r"\(WebP\)"),
        (b"BM\x00\x01\x02\x03", r"\(BMP\)"),
        (b"\n <!DOCTYPE html><html>", r"\(HTML or XML\)"),
        (b"404 not found", r"\(text\)"),
        (b"\x00\x00\x00\x00\x00", r"starts with 00 00 00 00$"),
        (b"\xff\xd8\xff", "data ends inside the header, at byte 3"),
        (b"\xff\xd8\xff\xd9", "no picture before the end marker"),
        (b"\xff\xd8\xff\xe0\x00\x01", "segment FF E0 at byte 2 has length 1"),
        (b"\xff\xd8\xff\xda\x00\x02", "scan before the frame header"),
        (b"\xff\xd8\xff\xd8\xff\xe0", "second start marker at byte 2"),
    ],
)
def test_not_a_jpeg(file, reason, backend):
    with pytest.raises(DecodeError, match=reason):
        decode.header(file)


def test_start_marker_further_on_is_named(backend, photo):
    with pytest.raises(DecodeError, match="the start marker FF D8 is at byte 2"):
        decode.header(b"ab" + photo())


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"height": 0}, "height 0"),
        ({"width": 0}, "width 0"),
        ({"precision": 12}, "12-bit precision"),
        ({"marker": 0xC3}, r"lossless JPEG \(SOF3\)"),
        ({"marker": 0xC5}, r"hierarchical JPEG \(SOF5\)"),
        ({"marker": 0xCB}, r"lossless JPEG \(SOF11\)"),
        ({"height": 60000, "width": 60000}, r"60000 x 60000 = 3600000000 pixels, over the limit"),
        ({"height": 1, "width": 65535}, "65535 x 1: a side is over 65500 pixels"),
    ],
)
def test_frames_that_are_refused(change, reason, backend, photo):
    with pytest.raises(DecodeError, match=reason):
        decode.header(patch_frame(photo(), **change))


def test_two_and_five_components(backend, make):
    for n in (2, 5):
        file = make(16, 16, [(1, 1)] * n, ids=range(1, 9), scans=[[0]])
        with pytest.raises(DecodeError, match=f"{n} components"):
            decode.decode(file)


def test_sampling_factors_out_of_range(backend, photo):
    file = bytearray(photo())
    file[file.index(b"\xff\xc0") + 11] = 0x51
    with pytest.raises(DecodeError, match="sampling factors 5 x 1 of component 0"):
        decode.header(bytes(file))


def test_fractional_sampling_is_named(backend, make):
    file = make(50, 45, [(3, 1), (2, 1), (1, 1)])
    with pytest.raises(DecodeError, match=r"ractional sampling|subsampling"):
        decode.decode(file)


def test_mcu_size(backend, make, photo):
    assert decode.header(make(9, 9, [(4, 2), (1, 1), (1, 1)])) == (9, 9, 3, 32, 16, False, 0)
    assert decode.header(make(9, 9, [(2, 2)])) == (9, 9, 1, 8, 8, False, 0)
    assert decode.header(photo(64, 48, subsampling="4:2:0")) == (64, 48, 3, 16, 16, False, 0)
