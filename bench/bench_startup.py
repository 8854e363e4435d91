"""How long until the first batch, and how much memory: a set of ImageNet's size in one sparse file.

Run: ``python bench/bench_startup.py [FOLDER] [--blocks 8768] [--rounds 3]``. FOLDER is a folder of
class folders; without it the pictures are made. The file has 8,768 blocks (137 GiB) with tables,
names and checksums; only the blocks of the first two windows of epoch 0 hold pictures, about 1 GiB
on the disk. Each round is a process of its own, with the file in the page cache:

- open: `DtsFile` and the order of an epoch.
- first batch: from the end of `commit()` to the first batch of 256, PARTIAL, windows of 32 blocks.
- memory: what the process holds in memory at its peak, against `memory_plan()`.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from dts import demo
from dts.export import export_folder
from dts.format import DtsFile
from dts.format.block import pack_table
from dts.format.extension import Extension
from dts.format.header import Header
from dts.format.layout import BLOCK_BYTES, BLOCK_HEADER_SIZE, EXTENSION_OFFSET, HEADER_AREA

WINDOW = 32

ROUND = """
import json, resource, sys, time
path, workers = sys.argv[1], int(sys.argv[2])
import dts
from dts.format import DtsFile
from dts.loaders import epoch_order

found = {}
begin = time.perf_counter()
with DtsFile(path) as file:
    epoch_order(file.block_counts, window=32, seed=1)
found["open"] = time.perf_counter() - begin

setup = dts.Preprocessor.setup().dataset("folder", path).batch_size(256).amp(True).seed(1)
setup.train_transforms(dts.RandomResizedCrop(224), dts.RandomHorizontalFlip())
setup.load_mode(dts.LoadMode.PARTIAL)
if workers:
    setup.preprocess_workers(workers)
begin = time.perf_counter()
pre = setup.commit()
found["commit"] = time.perf_counter() - begin
begin = time.perf_counter()
batches = iter(pre.train(0))
batch = next(batches)
found["first batch"] = time.perf_counter() - begin
for _ in range(8):
    next(batches)
found["peak"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
found["plan"] = pre.memory_plan().total_bytes
pre.close()
print(json.dumps(found))
"""


def make_large(path, folder, blocks):
    """Write the sparse file: every block has the table of one real block of `folder`."""
    with tempfile.TemporaryDirectory(dir=Path(path).parent) as work:
        packed = Path(work) / "folder_train_lv0.dts"
        export_folder(folder, packed, level=0, split="train", progress=False)
        with DtsFile(packed) as small, open(packed, "rb") as file:
            offsets, sizes, labels = small.table(0)
            area, classes = small.header.max_pic_area, small.class_names
            file.seek(HEADER_AREA)
            body = file.read(BLOCK_BYTES)
    n = len(sizes)
    names = [f"{classes[label]}/{k:08d}.JPEG" for label, k in zip(labels, range(n), strict=True)]
    header = Header.for_pictures(
        level=0,
        is_training=True,
        num_classes=len(classes),
        num_samples=n * blocks,
        num_blocks=blocks,
        source_bytes=int(sizes.sum()) * blocks,
        max_pic_area=area,
        max_pic_per_block=n,
        crc=0,
    )
    extension = Extension(
        class_names=classes,
        sample_names=[f"{name[:-5]}_{b}.JPEG" for b in range(blocks) for name in names],
        block_counts=[n] * blocks,
        block_crcs=[0] * blocks,
        sample_crcs=[0] * (n * blocks),
        source_sizes=np.tile(sizes, blocks),
    )
    order = first_blocks(n, blocks)
    with open(path, "wb") as file:
        file.truncate(HEADER_AREA + blocks * BLOCK_BYTES)
        file.write(header.to_bytes())
        file.seek(EXTENSION_OFFSET)
        file.write(extension.pack()[0])
        for b in range(blocks):
            file.seek(HEADER_AREA + b * BLOCK_BYTES)
            file.write(pack_table(0, b, offsets, sizes, labels))
        start = BLOCK_HEADER_SIZE[0]
        for b in order:
            file.seek(HEADER_AREA + b * BLOCK_BYTES + start)
            file.write(body[start:])
    return n * blocks


def first_blocks(pictures, blocks):
    """Blocks of the first two windows of epoch 0."""
    from dts.loaders import epoch_order

    windows = -(-blocks // WINDOW)
    n = 2 * blocks // windows * pictures
    ids = epoch_order(np.full(blocks, pictures), window=WINDOW, seed=1)[:n]
    return sorted({int(k) for k in ids // pictures})


def measure(path, rounds, workers=0):
    """Run `rounds` processes; returns their figures as lists, by name."""
    figures = {}
    for _ in range(rounds + 1):
        run = subprocess.run(
            [sys.executable, "-c", ROUND, str(path), str(workers)],
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        for name, value in json.loads(run.stdout).items():
            figures.setdefault(name, []).append(value)
    return {name: values[1:] for name, values in figures.items()}  # the first warms the cache


def main():
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--blocks", type=int, default=8768)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--workers", type=int, default=0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = options.folder
        if folder is None:
            folder = Path(name) / "train"
            demo.make_folder(folder, 400)
        path = Path(name) / "folder_train_lv0.dts"
        samples = make_large(path, folder, options.blocks)
        found = measure(path, options.rounds, options.workers)
    print(f"{options.blocks:,} blocks, {samples:,} samples, median of {options.rounds}")
    for stage in ("open", "commit", "first batch"):
        print(f"{stage:12} {statistics.median(found[stage]) * 1e3:7.0f} ms")
    over = statistics.median(found["peak"]) - found["plan"][0]
    print(f"plan {found['plan'][0] / 2**20:.0f} MiB, peak {over / 2**20:+.0f} MiB")


if __name__ == "__main__":
    main()
