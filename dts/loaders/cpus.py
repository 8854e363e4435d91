"""How many CPUs this process may use: affinity, and the quota of its control groups."""

import os
from pathlib import Path

from dts.loaders.cgroup import directories, read_number


def _quota(place: Path, version: int) -> float | None:
    if version == 2:
        try:
            quota, period = (place / "cpu.max").read_text().split()
        except (OSError, ValueError):
            return None
        return None if quota == "max" else int(quota) / int(period)
    quota_us = read_number(place / "cpu.cfs_quota_us")
    period_us = read_number(place / "cpu.cfs_period_us")
    return quota_us / period_us if quota_us and period_us and quota_us > 0 else None


def default_threads(root: str | Path = "/") -> tuple[int, str]:
    """Threads that can run at the same time.

    Parameters
    ----------
    root : path
        The file system whose control groups are read.

    Returns
    -------
    threads : int
        At least 1. A quota that is no whole number is rounded up.
    why : str
        What sets it, for the log.
    """
    if hasattr(os, "sched_getaffinity"):
        count = len(os.sched_getaffinity(0))
        why = f"{count} of {os.cpu_count()} CPUs by affinity"
    else:
        count = os.cpu_count() or 1
        why = f"{count} CPUs"
    for place, version in directories("cpu", root):
        quota = _quota(place, version)
        if quota is not None and -int(-quota // 1) < count:
            count = max(1, -int(-quota // 1))
            why = f"quota of {quota:g} CPUs of control group {place}"
    return count, why
