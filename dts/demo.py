"""``dts demo``: the whole way of a sample, on pictures made here, with figures."""

import contextlib
import functools
import io
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

import dts
from dts import measure
from dts.errors import ConfigError, DtsError
from dts.export import export_folder

Folder = str | os.PathLike[str]

CLASSES = ("bricks", "checks", "clouds", "discs", "hills", "plasma", "rings", "stripes")
SIZES = (  # width, height: mostly like ImageNet's, a few tiny, long or large ones
    *[(500, 375), (375, 500), (500, 333), (333, 500), (640, 480), (480, 640), (500, 500)] * 3,
    *[(1024, 768), (768, 1024), (1600, 1200), (900, 300), (300, 900), (64, 48), (9, 7)],
)
LEVELS = (0, 3)
SHEET_COLUMNS, SHEET_ROWS = 8, 4


@functools.cache
def texture(side: int = 2048) -> NDArray[np.uint8]:
    """Return uint8 (side, side, 3): octaves of random colours, with the detail of a photograph."""
    rng = np.random.default_rng(7)
    total = np.zeros((side, side, 3), np.float32)
    cells, strength, strengths = 8, 1.0, 0.0
    while cells <= side:
        coarse = Image.fromarray(rng.integers(0, 256, (cells, cells, 3), np.uint8))
        fine = coarse.resize((side, side), Image.Resampling.BICUBIC)
        total += np.asarray(fine, np.float32) * strength
        strengths += strength
        cells, strength = cells * 2, strength * 0.72
    return (total / strengths).astype(np.uint8)


ROUND = 240  # pictures in a round of the comparison; `dts bench` takes more


def noise(rng: np.random.Generator, width: int, height: int) -> NDArray[np.uint8]:
    """Return a piece of the texture as uint8 (height, width, 3), turned in one of eight ways."""
    left, top = (int(rng.integers(0, texture().shape[0] - n + 1)) for n in (width, height))
    if rng.integers(2):
        piece = texture()[top : top + height, left : left + width]
    else:
        piece = texture()[left : left + width, top : top + height].swapaxes(0, 1)
    return piece[:: rng.choice([-1, 1]), :: rng.choice([-1, 1])]


def pattern(name: str, rng: np.random.Generator, width: int, height: int) -> NDArray[np.uint8]:
    """Return what makes a class recognisable: uint8 (height, width)."""
    y, x = np.ogrid[0:height, 0:width]
    y, x = y.astype(np.float32), x.astype(np.float32)
    cell = float(rng.uniform(0.05, 0.12)) * max(width, height)
    cx, cy = rng.uniform(0.3, 0.7) * width, rng.uniform(0.3, 0.7) * height
    found: NDArray[Any]
    if name == "bricks":
        row = y // cell % 2 > 0
        seams = [(x + shift) % (2 * cell) > cell * 0.1 for shift in (0, cell)]
        found = (y % cell > cell * 0.1) & np.where(row, seams[0], seams[1])
    elif name == "checks":
        found = (x // cell % 2 > 0) ^ (y // cell % 2 > 0)
    elif name == "discs":
        found = (x % (2 * cell) - cell) ** 2 + (y % (2 * cell) - cell) ** 2 < (0.7 * cell) ** 2
    elif name == "hills":
        ridge = height * 0.5 + cell * (np.sin(x / cell) + np.sin(x / (2.7 * cell) + cx))
        found = np.where(y > ridge, 0.2, 0.6 + 0.4 * y / height)
    elif name == "plasma":
        found = 0.5 + 0.25 * (np.sin(x / cell) + np.sin((y + 0.7 * x) / (1.7 * cell)))
    elif name == "rings":
        found = 0.5 + 0.5 * np.sin(np.hypot(x - cx, y - cy) * (4 / cell))
    elif name == "stripes":
        angle = rng.uniform(0, np.pi)
        found = (x * np.cos(angle) + y * np.sin(angle)) % (2 * cell) < cell
    else:  # clouds: the noise alone
        found = np.full((height, width), 0.5)
    return (found * np.float32(255)).astype(np.uint8)


def encode_picture(name: str, index: int) -> bytes:
    """Return the JPEG bytes of picture `index` of class `name`; the same for ever.

    Now and then it is grey, CMYK or progressive, as such files are in real sets.
    """
    rng = np.random.default_rng([CLASSES.index(name), index])
    size = SIZES[(index * 5 + CLASSES.index(name)) % len(SIZES)]
    inks = [Image.new("RGB", size, tuple(rng.integers(20, 236, 3).tolist())) for _ in range(2)]
    shape = Image.fromarray(pattern(name, rng, *size))
    grain = Image.fromarray(np.ascontiguousarray(noise(rng, *size)))
    image = Image.blend(Image.composite(inks[0], inks[1], shape), grain, 0.5)
    if index % 11 == 3:
        image = image.convert("L")
    elif index % 11 == 6:
        image = image.convert("CMYK")
    out = io.BytesIO()
    image.save(out, "JPEG", quality=int(rng.integers(80, 96)), progressive=index % 5 == 2)
    return out.getvalue()


def make_folder(root: Folder, pictures: int) -> None:
    """Write `pictures` pictures into class folders under `root`."""
    for number in range(pictures):
        name = CLASSES[number % len(CLASSES)]
        folder = Path(root) / name
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{name}_{number // len(CLASSES):05d}.jpeg"
        path.write_bytes(encode_picture(name, number // len(CLASSES)))


def preprocessor(folder: Folder, level: int) -> dts.Preprocessor:
    """Return the Preprocessor of the demo over the files of one level in `folder`."""
    return (
        dts.Preprocessor.setup()
        .dataset("folder", str(folder))
        .using_dts_format(True, level=level)
        .batch_size(SHEET_COLUMNS * SHEET_ROWS)
        .seed(42)
        .amp(True)
        .normalization(dts.NormMode.IMAGENET)
        .train_transforms(
            dts.RandomResizedCrop(224), dts.RandomHorizontalFlip(), dts.RandomErasing(0.25)
        )
        .val_transforms(dts.Resize(256), dts.CenterCrop(224))
        .commit()
    )


def stream(batches: Iterable[Any], expected: int) -> float:
    """Take every batch and check that each of `expected` samples came exactly once.

    Returns
    -------
    float
        Images per second of wall time.
    """
    begin = time.perf_counter()
    ids = [batch.ids.copy() for batch in batches]
    seconds = time.perf_counter() - begin
    delivered = np.sort(np.concatenate(ids))
    if not np.array_equal(delivered, np.arange(expected)):
        raise DtsError(f"an epoch delivered {delivered.size} samples of {expected}, or one twice")
    return expected / seconds


def contact_sheet(images: NDArray[Any], captions: Sequence[str], path: Folder) -> None:
    """Write a PNG of normalised images as a person would see them.

    Parameters
    ----------
    images : ndarray (n, h, w, c), float
        Normalised with NormMode.IMAGENET; channels past the third are left out.
    captions : sequence of str
        One for each image.
    path : Path
    """
    mode = dts.NormMode.IMAGENET
    pixels = (images[..., :3].astype(np.float32) * mode.std + mode.mean) * 255
    pixels = (pixels + 0.5).clip(0, 255).astype(np.uint8)
    count, height, width = pixels.shape[:3]
    text, gap = 14, 4
    rows = -(-count // SHEET_COLUMNS)
    size = (SHEET_COLUMNS * (width + gap) + gap, rows * (height + text + gap) + gap)
    sheet = Image.new("RGB", size, "white")
    draw = ImageDraw.Draw(sheet)
    for number, caption in enumerate(captions):
        row, column = divmod(number, SHEET_COLUMNS)
        left, top = gap + column * (width + gap), gap + row * (height + text + gap)
        sheet.paste(Image.fromarray(pixels[number]), (left, top))
        draw.text((left, top + height), caption, fill="black")
    sheet.save(path, "PNG")


def peak_memory() -> int | None:
    """Return the most resident memory this process has had, in bytes; None if not known."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def run(
    folder: Folder | None = None,
    *,
    pictures: int = 320,
    sheet: Folder | None = None,
    rounds: int = 3,
    echo: Callable[[str], object] = print,
) -> Path:
    """Make pictures, export them, stream them, and tell how it went.

    Parameters
    ----------
    folder : str or Path, optional
        Where the pictures and the .dts files stay; new or empty, so that nothing of yours is mixed
        with them. Without it they lie in a temporary folder that is removed at the end.
    pictures : int
        Training pictures to make; validation has a fifth as many.
    sheet : str or Path, optional
        Where the contact sheet goes. Default: ``dts_demo.png`` in `folder`, or in the current
        folder.
    rounds : int
        Rounds of the comparison with plain decoding.
    echo : callable
        Takes one line of text.

    Returns
    -------
    Path
        The contact sheet.

    Raises
    ------
    ConfigError
        Too few pictures, or a folder that is not empty.
    """
    if pictures < 2 * len(CLASSES):
        raise ConfigError(f"demo: at least {2 * len(CLASSES)} pictures, two of each class")
    if folder is not None and Path(folder).exists() and any(Path(folder).iterdir()):
        raise ConfigError(f"demo: {folder} is not empty")
    sheet = Path(sheet) if sheet else Path(folder or ".") / "dts_demo.png"
    with contextlib.ExitStack() as stack:
        if folder is None:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="dts-demo-"))
        folder = Path(folder)
        counts = {"train": pictures, "val": max(len(CLASSES), pictures // 5)}
        begin = time.perf_counter()
        for split, count in counts.items():
            make_folder(folder / split, count)
        echo(
            f"made {sum(counts.values())} pictures of {len(CLASSES)} classes"
            f" in {time.perf_counter() - begin:.1f} s"
        )
        for level in LEVELS:
            files = _export(folder, level, echo)
            _stream_level(folder, level, counts, echo, sheet if level == LEVELS[-1] else None)
            for line in measure.compare(files["train"], rounds=rounds, pictures=ROUND).lines():
                echo(f"  {line}")
        if (peak := peak_memory()) is not None:
            echo(f"peak memory of this process: {peak / 2**20:.0f} MiB")
        echo(f"contact sheet, what a model would see: {sheet.resolve()}")
    return sheet


def _export(folder: Path, level: int, echo: Callable[[str], object]) -> dict[str, Path]:
    files = {split: folder / f"folder_{split}_lv{level}.dts" for split in ("train", "val")}
    begin = time.perf_counter()
    for split, path in files.items():
        classes = files["train"] if split == "val" else None
        export_folder(folder / split, path, level=level, split=split, classes=classes, jobs=0)
    size = sum(path.stat().st_size for path in files.values())
    echo(
        f"level {level}: exported in {time.perf_counter() - begin:.1f} s,"
        f" {size / 2**20:.0f} MiB in two files"
    )
    return files


def _stream_level(
    folder: Path,
    level: int,
    counts: dict[str, int],
    echo: Callable[[str], object],
    sheet: Path | None,
) -> None:
    with preprocessor(folder, level) as pre:
        first = stream(pre.train(0), counts["train"])
        train = stream(pre.train(1), counts["train"])
        val = stream(pre.val(), counts["val"])
        echo(
            f"  images/s      {train:8.0f} train, {val:.0f} val, {first:.0f} train with the first"
            " reading of the file; each picture came exactly once an epoch"
        )
        for line in str(pre.memory_plan()).splitlines():
            echo(f"  {line}")
        if sheet:
            batch = next(iter(pre.train(0)))
            names = pre.class_names or []
            captions = [f"{label} {names[label]}" for label in batch.labels]
            contact_sheet(batch.images, captions, sheet)
