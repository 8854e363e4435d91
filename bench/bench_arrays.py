"""How fast sets of small arrays come: an epoch of 50,000 pictures, against a loop in numpy.

Run: ``python bench/bench_arrays.py [--rounds 5] [--workers 2]``. The loop does the same work as
the Preprocessor: a permutation, flips of half the pictures, normalisation to float32, batches of
128. All figures are of one interleaved run; compare the ratios, not the figures.
"""

import argparse
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np

from dts import NormMode, Preprocessor, RandomHorizontalFlip

N, BATCH = 50_000, 128


def write_set(root):
    """Write the binary files of CIFAR-10, of noise."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 10, (N, 1), np.uint8)
    pixels = rng.integers(0, 256, (N, 3072), np.uint8)
    records = np.concatenate([labels, pixels], 1)
    for k, part in enumerate(np.split(records, 5), 1):
        (root / f"data_batch_{k}.bin").write_bytes(part.tobytes())
    pictures = pixels.reshape(N, 3, 32, 32).transpose(0, 2, 3, 1)
    return np.ascontiguousarray(pictures), labels[:, 0].astype(np.int32)


def numpy_epoch(pictures, labels, epoch):
    """Do what an epoch does, a batch at a time."""
    rng = np.random.default_rng(epoch)
    mean, std = (np.float32(v) for v in NormMode.CIFAR.value)
    scale, bias = np.float32(1 / 255) / std, mean / std
    order = rng.permutation(N)
    seen = 0
    for first in range(0, N, BATCH):
        ids = order[first : first + BATCH]
        batch = pictures[ids]
        flip = rng.random(len(ids)) < 0.5
        batch[flip] = batch[flip][:, :, ::-1]
        images = batch * scale - bias
        seen += min(len(images), len(labels[ids]))
    return seen


def dts_epoch(pre, epoch):
    """Take all batches of an epoch."""
    return sum(len(batch.images) for batch in pre.train(epoch))


def main():
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        pictures, labels = write_set(Path(folder))
        setup = Preprocessor.setup().dataset("cifar10", folder).batch_size(BATCH)
        setup.normalization(NormMode.CIFAR).train_transforms(RandomHorizontalFlip())
        times = {"numpy": [], "dts": []}
        with setup.preprocess_workers(options.workers).commit() as pre:
            for epoch in range(options.rounds + 1):
                for name, run in (
                    ("numpy", lambda e: numpy_epoch(pictures, labels, e)),
                    ("dts", lambda e: dts_epoch(pre, e)),
                ):
                    begin = time.perf_counter()
                    assert run(epoch) == N
                    times[name].append(time.perf_counter() - begin)
    ratios = [a / b for a, b in zip(*(t[1:] for t in times.values()), strict=True)]
    for name, values in times.items():
        print(f"{name:6} {statistics.median(values[1:]):6.3f} s an epoch of {N:,} pictures")
    print(f"numpy / dts with {options.workers} workers: {statistics.median(ratios):.1f}")


if __name__ == "__main__":
    main()
