"""Test pictures."""

import io
from contextlib import suppress

import numpy as np
import pytest
from odd_jpeg import write_jpeg
from PIL import Image

from dts import decode as module


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


@pytest.fixture(params=[name for name in _usable() if name != "simplejpeg"])
def each_libjpeg(request):
    """Run a test over every libjpeg that this machine has."""
    before = module.library_info()
    module.use_backend(request.param)
    yield request.param
    _restore(before)
