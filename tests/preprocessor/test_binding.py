"""cpu_binding: what the kernel says of each thread afterwards."""

import logging
import os
import subprocess
import sys
from pathlib import Path

import make_arrays
import pytest

from dts.loaders import topology

linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")


def affinities():
    """CPUs of each thread of dts in this process, by the thread's name."""
    found = {}
    for task in Path("/proc/self/task").iterdir():
        try:
            lines = dict(
                line.split(":\t", 1) for line in (task / "status").read_text().splitlines()
            )
        except OSError:
            continue  # it ended meanwhile
        if lines["Name"].startswith("dts-"):
            found[lines["Name"]] = topology.cpu_list(lines["Cpus_allowed_list"])
    return found


def running(setup):
    """Affinities while an epoch runs, and the counters after it."""
    with setup.commit() as pre:
        batches = iter(pre.train(0))
        next(batches)
        found = affinities()
        list(batches)
        return found, pre.stats()["train"]


@linux
def test_threads_run_where_they_were_bound(blocks, setup_of):
    allowed = os.sched_getaffinity(0)
    setup = setup_of(blocks[0], preprocess_workers=5, load_workers=2)
    found, stats = running(setup)
    assert len(found) == 7
    assert all(cpus == allowed for cpus in found.values())
    assert stats["workers_bound"] == stats["io_bound"] == 0

    found, stats = running(setup.cpu_binding())
    plan = topology.plan_binding(topology.read_topology(allowed), 5, 2)
    wanted = {f"dts-train-{w}": set(cpus) for w, cpus in enumerate(plan.workers)}
    wanted |= {f"dts-io-{t}": set(cpus) for t, cpus in enumerate(plan.loaders)}
    assert found == wanted
    assert all(len(found[f"dts-train-{w}"]) == 1 for w in range(5))
    assert (stats["workers_bound"], stats["io_bound"]) == (5, 2)
    assert os.sched_getaffinity(0) == allowed  # the caller's own thread


@linux
def test_never_outside_the_allowed_set(blocks, setup_of):
    last = max(os.sched_getaffinity(0))
    code = f"""
import os, sys
sys.path[:0] = {[str(Path(__file__).parent), str(Path(__file__).parent.parent)]!r}
os.sched_setaffinity(0, [{last}])
from dts import Preprocessor, RandomResizedCrop
from test_binding import running
s = Preprocessor.setup().dataset("folder", {os.fspath(blocks[0])!r}).batch_size(4)
s.train_transforms(RandomResizedCrop(8)).preprocess_workers(3).load_workers(2).cpu_binding()
found, stats = running(s)
print(len(found), set().union(*found.values()), stats["workers_bound"])
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split("\n")[0] == f"5 {{{last}}} 3"


def test_binding_changes_no_byte(blocks, setup_of, digest):
    plain = setup_of(blocks[0], preprocess_workers=3)
    with plain.commit() as pre:
        expected = digest(pre.train(0))
    with plain.cpu_binding().commit() as pre:
        assert digest(pre.train(0)) == expected


@linux
def test_a_cpu_that_is_gone_costs_only_the_binding(blocks, setup_of, monkeypatch):
    gone = max(topology.allowed_cpus() or {0}) + 1000
    monkeypatch.setattr("dts.plan.read_topology", lambda _: [topology.Cpu(gone, 0, 0)])
    _, stats = running(setup_of(blocks[0], cpu_binding=True, preprocess_workers=2))
    assert stats["workers_bound"] == stats["io_bound"] == 0
    assert stats["samples"] == 61


def test_a_system_without_affinity_says_so_and_goes_on(blocks, setup_of, monkeypatch, caplog):
    monkeypatch.setattr("dts.plan.allowed_cpus", frozenset)
    with caplog.at_level(logging.WARNING, "dts"):
        _, stats = running(setup_of(blocks[0], cpu_binding=True))
    assert "cpu_binding" in caplog.text
    assert stats["samples"] == 61


def test_small_arrays_take_it_too(tmp_path, setup_of):
    make_arrays.write("mnist", tmp_path, n_train=61, n_val=23)
    setup = setup_of(tmp_path, "mnist", cpu_binding=True, preprocess_workers=3)
    with setup.commit() as pre:
        assert sorted(i for batch in pre.train(0) for i in batch.ids) == list(range(61))
        assert pre.stats()["train"]["workers_bound"] == (3 if topology.allowed_cpus() else 0)
