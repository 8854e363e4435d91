"""Pictures, folders and small .dts files for the tests, from numpy seeds."""

import io

import numpy as np
from PIL import Image

from dts.export import export_folder


def pixels(seed, width, height, channels=3):
    """Smooth colours with some texture: compresses like a photograph, shows every misplaced pixel."""
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
    source = directory / f"source_{split}"
    names = folder(source, pictures, classes)
    target = directory / f"folder_{split}_lv{level}.dts"
    export_folder(source, target, level=level, split=split, progress=False, **options)
    return target, names
