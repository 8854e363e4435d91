#!/usr/bin/env python3
"""Measure every operation against torchvision and Pillow; write the table of docs/transforms.md.

Usage: ``python tools/transform_table.py [--photos FILE.npz] [--check]``. FILE.npz is what
``tools/make_oracles.py --photos`` wrote; its figures are kept in docs/results and used from there
when no file is given. --check only compares (exit code 1 where the docs differ).
"""

import argparse
import json
import math
import sys
from collections import defaultdict
from pathlib import Path

import numpy as np

import dts.transforms
from dts import apply_transforms

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from oracle_cases import (  # noqa: E402
    AUGMENT_MAGNITUDES,
    AUGMENT_PICTURES,
    CASES,
    augment_key,
    pictures,
)

DOCS = ROOT / "docs" / "transforms.md"
PHOTOS = ROOT / "docs" / "results" / "transforms_photos.json"
BEGIN, END = "<!-- exactness: begin -->\n", "<!-- exactness: end -->\n"

WHY = {
    "CenterCrop": "half a pixel rounds to even, as there",
    "Pad": "",
    "Resize": "weights are Q14 integers, the vertical pass comes first and keeps 7 more bits",
    "RandomHorizontalFlip": "",
    "RandomVerticalFlip": "",
    "RandomRotation": "bilinear: order of float32 sums; Pillow decides ties of nearest otherwise",
    "ColorJitter": "Pillow rounds where torchvision truncates, and the mean of the picture to an "
    "integer first",
    "RandomGrayscale": "Pillow's weights are 16-bit integers and it rounds",
    "RandomAutocontrast": "Pillow builds a table, with other rounding",
    "RandomEqualize": "",
    "RandomInvert": "",
    "RandomPosterize": "",
    "RandomSolarize": "",
    "RandomAdjustSharpness": "",
    "RandAugment": "every operation at three magnitudes; TrivialAugmentWide takes the same code",
    "GaussianBlur": "torchvision's kernel is float32; Pillow's is a sum of box filters: not "
    "compared",
}


def differences(stored, named):
    """Return {op: {who: [worst, sum, pixels]}} over all cases that the file has."""
    found = defaultdict(lambda: {"torch": [0, 0, 0], "pillow": [0, 0, 0]})
    for case in CASES:
        op = getattr(dts.transforms, case.op)(**case.settings)
        for name in named if named is not None else case.on:
            image = (named or pictures())[name]
            got = None
            for who in ("torch", "pillow"):
                key = f"{case.name}|{name}|{who}"
                if key in stored:
                    got = apply_transforms(image, op).astype(int) if got is None else got
                    add(found[case.op][who], np.abs(got - stored[key]))
    return {op: dict(by) for op, by in found.items()}


def augmented(stored):
    """Return the totals of RandAugment: each operation, magnitude and sign, looked for by seed."""
    total = {"torch": [0, 0, 0], "pillow": [0, 0, 0]}
    centre = {"Brightness": 1, "Color": 1, "Contrast": 1, "Sharpness": 1}
    for name in AUGMENT_PICTURES:
        image, seen = pictures()[name], set()
        for magnitude in AUGMENT_MAGNITUDES:
            chain = dts.transforms.Chain([dts.transforms.RandAugment(1, magnitude)])
            for id in range(600):
                step = chain.describe(1, 0, 0, id, image.shape[1], image.shape[0])[0]
                (operation,), (value,) = step["operations"], step["magnitudes"]
                negative = math.copysign(1, value - centre.get(operation, 0)) < 0
                key = augment_key(operation, magnitude, negative, name)
                if key in stored and key not in seen:
                    seen.add(key)
                    got = apply_transforms(image, chain.transforms, seed=1, id=id).astype(int)
                    gap = np.abs(got - stored[key])
                    add(total["torch"], gap)
    return total


def add(total, gap):
    """Count the differences of one picture in."""
    total[0] = max(total[0], int(gap.max()))
    total[1] += int(gap.sum())
    total[2] += gap.size


def figure(total):
    """Return "worst / mean" of one total, in levels."""
    worst, summed, pixels = total
    if not pixels:
        return "-"
    return "0" if worst == 0 else f"{worst} / {summed / pixels:.2g}"


def table(made, photos):
    """Return the lines of the table."""
    lines = [
        "| operation | torchvision | Pillow | torchvision, photographs | Pillow, photographs "
        "| why it differs |",
        "|---|---|---|---|---|---|",
    ]
    for op in made:
        real = photos.get(op, {"torch": [0, 0, 0], "pillow": [0, 0, 0]})
        cells = [figure(by[who]) for by in (made[op], real) for who in ("torch", "pillow")]
        lines.append(f"| `{op}` | {' | '.join(cells)} | {WHY[op]} |")
    return lines


def main():
    """Write the table, or compare it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--photos", type=Path)
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    stored = np.load(ROOT / "tests" / "oracles" / "oracles.npz")
    if args.photos:
        taken = np.load(args.photos)
        named = {k.removeprefix("photo|"): taken[k] for k in taken.files if k.startswith("photo|")}
        photos = {"pictures": len(named), "operations": differences(taken, named)}
        PHOTOS.parent.mkdir(exist_ok=True)
        PHOTOS.write_text(json.dumps(photos, indent=1) + "\n")
    photos = json.loads(PHOTOS.read_text())
    about = json.loads(bytes(stored["about"]))
    versions = ", ".join(f"{k} {v.split('+')[0]}" for k, v in about.items() if k != "numpy")
    body = [
        f"Worst / mean difference in levels of 0..255 ({versions}); 0: every pixel is equal. "
        f"Photographs: {photos['pictures']} of 224 x 224.",
        "",
        *table(
            {**differences(stored, None), "RandAugment": augmented(stored)}, photos["operations"]
        ),
    ]
    text = DOCS.read_text()
    head, rest = text.split(BEGIN)
    new = head + BEGIN + "\n".join(["", *body, "", ""]) + END + rest.split(END)[1]
    if args.check:
        sys.exit(0 if new == text else f"{DOCS}: run tools/transform_table.py")
    DOCS.write_text(new)


if __name__ == "__main__":
    main()
