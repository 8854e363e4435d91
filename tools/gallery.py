#!/usr/bin/env python3
"""Draw docs/transforms.jpg: one picture, every operation, several draws of each.

The picture is made here by formula. Usage: ``python tools/gallery.py [OUT]``.
"""

import sys
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont

import dts
from dts import apply_transforms

SIDE = 112
DRAWS = 6
GAP = 6
LABEL = 250


def scene(height=300, width=400):
    """Return a picture with a sky, a sun, hills, a house and fine texture: (h, w, 3) uint8."""
    y, x = np.mgrid[0:height, 0:width].astype(np.float64)
    image = np.stack([90 + 0.30 * y, 150 + 0.22 * y, 235 - 0.10 * y], -1)
    image[np.hypot(x - 310, y - 62) < 34] = (255, 221, 92)
    far = 175 + 26 * np.sin(x / 45) + 12 * np.sin(x / 17 + 1)
    near = 222 + 18 * np.sin(x / 60 + 2)
    image[y > far] = (74, 122, 96)
    image[y > near] = (96, 158, 60)
    rng = np.random.default_rng(5)
    grass = rng.normal(0, 14, (height, width))
    image[y > near] += grass[y > near, None]
    wall = (x > 92) & (x < 188) & (y > 150) & (y < 232)
    image[wall] = (214, 190, 158)
    image[wall & ((y.astype(int) // 8 + x.astype(int) // 16) % 2 == 0)] -= 18
    image[(np.abs(x - 140) < (y - 102) * 1.15) & (y > 102) & (y <= 150)] = (172, 58, 48)
    image[(x > 128) & (x < 152) & (y > 186) & (y < 232)] = (82, 54, 40)
    for left in (102, 162):
        image[(x > left) & (x < left + 16) & (y > 164) & (y < 180)] = (60, 84, 120)
    return np.clip(image, 0, 255).astype(np.uint8)


def operations():
    """Return (caption, chain) for every row: all bring the scene to SIDE x SIDE."""
    fit = [dts.Resize(SIDE), dts.CenterCrop(SIDE)]
    crop = (SIDE, SIDE)
    return [
        ("Resize(112), CenterCrop(112)", fit),
        ("RandomResizedCrop(112)", [dts.RandomResizedCrop(SIDE)]),
        ("FastRandomResizedCrop(112)", [dts.FastRandomResizedCrop(SIDE)]),
        ("RandomCrop(112)", [dts.RandomCrop(crop)]),
        ("RandomCrop(112, padding=28)", [*fit, dts.RandomCrop(crop, padding=28)]),
        (
            'RandomCrop(112, padding=28,\n  padding_mode="reflect")',
            [*fit, dts.RandomCrop(crop, padding=28, padding_mode="reflect")],
        ),
        ("Pad(20, fill=(200, 60, 60))", [*fit, dts.Pad(20, fill=(200, 60, 60)), dts.Resize(crop)]),
        ("RandomScale(0.6, 1.4)", [*fit, dts.RandomScale(0.6, 1.4)]),
        ("RandomHorizontalFlip()", [*fit, dts.RandomHorizontalFlip()]),
        ("RandomVerticalFlip()", [*fit, dts.RandomVerticalFlip()]),
        ("RandomRotation(30)", [*fit, dts.RandomRotation(30, interpolation="bilinear")]),
        ("RandomErasing(1.0)", [*fit, dts.RandomErasing(1.0)]),
        ('RandomErasing(1.0, value="random")', [*fit, dts.RandomErasing(1.0, value="random")]),
        ("ColorJitter(0.4, 0.4, 0.4, 0.1)", [*fit, dts.ColorJitter(0.4, 0.4, 0.4, 0.1)]),
        ("ColorJitter(hue=0.5)", [*fit, dts.ColorJitter(hue=0.5)]),
        ("RandomGrayscale(0.5)", [*fit, dts.RandomGrayscale(0.5)]),
        ("RandomAutocontrast(0.5)", [*fit, dts.RandomAutocontrast(0.5)]),
        ("RandomEqualize(0.5)", [*fit, dts.RandomEqualize(0.5)]),
        ("RandomInvert(0.5)", [*fit, dts.RandomInvert(0.5)]),
        ("RandomPosterize(2, 0.5)", [*fit, dts.RandomPosterize(2, 0.5)]),
        ("RandomSolarize(128, 0.5)", [*fit, dts.RandomSolarize(128, 0.5)]),
        ("RandomAdjustSharpness(3, 0.5)", [*fit, dts.RandomAdjustSharpness(3, 0.5)]),
        ("GaussianBlur(11, (0.1, 3.0))", [*fit, dts.GaussianBlur(11, (0.1, 3.0))]),
        ("GaussianNoise(0, 0.1)", [*fit, dts.GaussianNoise(0.0, 0.1)]),
        ("TrivialAugmentWide()", [*fit, dts.TrivialAugmentWide()]),
        ("RandAugment()", [*fit, dts.RandAugment()]),
    ]


def draw_gallery(rows, image):
    """Return one picture: a row for each chain, DRAWS samples of it."""
    step = SIDE + GAP
    sheet = Image.new("RGB", (LABEL + DRAWS * step + GAP, len(rows) * step + GAP), "white")
    pen = ImageDraw.Draw(sheet)
    font = ImageFont.load_default(13)
    for row, (caption, chain) in enumerate(rows):
        top = GAP + row * step
        pen.multiline_text((10, top + SIDE // 2 - 16), caption, "#222222", font)
        for k in range(DRAWS):
            tile = apply_transforms(image, chain, seed=1, id=k)
            sheet.paste(Image.fromarray(tile), (LABEL + GAP + k * step, top))
    return sheet


def main():
    """Write the gallery."""
    out = Path(sys.argv[1] if len(sys.argv) > 1 else "docs/transforms.jpg")
    draw_gallery(operations(), scene()).save(out, quality=88, optimize=True)
    print(out, out.stat().st_size, "bytes")


if __name__ == "__main__":
    main()
