"""Pictures, folders and small .dts files for the tests, from numpy seeds."""

import io
import zlib

import numpy as np
from PIL import Image

from dts.format.block import pack_table
from dts.format.checksum import crc32_of_file
from dts.format.extension import Extension
from dts.format.header import Header
from dts.format.layout import (
    BLOCK_BYTES,
    BLOCK_HEADER_SIZE,
    EXTENSION_OFFSET,
    HEADER_AREA,
    up64,
)


def pixels(seed, width, height, channels=3):
    """Smooth colours with some texture: compresses well, shows every misplaced pixel."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[0:height, 0:width].astype(np.float64)
    planes = []
    for _ in range(channels):
        fx, fy, phase, lift = rng.uniform(0.02, 0.2), rng.uniform(0.02, 0.2), *rng.uniform(0, 6, 2)
        planes.append(np.sin(fx * x + phase) * np.cos(fy * y + lift))
    image = 127.5 + 90 * np.stack(planes, -1) + rng.normal(0, 6, (height, width, channels))
    return np.clip(image, 0, 255).astype(np.uint8)


def jpeg(seed, width, height, mode="RGB", quality=90, **options):
    """Bytes of a JPEG; mode RGB, L or CMYK."""
    array = pixels(seed, width, height, {"RGB": 3, "L": 1, "CMYK": 4}[mode])
    if mode == "CMYK":
        image = Image.frombytes("CMYK", (width, height), array.tobytes())
    else:
        image = Image.fromarray(array[..., 0] if mode == "L" else array)
    out = io.BytesIO()
    image.save(out, "JPEG", quality=quality, **options)
    return out.getvalue()


def varied(n, seed=0, side=(90, 360)):
    """`n` JPEGs of mixed sizes, shapes and kinds."""
    rng = np.random.default_rng(seed)
    kinds = [
        {},
        {"subsampling": 0},
        {"subsampling": 1},
        {"mode": "L"},
        {"progressive": True},
        {"quality": 70},
        {"mode": "CMYK"},
        {},
    ]
    return [
        jpeg(seed * 1000 + k, *(int(v) for v in rng.integers(*side, 2)), **kinds[k % len(kinds)])
        for k in range(n)
    ]


def folder(root, pictures, classes=3):
    """Write pictures into class folders, round robin; returns {relative name: (bytes, label)}."""
    names = {}
    for k, data in enumerate(pictures):
        label = k % classes
        path = root / f"class_{label}" / f"picture_{k:05d}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        names[f"class_{label}/{path.name}"] = (data, label)
    return names


def pack(directory, pictures, *, classes=3, level=0, split="train", **options):
    """Export pictures; returns (path of the .dts file, {name: (bytes, label)})."""
    from dts.export import export_folder

    source = directory / f"source_{split}"
    names = folder(source, pictures, classes)
    target = directory / f"folder_{split}_lv{level}.dts"
    export_folder(source, target, level=level, split=split, progress=False, **options)
    return target, names


def pack_blocks(path, blocks, *, level=0, split="train", plain=False, classes=3, checksums=True):
    """Write a .dts file with the given blocks: a list of lists of (bytes, label).

    Many small blocks in a sparse file: the exporter would never make it, the loaders must be
    tried with it.
    """
    base = BLOCK_HEADER_SIZE[level]
    flat = [picture for block in blocks for picture in block]
    with open(path, "wb") as f:
        f.truncate(HEADER_AREA + len(blocks) * BLOCK_BYTES)
        for k, block in enumerate(blocks):
            sizes = np.array([len(data) for data, _ in block], np.int64)
            offsets = base + np.concatenate([[0], np.cumsum(up64(sizes))[:-1]])
            f.seek(HEADER_AREA + k * BLOCK_BYTES)
            f.write(pack_table(level, k, offsets, sizes, [label for _, label in block]))
            for (data, _), offset in zip(block, offsets, strict=True):
                f.seek(HEADER_AREA + k * BLOCK_BYTES + int(offset))
                f.write(data)
    header = Header.for_pictures(
        level=level,
        is_training=split == "train",
        num_classes=classes,
        num_samples=len(flat),
        num_blocks=len(blocks),
        source_bytes=sum(len(data) for data, _ in flat),
        max_pic_area=1 << 20,
        max_pic_per_block=max(map(len, blocks)),
        crc=crc32_of_file(path, HEADER_AREA) if checksums else 0,
    )
    extension = Extension(
        class_names=[f"class_{k}" for k in range(classes)],
        sample_names=[f"class_{label}/{k:06d}.jpg" for k, (_, label) in enumerate(flat)],
        block_counts=[len(b) for b in blocks],
        block_crcs=[
            crc32_of_file(path, HEADER_AREA + k * BLOCK_BYTES, BLOCK_BYTES) if checksums else 0
            for k in range(len(blocks))
        ],
        sample_crcs=[zlib.crc32(data) for data, _ in flat],
        source_sizes=[len(data) for data, _ in flat],
    )
    with open(path, "r+b") as f:
        f.write(header.to_bytes())
        if not plain:
            f.seek(EXTENSION_OFFSET)
            f.write(extension.pack()[0])
    return path


def small_blocks(path, counts, *, seed=0, side=(24, 72), **options):
    """Pack `counts[k]` pictures into block k; returns (path, [(bytes, label), ...] by id)."""
    pictures = varied(sum(counts), seed, side)
    labelled = [(data, k % 3) for k, data in enumerate(pictures)]
    ends = np.cumsum(counts)
    blocks = [labelled[end - n : end] for n, end in zip(counts, ends, strict=True)]
    return pack_blocks(path, blocks, **options), labelled
