"""The pictures of the fault log: bytes, and what becomes of them where users meet them."""

import io
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import make
import numpy as np
import simplejpeg
from odd_jpeg import ARITHMETIC, ARITHMETIC_PROGRESSIVE, app14, patch_frame, without, write_jpeg
from PIL import Image

WIDTH, HEIGHT = 64, 48
SMOOTH = 7  # levels that coding at quality 90 may be off on the gradient
PIXELS = "PIXELS"


@dataclass(frozen=True)
class Case:
    """One picture, and what is right.

    Attributes
    ----------
    data : bytes
    like : array, callable or None
        Pixels it decodes to: an array, or what makes one of `data`. None: it is refused.
    off : int
        Levels the pixels may differ by.
    reason : str
        Pattern of the reason why it is refused.
    fallback : str
        Pattern of simplejpeg's reason, where that refuses it, or for another reason.
    stored, encoded : str
        Patterns of the reasons at which level 0 (which reads headers) and levels 1-3 refuse it;
        empty: packed.
    oddities : int
        Harmless oddities, counted by libjpeg.
    """

    data: bytes
    like: np.ndarray | Callable[[bytes], np.ndarray] | None = None
    off: int = 0
    reason: str = ""
    fallback: str = ""
    stored: str = ""
    encoded: str = ""
    oddities: int = 0


def gradient(channels=3, width=WIDTH, height=HEIGHT):
    """Make smooth ramps, one a channel."""
    y, x = np.mgrid[0:height, 0:width]
    ramps = [x * 3, y * 4, (x + y) * 2, 200 - x * 2]
    return np.stack(ramps[:channels], -1).astype(np.uint8)


def save(image, kind="JPEG", **options):
    out = io.BytesIO()
    image.save(out, kind, **options)
    return out.getvalue()


@cache
def base(**options):
    """Make B: 64 x 48, quality 90, 4:4:4."""
    return save(Image.fromarray(gradient()), **{"quality": 90, "subsampling": 0, **options})


@cache
def rough(**options):
    """Make a picture whose scan is longer than its header, so that it can be cut."""
    return make.jpeg(5, WIDTH, HEIGHT, subsampling=0, **options)


@cache
def cmyk():
    image = Image.frombytes("CMYK", (WIDTH, HEIGHT), gradient(4).tobytes())
    return save(image, quality=90)


def pillow(data):
    with Image.open(io.BytesIO(data)) as image:
        return np.asarray(image.convert("RGB"))


def cut(data, share):
    return data[: int(len(data) * share)]


def subsampled(kind):
    pixels = np.ascontiguousarray(gradient(3, 63, 47))
    return simplejpeg.encode_jpeg(pixels, colorsubsampling=kind)


def without_jfif(data):
    return data[:2] + data[2 + 2 + int.from_bytes(data[4:6], "big") :]


def noise_inside(data):
    at = data.index(b"\xff\xda") + 200
    noise = np.random.default_rng(3).integers(0, 255, 100, np.uint8)
    return data[:at] + noise.tobytes() + data[at + 100 :]


def with_xmp(data):
    body = b"http://ns.adobe.com/xap/1.0/\0<x:xmpmeta tiff:Make='\xa8'/>"
    return data[:2] + b"\xff\xe1" + (len(body) + 2).to_bytes(2, "big") + body + data[2:]


def scan_bomb():
    """Repeat the last scan of a flat progressive picture 200 times."""
    data = save(Image.new("RGB", (2000, 2000), (9, 80, 200)), progressive=True)
    last = data.rindex(b"\xff\xda")
    return data[:-2] + data[last:-2] * 200 + data[-2:]


def disguised(kind, mode="RGB"):
    return save(Image.fromarray(gradient()).convert(mode), kind)


TRUNCATED = "data ends after row"
ENDS = "simplejpeg: Premature end"


def jpegs():
    """Return the J-cases that are JPEG files, by id."""
    b, progressive = base(), base(progressive=True)
    plain = without_jfif(b)
    b_pixels = pillow(b)
    cases = {
        "J01": Case(cmyk(), pillow, 2),
        "J02": Case(without(cmyk(), 0xEE), pillow(cmyk()), 2),
        "J03": Case(ycck(), pillow, 2),
        "J04": Case(
            write_jpeg(WIDTH, HEIGHT, [(2, 2), (1, 1), (1, 1), (2, 2)]),
            pillow,
            2,
        ),
        "J05": Case(plain[:2] + app14(0) + plain[2:], pillow),
        "J05-with-JFIF": Case(b[:20] + app14(0) + b[20:], b_pixels),
        "J06": Case(base(keep_rgb=True), gradient(), 4),
        "J07": Case(progressive, gradient(), SMOOTH),
        "J08": Case(
            cut(rough(progressive=True), 0.5),
            reason=r"data ends (in|after) scan \d",
            fallback=ENDS,
            encoded="decoded",
        ),
        "J09": Case(b[:-2], b_pixels, fallback=ENDS, oddities=1),
        "J11-half": Case(cut(rough(), 0.5), reason=TRUNCATED, fallback=ENDS, encoded="decoded"),
        "J11-most": Case(cut(rough(), 0.9), reason=TRUNCATED, fallback=ENDS, encoded="decoded"),
        "J12": Case(
            b[:100],
            reason="data ends inside the header, at byte 100",
            stored="ends in its header",
            encoded="ends in its header",
        ),
        "J13": Case(
            b[:-2] + bytes(228) + b[-2:],
            b_pixels,
            fallback="extraneous bytes",
            encoded="FALLBACK",
            oddities=1,
        ),
        "J14": Case(
            b"\r\n" + b,
            reason="the start marker FF D8 is at byte 2",
            stored="2 bytes before its JPEG start marker",
            encoded="2 bytes before its JPEG start marker",
        ),
        "J15": Case(b + b"x" * 3000, b_pixels),
        "J16": Case(b[:2] + b"\xff" * 3 + b[2:], b_pixels),
        "J17-411": Case(subsampled("411"), pillow),
        "J17-440": Case(subsampled("440"), pillow),
        "J17-420": Case(subsampled("420"), pillow),
        "J17-unnamed": Case(
            write_jpeg(WIDTH, HEIGHT, [(1, 4), (1, 1), (1, 2)]), pillow, fallback="subsampling"
        ),
        "J19": Case(write_jpeg(63, 47, [(2, 1), (1, 1), (1, 1)], scans=[[0], [1], [2]]), pillow),
        "J20": Case(base(progressive=True, restart_marker_rows=1, subsampling=2), pillow),
        "J23": Case(ARITHMETIC, pillow),
        "J23-progressive": Case(ARITHMETIC_PROGRESSIVE, pillow),
        "J24": Case(
            patch_frame(b, precision=12, marker=0xC1),
            reason="12-bit precision",
            stored="12 bits per channel",
            encoded="12 bits per channel",
        ),
        "J27": Case(
            patch_frame(b, height=60000, width=60000),
            reason="3600000000 pixels, over the limit",
            stored="60000x60000 pixels, over the limit of 268,435,456",
            encoded="60000x60000 pixels, over the limit of 268,435,456",
        ),
        "J28": Case(
            patch_frame(b, height=480, width=640),
            reason="after row 0 of 480, pixels are missing",
            fallback="simplejpeg: ",
            encoded="decoded",
        ),
        "J29": Case(
            patch_frame(b, height=0), reason="height 0", stored="64x0 pixels", encoded="64x0"
        ),
        "J30": Case(
            scan_bomb(),
            reason="more than 100 scans|Inconsistent progression sequence",
            encoded="more than 100 scans|Inconsistent progression sequence",
        ),
        "J30-sequential": Case(
            write_jpeg(9, 9, [(1, 1)] * 3, scans=[[0], [1], [2]] + [[1]] * 98),
            reason="more than 100 scans",
            encoded="more than 100 scans",
        ),
        "J32-EXIF": Case(broken_exif(), b_pixels),
        "J32-XMP": Case(with_xmp(b), b_pixels),
        "J35": Case(save(Image.fromarray(gradient(1)[..., 0])), pillow),
    }
    for width, height in ((1, 1), (1, 500), (500, 1), (2, 2), (7, 9)):
        image = Image.fromarray(gradient(3, width, height))
        cases[f"J25-{width}x{height}"] = Case(save(image), pillow)
    for width, height in ((65500, 1), (1, 65500)):
        image = Image.fromarray(gradient(3, width, height))
        cases[f"J26-{width}x{height}"] = Case(save(image), pillow)
    return cases


def ycck():
    """Change the Adobe transform byte of J01 to 2."""
    at = cmyk().index(b"Adobe") + 11
    return cmyk()[:at] + b"\x02" + cmyk()[at + 1 :]


def broken_exif():
    exif = Image.Exif()
    exif[0x010F], exif[0x0112] = "a maker", 6
    data = base(exif=exif.tobytes())
    at = data.index(b"Exif\0\0") + 6
    return data[:at] + b"\xa8" * 8 + data[at + 8 :]


def others():
    """Return the J-cases that are no JPEG files, by id."""
    cases = {
        f"J33-{kind}": Case(
            disguised(kind),
            gradient(),
            40 if kind == "GIF" else SMOOTH,
            reason=rf"not a JPEG: starts with .* \({name}\)",
            stored=f"is a {name} file, not a JPEG",
        )
        for kind, name in (("PNG", "PNG"), ("GIF", "GIF"), ("WEBP", "WebP"), ("BMP", "BMP"))
    }
    for name, data, reason, said in (
        ("J34-empty", b"", r"empty \(0 bytes\)", "has 0 bytes"),
        ("J34-two-bytes", b"\xff\xd8", r"too short \(2 bytes\)", "ends in its header"),
        ("J34-page", b"<!DOCTYPE html><p>404", "HTML or XML", "not a picture of a known format"),
    ):
        cases[name] = Case(data, reason=reason, stored=said, encoded=said)
    return cases
