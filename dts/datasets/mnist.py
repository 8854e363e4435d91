"""MNIST in its idx files, plain or packed by gzip.

A file begins with big-endian 32-bit numbers: a magic number (2051 pictures, 2049 labels), the
count, and for pictures rows and columns; then one byte a pixel, or a label. Of gzip files nothing
but the head is looked at before they are read.
"""

from __future__ import annotations

import gzip
import os
import struct
import zlib
from typing import BinaryIO

import numpy as np

from dts.datasets.arrays import ArraySet, Labels, Pixels, RawArrays, check_labels
from dts.errors import FormatError

PICTURES, LABELS = 2051, 2049
MOST_RATIO = 1032  # of deflate: a longer content cannot be in a gzip file


def _opened(path: str) -> BinaryIO:
    return gzip.open(path) if path.endswith(".gz") else open(path, "rb")  # type: ignore[return-value]


def _head(path: str, magic: int, numbers: int) -> tuple[int, ...]:
    """Read count, rows and so on, and compare what they promise with the size of the file."""
    size = 4 * (numbers + 1)
    with _opened(path) as file:
        data = _read(path, file, size)
    if len(data) < size:
        raise FormatError(f"{path}: file has {len(data)} bytes, too short for an idx head")
    found, *sides = struct.unpack(f">{numbers + 1}I", data)
    if found != magic:
        raise FormatError(f"{path}: magic number is {found}, must be {magic}")
    if 0 in sides:
        raise FormatError(f"{path}: holds no record")
    body = 1
    for side in sides:
        body *= side
    actual = os.path.getsize(path)
    if path.endswith(".gz"):
        if size + body > MOST_RATIO * actual:
            raise FormatError(f"{path}: claims {body} bytes of data, which {actual} cannot hold")
    elif actual != size + body:
        kind = "short" if actual < size + body else "long"
        raise FormatError(f"{path}: too {kind}, {actual} bytes instead of {size + body}")
    return tuple(sides)


def _read(path: str, file: BinaryIO, size: int) -> bytes:
    try:
        return file.read(size)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise FormatError(f"{path}: damaged gzip file ({error})") from None


def _body(path: str, head: int, out: memoryview) -> None:
    """Read all after the head into `out`, which it must fill exactly."""
    with _opened(path) as file:
        _read(path, file, head)
        done = 0
        while done < len(out):
            part = _read(path, file, min(1 << 20, len(out) - done))
            if not part:
                raise FormatError(
                    f"{path}: too short, {head + done} bytes instead of {head + len(out)}"
                )
            out[done : done + len(part)] = part
            done += len(part)
        if _read(path, file, 1):  # reaches the checksum of a gzip file, too
            raise FormatError(f"{path}: too long, over {head + len(out)} bytes")


def _look(kind: ArraySet, paths: tuple[str, ...], names: list[str] | None) -> RawArrays:
    pictures, labels = paths
    n, *sides = _head(pictures, PICTURES, 3)
    if tuple(sides) != kind.shape[:2]:
        raise FormatError(
            f"{pictures}: pictures of {sides[0]} x {sides[1]}, must be "
            f"{kind.shape[0]} x {kind.shape[1]}"
        )
    (n_labels,) = _head(labels, LABELS, 1)
    if n_labels != n:
        raise FormatError(f"{labels}: {n_labels} labels for {n} pictures of {pictures}")

    def fill(pixels: Pixels, out: Labels) -> None:
        _body(pictures, 16, pixels.reshape(-1).data)
        packed = np.empty(n, np.uint8)
        _body(labels, 8, packed.data)
        check_labels(packed, kind.num_classes, labels)
        out[:] = packed

    size = sum(map(os.path.getsize, paths))
    return RawArrays(kind, (pictures,), (n,), size, names, fill)


MNIST = ArraySet(
    name="mnist",
    title="MNIST",
    shape=(28, 28, 1),
    num_classes=10,
    folders=("", "MNIST/raw"),
    files={
        "train": ("train-images-idx3-ubyte", "train-labels-idx1-ubyte"),
        "val": ("t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"),
    },
    endings=("", ".gz"),
    extra=(),
    look=_look,
    names_in=lambda places: [str(digit) for digit in range(10)],
)
