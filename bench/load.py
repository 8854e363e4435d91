"""What others take of the CPUs while a gate is measured."""

import os
import time
from pathlib import Path

PROC = Path("/proc")


def cpus() -> int:
    """Count the CPUs that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def used_by_all(proc: Path = PROC) -> int:
    """Clock ticks of all CPUs so far that were not idle, the host's share (steal) included."""
    words = (proc / "stat").read_text(encoding="ascii").split("\n", 1)[0].split()
    user, nice, system, _idle, _iowait, irq, softirq, steal = map(int, words[1:9])
    return user + nice + system + irq + softirq + steal


def used_by_us(proc: Path = PROC, pid: int | None = None) -> int:
    """Clock ticks so far of a process and all below it, those that ended included."""
    pid = os.getpid() if pid is None else pid
    ticks: dict[int, int] = {}
    parents: dict[int, int] = {}
    for entry in proc.iterdir():
        if not entry.name.isdigit():
            continue
        try:
            words = (entry / "stat").read_text(errors="replace").rpartition(")")[2].split()
        except OSError:  # ended meanwhile
            continue
        parents[int(entry.name)] = int(words[1])
        ticks[int(entry.name)] = sum(map(int, words[11:15]))  # own, and of children that ended

    def ours(process: int) -> bool:
        while process not in (pid, 0):
            process = parents.get(process, 0)
        return process == pid

    return sum(count for process, count in ticks.items() if ours(process))


class Load:
    """Measures from its making on. Where there is no /proc, nothing is known of others."""

    def __init__(self) -> None:
        self._begin = self._now()

    def _now(self) -> tuple[float, int]:
        if not (PROC / "stat").exists():
            return time.monotonic(), 0
        return time.monotonic(), used_by_all() - used_by_us()

    def others(self) -> float:
        """Return how many CPUs others took."""
        (begin, before), (end, after) = self._begin, self._now()
        seconds = end - begin
        if seconds < 0.1:  # a few clock ticks tell nothing
            return 0.0
        return max(0.0, (after - before) / os.sysconf("SC_CLK_TCK") / seconds)
