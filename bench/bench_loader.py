"""How fast blocks come in and samples go out, against plain reads of the same file.

Run: ``python bench/bench_loader.py [--gb 1] [--threads 2] [--rounds 5]``. Needs a C compiler
(``cc``) for the loop that asks for samples without Python. All figures are of one interleaved
run, with the file in the page cache; compare the ratios, not the figures.

- partial: steady state of PARTIAL (blocks read, checked, handed out), against threads that read
  the same blocks into memory of the same size again and again, and into 4 MiB each.
- fill: first epoch of FULLY, against threads that read the file into fresh memory.
- hand-out: later epochs of FULLY, nanoseconds a sample, from C and from Python.
"""

import argparse
import ctypes
import mmap
import os
import statistics
import struct
import subprocess
import tempfile
import threading
import time
import types
from pathlib import Path

import numpy as np

from dts.loaders.dts_reader import BlockReader

BLOCK = 16 << 20
PIECE = 4 << 20

DRAIN = """
#include "dts/loaders/loader.h"
long long drain(dts_loader *loader, long long n) {
    dts_sample sample;
    dts_error error;
    long long bytes = 0;
    for (long long i = 0; i < n; ++i) {
        if (loader->sample_at(loader->self, 0, i, &sample, &error)) return -1;
        bytes += sample.size;
    }
    loader->finish(loader->self, 0);
    return bytes;
}
"""


def write_file(path, blocks, pictures, rng):
    """Write a body of random pictures of about 110 kB, as in ImageNet."""
    room = BLOCK - 4096
    with open(path, "wb") as file:
        file.truncate(BLOCK)
        file.seek(BLOCK)
        for number in range(blocks):
            sizes = rng.integers(room // pictures // 2, room // pictures, pictures) // 64 * 64
            offsets = 4096 + np.cumsum(sizes) - sizes
            table = np.concatenate([offsets, sizes, np.zeros(pictures)]).astype("<u4").tobytes()
            head = b"LV0B" + struct.pack("<II", number, pictures) + table
            file.write(head.ljust(4096, b"\0") + rng.bytes(room))
    return types.SimpleNamespace(
        paths=[path],
        headers=[types.SimpleNamespace(block_header_size=4096)],
        level=0,
        num_classes=1,
        block_counts=np.full(blocks, pictures),
        block_starts=np.arange(blocks) * pictures,
        block_volume=np.zeros(blocks, int),
        block_number=np.arange(blocks),
        block_offset=BLOCK * (1 + np.arange(blocks)),
        names=None,
    )


def compile_drain(folder):
    source, library = folder / "drain.c", folder / "drain.so"
    source.write_text(DRAIN)
    root = Path(__file__).resolve().parent.parent
    subprocess.run(
        ["cc", "-O2", "-shared", "-fPIC", f"-I{root}", "-o", library, source], check=True
    )
    function = ctypes.CDLL(str(library)).drain
    function.restype = ctypes.c_longlong
    function.argtypes = [ctypes.c_void_p, ctypes.c_longlong]
    return function


def plain_read(path, blocks, threads, buffer, slots):
    """Seconds that `threads` threads take to read all blocks into `slots` places of a buffer."""
    fd = os.open(path, os.O_RDONLY)
    view = memoryview(buffer)

    def work(thread):
        for block in range(thread, blocks, threads):
            place = block % slots * BLOCK if slots else thread * PIECE
            for piece in range(0, BLOCK, PIECE):
                at = place + piece if slots else place
                os.preadv(fd, [view[at : at + PIECE]], BLOCK * (1 + block) + piece)

    pool = [threading.Thread(target=work, args=(t,)) for t in range(threads)]
    begin = time.perf_counter()
    for thread in pool:
        thread.start()
    for thread in pool:
        thread.join()
    took = time.perf_counter() - begin
    view.release()
    os.close(fd)
    return took


def timed(call):
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin


def fresh(nbytes, huge):
    memory = mmap.mmap(-1, nbytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if huge:
        memory.madvise(mmap.MADV_HUGEPAGE)
    return memory


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--gb", type=float, default=1.0)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--window", type=int, default=8)
    args = parser.parse_args()
    blocks = max(2 * args.window, int(args.gb * 1e9) // BLOCK)
    samples, threads, total = blocks * 150, args.threads, blocks * BLOCK
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        drain = compile_drain(folder)
        file = write_file(str(folder / "big.dts"), blocks, 150, np.random.default_rng(0))
        path = file.paths[0]
        common = {"load_workers": threads, "seed": 1}
        partial = BlockReader(file, mode="PARTIAL", window=args.window, **common)
        same = fresh(2 * args.window * BLOCK, huge=True)
        small = fresh(threads * PIECE, huge=False)
        seconds, hand_out = {}, {}

        def note(what, took):
            seconds.setdefault(what, []).append(took)

        def epoch(reader, number):
            reader.begin_epoch(number)
            assert drain(reader.address, samples) > 0
            reader.end_epoch()

        def python_epoch(reader, number):
            reader.begin_epoch(number)
            while reader.get_next_sample() is not None:
                pass

        epoch(partial, 0)  # touches the arena and the page cache
        plain_read(path, blocks, threads, same, 2 * args.window)
        for number in range(1, args.rounds + 1):
            note("partial", timed(lambda n=number: epoch(partial, n)))
            note("plain, same memory", plain_read(path, blocks, threads, same, 2 * args.window))
            note("plain, 4 MiB each", plain_read(path, blocks, threads, small, 0))
            with BlockReader(file, mode="FULLY", order="window", **common) as fully:
                note("fill", timed(lambda r=fully: epoch(r, 0)))
                for order_epoch in (1, 2):
                    fully.begin_epoch(order_epoch)
                    took = timed(lambda r=fully: drain(r.address, samples))
                    hand_out.setdefault("window order", []).append(took / samples)
                took = timed(lambda r=fully: python_epoch(r, 3))
                hand_out.setdefault("window order, Python", []).append(took / samples)
            for huge in (False, True):
                memory = fresh(total, huge)
                note(
                    "plain, fresh huge pages" if huge else "plain, fresh pages",
                    plain_read(path, blocks, threads, memory, blocks),
                )
                memory.close()
            with BlockReader(file, mode="FULLY", order="global", **common) as fully:
                epoch(fully, 0)
                fully.begin_epoch(1)
                took = timed(lambda r=fully: drain(r.address, samples))
                hand_out.setdefault("global order", []).append(took / samples)
        partial.close()
    print(f"{blocks} blocks, {samples} samples, {threads} threads, median of {args.rounds}")
    for what, took in seconds.items():
        print(f"{what:28s} {total / statistics.median(took) / 1e9:6.2f} GB/s")
    for ours, plain in (
        ("partial", "plain, same memory"),
        ("partial", "plain, 4 MiB each"),
        ("fill", "plain, fresh pages"),
        ("fill", "plain, fresh huge pages"),
    ):
        ratios = [b / a for a, b in zip(seconds[ours], seconds[plain], strict=True)]
        print(f"{ours} / {plain}: {statistics.median(ratios):.2f}")
    for what, took in hand_out.items():
        print(f"hand-out, {what:22s} {statistics.median(took) * 1e9:6.0f} ns a sample")


if __name__ == "__main__":
    main()
