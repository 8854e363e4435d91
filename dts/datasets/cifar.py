"""CIFAR-10 and CIFAR-100 in their binary files.

A record is one label byte (CIFAR-100: the coarse label, which is not used, then the fine one) and
3,072 bytes of a picture of 32 x 32: first all red, then all green, then all blue bytes.
"""

from __future__ import annotations

import os

import numpy as np

from dts.datasets.arrays import ArraySet, Labels, Pixels, RawArrays, check_labels
from dts.errors import FormatError

PICTURE = 3072
COARSE_CLASSES = 20
AT_ONCE = 512  # records read and turned around at a time: they stay in the cache


def _label_bytes(kind: ArraySet) -> int:
    return 1 if kind.num_classes == 10 else 2


def _count(kind: ArraySet, path: str) -> int:
    record = _label_bytes(kind) + PICTURE
    size = os.path.getsize(path)
    if size == 0:
        raise FormatError(f"{path}: the file is empty")
    if size % record:
        other = 2 * PICTURE + 3 - record
        hint = ""
        if size % other == 0:
            hint = f"; {other} bytes are a record of CIFAR-{10 if other == PICTURE + 1 else 100}"
        raise FormatError(
            f"{path}: too short or too long, its {size} bytes are no whole number "
            f"of {record}-byte records of {kind.title}{hint}"
        )
    return size // record


def _look(kind: ArraySet, paths: tuple[str, ...], names: list[str] | None) -> RawArrays:
    counts = tuple(_count(kind, path) for path in paths)

    def fill(pixels: Pixels, labels: Labels) -> None:
        first = 0
        for path, n in zip(paths, counts, strict=True):
            _fill(kind, path, pixels[first : first + n], labels[first : first + n])
            first += n

    size = sum(map(os.path.getsize, paths))
    return RawArrays(kind, paths, counts, size, names, fill)


def _fill(kind: ArraySet, path: str, pixels: Pixels, labels: Labels) -> None:
    n, lead = len(pixels), _label_bytes(kind)
    records = np.empty((min(n, AT_ONCE), lead + PICTURE), np.uint8)
    coarse = np.empty(n, np.uint8)
    with open(path, "rb", buffering=0) as file:
        for first in range(0, n, AT_ONCE):
            part = records[: min(AT_ONCE, n - first)]
            end = first + len(part)
            _read(path, file, part.reshape(-1).data)
            coarse[first:end] = part[:, 0]
            labels[first:end] = part[:, lead - 1]
            planes = part[:, lead:].reshape(-1, 3, 32 * 32)
            out = pixels[first:end].reshape(-1, 32 * 32, 3)
            for channel in range(3):
                out[:, :, channel] = planes[:, channel]
    check_labels(labels, kind.num_classes, path)
    if lead == 2:
        check_labels(coarse, COARSE_CLASSES, path)


def _read(path: str, file: object, out: memoryview) -> None:
    done = 0
    while done < len(out):
        n = file.readinto(out[done:])  # type: ignore[attr-defined]
        if not n:
            raise FormatError(f"{path}: ends within a record; it was changed while it was read")
        done += n


def _names(file_name: str, num_classes: int, places: list[str]) -> list[str] | None:
    for place in places:
        try:
            with open(os.path.join(place, file_name), encoding="utf-8") as file:
                names = [line.strip() for line in file if line.strip()]
        except FileNotFoundError:
            continue
        except UnicodeDecodeError:
            names = []
        if len(names) != num_classes:
            path = os.path.join(place, file_name)
            raise FormatError(f"{path}: must hold {num_classes} class names, one a line")
        return names
    return None


def _cifar(classes: int, folder: str, names: str, train: tuple[str, ...], val: str) -> ArraySet:
    return ArraySet(
        name=f"cifar{classes}",
        title=f"CIFAR-{classes}",
        shape=(32, 32, 3),
        num_classes=classes,
        folders=("", folder),
        files={"train": train, "val": (val,)},
        endings=("",),
        extra=(names,),
        look=_look,
        names_in=lambda places: _names(names, classes, places),
    )


CIFAR10 = _cifar(
    10,
    "cifar-10-batches-bin",
    "batches.meta.txt",
    tuple(f"data_batch_{k}.bin" for k in range(1, 6)),
    "test_batch.bin",
)
CIFAR100 = _cifar(100, "cifar-100-binary", "fine_label_names.txt", ("train.bin",), "test.bin")
