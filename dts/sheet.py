"""A contact sheet of what a .dts file holds, with labels; damaged samples are marked."""

import io
import math
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

from dts.errors import ConfigError, CorruptError, DecodeError
from dts.extract import checked_sample
from dts.format import DtsFile

TEXT, GAP = 14, 4
MOST_PIXELS = 256 << 20  # of a sheet


def draw_sheet(
    file: DtsFile,
    path: str | os.PathLike[str],
    *,
    start: int = 0,
    count: int = 64,
    columns: int = 8,
    size: int = 128,
) -> list[CorruptError | DecodeError]:
    """Write a PNG of some samples, each with its id, label and class name.

    Parameters
    ----------
    file : DtsFile
        Pictures, or arrays (MNIST, CIFAR).
    path : path
    start, count : int
        First id, and how many; as many as there are.
    columns : int
        Pictures in a row.
    size : int
        Longer side of a picture in pixels.

    Returns
    -------
    list of CorruptError or DecodeError
        One for each sample that is damaged, and crossed out on the sheet.

    Raises
    ------
    ConfigError
        There is no such id, or the sheet would have more than 2^28 pixels.
    OSError
        The sheet cannot be written.
    """
    if not 0 <= start < len(file):
        raise ConfigError(f"start is {start}, the set has the ids 0 to {len(file) - 1}")
    ids = range(start, min(start + count, len(file)))
    columns = min(columns, len(ids))
    rows = math.ceil(len(ids) / columns)
    width, height = columns * (size + GAP) + GAP, rows * (size + TEXT + GAP) + GAP
    if width * height > MOST_PIXELS:
        raise ConfigError(f"a sheet of {width} x {height} pixels is too large")
    sheet = Image.new("RGB", (width, height), "white")
    draw = ImageDraw.Draw(sheet)
    damaged = []
    for n, id in enumerate(ids):
        row, column = divmod(n, columns)
        left, top = GAP + column * (size + GAP), GAP + row * (size + TEXT + GAP)
        caption = f"{id}"
        try:
            data, label = checked_sample(file, id)
            caption = _caption(id, label, file.class_names, size)
            tile = _thumbnail(file, id, data, size)
            sheet.paste(tile, (left + (size - tile.width) // 2, top + (size - tile.height) // 2))
        except (CorruptError, DecodeError) as error:
            damaged.append(error)
            box = (left, top, left + size - 1, top + size - 1)
            draw.rectangle(box, fill="#fbe3e3", outline="red", width=2)
            draw.line(box, fill="red", width=3)
            draw.line((box[0], box[3], box[2], box[1]), fill="red", width=3)
        draw.text((left, top + size), caption, fill="black")
    _save(sheet, Path(path))
    return damaged


def _caption(id: int, label: int, classes: Sequence[str] | None, size: int) -> str:
    """Id, label and class name, in signs the built-in font has, as far as there is room."""
    name = "" if classes is None else classes[label]
    text = f"{id}: {label} {name}".rstrip().encode("latin-1", "replace").decode("latin-1")
    return text[: max(size // 6, 8)]


def _thumbnail(file: DtsFile, id: int, data: memoryview, size: int) -> Image.Image:
    if file.level is None:
        header = file.header
        shape = header.image_height, header.image_width, header.num_channels
        pixels = np.frombuffer(data, np.uint8).reshape(shape)
        picture = Image.fromarray(pixels[..., 0] if shape[2] == 1 else pixels)
        scale = max(size // max(shape[:2]), 1)
        picture = picture.resize(
            (picture.width * scale, picture.height * scale), Image.Resampling.NEAREST
        )
    else:
        try:
            picture = Image.open(io.BytesIO(data))
            picture.draft("RGB", (size, size))
            picture.load()
        except Exception as error:  # Pillow's decoders raise whatever they come across
            raise _not_decoded(file, id, error) from None
    picture = picture.convert("RGB")
    picture.thumbnail((size, size))
    return picture


def _not_decoded(file: DtsFile, id: int, error: Exception) -> DecodeError:
    volume, block, sample = file.find(id)
    return DecodeError(
        f"cannot be decoded: {error}",
        path=file.paths[volume],
        block=block,
        sample=sample,
        id=id,
        name=None if file.names is None else file.names[id],
    )


def _save(sheet: Image.Image, path: Path) -> None:
    out = io.BytesIO()
    sheet.save(out, "PNG")
    path.write_bytes(out.getvalue())
