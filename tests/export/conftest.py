"""Sources to export, and a reader of .dts files written from the format's description alone."""

import io
import os
import struct
import zlib
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image

MIB16 = 16 << 20


def jpeg(seed, width, height, mode="RGB", **options):
    """Make a smooth picture as JPEG bytes: 16x16 random patches, enlarged."""
    channels = {"RGB": 3, "L": 1, "CMYK": 4}[mode]
    noise = np.random.RandomState(seed).bytes(16 * 16 * channels)
    patches = np.frombuffer(noise, np.uint8).reshape(16, 16, channels)
    big = patches.repeat(-(-height // 16), 0).repeat(-(-width // 16), 1)[:height, :width]
    picture = Image.frombytes(mode, (width, height), big.tobytes())
    out = io.BytesIO()
    picture.save(out, options.pop("format", "JPEG"), **{"quality": 95, **options})
    return out.getvalue()


def png(seed, width, height, mode):
    """Make the same kind of picture as PNG bytes."""
    channels = {"RGBA": 4, "LA": 2, "P": 1, "RGB": 3, "L": 1}[mode]
    noise = np.random.RandomState(seed).bytes(16 * 16 * channels)
    patches = np.frombuffer(noise, np.uint8).reshape(16, 16, channels)
    big = patches.repeat(-(-height // 16), 0).repeat(-(-width // 16), 1)[:height, :width]
    picture = Image.frombytes(mode, (width, height), big.tobytes())
    if mode == "P":
        picture.putpalette(bytes(i * k % 256 for i in range(256) for k in (1, 3, 7)))
    out = io.BytesIO()
    picture.save(out, "PNG")
    return out.getvalue()


def write(path, data):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(data)


@pytest.fixture(scope="session")
def make():
    """Give the picture makers and `write`."""
    return SimpleNamespace(jpeg=jpeg, png=png, write=write)


@pytest.fixture
def photos(tmp_path):
    """Make a folder of 30 small JPEGs in 3 classes."""
    root = tmp_path / "photos"
    for k in range(30):
        write(root / f"c{k % 3}" / f"{k:02d}.jpg", jpeg(k, 40 + k, 60 - k))
    return root


FIELDS = [
    "magic",
    "version",
    "type",
    "is_training",
    "level",
    "val_set_prep",
    "num_classes",
    "layout",
    "width",
    "height",
    "channels",
    "color",
    "num_samples",
    "num_volumes",
    "volume_id",
    "total_blocks",
    "num_blocks",
    "total_bytes",
    "header_bytes",
    "block_bytes",
    "bytes_per_block",
    "block_header_size",
    "alignment",
    "max_pic_area",
    "max_pic_per_block",
    "ratio",
    "m0",
    "m1",
    "m2",
    "s0",
    "s1",
    "s2",
    "crc",
]


def blank(data):
    return data.count(0) == len(data)


def read_dts(path):
    """Read a file of pictures and check everything that its description fixes."""
    with open(path, "rb") as file:
        data = file.read()
    header = SimpleNamespace(
        **dict(zip(FIELDS, struct.unpack_from("<4s4s8s4I4s3I4s5IQIQ5I7fI", data), strict=True))
    )
    assert header.magic == b".DTS"
    assert header.type == b"IMAGENET"
    assert len(data) == header.total_bytes == (1 + header.num_blocks) * MIB16
    assert zlib.crc32(data[MIB16:]) == header.crc
    start = header.block_header_size
    assert start == (4096 if header.level == 0 else 16384)
    samples, counts = [], []
    for k in range(header.num_blocks):
        block = data[(1 + k) * MIB16 : (2 + k) * MIB16]
        magic, number, n = struct.unpack_from("<4sII", block)
        assert (magic, number) == (b"LV%dB" % header.level, k)
        assert 1 <= n <= (340 if header.level == 0 else 1000)
        table = np.frombuffer(block, "<u4", 3 * n, 12).reshape(3, n)
        at = start
        assert blank(block[12 + 12 * n : start])
        for offset, size, label in table.T.tolist():
            assert offset == at
            samples.append((block[offset : offset + size], label))
            at += -(-size // 64) * 64
            assert blank(block[offset + size : at])
        assert blank(block[at:])
        counts.append(n)
    assert len(samples) == header.num_samples
    assert header.max_pic_per_block == max(counts)
    return SimpleNamespace(header=header, samples=samples, counts=counts, data=data)


@pytest.fixture(scope="session")
def read():
    """Give `read_dts`."""
    return read_dts
