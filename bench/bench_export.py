"""Time and peak memory of planning a level 0 file.

Usage: python bench/bench_export.py [pictures]

Sizes are log-normal and average 110 KB, as ImageNet's do. The ratio compares with one
``random.shuffle`` of a list of the same length, which every exact arrangement needs twice.
Peak memory is that of the process in excess of what it was before.
"""

import random
import resource
import sys
import time

import numpy as np

from dts.export.packing import arrange
from dts.format.layout import BLOCK_BYTES, BLOCK_HEADER_SIZE, MAX_PICTURES


def peak_mib():
    scale = 1 << 20 if sys.platform == "darwin" else 1 << 10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / scale


def main(n):
    rng = np.random.default_rng(1)
    sizes = np.exp(rng.normal(0, 0.6, n))
    sizes = np.clip(sizes / sizes.mean() * 110e3, 700, 15e6).astype(np.int64)
    capacity = BLOCK_BYTES - BLOCK_HEADER_SIZE[0]
    before = peak_mib()
    started = time.perf_counter()
    plan = arrange(sizes, None, capacity, MAX_PICTURES[0], num_classes=1000)
    planned = time.perf_counter() - started
    after = peak_mib()
    filled = sizes.sum() / (plan.num_blocks * capacity)

    items = list(range(n))
    started = time.perf_counter()
    random.Random(42).shuffle(items)
    shuffled = time.perf_counter() - started
    print(f"{n:,} pictures -> {plan.num_blocks:,} blocks, {filled:.2%} filled")
    print(f"{planned:.2f} s, {planned / shuffled:.1f} x a shuffle, {after - before:.0f} MiB")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_300_000)
