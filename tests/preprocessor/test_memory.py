"""Resident memory, as the kernel counts it in a process of its own, against the plan."""

import json
import os
import subprocess
import sys

import make
import pytest

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")

ALLOWANCE = 64 << 20  # bytes beyond the plan: the interpreter, numpy, thread stacks

RUN = """
import json, sys
import dts

def resident():
    with open("/proc/self/smaps_rollup") as file:
        lines = dict(line.split(":", 1) for line in file.readlines()[1:])
    return int(lines["Rss"].split()[0]) * 1024

path, epochs, window, workers = sys.argv[1], *map(int, sys.argv[2:])
setup = dts.Preprocessor.setup().dataset("folder", path).batch_size(8).amp(True)
setup.train_transforms(dts.RandomResizedCrop(112), dts.RandomHorizontalFlip())
setup.load_mode(dts.LoadMode.PARTIAL).shuffle_window(window).preprocess_workers(workers)
begin = resident()
with setup.commit() as pre:
    after = []
    for epoch in range(epochs):
        for batch in pre.train(epoch):
            pass
        after.append(resident())
    print(json.dumps({
        "begin": begin, "after": after, "plan": pre.memory_plan().total_bytes,
        "arena": pre._splits["train"].memory.arena_bytes,
        "extra": pre.stats()["train"]["extra_slots"],
    }))
"""


def measured(path, *, epochs, window, workers=2):
    run = subprocess.run(
        [sys.executable, "-c", RUN, os.fspath(path), str(epochs), str(window), str(workers)],
        stdout=subprocess.PIPE,
        check=True,
    )
    return json.loads(run.stdout)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Files of 8 and of 3 blocks; most of each is a hole, and is read all the same."""
    folder = tmp_path_factory.mktemp("files")
    paths = {n: folder / str(n) / "folder_train_lv0.dts" for n in (8, 3)}
    for n, path in paths.items():
        path.parent.mkdir()
        make.small_blocks(path, [6] * n, side=(100, 200), checksums=False)
    return paths


@pytest.mark.parametrize("workers", [2, 32])
def test_partial_keeps_to_its_plan(files, workers):
    found = measured(files[8], epochs=2, window=2, workers=workers)
    assert found["arena"] < 5 * (16 << 20)
    assert max(found["after"]) <= found["plan"] + ALLOWANCE
    # not all of the plan is scratch memory that small pictures leave alone: the windows are there
    assert max(found["after"]) >= found["begin"] + 4 * (16 << 20)


def test_memory_does_not_grow_over_fifty_epochs(files):
    found = measured(files[3], epochs=50, window=1)
    assert found["extra"] == 0
    assert max(found["after"][5:]) - found["after"][4] <= 2 << 20
