#!/usr/bin/env python3
"""Measure every operation against torchvision and Pillow; write the table of docs/transforms.md.

Usage: ``python tools/transform_table.py [--photos FILE.npz] [--check]``. FILE.npz is what
``tools/make_oracles.py --photos`` wrote; its figures are kept in docs/results and used from there
when no file is given. --check only compares (exit code 1 where the docs differ).
"""

import argparse
import json
import sys
from collections import defaultdict
from pathlib import Path

import numpy as np

import dts.transforms
from dts import apply_transforms

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from oracle_cases import CASES, pictures  # noqa: E402

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
                    gap = np.abs(got - stored[key])
                    total = found[case.op][who]
                    total[0] = max(total[0], int(gap.max()))
                    total[1] += int(gap.sum())
                    total[2] += gap.size
    return {op: dict(by) for op, by in found.items()}


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
    for op in dict.fromkeys(case.op for case in CASES):
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
        *table(differences(stored, None), photos["operations"]),
    ]
    text = DOCS.read_text()
    head, rest = text.split(BEGIN)
    new = head + BEGIN + "\n".join(["", *body, "", ""]) + END + rest.split(END)[1]
    if args.check:
        sys.exit(0 if new == text else f"{DOCS}: run tools/transform_table.py")
    DOCS.write_text(new)


if __name__ == "__main__":
    main()
