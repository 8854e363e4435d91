"""Export and verify, against copying and checksumming the same bytes."""

import os
import random
import subprocess
import time
import zlib
from concurrent.futures import ThreadPoolExecutor
from unittest import mock

import numpy as np
from harness import gate
from load import cpus
from room import REPEATS, timed

from dts.export import export_folder, run
from dts.export.flow import processes
from dts.export.packing import arrange
from dts.export.pictures import reencode
from dts.format import DtsFile
from dts.format.layout import BLOCK_BYTES, BLOCK_HEADER_SIZE, MAX_PICTURES

# Two processes can only be twice as fast where two CPUs are.
JOBS = {"at_least": 1.9, "cpus": 2, "scales": 1.9, "rounds": 4, "seconds": 40}
PLAIN = {"at_least": 0.9, "cpus": 2, "unit": "s", "rounds": 2}
LONG_SET = 24  # of each photograph: 20 blocks, so that the first and the last of them count little


def packed_once_planned(folder, target):
    """Seconds of a level 0 export from the end of its plan on."""
    planned = 0.0

    def note(*arguments, **options):
        nonlocal planned
        plan = arrange(*arguments, **options)
        planned = time.perf_counter()
        return plan

    with mock.patch.object(run, "arrange", note):
        export_folder(folder, target, split="train", jobs=0, progress=False)
    return time.perf_counter() - planned


def copied(source, target):
    """``cp``, and the bytes on the disk, as an export leaves them."""
    subprocess.run(["cp", "--reflink=never", source, target], check=True)
    with open(target, "rb") as file:
        os.fsync(file.fileno())


@gate("level 0, once planned", against="cp and fsync of the same bytes", at_least=0.8, cpus=2)
def level_0(room):
    """Wall time of packing files that are in the page cache; both end on the disk."""
    folder, target = room.fresh("level_0"), room.class_folders(LONG_SET)
    source = folder / "source.dts"
    export_folder(target, source, split="train", progress=False)
    ours, copy = folder / "ours.dts", folder / "copy.dts"
    while True:
        ours.unlink(missing_ok=True)
        copy.unlink(missing_ok=True)
        os.sync()
        figure = packed_once_planned(target, ours)
        os.sync()
        yield figure, timed(copied, source, copy)


def encode(paths, level):
    """Do what levels 1 to 3 are about, with nothing around it."""
    for path in paths:
        reencode(path.read_bytes(), level)


def encoded_by(pool, paths, level):
    """Share it between two processes that know beforehand what each has to do."""
    halves = [pool.submit(encode, paths[k::2], level) for k in range(2)]
    for half in halves:
        half.result()


@gate("level 1, 2 jobs", against="1 job", level=1, **JOBS)
@gate("level 2, 2 jobs", against="1 job", level=2, **JOBS)
@gate("level 3, 2 jobs", against="1 job", level=3, **JOBS)
@gate("level 1, 2 jobs, all of it", against="2 processes encode", level=1, plain=True, **PLAIN)
@gate("level 2, 2 jobs, all of it", against="2 processes encode", level=2, plain=True, **PLAIN)
@gate("level 3, 2 jobs, all of it", against="2 processes encode", level=3, plain=True, **PLAIN)
def two_jobs(room, level, plain=False):
    """Wall time a picture of encoding in two processes that run already.

    Two jobs are given twice the pictures of one: what happens once in a set, its beginning and its
    end, then counts alike. Sets that are exported take minutes or hours. The machine's own scaling
    is that of processes that encode and know nothing of each other.
    """
    folder, target = room.folder, room.fresh("jobs") / "out.dts"
    half = room.class_folders(REPEATS // 2)
    options = {"level": level, "overwrite": True, "progress": False}
    paths = sorted(p for p in folder.rglob("*") if p.is_file())
    with processes(2) as pool:
        small = timed(
            lambda: export_folder(room.class_folders(1), target, executor=pool, **options)
        )
        yield small, small, 1.0  # the processes are warm
        while True:
            two = timed(lambda: export_folder(folder, target, executor=pool, **options))
            if plain:
                yield two, timed(encoded_by, pool, paths, level)
                continue
            one = timed(lambda: export_folder(half, target, jobs=1, **options))
            alone = timed(lambda: pool.submit(encode, paths[::8], level).result())
            yield two, 2 * one, 2 * alone / timed(encoded_by, pool, paths[::4], level)


@gate("verify", against="zlib.crc32 of bytes in memory", at_least=1.5, cpus=2, plain="checksum")
@gate("verify, in reads", against="pread alone, into 256 KiB", at_least=0.6, cpus=2, plain="read")
def verify(room, plain):
    """Wall time of checking a file in the page cache, with as many threads for the baseline."""
    piece = 256 << 10
    memory = [np.ones(BLOCK_BYTES, np.uint8) for _ in range(2 * cpus())]

    with DtsFile(room.long) as file, ThreadPoolExecutor(cpus()) as pool, open(room.long) as raw:
        offsets = file.block_offset.tolist()

        def checksum(k):
            zlib.crc32(memory[k % len(memory)])

        def read(k):
            buffer = bytearray(piece)
            for at in range(offsets[k], offsets[k] + BLOCK_BYTES, piece):
                os.preadv(raw.fileno(), [buffer], at)

        def baseline():
            for _ in pool.map({"checksum": checksum, "read": read}[plain], range(len(offsets))):
                pass

        while True:
            yield timed(file.verify), timed(baseline)


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
