"""Export and verify, against copying and checksumming the same bytes."""

import os
import random
import subprocess
import time
import zlib
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from harness import cpus, gate
from room import timed

from dts.export import export_folder
from dts.export.packing import arrange
from dts.format import DtsFile
from dts.format.layout import BLOCK_BYTES, BLOCK_HEADER_SIZE, MAX_PICTURES


def packed(folder, target, **options):
    """Seconds of an export from the moment its source is listed."""
    begin = 0.0

    def listed(report):
        nonlocal begin
        begin = time.perf_counter()

    export_folder(
        folder,
        target,
        split="train",
        overwrite=True,
        progress=False,
        report=listed,
        **options,
    )
    return time.perf_counter() - begin


def copied(source, target):
    """``cp``, and the bytes on the disk, as an export leaves them."""
    subprocess.run(["cp", "--reflink=never", source, target], check=True)
    with open(target, "rb") as file:
        os.fsync(file.fileno())


@gate("level 0", against="cp and fsync of the .dts file", at_least=0.8, cpus=2)
def level_0(room):
    """Wall time of packing files that are in the page cache; both end on the disk."""
    folder = room.fresh("export0")
    source = room.dts(0)
    while True:
        for name in ("ours.dts", "copy.dts"):
            (folder / name).unlink(missing_ok=True)
        os.sync()
        figure = packed(room.folder, folder / "ours.dts", level=0, jobs=0)
        os.sync()
        yield figure, timed(copied, source, folder / "copy.dts")


@gate("level 1, 2 jobs", against="1 job", at_least=1.9, cpus=2, unit="s", rounds=3, level=1)
@gate("level 2, 2 jobs", against="1 job", at_least=1.9, cpus=2, unit="s", rounds=3, level=2)
@gate("level 3, 2 jobs", against="1 job", at_least=1.9, cpus=2, unit="s", rounds=3, level=3)
def jobs(room, level):
    """Wall time of encoding, the start of the processes included."""
    source, target = room.class_folders(4), room.fresh("jobs") / "out.dts"
    while True:
        two, one = (packed(source, target, level=level, jobs=jobs) for jobs in (2, 1))
        yield two, one


@gate("verify", against="zlib.crc32, as many threads", at_least=0.95, cpus=2)
def verify(room):
    """Wall time of checking a file in the page cache, against checksums of bytes in memory."""
    blocks = [bytes(BLOCK_BYTES) for _ in range(2 * cpus())]
    with DtsFile(room.long) as file, ThreadPoolExecutor(cpus()) as pool:
        count = len(file.block_counts)

        def plain():
            for _ in pool.map(lambda k: zlib.crc32(blocks[k % len(blocks)]), range(count)):
                pass

        while True:
            yield timed(file.verify), timed(plain)


@gate("plan level 0, 1.3 million pictures", against="random.shuffle", at_most=4.0, unit="s",
      rounds=5)  # fmt: skip
def plan(room):
    """Arrange sizes that are log-normal and average 110 KB, as ImageNet's do."""
    n = 1_300_000
    sizes = np.exp(np.random.default_rng(1).normal(0, 0.6, n))
    sizes = np.clip(sizes / sizes.mean() * 110e3, 700, 15e6).astype(np.int64)
    capacity = BLOCK_BYTES - BLOCK_HEADER_SIZE[0]
    items = list(range(n))
    while True:
        figure = timed(lambda: arrange(sizes, None, capacity, MAX_PICTURES[0], num_classes=1000))
        yield figure, timed(random.Random(42).shuffle, items)
