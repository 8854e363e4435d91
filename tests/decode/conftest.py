"""Test pictures, and a small JPEG writer that makes files no library would write."""

import io
import struct
from contextlib import suppress
from math import ceil

import numpy as np
import pytest
from PIL import Image

from dts import decode as module


def _segment(marker, body):
    return struct.pack(">BBH", 0xFF, marker, len(body) + 2) + body


class _Bits:
    def __init__(self):
        self.value, self.count = 1, 0

    def put(self, value, count):
        self.value = self.value << count | value
        self.count += count

    def flush(self):
        """Bytes so far, padded with ones, zero bytes stuffed in after FF."""
        pad = -self.count % 8
        self.put((1 << pad) - 1, pad)
        data = self.value.to_bytes(self.count // 8 + 1, "big")[1:]
        self.value, self.count = 1, 0
        return data.replace(b"\xff", b"\xff\x00")


# Codes of one length, 4 bits for DC sizes and 8 bits for AC symbols: valid, and quick to write.
_DC = list(range(12))
_AC = [0x00, 0xF0] + [run << 4 | size for run in range(16) for size in range(1, 11)]
_TABLES = _segment(0xDB, b"\x00" + bytes([8] * 64)) + _segment(
    0xC4,
    b"\x00"
    + bytes([0] * 3 + [len(_DC)] + [0] * 12)
    + bytes(_DC)
    + b"\x10"
    + bytes([0] * 7 + [len(_AC)] + [0] * 8)
    + bytes(_AC),
)


def _number(bits, value):
    size = abs(value).bit_length()
    bits.put(value if value > 0 else value + (1 << size) - 1, size)


def _block(bits, rng, previous):
    """Code one block of random coefficients; returns its DC."""
    dc = int(rng.integers(-50, 51))
    bits.put(_DC.index(abs(dc - previous).bit_length()), 4)
    _number(bits, dc - previous)
    at = 1
    for _ in range(rng.integers(0, 5)):
        run = int(rng.integers(0, 8))
        value = int(rng.integers(1, 20)) * int(rng.choice([-1, 1]))
        if at + run > 62:
            break
        bits.put(_AC.index(run << 4 | abs(value).bit_length()), 8)
        _number(bits, value)
        at += run + 1
    bits.put(_AC.index(0), 8)
    return dc


def write_jpeg(
    width,
    height,
    factors,
    *,
    scans=None,
    restart=0,
    seed=0,
    app=b"",
    ids=(1, 2, 3, 4),
    before=lambda interval: b"",
):
    """Make a baseline JPEG of random coefficients.

    ``factors``: (h, v) of each component. ``scans``: lists of component numbers, one list a scan.
    ``restart``: MCUs between restart markers. ``app``: segments after the start marker.
    ``before(interval)``: bytes to put in front of that restart marker.
    """
    rng = np.random.default_rng(seed)
    h_max, v_max = (max(f[i] for f in factors) for i in (0, 1))
    frame = struct.pack(">BHHB", 8, height, width, len(factors))
    for number, (h, v) in zip(ids, factors, strict=False):
        frame += bytes([number, h << 4 | v, 0])
    out = b"\xff\xd8" + app + _TABLES + _segment(0xC0, frame)
    out += _segment(0xDD, struct.pack(">H", restart)) if restart else b""
    for scan in scans or [list(range(len(factors)))]:
        header = (
            bytes([len(scan)]) + b"".join(bytes([ids[c], 0]) for c in scan) + bytes([0, 63, 0])
        )
        out += _segment(0xDA, header)
        if len(scan) == 1:
            h, v = factors[scan[0]]
            mcus = ceil(ceil(width * h / h_max) / 8) * ceil(ceil(height * v / v_max) / 8)
            blocks = {scan[0]: 1}
        else:
            mcus = ceil(width / (8 * h_max)) * ceil(height / (8 * v_max))
            blocks = {c: factors[c][0] * factors[c][1] for c in scan}
        bits, dc = _Bits(), dict.fromkeys(scan, 0)
        for mcu in range(mcus):
            if restart and mcu and mcu % restart == 0:
                interval = mcu // restart - 1
                marker = bytes([0xFF, 0xD0 + interval % 8])
                out += bits.flush() + before(interval) + marker
                dc = dict.fromkeys(scan, 0)
            for component in scan:
                for _ in range(blocks[component]):
                    dc[component] = _block(bits, rng, dc[component])
        out += bits.flush()
    return out + b"\xff\xd9"


def make_picture(width, height, seed=0, mode="RGB"):
    """Gradients, noise and a hard edge."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[0:height, 0:width]
    channels = len(Image.new(mode, (1, 1)).getbands())
    planes = [
        (x * rng.uniform(0.5, 4) + y * rng.uniform(0.5, 4) + rng.normal(0, 12, x.shape)) % 256
        for _ in range(channels)
    ]
    pixels = np.stack(planes, -1).astype(np.uint8)
    pixels[height // 3 : height // 2, width // 4 : width // 2] = 255
    return Image.fromarray(
        pixels.squeeze(-1) if channels == 1 else pixels, mode if mode == "CMYK" else None
    )


def save_jpeg(image, **options):
    file = io.BytesIO()
    image.save(file, "JPEG", **options)
    return file.getvalue()


def open_rgb(data, mode="RGB"):
    with Image.open(io.BytesIO(data)) as image:
        pixels = np.asarray(image.convert(mode))
    return pixels if pixels.ndim == 3 else pixels[..., None]


@pytest.fixture(scope="session")
def make():
    """Give the writer of odd files."""
    return write_jpeg


@pytest.fixture(scope="session")
def photo():
    """Give ``photo(width, height, seed, mode, **options)``: bytes of a JPEG by Pillow."""

    def encode(width=64, height=48, seed=0, mode="RGB", **options):
        return save_jpeg(make_picture(width, height, seed, mode), **options)

    return encode


@pytest.fixture(scope="session")
def pillow():
    """Give ``pillow(data, mode="RGB")``: what Pillow makes of a file."""
    return open_rgb


def _restore(info):
    module.use_backend("simplejpeg" if info["kind"] == "simplejpeg" else info["path"])


def _usable():
    """Every way to decode that this machine has."""
    before, names = module.library_info(), []
    for name in ("libjpeg", "libjpeg.so.62", "libjpeg.so.8", "simplejpeg"):
        with suppress(OSError):
            module.use_backend(name)
            names.append(name)
    _restore(before)
    return names


@pytest.fixture(params=_usable())
def backend(request):
    """Run a test over every way to decode."""
    before = module.library_info()
    module.use_backend(request.param)
    yield request.param
    _restore(before)


@pytest.fixture
def libjpeg():
    """Run a test with a libjpeg, whatever ``DTS_JPEG_LIB`` says."""
    before = module.library_info()
    try:
        module.use_backend("libjpeg")
    except OSError as error:
        pytest.skip(str(error))
    yield
    _restore(before)
