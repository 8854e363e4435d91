"""Where threads are bound: the plan over trees of /sys that are made here."""

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dts.loaders.topology import (
    Cpu,
    allowed_cpus,
    cpu_list,
    cpu_masks,
    plan_binding,
    read_topology,
)


def make_tree(root, cores, online=None, names=("core_cpus_list",)):
    """Write a /sys. `cores`: for each node, for each of its cores, the numbers of its CPUs."""
    system = root / "sys/devices/system"
    every = sorted(n for node in cores for core in node for n in core)
    online = every if online is None else online
    (system / "cpu").mkdir(parents=True)
    (system / "cpu/online").write_text(",".join(map(str, online)) + "\n")
    for number, node in enumerate(cores):
        folder = system / f"node/node{number}"
        folder.mkdir(parents=True)
        cpus = [n for core in node for n in core if n in online]
        (folder / "cpulist").write_text(",".join(map(str, cpus)) + "\n")
        for k, core in enumerate(node):
            for n in core:
                topology = system / f"cpu/cpu{n}/topology"
                topology.mkdir(parents=True)
                if n not in online:
                    continue  # the kernel removes these files
                # core_id counts anew in each package, as it does on real machines
                (topology / "core_id").write_text(f"{k}\n")
                (topology / "physical_package_id").write_text(f"{number}\n")
                (topology / "die_id").write_text("0\n")
                for name in names:
                    siblings = ",".join(str(c) for c in core if c in online)
                    (topology / name).write_text(siblings + "\n")
    return root


TWO_NODES = [[(0, 8), (1, 9), (2, 10), (3, 11)], [(4, 12), (5, 13), (6, 14), (7, 15)]]


@pytest.mark.parametrize(
    ("text", "numbers"),
    [("0-3,8,10-11\n", {0, 1, 2, 3, 8, 10, 11}), ("5", {5}), ("\n", set()), ("0-0", {0})],
)
def test_lists_of_the_kernel(text, numbers):
    assert cpu_list(text) == numbers


@pytest.mark.parametrize("names", [("core_cpus_list",), ("thread_siblings_list",), ()])
def test_two_nodes_with_siblings(tmp_path, names):
    root = make_tree(tmp_path, TWO_NODES, names=names)
    found = read_topology(range(16), root)
    assert found == [Cpu(n, (n // 4) % 2, n // 8) for n in range(16)]
    plan = plan_binding(found, workers=18, loaders=3)
    assert [min(w) for w in plan.workers] == [
        0, 4, 1, 5, 2, 6, 3, 7, 8, 12, 9, 13, 10, 14, 11, 15, 0, 4,
    ]  # fmt: skip
    first, second = {0, 1, 2, 3, 8, 9, 10, 11}, {4, 5, 6, 7, 12, 13, 14, 15}
    assert plan.loaders == (first, second, first)


def test_only_allowed_and_online_cpus(tmp_path):
    online = [n for n in range(16) if n not in (1, 6, 9)]
    root = make_tree(tmp_path, TWO_NODES, online)
    found = read_topology({1, 2, 6, 8, 9, 10, 14, 15, 40}, root)
    # 8 and 14 are the first of their cores that may be used; 10 comes after its sibling 2
    assert found == [
        Cpu(2, 0, 0), Cpu(8, 0, 0), Cpu(10, 0, 1), Cpu(14, 1, 0), Cpu(15, 1, 0),
    ]  # fmt: skip
    plan = plan_binding(found, workers=6, loaders=2)
    assert [min(w) for w in plan.workers] == [2, 14, 8, 15, 10, 2]
    assert plan.loaders == ({2, 8, 10}, {14, 15})


def test_nodes_with_holes_and_nodes_without_cpus(tmp_path):
    root = make_tree(tmp_path, [[(0,), (1,)], [], [], [(64,), (65,)]])
    (root / "sys/devices/system/node/node3").rename(root / "sys/devices/system/node/node7")
    found = read_topology([0, 1, 64, 65], root)
    assert [c.node for c in found] == [0, 0, 7, 7]
    assert [min(w) for w in plan_binding(found, 4, 1).workers] == [0, 64, 1, 65]


def test_a_system_that_tells_nothing(tmp_path):
    found = read_topology([3, 1], tmp_path)
    assert found == [Cpu(1, 0, 0), Cpu(3, 0, 0)]
    with pytest.raises(ValueError, match="no CPU"):
        plan_binding([], 1, 1)


@given(
    st.lists(
        st.builds(Cpu, st.integers(0, 300), st.integers(0, 3), st.integers(0, 1)),
        min_size=1,
        unique_by=lambda c: c.number,
    ),
    st.integers(1, 200),
    st.integers(1, 9),
)
def test_any_plan_stays_within_and_is_even(cpus, workers, loaders):
    plan = plan_binding(cpus, workers, loaders)
    numbers = {c.number for c in cpus}
    assert len(plan.workers) == workers
    assert len(plan.loaders) == loaders
    assert all(len(w) == 1 and w <= numbers for w in plan.workers)
    assert all(t and t <= numbers for t in plan.loaders)
    load = [sum(n in w for w in plan.workers) for n in numbers]
    assert max(load) - min(load) <= 1
    sibling = {c.number: c.sibling for c in cpus}
    firsts = sum(c.sibling == 0 for c in cpus)
    used = [sibling[min(w)] for w in plan.workers]
    assert used[:firsts] == [0] * min(firsts, workers)  # physical cores before siblings


@given(st.lists(st.sets(st.integers(0, 8191)), min_size=1))
def test_masks_are_of_one_length_and_tell_the_sets(sets):
    masks = cpu_masks(sets)
    assert len({len(mask) for mask in masks}) == 1
    assert len(masks[0]) % 8 == 0
    bits = [int.from_bytes(mask, "little") for mask in masks]
    assert [{n for n in range(b.bit_length()) if b >> n & 1} for b in bits] == sets


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="no affinity here")
def test_this_machine():
    found = read_topology(allowed_cpus())
    assert {c.number for c in found} <= set(os.sched_getaffinity(0))
    assert found
    assert any(c.sibling == 0 for c in found)
