"""How well many cores are used: fixed shares against a ticket, by measured decode times.

Run: ``python bench/simulate_claim.py [DIR] [--cores 64] [--batch 256] [--prefetch 2]``. DIR is a
folder of JPEG files; without it the pictures are synthetic. The time of every picture is measured
here (CPU time of one thread, a RandomResizedCrop decoded and resized to 224, the median of a few
boxes), then epochs of pictures drawn from them are simulated: each core takes a position, waits
until the slot of its batch is open, and works for that picture's time. Batch k opens once batch
k - prefetch is full; whoever takes full batches is infinitely fast.

- share: core w takes positions w, w + M, w + 2M, ...
- ticket: whoever is free takes the next position.

Efficiency is work / (cores * time). Nothing here runs on 64 cores: it says how much of them the
rule of claiming can use at best.
"""

import argparse
import heapq
import time
from pathlib import Path

import numpy as np
from bench_decode import random_box, synthetic

from dts import decode, kernels


def cost_of(files, boxes=5):
    """CPU seconds of each picture: decode the region of a random crop and resize it."""
    rng = np.random.default_rng(1)
    decoder = decode.Decoder()
    costs = []
    for data in files:
        head = decode.header(data)
        times = []
        for _ in range(boxes):
            box = random_box(rng, head.width, head.height)
            start = time.thread_time()
            kernels.resize(decoder.decode(data, box), (224, 224))
            times.append(time.thread_time() - start)
        costs.append(times)
    return np.array(costs)


def simulate(costs, cores, batch, prefetch, ticket):
    """Return the efficiency of `cores` cores over positions that cost `costs`."""
    n = len(costs)
    batches = -(-n // batch)
    left = np.full(batches, batch)
    left[-1] -= batches * batch - n
    full_at = np.zeros(batches)  # when the last row of each batch so far was done
    opened_at = np.full(batches, np.inf)
    opened_at[:prefetch] = 0
    full = 0  # batches before it are full: they can only be taken in turn
    latest = 0.0
    waiting = [[] for _ in range(batches)]  # cores at a slot that is not open yet
    free = [(0.0, core) for core in range(cores)]
    heapq.heapify(free)
    done = []  # (time, core, batch): rows being worked on
    turn = [0] * cores
    taken = 0
    end = 0.0

    def begin(now, core, position):
        heapq.heappush(done, (now + costs[position], core, position // batch))

    while free or done:
        if free and (not done or free[0][0] <= done[0][0]):
            now, core = heapq.heappop(free)
            position = taken if ticket else core + turn[core] * cores
            taken += 1
            turn[core] += 1
            if position >= n:
                continue
            if opened_at[position // batch] <= now:
                begin(now, core, position)
            else:
                waiting[position // batch].append((core, position))
            continue
        now, core, number = heapq.heappop(done)
        heapq.heappush(free, (now, core))
        end = now
        left[number] -= 1
        if left[number]:
            continue
        full_at[number] = now
        while full < batches and not left[full]:
            latest = max(latest, full_at[full])
            opens = full + prefetch
            full += 1
            if opens < batches:
                opened_at[opens] = latest
                for late, position in waiting[opens]:
                    begin(latest, late, position)
    return costs.sum() / (cores * end)


def main():
    """Measure, simulate, print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("directory", nargs="?", type=Path)
    parser.add_argument("--cores", type=int, nargs="+", default=[2, 16, 64])
    parser.add_argument("--batch", type=int, nargs="+", default=[64, 256])
    parser.add_argument("--prefetch", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--pictures", type=int, default=100_000)
    options = parser.parse_args()
    if options.directory is None:
        files = synthetic()
    else:
        files = [p.read_bytes() for p in sorted(options.directory.rglob("*")) if p.is_file()]
    costs = cost_of([data for data in files if decode.header(data).components == 3])
    low, middle, high = np.percentile(costs, [5, 50, 95])
    print(
        f"{len(costs)} pictures: mean {costs.mean() * 1e3:.2f} ms, deviation "
        f"{costs.std() * 1e3:.2f}, 5 % {low * 1e3:.2f}, half {middle * 1e3:.2f}, "
        f"95 % {high * 1e3:.2f}"
    )
    drawn = np.random.default_rng(2).choice(costs.ravel(), options.pictures)
    print(f"{'cores':>6} {'batch':>6} {'prefetch':>9} {'share':>7} {'ticket':>7}")
    for cores in options.cores:
        for batch in options.batch:
            for prefetch in options.prefetch:
                share, ticket = (simulate(drawn, cores, batch, prefetch, t) for t in (False, True))
                print(f"{cores:6} {batch:6} {prefetch:9} {share:7.1%} {ticket:7.1%}")


if __name__ == "__main__":
    main()
