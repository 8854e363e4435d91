"""Time of the kernels as a multiple of memcpy of their output, one thread, data in cache.

All cases and the memcpy take turns in one run, and the best of many turns counts: on a shared
machine only these ratios mean something. The cost of the call itself is taken out by timing an
image of one row as well.

    PYTHONPATH=. python bench/bench_kernels.py [--turns 300]
"""

import argparse
import time
from collections import defaultdict

import numpy as np

from dts import kernels
from dts.kernels import kernels as module

SIDE = 224
CASES = [("float16", 3, 4), ("float16", 3, 3), ("float32", 3, 3), ("uint8", 3, 3),
         ("float16", 1, 4), ("float16", 1, 1), ("float32", 1, 1), ("uint8", 1, 1)]  # fmt: skip
CROPS = [160, 300, 420, 640]


def aligned(size):
    """Make zeroed bytes that begin where a batch of the pipeline would: on 256 bytes."""
    memory = np.zeros(size + 256, np.uint8)
    start = -memory.ctypes.data % 256
    return memory[start : start + size]


def once(call):
    start = time.perf_counter_ns()
    call()
    return time.perf_counter_ns() - start


def normalizer(dtype, c, channels, flip, rows):
    """Make a call for one image of so many rows, and a memcpy of as many output bytes."""
    dtype = np.dtype(dtype)
    images = np.random.default_rng(0).integers(0, 256, (1, rows, SIDE, c), np.uint8)
    out, source = (aligned(rows * SIDE * channels * dtype.itemsize) for _ in range(2))
    scale, bias = kernels.norm_constants([0.485, 0.456, 0.406][:c], [0.229, 0.224, 0.225][:c])
    flips = np.array([flip], np.uint8)

    def normalize():
        module._normalize(out, images, dtype.itemsize, channels, scale, bias, flips, None)

    return normalize, lambda: np.copyto(out, source)


def resizer(crop, dtype):
    """Make a resize of a crop, filter tables included, as for every training picture."""
    dtype = np.dtype(dtype)
    channels = 4 if dtype == np.float16 else 3
    images = np.random.default_rng(0).integers(0, 256, (1, crop + 100, crop + 200, 3), np.uint8)
    out, source = (aligned(SIDE * SIDE * channels * dtype.itemsize) for _ in range(2))
    scale, bias = kernels.norm_constants([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])
    box = (100.0, 50.0, 100.0 + crop, 50.0 + crop)

    def resize():
        module._resize(
            out, images, dtype.itemsize, channels, SIDE, SIDE, box, True, scale, bias, False
        )

    return resize, lambda: np.copyto(out, source)


def best_times(turns):
    """Measure nanoseconds by case and by "memcpy" or instruction set."""
    pairs = {
        ("normalize", *case, flip): (normalizer(*case, flip, SIDE), normalizer(*case, flip, 1))
        for case in CASES
        for flip in (False, True)
    }
    whole = {("resize", crop, dtype): resizer(crop, dtype) for crop in CROPS
             for dtype in ("float16", "float32", "uint8")}  # fmt: skip
    best = defaultdict(lambda: float("inf"))
    for turn in range(turns):
        for isa in kernels.available_isas():
            if isa == "scalar" and turn % 10:
                continue  # slow, and not what is looked at
            kernels.select_isa(isa)
            for case, (long, short) in pairs.items():
                for name, i in ((isa, 0), ("memcpy", 1)):
                    for rows, calls in ((SIDE, long), (1, short)):
                        calls[i]()
                        key = (case, name, rows)
                        best[key] = min(best[key], once(calls[i]))
            for case, calls in whole.items():
                for name, i in ((isa, 0), ("memcpy", 1)):
                    calls[i]()
                    best[case, name] = min(best[case, name], once(calls[i]))
    result = {case: {} for case in [*pairs, *whole]}
    for key, ns in best.items():
        case, name = key[:2]
        if len(key) == 2:
            result[case][name] = ns
        elif key[2] == SIDE:
            result[case][name] = (ns - best[case, name, 1]) * SIDE / (SIDE - 1)
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--turns", type=int, default=300)
    result = best_times(parser.parse_args().turns)
    isas = kernels.available_isas()[::-1]
    print(f"{'':44}{'memcpy us':>10}" + "".join(f"{isa + ' us':>12}{'ratio':>7}" for isa in isas))
    for case, times in result.items():
        if case[0] == "normalize":
            _, dtype, c, channels, flip = case
            name = f"normalize {SIDE}x{SIDE}x{c} -> {dtype} x{channels}{' flip' if flip else ''}"
        else:
            name = f"resize {case[1]}x{case[1]}x3 -> {SIDE}x{SIDE} {case[2]}"
        line = f"{name:44}{times['memcpy'] / 1e3:10.1f}"
        for isa in isas:
            line += f"{times[isa] / 1e3:12.1f}{times[isa] / times['memcpy']:7.2f}"
        print(line)


if __name__ == "__main__":
    main()
