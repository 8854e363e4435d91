"""Epochs of CIFAR-10 and MNIST size against torchvision and its DataLoader, two workers each.

    python bench/against_torchvision.py --torch ENVIRONMENT/bin/python [--rounds 5]

torch lives in an environment of its own; it is asked for an epoch by a pipe, in turns with dts.
Both do the same work: RandomCrop(32, padding=4), flip, normalise to FP16 (MNIST: normalise),
batches of 128, shuffled. torchvision does it in its usual way: a PIL image a sample. The CPU time
is that of all processes.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

BATCH, WORKERS = 128, 2
CIFAR = ((0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616))
MNIST = ((0.1307,), (0.3081,))


def cpu_of(pid):
    """CPU seconds of a process so far."""
    words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def torch_side(name, folder):
    """Serve epochs: for each line on stdin, wall and CPU seconds of one on stdout."""
    import multiprocessing

    import torch
    from PIL import Image
    from torchvision import transforms as T

    pictures, labels = np.load(f"{folder}/pictures.npy"), np.load(f"{folder}/labels.npy").tolist()
    ops = [T.RandomCrop(32, padding=4), T.RandomHorizontalFlip()] if name == "cifar10" else []
    norm = CIFAR if name == "cifar10" else MNIST
    chain = T.Compose([*ops, T.ToTensor(), T.Normalize(*norm), T.ConvertImageDtype(torch.half)])

    class Set(torch.utils.data.Dataset):
        """As `torchvision.datasets.CIFAR10` and `MNIST` are written."""

        def __len__(self):
            return len(labels)

        def __getitem__(self, i):
            return chain(Image.fromarray(pictures[i])), labels[i]

    loader = torch.utils.data.DataLoader(
        Set(), BATCH, shuffle=True, num_workers=WORKERS, persistent_workers=True
    )
    print(torch.__version__, flush=True)
    for _ in sys.stdin:
        begin = time.perf_counter()
        seen = sum(len(images) for images, _ in loader)
        wall = time.perf_counter() - begin
        assert seen == len(labels)
        pids = [os.getpid(), *(child.pid for child in multiprocessing.active_children())]
        print(wall, sum(map(cpu_of, pids)), flush=True)


def compare(name, python, rounds):
    """Print the medians of both sides and their ratio."""
    from gates_small import setup_of
    from room import endless

    with tempfile.TemporaryDirectory() as folder:
        setup, pictures, labels = setup_of(name, Path(folder))
        np.save(f"{folder}/pictures.npy", pictures.squeeze())
        np.save(f"{folder}/labels.npy", labels)
        command = [python, __file__, "--serve", name, "--folder", folder]
        child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        with child, endless(setup) as stream:
            version = child.stdout.readline().strip()
            rows, before = [], 0.0
            for _ in range(rounds + 1):
                child.stdin.write("go\n")
                child.stdin.flush()
                wall, cpu = map(float, child.stdout.readline().split())
                begin, used = time.perf_counter(), time.process_time()
                stream()
                ours = time.perf_counter() - begin, time.process_time() - used
                rows.append((wall, cpu - before, *ours))
                before = cpu
            child.stdin.close()
    medians = [statistics.median(column) for column in zip(*rows[1:], strict=True)]
    print(f"{name}: torch {version} {medians[0]:.2f} s ({medians[1]:.2f} s CPU), dts"
          f" {medians[2]:.4f} s ({medians[3]:.4f} s CPU): {medians[0] / medians[2]:.0f} x,"
          f" {medians[1] / medians[3]:.0f} x in CPU time", flush=True)  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--torch", help="the Python that has torch and torchvision")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--sets", nargs="+", default=["cifar10", "mnist"])
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    parser.add_argument("--folder", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        torch_side(options.serve, options.folder)
        return
    for name in options.sets:
        compare(name, options.torch, options.rounds)


if __name__ == "__main__":
    main()
