"""How often threads meet: waits, wake-ups and futex calls of a batch, with few and many threads.

Run: ``python bench/contention.py [FILE.dts] [--threads 2 64] [--batch 256] [--epochs 3]``. Without
a file the photographs of the gates are packed. Every line is a process of its own; the first
epoch is left out of the counters. Where ``strace`` is installed, two more processes count the
futex calls of the preprocessing threads: the difference between a long and a short run, so that
start and end do not count.

A preprocessing thread sleeps where it waits for a batch to open (slot) or for a block to be read
(block); the user's side where it waits for a batch to be full (consumer), and it wakes every
100 ms to see Ctrl-C. A lock on the path of a sample would show as futex calls of preprocessing
threads that are not explained by these waits, and that grow with the samples of a batch.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from room import ROOT, Room

RUN = """
import json, sys, time
from pathlib import Path
import dts
path, threads, batch, epochs, mode = sys.argv[1], *map(int, sys.argv[2:5]), sys.argv[5]
setup = dts.Preprocessor.setup().dataset("folder", path).batch_size(batch).amp(True).seed(1)
setup.train_transforms(dts.RandomResizedCrop(224), dts.RandomHorizontalFlip())
setup.preprocess_workers(threads).load_mode(dts.LoadMode[mode])
with setup.commit() as pre:
    def run(epoch):
        for _ in pre.train(epoch):
            pass
    run(0)
    before, cpu = pre.stats()["train"], time.process_time()
    for epoch in range(1, 1 + epochs):
        run(epoch)
    after = pre.stats()["train"]
    tasks = {}
    for task in Path("/proc/self/task").glob("*"):
        tasks[task.name] = (task / "comm").read_text().strip()
    found = {k: after[k] - before[k] for k in after if k.endswith(("_waits", "_wakes", "samples"))}
    found["cpu"] = time.process_time() - cpu
    print(json.dumps(dict(found, tasks=tasks, steps=pre.steps_per_epoch)))
"""


def run(path, threads, batch, epochs, mode, before=()):
    """Run one process; returns its counters."""
    arguments = [*map(str, (path, threads, batch, epochs)), mode]
    done = subprocess.run(
        [*before, sys.executable, "-c", RUN, *arguments],
        stdout=subprocess.PIPE,
        check=True,
        env={"PYTHONPATH": str(ROOT)},
    )
    return json.loads(done.stdout)


def futexes(folder, *arguments):
    """Futex calls of the preprocessing threads in a whole run, by strace."""
    log = Path(folder) / "strace"
    command = ["strace", "-f", "-e", "trace=futex", "-o", str(log)]
    tasks = run(*arguments, before=command)["tasks"]
    ours = {task for task, name in tasks.items() if name.startswith("dts-train")}
    with open(log, encoding="ascii", errors="replace") as lines:
        return sum("futex(" in line and line.split(maxsplit=1)[0] in ours for line in lines)


def main():
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", nargs="?", type=Path)
    parser.add_argument("--threads", type=int, nargs="+", default=[2, 64])
    parser.add_argument("--batch", type=int, nargs="+", default=[64, 256])
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--mode", choices=("FULLY", "PARTIAL"), default="FULLY")
    options = parser.parse_args()
    head = ("threads", "batch", "slot", "wakes", "block", "wakes", "consumer", "wakes")
    print("calls and sleeps a batch; CPU ms a picture")
    print("".join(f"{h:>10}" for h in (*head, "futex", "CPU ms")))
    with tempfile.TemporaryDirectory() as folder:
        path = options.file or Room(Path(folder)).dts(3)
        for batch in options.batch:
            for threads in options.threads:
                rest = (path, threads, batch)
                found = run(*rest, options.epochs, options.mode)
                steps = found["steps"] * options.epochs
                columns = [
                    found[f"{who}_{what}"] / steps
                    for who in ("slot", "worker", "consumer")
                    for what in ("waits", "wakes")
                ]
                calls = "-"
                if shutil.which("strace"):
                    long, short = (
                        futexes(folder, *rest, n, options.mode) for n in (options.epochs, 1)
                    )
                    calls = f"{(long - short) / (steps - found['steps']):.1f}"
                cpu = found["cpu"] / found["samples"] * 1e3
                print(
                    f"{threads:10}{batch:10}"
                    + "".join(f"{c:10.1f}" for c in columns)
                    + f"{calls:>10}{cpu:10.3f}"
                )


if __name__ == "__main__":
    main()
