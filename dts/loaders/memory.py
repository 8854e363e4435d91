"""How much memory this process may still use, and what follows for the mode."""

import os
from pathlib import Path

from dts.errors import ConfigError
from dts.loaders.cgroup import directories, read_number

SHARE = 0.6  # of that memory, for a data set that is kept whole
_NO_LIMIT = 1 << 60  # version 1 writes a huge number for "none"


def _stat(path: Path, key: str) -> int:
    try:
        lines = path.read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.split()[0] == key), 0)


def _group_room(place: Path, version: int) -> int | None:
    """Bytes that this control group leaves. File cache that can be dropped does not count."""
    if version == 2:
        limits = [read_number(place / name) for name in ("memory.max", "memory.high")]
        used = read_number(place / "memory.current")
        cache = _stat(place / "memory.stat", "inactive_file")
    else:
        limits = [read_number(place / "memory.limit_in_bytes")]
        used = read_number(place / "memory.usage_in_bytes")
        cache = _stat(place / "memory.stat", "total_inactive_file")
    given = [limit for limit in limits if limit is not None and limit < _NO_LIMIT]
    if not given or used is None:
        return None
    return max(0, min(given) - max(0, used - cache))


def available_bytes(root: str | Path = "/") -> tuple[int | None, str]:
    """Memory that this process may still take.

    Parameters
    ----------
    root : path
        The file system whose /proc and control groups are read.

    Returns
    -------
    bytes : int or None
        None where the system does not say.
    why : str
        What sets it.
    """
    room: list[tuple[int, str]] = []
    free = _stat(Path(root) / "proc/meminfo", "MemAvailable:") * 1024
    if free:
        room.append((free, "MemAvailable of /proc/meminfo"))
    elif "SC_PHYS_PAGES" in getattr(os, "sysconf_names", {}):
        pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        room.append((pages, "memory of the machine"))
    for place, version in directories("memory", root):
        left = _group_room(place, version)
        if left is not None:
            room.append((left, f"memory limit of control group {place}"))
    return min(room) if room else (None, "this system does not say")


def choose_mode(bytes_needed: int, root: str | Path = "/") -> str:
    """Decide what AUTO means here.

    Parameters
    ----------
    bytes_needed : int
        The whole data set in memory.
    root : path
        As in `available_bytes`.

    Returns
    -------
    {"FULLY", "PARTIAL"}
        FULLY where the set takes at most 60 % of the memory that is available.
    """
    room, _ = available_bytes(root)
    return "FULLY" if room is not None and bytes_needed <= SHARE * room else "PARTIAL"


def check_fits(bytes_needed: int, root: str | Path = "/") -> None:
    """Refuse a FULLY mode that cannot work, before it is tried.

    Raises
    ------
    ConfigError
        With both numbers.
    """
    room, why = available_bytes(root)
    if room is not None and bytes_needed > room:
        raise ConfigError(
            f"fully_mode: the set takes {bytes_needed} bytes ({bytes_needed / 2**30:.2f} GiB), "
            f"this process may use {room} ({room / 2**30:.2f} GiB, {why}); "
            "partial_mode() keeps two windows only"
        )
