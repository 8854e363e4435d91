"""Which CPUs threads are bound to: NUMA nodes, cores and their siblings, from sysfs (Linux)."""

import itertools
import os
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from dts.loaders.cgroup import read_number


@dataclass(frozen=True, order=True)
class Cpu:
    """One logical CPU.

    Attributes
    ----------
    number : int
        As the system counts them.
    node : int
        NUMA node; 0 where the system does not tell.
    sibling : int
        0 for the first allowed CPU of a physical core, 1 for the second, and so on.
    """

    number: int
    node: int
    sibling: int


@dataclass(frozen=True)
class Binding:
    """CPUs of each thread.

    Attributes
    ----------
    workers : tuple of frozenset of int
        One CPU for each preprocessing thread.
    loaders : tuple of frozenset of int
        All allowed CPUs of one node for each IO thread.
    """

    workers: tuple[frozenset[int], ...]
    loaders: tuple[frozenset[int], ...]


def cpu_list(text: str) -> set[int]:
    """Numbers in a list as the kernel writes it: ``0-3,8,10-11``."""
    found: set[int] = set()
    for part in text.strip().split(","):
        if part:
            first, _, last = part.partition("-")
            found.update(range(int(first), int(last or first) + 1))
    return found


def _list_in(path: Path) -> set[int] | None:
    try:
        return cpu_list(path.read_text())
    except (OSError, ValueError):
        return None


def allowed_cpus() -> frozenset[int]:
    """CPUs that this thread may run on; empty where the system has no such call."""
    if not hasattr(os, "sched_getaffinity"):
        return frozenset()
    return frozenset(os.sched_getaffinity(0))


def read_topology(allowed: Iterable[int], root: str | Path = "/") -> list[Cpu]:
    """Describe the CPUs that may be used.

    Parameters
    ----------
    allowed : iterable of int
        CPUs that this process may run on. Those that are not online are left out.
    root : path
        The file system whose /sys is read.

    Returns
    -------
    list of Cpu
        By number. A CPU that /sys does not know counts as a core of its own in node 0.
    """
    system = Path(root) / "sys/devices/system"
    online = _list_in(system / "cpu/online")
    usable = sorted(n for n in set(allowed) if online is None or n in online)
    nodes: dict[int, int] = {}
    for path in (system / "node").glob("node*"):
        if path.name[4:].isdigit():
            nodes.update(dict.fromkeys(_list_in(path / "cpulist") or (), int(path.name[4:])))
    seen: defaultdict[object, int] = defaultdict(int)
    found = []
    for number in usable:
        core = _core(system / f"cpu/cpu{number}/topology", number)
        found.append(Cpu(number, nodes.get(number, 0), seen[core]))
        seen[core] += 1
    return found


def _core(topology: Path, number: int) -> object:
    """What all CPUs of one physical core share, and no other. core_id alone does not do."""
    for name in ("core_cpus_list", "thread_siblings_list"):  # the second is the older name
        siblings = _list_in(topology / name)
        if siblings:
            return frozenset(siblings | {number})
    parts = tuple(read_number(topology / f"{p}_id") for p in ("physical_package", "die", "core"))
    return number if parts[2] is None else parts


def plan_binding(cpus: Iterable[Cpu], workers: int, loaders: int) -> Binding:
    """Spread threads over CPUs.

    Preprocessing threads go round the nodes, each to a physical core of its own as long as there
    are any, then to the cores' siblings, then round again. IO threads go round the nodes too, each
    on all CPUs of its node: they sleep most of the time, and what they touch first lies there.

    Parameters
    ----------
    cpus : iterable of Cpu
        At least one.
    workers, loaders : int
        How many threads of each kind.

    Returns
    -------
    Binding
    """
    by_node: defaultdict[int, list[Cpu]] = defaultdict(list)
    for cpu in sorted(cpus, key=lambda c: (c.sibling, c.number)):
        by_node[cpu.node].append(cpu)
    if not by_node:
        raise ValueError("there is no CPU to bind to")
    nodes = [by_node[node] for node in sorted(by_node)]
    turns = itertools.chain.from_iterable(itertools.zip_longest(*nodes))
    order = sorted((cpu for cpu in turns if cpu is not None), key=lambda c: c.sibling)
    return Binding(
        workers=tuple(frozenset({order[w % len(order)].number}) for w in range(workers)),
        loaders=tuple(
            frozenset(cpu.number for cpu in nodes[t % len(nodes)]) for t in range(loaders)
        ),
    )


def cpu_masks(threads: Iterable[Iterable[int]]) -> tuple[bytes, ...]:
    """Write sets of CPUs as bits, the lowest of the first byte for CPU 0; all of one length."""
    bits = [sum(1 << n for n in set(cpus)) for cpus in threads]
    words = max([1, *(-(-b.bit_length() // 64) for b in bits)])
    return tuple(b.to_bytes(8 * words, "little") for b in bits)
