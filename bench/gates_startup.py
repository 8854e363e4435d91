"""What comes before the first batch, and how much memory stays taken."""

import functools
import json
import subprocess
import sys

import numpy as np
from harness import gate
from room import ROOT, timed

from dts.format.block import pack_table
from dts.format.extension import Extension
from dts.format.header import Header
from dts.format.layout import BLOCK_BYTES, EXTENSION_OFFSET, HEADER_AREA, sidecar_path

BLOCKS, IN_BLOCK, CLASSES = 8_768, 146, 1000  # ImageNet's training set at level 0, 137 GiB
ALLOWANCE = 64 << 20  # bytes beyond the plan: the interpreter, thread stacks, numpy


@functools.cache
def imagenet_size(folder):
    """Write a sparse file of ImageNet's size: all tables and names, no pictures."""
    path = folder / "folder_train_lv0.dts"
    n = BLOCKS * IN_BLOCK
    sizes = np.full(IN_BLOCK, 110_000)
    offsets = 4096 + 114_000 // 64 * 64 * np.arange(IN_BLOCK)
    labels = np.arange(IN_BLOCK) % CLASSES
    with open(path, "wb") as file:
        file.truncate(HEADER_AREA + BLOCKS * BLOCK_BYTES)
        for block in range(BLOCKS):
            file.seek(HEADER_AREA + block * BLOCK_BYTES)
            file.write(pack_table(0, block, offsets, sizes, labels))
        header = Header.for_pictures(
            level=0,
            is_training=True,
            num_classes=CLASSES,
            num_samples=n,
            num_blocks=BLOCKS,
            source_bytes=n * 110_000,
            max_pic_area=1 << 20,
            max_pic_per_block=IN_BLOCK,
            crc=0,
        )
        inside, beside = Extension(
            class_names=[b"n%08d" % k for k in range(CLASSES)],
            sample_names=[
                b"n%08d/n%08d_%d.JPEG" % (k % CLASSES, k % CLASSES, k) for k in range(n)
            ],
            block_counts=[IN_BLOCK] * BLOCKS,
            block_crcs=[0] * BLOCKS,
            sample_crcs=np.zeros(n, np.uint32),
            source_sizes=np.full(n, 110_000),
        ).pack()
        file.seek(0)
        file.write(header.to_bytes())
        file.seek(EXTENSION_OFFSET)
        file.write(inside)
    if beside is not None:
        with open(sidecar_path(str(path)), "wb") as file:
            file.write(beside)
    return path


@gate("open 137 GiB, plan an epoch", against="0.3 s", limit=0.3, rounds=5, cpus=1)
def opening(room):
    """From commit() to an epoch that has begun, page cache warm."""
    setup = room.setup(imagenet_size(room.fresh("large"))).partial_mode()

    def begin():
        nonlocal preprocessor
        preprocessor = setup.commit()
        iter(preprocessor.train(0))

    preprocessor = None
    while True:
        figure = timed(begin)
        preprocessor.close()
        yield figure


@gate("first batch, PARTIAL", against="0.5 s", limit=0.5, rounds=5, cpus=2)
def first_batch(room):
    """From the end of commit() to the first batch, page cache warm."""
    while True:
        with room.setup(room.long, workers=2).partial_mode().commit() as preprocessor:
            yield timed(lambda pre=preprocessor: next(iter(pre.train(0))))


MEMORY = """
import json, sys
import room
def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096
setup = room.Room(None).setup(sys.argv[1], workers=2).partial_mode().shuffle_window(2)
setup.train_transforms(room.dts.RandomResizedCrop(96))
begin = resident()
with setup.commit() as pre:
    taken = []
    for epoch in range(int(sys.argv[2])):
        for batch in pre.train(epoch):
            pass
        taken.append(resident() - begin)
    print(json.dumps({"plan": pre.memory_plan().total_bytes, "taken": taken}))
"""


def memory_of(path, epochs):
    """Return the memory plan of a fresh process, and what it takes after each epoch, in bytes."""
    command = [sys.executable, "-c", MEMORY, str(path), str(epochs)]
    done = subprocess.run(command, check=True, capture_output=True, cwd=ROOT / "bench",
                          env={"PYTHONPATH": str(ROOT)})  # fmt: skip
    return json.loads(done.stdout)


@gate("memory, PARTIAL", against="plan + 64 MiB", at_most=1.0, unit="MiB")
def resident(room):
    """Resident memory after three epochs, without that before commit()."""
    found = memory_of(room.dts(0), 3)
    while True:
        yield max(found["taken"]), found["plan"] + ALLOWANCE


@gate("memory, epoch 50", against="epoch 5", at_most=1.02, unit="MiB")
def flat(room):
    """Resident memory does not grow."""
    taken = memory_of(room.dts(3), 50)["taken"]
    while True:
        yield taken[49], taken[4]
