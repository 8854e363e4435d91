"""Time of each operation on a 224 x 224 x 3 picture, one thread, next to torchvision and OpenCV.

The C code of the workers runs in a loop, so no call from Python counts; what a chain without
operations costs (a copy of the picture) is taken out. All operations take turns and the best of
many turns counts. With ``--others`` nothing of dts is imported: torchvision and OpenCV are
measured instead, each on one thread, and their figures printed as JSON, which ``--with`` sets
beside ours.

    PYTHONPATH=. python bench/bench_transforms.py [--turns 20] [--isa NAME] [--with others.json]
    PYTHON-WITH-TORCH bench/bench_transforms.py --others > others.json
"""

import argparse
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

SIDE = 224
PICTURES = 20  # in one go


def picture():
    """Make a picture with smooth parts and noise, as photographs have."""
    rng = np.random.default_rng(0)
    y, x, k = np.mgrid[0:SIDE, 0:SIDE, 0:3]
    wave = 110 + 90 * np.sin(x / 31 + k) * np.cos(y / 23 - k)
    return (wave + rng.normal(0, 8, wave.shape)).clip(0, 255).astype(np.uint8)


# ---- dts: what takes place is certain, so that every picture costs ------------------------------


def colour():
    from dts import ColorJitter

    return {
        "ColorJitter, all four": ColorJitter(0.4, 0.4, 0.4, 0.2),
        "ColorJitter(brightness)": ColorJitter(brightness=0.4),
        "ColorJitter(contrast)": ColorJitter(contrast=0.4),
        "ColorJitter(saturation)": ColorJitter(saturation=0.4),
        "ColorJitter(hue)": ColorJitter(hue=0.2),
    }


def tone():
    import dts

    return {
        "RandomGrayscale": dts.RandomGrayscale(1.0),
        "RandomInvert": dts.RandomInvert(1.0),
        "RandomPosterize(4)": dts.RandomPosterize(4, 1.0),
        "RandomSolarize(128)": dts.RandomSolarize(128, 1.0),
        "RandomAutocontrast": dts.RandomAutocontrast(1.0),
        "RandomEqualize": dts.RandomEqualize(1.0),
        "RandomAdjustSharpness(2)": dts.RandomAdjustSharpness(2.0, 1.0),
    }


def blur():
    from dts import GaussianBlur

    return {
        "GaussianBlur(5, 1)": GaussianBlur(5, 1.0),
        "GaussianBlur(23, 3)": GaussianBlur(23, 3.0),
    }


def noise():
    from dts import GaussianNoise

    return {"GaussianNoise": GaussianNoise()}


def augment():
    from dts import RandAugment, TrivialAugmentWide

    return {"TrivialAugmentWide": TrivialAugmentWide(), "RandAugment": RandAugment()}


def geometry():
    import dts

    return {
        "Pad(4, reflect)+crop": dts.RandomCrop(SIDE, padding=4, padding_mode="reflect"),
        "RandomCrop(padding=4)": dts.RandomCrop(SIDE, padding=4),
        "RandomVerticalFlip": dts.RandomVerticalFlip(1.0),
        "RandomRotation(nearest)": dts.RandomRotation(30),
        "RandomRotation(bilinear)": dts.RandomRotation(30, "bilinear"),
        "RandomScale": dts.RandomScale(0.8, 1.2),
        "RandomErasing(random)": dts.RandomErasing(1.0, value="random"),
    }


def dts_times(turns, isa):
    """Microseconds by operation, the copy taken out."""
    from dts import kernels
    from dts.pipeline.apply import transforms_time

    if isa:
        kernels.select_isa(isa)
    image = picture()
    chains = {"": ()}
    for family in (colour, tone, blur, noise, augment, geometry):
        chains |= family()
    best = dict.fromkeys(chains, float("inf"))
    for _ in range(turns):
        for name, chain in chains.items():
            best[name] = min(best[name], transforms_time(image, chain, PICTURES))
    copy = best.pop("")
    return {name: (seconds - copy) * 1e6 for name, seconds in best.items()}


# ---- torchvision on uint8 tensors and OpenCV on arrays ------------------------------------------


def torch_calls() -> dict[str, Callable[[], object]]:
    """Make a call for each operation of torchvision v2."""
    import torch
    from torchvision.transforms import v2

    torch.set_num_threads(1)
    tensor = torch.from_numpy(picture()).permute(2, 0, 1).contiguous()
    ops = {
        "ColorJitter, all four": v2.ColorJitter(0.4, 0.4, 0.4, 0.2),
        "ColorJitter(brightness)": v2.ColorJitter(brightness=0.4),
        "ColorJitter(contrast)": v2.ColorJitter(contrast=0.4),
        "ColorJitter(saturation)": v2.ColorJitter(saturation=0.4),
        "ColorJitter(hue)": v2.ColorJitter(hue=0.2),
        "RandomGrayscale": v2.RandomGrayscale(1.0),
        "RandomInvert": v2.RandomInvert(1.0),
        "RandomPosterize(4)": v2.RandomPosterize(4, 1.0),
        "RandomSolarize(128)": v2.RandomSolarize(128, 1.0),
        "RandomAutocontrast": v2.RandomAutocontrast(1.0),
        "RandomEqualize": v2.RandomEqualize(1.0),
        "RandomAdjustSharpness(2)": v2.RandomAdjustSharpness(2.0, 1.0),
        "GaussianBlur(5, 1)": v2.GaussianBlur(5, (1.0, 1.0)),
        "GaussianBlur(23, 3)": v2.GaussianBlur(23, (3.0, 3.0)),
        "GaussianNoise": v2.GaussianNoise(),
        "TrivialAugmentWide": v2.TrivialAugmentWide(),
        "RandAugment": v2.RandAugment(),
        "Pad(4, reflect)+crop": v2.RandomCrop(SIDE, padding=4, padding_mode="reflect"),
        "RandomCrop(padding=4)": v2.RandomCrop(SIDE, padding=4),
        "RandomVerticalFlip": v2.RandomVerticalFlip(1.0),
        "RandomRotation(nearest)": v2.RandomRotation(30),
        "RandomRotation(bilinear)": v2.RandomRotation(
            30, interpolation=v2.InterpolationMode.BILINEAR
        ),
        "RandomErasing(random)": v2.RandomErasing(1.0, value="random"),
    }
    return {name: lambda op=op: op(tensor) for name, op in ops.items()}


def cv2_calls() -> dict[str, Callable[[], object]]:
    """Make a call for each operation that OpenCV has, or has the parts of."""
    import cv2

    cv2.setNumThreads(1)
    image = picture()
    levels = np.arange(256)
    table = (levels & 0xF0).astype(np.uint8)
    solar = np.where(levels >= 128, 255 - levels, levels).astype(np.uint8)
    sharper = (2 * np.eye(3)[1][:, None] * np.eye(3)[1] - (np.ones((3, 3)) + 4 * np.outer(
        [0, 1, 0], [0, 1, 0])) / 13).astype(np.float32)  # fmt: skip

    def gray(v):
        return cv2.cvtColor(v, cv2.COLOR_RGB2GRAY)

    def brightness(v, factor=1.3):
        return cv2.convertScaleAbs(v, alpha=factor)

    def contrast(v, factor=1.3):
        return cv2.convertScaleAbs(v, alpha=factor, beta=(1 - factor) * gray(v).mean())

    def saturation(v, factor=1.3):
        other = cv2.cvtColor(gray(v), cv2.COLOR_GRAY2RGB)
        return cv2.addWeighted(v, factor, other, 1 - factor, 0)

    def hue(v, shift=18):
        parts = cv2.cvtColor(v, cv2.COLOR_RGB2HSV)
        turned = ((np.arange(256) + shift) % 180).astype(np.uint8)
        parts[..., 0] = cv2.LUT(np.ascontiguousarray(parts[..., 0]), turned)
        return cv2.cvtColor(parts, cv2.COLOR_HSV2RGB)

    def autocontrast():
        tables = np.stack([(levels - v.min()) * 255.0 / (v.max() - v.min())
                           for v in cv2.split(image)], -1)  # fmt: skip
        return cv2.LUT(image, tables.clip(0, 255).astype(np.uint8)[None])

    turn = cv2.getRotationMatrix2D((SIDE / 2, SIDE / 2), 17, 1)

    def rotated(flags):
        return cv2.warpAffine(image, turn, (SIDE, SIDE), flags=flags)

    def padded(border):
        return cv2.copyMakeBorder(image, 4, 4, 4, 4, border)[3 : 3 + SIDE, 5 : 5 + SIDE].copy()

    def with_noise():
        normal = np.empty(image.shape, np.int16)
        cv2.randn(normal, 0, 25)
        return cv2.add(image, normal, dtype=cv2.CV_8U)

    return {
        "ColorJitter, all four": lambda: hue(saturation(contrast(brightness(image)))),
        "ColorJitter(brightness)": lambda: brightness(image),
        "ColorJitter(contrast)": lambda: contrast(image),
        "ColorJitter(saturation)": lambda: saturation(image),
        "ColorJitter(hue)": lambda: hue(image),
        "RandomGrayscale": lambda: cv2.cvtColor(gray(image), cv2.COLOR_GRAY2RGB),
        "RandomInvert": lambda: cv2.bitwise_not(image),
        "RandomPosterize(4)": lambda: cv2.LUT(image, table),
        "RandomSolarize(128)": lambda: cv2.LUT(image, solar),
        "RandomAutocontrast": autocontrast,
        "RandomEqualize": lambda: cv2.merge([cv2.equalizeHist(v) for v in cv2.split(image)]),
        "RandomAdjustSharpness(2)": lambda: cv2.filter2D(image, -1, sharper),
        "GaussianBlur(5, 1)": lambda: cv2.GaussianBlur(image, (5, 5), 1.0),
        "GaussianBlur(23, 3)": lambda: cv2.GaussianBlur(image, (23, 23), 3.0),
        "GaussianNoise": with_noise,
        "Pad(4, reflect)+crop": lambda: padded(cv2.BORDER_REFLECT_101),
        "RandomCrop(padding=4)": lambda: padded(cv2.BORDER_CONSTANT),
        "RandomVerticalFlip": lambda: cv2.flip(image, 0),
        "RandomRotation(nearest)": lambda: rotated(cv2.INTER_NEAREST),
        "RandomRotation(bilinear)": lambda: rotated(cv2.INTER_LINEAR),
    }


def call_times(calls, turns):
    """Microseconds of this thread by name: the best of many turns, the mean within one."""
    best = dict.fromkeys(calls, float("inf"))
    for _ in range(turns):
        for name, call in calls.items():
            start = time.thread_time_ns()
            for _ in range(PICTURES):
                call()
            best[name] = min(best[name], (time.thread_time_ns() - start) / PICTURES / 1e3)
    return best


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--turns", type=int, default=20)
    parser.add_argument("--isa", help="another instruction set than the best")
    parser.add_argument("--others", action="store_true", help="torchvision and OpenCV, as JSON")
    parser.add_argument("--with", dest="beside", type=Path, help="what --others printed")
    args = parser.parse_args()
    if args.others:
        both = {"torchvision": torch_calls(), "OpenCV": cv2_calls()}
        found = {name: call_times(calls, args.turns) for name, calls in both.items()}
        json.dump(found, sys.stdout, indent=1)
        return
    found = {"dts": dts_times(args.turns, args.isa)}
    if args.beside:
        found |= json.loads(args.beside.read_text())
    print("| us a picture | " + " | ".join(found) + " |")
    print("|---" * (len(found) + 1) + "|")
    for name in found["dts"]:
        cells = (f"{times[name]:.0f}" if name in times else "" for times in found.values())
        print(f"| {name} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
