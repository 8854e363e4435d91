"""A small writer of valid files, so that reading is tested without the exporter."""

import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from dts.format.block import pack_table
from dts.format.checksum import crc32_combine, crc32_concat
from dts.format.extension import Extension
from dts.format.header import Header
from dts.format.layout import (
    BLOCK_BYTES,
    BLOCK_HEADER_SIZE,
    EXTENSION_OFFSET,
    EXTENSION_ROOM,
    HEADER_AREA,
    sidecar_path,
    up64,
)


@dataclass
class Written:
    """A file and what was put into it: blocks of (picture, label), and the names by id."""

    path: Path
    blocks: list
    names: list

    @property
    def samples(self):
        return [sample for block in self.blocks for sample in block]

    def offset_of(self, block, sample):
        """First byte of a picture in the file."""
        level = self.header.compress_level
        sizes = [up64(len(data)) for data, _ in self.blocks[block][:sample]]
        return HEADER_AREA + block * BLOCK_BYTES + BLOCK_HEADER_SIZE[level] + sum(sizes)

    @property
    def header(self):
        return Header.from_bytes(self.read(0, 144))

    def read(self, offset, size):
        with open(self.path, "rb") as file:
            file.seek(offset)
            return file.read(size)

    def patch(self, offset, data):
        with open(self.path, "r+b") as file:
            file.seek(offset)
            file.write(data)

    def flip(self, offset):
        self.patch(offset, bytes([self.read(offset, 1)[0] ^ 1]))

    def truncate(self, size):
        with open(self.path, "r+b") as file:
            file.truncate(size)


def block_bytes(level, number, block):
    """Pack a block, without the zeros up to its end."""
    sizes = np.array([len(data) for data, _ in block], np.int64)
    ends = np.cumsum(up64(sizes))
    offsets = BLOCK_HEADER_SIZE[level] + ends - up64(sizes)
    table = pack_table(level, number, offsets, sizes, [label for _, label in block])
    return table + b"".join(data.ljust(up64(len(data)), b"\0") for data, _ in block)


def block_crc(data):
    """CRC-32 of a block whose zeros are left out, without going through 16 MiB of them."""
    crc, zeros, size = zlib.crc32(data), zlib.crc32(b"\0"), 1
    missing = BLOCK_BYTES - len(data)
    while size <= missing:
        if missing & size:
            crc = crc32_combine(crc, zeros, size)
        zeros, size = crc32_combine(zeros, zeros, size), size * 2
    return crc


def write_file(path, blocks, level=0, extension=True, room=EXTENSION_ROOM, **header_fields):
    """Write a file of blocks; give the names of its samples."""
    path = Path(path)
    names = [
        f"class{y}/{path.stem}_{b}_{i}.jpg"
        for b, blk in enumerate(blocks)
        for i, (_, y) in enumerate(blk)
    ]
    packed = [block_bytes(level, k, block) for k, block in enumerate(blocks)]
    crcs = [block_crc(data) for data in packed]
    samples = [data for block in blocks for data, _ in block]
    counts = [len(block) for block in blocks]
    header = Header.for_pictures(
        **{
            "level": level,
            "is_training": True,
            "num_classes": 10,
            "num_samples": len(samples),
            "num_blocks": len(blocks),
            "source_bytes": sum(map(len, samples)),
            "max_pic_area": 64,
            "max_pic_per_block": max(counts),
            "crc": crc32_concat(crcs, BLOCK_BYTES),
        }
        | header_fields
    )
    inside, sidecar = b"", None
    if extension:
        inside, sidecar = Extension(
            class_names=[f"class{i}" for i in range(10)],
            sample_names=names,
            block_counts=counts,
            block_crcs=np.array(crcs, np.uint32),
            sample_crcs=np.array([zlib.crc32(data) for data in samples], np.uint32),
            source_sizes=[len(data) for data in samples],
        ).pack(room)
    with open(path, "wb") as file:
        file.write(header.to_bytes())
        file.seek(EXTENSION_OFFSET)
        file.write(inside)
        for k, data in enumerate(packed):
            file.seek(HEADER_AREA + k * BLOCK_BYTES)
            file.write(data)
        file.truncate(HEADER_AREA + len(packed) * BLOCK_BYTES)
    if sidecar is not None:
        Path(sidecar_path(path)).write_bytes(sidecar)
    return names


@pytest.fixture(scope="module")
def small_file(tmp_path_factory):
    """One block of 3 samples and 10 classes, for tests that replace its extension."""
    blocks = [[(b"one", 0), (b"two", 1), (b"three", 2)]]
    path = tmp_path_factory.mktemp("small") / "small.dts"
    return Written(path, blocks, write_file(path, blocks))


@pytest.fixture
def make_blocks():
    """Random pictures: make_blocks([3, 5]) gives two blocks of 3 and 5."""

    def make(counts, seed=0, classes=10):
        rng = np.random.default_rng(seed)
        return [
            [(rng.bytes(int(rng.integers(1, 400))), int(rng.integers(classes))) for _ in range(n)]
            for n in counts
        ]

    return make


@pytest.fixture
def write_dts(tmp_path, make_blocks):
    """Write a file of blocks of JPEG-like pictures."""

    def write(counts=(3, 5, 4), *, name="a.dts", blocks=None, **options):
        blocks = make_blocks(counts) if blocks is None else blocks
        path = tmp_path / name
        return Written(path, blocks, write_file(path, blocks, **options))

    return write


@pytest.fixture
def write_volumes(write_dts, make_blocks):
    """Write a set of volumes; counts is a list of lists."""

    def write(counts, name="set", **fields):
        total = sum(map(len, counts))
        return [
            write_dts(
                name=f"{name}_vol{k:03d}.dts",
                blocks=make_blocks(part, seed=k),
                volume_id=k,
                num_volumes=len(counts),
                total_blocks=total,
                **fields,
            )
            for k, part in enumerate(counts)
        ]

    return write


@pytest.fixture
def write_arrays(tmp_path):
    """Write an MNIST or CIFAR file; gives (path, pictures, labels)."""

    def write(kind="MNIST", n=20, crc=None, **fields):
        rng = np.random.default_rng(1)
        shape = (28, 28, 1) if kind == "MNIST" else (32, 32, 3)
        pictures = rng.integers(0, 256, (n, *shape), np.uint8)
        labels = rng.integers(0, 10, n, np.uint8)
        body = labels.tobytes() + pictures.tobytes()
        header = Header(
            dataset_type=kind,
            num_samples=n,
            crc_code=zlib.crc32(body) if crc is None else crc,
            **fields,
        )
        path = tmp_path / f"{kind.lower()}.dts"
        path.write_bytes(header.to_bytes().ljust(256, b"\0") + body)
        return path, pictures, labels

    return write
