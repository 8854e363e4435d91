#!/usr/bin/env python3
"""Run torchvision and Pillow over the cases of tests/oracle_cases.py and store what they make.

Needs torch, torchvision, Pillow and numpy, not dts. torch is too large for the tests, so they read
what this wrote. Run it again when a case is added, in an environment of its own:

    python3 -m venv oracles && oracles/bin/pip install torch torchvision pillow numpy
    oracles/bin/python tools/make_oracles.py
    oracles/bin/python tools/make_oracles.py --photos DIR --out /tmp/photos.npz   # real pictures

Usage: ``python tools/make_oracles.py [--out FILE] [--photos DIR]``. The default file is
tests/oracles/oracles.npz. With --photos the pictures are the middle 224 x 224 of up to 12 JPEGs
below DIR, and the file is for tools/transform_table.py, not for the tests.
"""

import argparse
import json
import sys
from pathlib import Path

import numpy as np
import PIL
import torch
import torchvision
from PIL import Image, ImageEnhance, ImageOps
from torchvision.transforms.v2 import InterpolationMode, RandAugment, functional

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from oracle_cases import (  # noqa: E402
    AUGMENT_MAGNITUDES,
    AUGMENT_PICTURES,
    CASES,
    augment_key,
    pictures,
)

FILTERS = {"nearest": Image.Resampling.NEAREST, "bilinear": Image.Resampling.BILINEAR}


def resize(image, size):
    """Resize as torchvision: an int is the short side."""
    if isinstance(size, int):
        w, h = image.size
        size = (int(size * h / w), size) if w <= h else (size, int(size * w / h))
    return image.resize(size[::-1], Image.Resampling.BILINEAR)


PILLOW = {
    "resize": resize,
    "flip": lambda image, axis: image.transpose(Image.Transpose(axis)),
    "rotate": lambda image, angle, interpolation: image.rotate(angle, FILTERS[interpolation]),
    "enhance": lambda image, kind, f: getattr(ImageEnhance, kind)(image).enhance(f),
    "grey": lambda image: image.convert("L").convert("RGB"),
    "autocontrast": ImageOps.autocontrast,
    "equalize": ImageOps.equalize,
    "invert": ImageOps.invert,
    "posterize": ImageOps.posterize,
    "solarize": ImageOps.solarize,
}


def by_torch(image, name, settings):
    """Apply a function of torchvision to (h, w, c) uint8."""
    settings = dict(settings)
    if "interpolation" in settings:
        settings["interpolation"] = functional.InterpolationMode(settings["interpolation"])
    tensor = torch.from_numpy(np.ascontiguousarray(image.transpose(2, 0, 1)))
    out = getattr(functional, name)(tensor, **settings)
    return out.numpy().transpose(1, 2, 0)


def by_pillow(image, name, settings):
    """Apply a function of Pillow to (h, w, c) uint8."""
    given = Image.fromarray(image[:, :, 0] if image.shape[2] == 1 else image)
    out = np.asarray(PILLOW[name](given, **settings))
    return out if out.ndim == 3 else out[:, :, None]


def augmented():
    """Return what torchvision's RandAugment makes of each operation, magnitude and sign."""
    out = {}
    how = RandAugment()
    for name in AUGMENT_PICTURES:
        tensor = torch.from_numpy(np.ascontiguousarray(pictures()[name].transpose(2, 0, 1)))
        _, height, width = tensor.shape
        for operation, (magnitudes, signed) in how._AUGMENTATION_SPACE.items():
            listed = magnitudes(how.num_magnitude_bins, height, width)
            for m in AUGMENT_MAGNITUDES:
                value = 0.0 if listed is None else float(listed[m])
                for negative in (False, True) if signed else (False,):
                    made = how._apply_image_or_video_transform(
                        tensor, operation, -value if negative else value,
                        interpolation=InterpolationMode.NEAREST, fill={},
                    )  # fmt: skip
                    key = augment_key(operation, m, negative, name)
                    out[key] = made.numpy().transpose(1, 2, 0)
    return out


def photos(folder, limit=12, side=224):
    """Return the middle of up to `limit` JPEGs, spread over the folder."""
    paths = sorted(Path(folder).rglob("*.JPEG")) + sorted(Path(folder).rglob("*.jpg"))
    out = {}
    for path in paths[:: max(len(paths) // limit, 1)]:
        image = Image.open(path).convert("RGB")
        w, h = image.size
        if min(w, h) >= side and len(out) < limit:
            left, top = (w - side) // 2, (h - side) // 2
            out[path.name] = np.asarray(image.crop((left, top, left + side, top + side)))
    return out


def main():
    """Write the file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=ROOT / "tests" / "oracles" / "oracles.npz")
    parser.add_argument("--photos", type=Path)
    args = parser.parse_args()
    torch.set_num_threads(1)
    real = photos(args.photos) if args.photos else None
    arrays = {f"photo|{name}": image for name, image in (real or {}).items()}
    for case in CASES:
        named = real if real is not None else {name: pictures()[name] for name in case.on}
        for name, image in named.items():
            for who, apply, what in (
                ("torch", by_torch, case.torch),
                ("pillow", by_pillow, case.pillow),
            ):
                if what is None:
                    continue
                try:
                    arrays[f"{case.name}|{name}|{who}"] = apply(image, *what)
                except (RuntimeError, ValueError, OSError) as error:  # theirs: nothing to compare
                    print(f"{who} fails on {name} with {case.name}: {str(error)[:90]}")
    if real is None:
        arrays.update(augmented())
    about = {
        "torch": torch.__version__,
        "torchvision": torchvision.__version__,
        "pillow": PIL.__version__,
        "numpy": np.__version__,
    }
    arrays["about"] = np.frombuffer(json.dumps(about).encode(), np.uint8)
    args.out.parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(args.out, **arrays)
    print(f"{args.out}: {len(arrays)} arrays, {args.out.stat().st_size} bytes, {about}")


if __name__ == "__main__":
    main()
