"""J36: what levels 1-3 make of pictures that are no 8-bit RGB."""

import io
import struct
import zlib

import numpy as np
import pytest
from PIL import Image

from dts import decode
from dts.export.errors import PictureError
from dts.export.pictures import reencode

HEIGHT, WIDTH = 40, 64
RAMP = np.linspace(0, 65535, WIDTH).astype(np.uint16)[None].repeat(HEIGHT, 0)
COLOURS = np.stack([RAMP, RAMP[:, ::-1], RAMP // 2 + 16000], -1)


def png16(array):
    """Write a PNG of 16 bits a channel, which Pillow cannot for colours."""
    height, width, channels = array.shape
    kind = {1: 0, 2: 4, 3: 2, 4: 6}[channels]
    rows = b"".join(b"\0" + row.tobytes() for row in array.astype(">u2"))

    def chunk(name, body):
        return (
            struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))
        )

    head = struct.pack(">IIBBBBB", width, height, 16, kind, 0, 0, 0)
    data = chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + data


def png(image, **options):
    out = io.BytesIO()
    image.save(out, "PNG", **options)
    return out.getvalue()


def half_clear(array):
    """Add an alpha channel: the left half is invisible."""
    top = np.iinfo(array.dtype).max
    alpha = np.full((*array.shape[:2], 1), top, array.dtype)
    alpha[:, : array.shape[1] // 2] = 0
    return np.concatenate([array, alpha], -1)


def eight(array):
    return (array / 257).round().astype(np.uint8)


GREY8, RGB8 = eight(RAMP), eight(COLOURS)
PALETTE = Image.fromarray(GREY8).convert("P", palette=Image.Palette.ADAPTIVE)
BITS = Image.fromarray(np.where(RAMP < 32768, 0, 255).astype(np.uint8)).convert("1")

CASES = {
    # name: bytes, the pixels that must come out, levels off on average
    "grey 16": (png16(RAMP[..., None]), GREY8[..., None].repeat(3, -1), 2),
    "RGB 16": (png16(COLOURS), RGB8, 3),
    "grey and alpha 16": (png16(half_clear(RAMP[..., None])), GREY8[..., None].repeat(3, -1), 2),
    "RGB and alpha 16": (png16(half_clear(COLOURS)), RGB8, 3),
    "grey and alpha": (
        png(Image.fromarray(half_clear(GREY8[..., None]), "LA")),
        GREY8[..., None].repeat(3, -1),
        2,
    ),
    "RGB and alpha": (png(Image.fromarray(half_clear(RGB8))), RGB8, 3),
    "palette": (png(PALETTE), GREY8[..., None].repeat(3, -1), 3),
    "palette with a clear colour": (
        png(PALETTE, transparency=0),
        GREY8[..., None].repeat(3, -1),
        3,
    ),
    "one bit": (png(BITS), np.asarray(BITS.convert("RGB")), 5),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("level", [1, 3])
def test_j36(name, level):
    """16 bits are scaled by 257, palettes looked up, alpha is dropped and colours stay."""
    data, wanted, off = CASES[name]
    made = reencode(data, level)
    assert made.kind == "PNG"
    got = decode.decode(made.data).astype(int)
    assert np.abs(got - wanted).mean() < off
    assert got[:, -2:].min() >= 0
    if name.startswith("grey"):
        assert got[:, :8].max() < 40  # nothing clipped to white
        assert got[:, -4:].min() > 230


def test_j36_level_1_of_an_animation_is_its_first_frame():
    frames = [Image.fromarray(RGB8), Image.fromarray(255 - RGB8)]
    for kind in ("GIF", "WEBP", "PNG"):
        out = io.BytesIO()
        frames[0].save(out, kind, save_all=True, append_images=frames[1:], duration=50)
        got = decode.decode(reencode(out.getvalue(), 1).data).astype(int)
        assert np.abs(got - RGB8).mean() < 12


@pytest.mark.parametrize("share", [0.3, 0.7])
@pytest.mark.parametrize("kind", ["PNG", "GIF", "WEBP", "BMP"])
def test_j33_cut_files_are_named(kind, share):
    out = io.BytesIO()
    rng = np.random.default_rng(0)
    Image.fromarray(rng.integers(0, 256, (HEIGHT, WIDTH, 3), np.uint8)).save(out, kind)
    data = out.getvalue()
    with pytest.raises(PictureError, match=r"a (damaged )?(PNG|GIF|WebP|BMP) file"):
        reencode(data[: int(len(data) * share)], 1)
