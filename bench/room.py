"""What gates share: pictures, packed files, and ways to time a call. Made once for a whole run."""

import contextlib
import functools
import os
import shutil
import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import dts
from dts import demo
from dts.export import export_folder
from dts.format import DtsFile
from dts.format.checksum import crc32_of_file
from dts.format.header import Header
from dts.format.layout import BLOCK_BYTES, HEADER_AREA, renumber

REPEATS = 8  # of each photograph: an epoch is long, and no cache holds the set
MADE = 400
LONG = 72  # blocks
ROOT = Path(__file__).resolve().parent.parent
PHOTOS = ("shared/data/photos/train", "../shared/data/photos/train")

IMAGENET = (dts.RandomResizedCrop(224), dts.RandomHorizontalFlip())
EVALUATION = (dts.Resize(256), dts.CenterCrop(224))


class Room:
    """The folder that the gates work in.

    Parameters
    ----------
    path : Path
        An empty folder on a disk with some GB.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    @functools.cached_property
    def photos(self) -> Path | None:
        """Class folders of photographs: ``DTS_BENCH_FOLDER``, or those beside the checkout."""
        named = os.environ.get("DTS_BENCH_FOLDER")
        if named:
            return Path(named)
        return next((ROOT / p for p in PHOTOS if (ROOT / p).is_dir()), None)

    @functools.cached_property
    def folder(self) -> Path:
        """Class folders of pictures, each `REPEATS` times."""
        return self.class_folders(REPEATS)

    def class_folders(self, repeats: int) -> Path:
        """Return class folders of each photograph so many times, or of made pictures."""
        folder = self.path / f"train_{repeats}"
        if folder.exists():
            return folder
        if self.photos is None:
            demo.make_folder(folder, MADE * repeats // REPEATS)
            return folder
        for source in sorted(p for p in self.photos.rglob("*") if p.is_file()):
            into = folder / source.parent.relative_to(self.photos)
            into.mkdir(parents=True, exist_ok=True)
            for k in range(repeats):
                shutil.copyfile(source, into / f"{source.stem}_{k}{source.suffix}")
        return folder

    @functools.cached_property
    def pictures(self) -> list[bytes]:
        """Each picture once."""
        files = sorted(p for p in self.class_folders(1).rglob("*") if p.is_file())
        return [path.read_bytes() for path in files]

    @functools.cached_property
    def count(self) -> int:
        """Pictures of `folder`."""
        return sum(1 for p in self.folder.rglob("*") if p.is_file())

    def dts(self, level: int, *, roi: bool = False) -> Path:
        """Return the .dts file of `folder`, in the plain or in the ROI layout."""
        path = self.path / f"folder_train_lv{level}{'_roi' * roi}.dts"
        if not path.exists():
            export_folder(
                self.folder, path, level=level, roi=roi, split="train", jobs=0, progress=False
            )
        return path

    @functools.cached_property
    def long(self) -> Path:
        """A level 0 file of `LONG` blocks: two windows and more. Those of `dts(0)`, repeated."""
        path = self.fresh("long") / "folder_train_lv0.dts"
        with DtsFile(self.dts(0)) as file, open(self.dts(0), "rb") as blocks:
            n = len(file.block_counts)
            with open(path, "wb") as out:
                out.truncate(HEADER_AREA)
                out.seek(HEADER_AREA)
                for k in range(LONG):
                    blocks.seek(HEADER_AREA + k % n * BLOCK_BYTES)
                    block = bytearray(blocks.read(BLOCK_BYTES))
                    renumber(block, k)
                    out.write(block)
            counts = [int(file.block_counts[k % n]) for k in range(LONG)]
            head = file.header
        header = Header.for_pictures(
            level=0,
            is_training=True,
            num_classes=head.num_classes,
            num_samples=sum(counts),
            num_blocks=LONG,
            source_bytes=sum(counts) * 100_000,
            max_pic_area=head.max_pic_area,
            max_pic_per_block=max(counts),
            crc=crc32_of_file(path, HEADER_AREA),
        )
        with open(path, "r+b") as out:
            out.write(header.to_bytes())
        return path

    def setup(
        self, path: Path, *, workers: int = 1, dtype: str = "float16", chain: Any = IMAGENET
    ) -> "dts.Setup":
        """Return the Setup of the usual training pipeline over a .dts file of pictures."""
        return (
            dts.Preprocessor.setup()
            .dataset("folder", str(path))
            .preprocess_workers(workers)
            .batch_size(64)
            .seed(0)
            .output(dtype)
            .normalization(dts.NormMode.IMAGENET)
            .train_transforms(*chain)
            .val_transforms(*chain)
        )

    def fresh(self, name: str) -> Path:
        """Return a new, empty folder."""
        folder = self.path / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        return folder


def timed(call: Callable[..., Any], *arguments: Any) -> float:
    """Return wall seconds of one call."""
    begin = time.perf_counter()
    call(*arguments)
    return time.perf_counter() - begin


def cpu_timed(call: Callable[..., Any], *arguments: Any) -> float:
    """Return CPU seconds of one call, of all threads of the process."""
    begin = time.process_time()
    call(*arguments)
    return time.process_time() - begin


def hot(*calls: Callable[[], Any], repeat: int = 150) -> list[float]:
    """Return median seconds of each of some short calls that take turns."""
    times: list[list[int]] = [[] for _ in calls]
    for _ in range(repeat):
        for call, took in zip(calls, times, strict=True):
            call()  # brings its data back into the cache
            begin = time.perf_counter_ns()
            call()
            took.append(time.perf_counter_ns() - begin)
    return [statistics.median(took) * 1e-9 for took in times]


def drain(preprocessor: "dts.Preprocessor") -> Iterator[int]:
    """Take all batches of one training epoch after the other; yield how many pictures came."""
    while True:
        yield sum(len(batch) for batch in preprocessor.train())


@contextlib.contextmanager
def endless(setup: "dts.Setup") -> Iterator[Callable[[], int]]:
    """Give a call that streams the next epoch of a Setup."""
    with setup.commit() as preprocessor:
        epochs = drain(preprocessor)
        yield lambda: next(epochs)


def aligned(nbytes: int) -> np.ndarray:
    """Return zeroed bytes that begin where a batch of the pipeline would: on 256 bytes."""
    memory = np.zeros(nbytes + 256, np.uint8)
    start = -memory.ctypes.data % 256
    return memory[start : start + nbytes]
