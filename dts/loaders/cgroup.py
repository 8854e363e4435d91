"""Where this process's control groups are: what a container lets it use (Linux, v1 and v2)."""

from pathlib import Path


def _mounts(root: Path) -> list[tuple[str, str, str]]:
    """List (controllers, or "" for version 2; root of the mount; mount point)."""
    found = []
    for line in (root / "proc/self/mountinfo").read_text().splitlines():
        left, _, right = line.partition(" - ")
        kind, _, options = right.split(" ", 2)
        if kind in ("cgroup", "cgroup2"):
            fields = left.split(" ")
            found.append((options if kind == "cgroup" else "", fields[3], fields[4]))
    return found


def directories(controller: str, root: str | Path = "/") -> list[tuple[Path, int]]:
    """Directories that limit this process, innermost first.

    Parameters
    ----------
    controller : str
        ``"memory"`` or ``"cpu"``.
    root : path
        The file system to look in.

    Returns
    -------
    list of (Path, int)
        Directory, and the version (1 or 2) of its hierarchy. Empty where there is none.
    """
    root = Path(root)
    found = []
    try:
        mounts = _mounts(root)
        groups = (root / "proc/self/cgroup").read_text().splitlines()
    except OSError:
        return []
    for line in groups:
        _, names, path = line.split(":", 2)
        version = 1 if names else 2
        if version == 1 and controller not in names.split(","):
            continue
        for options, mount_root, point in mounts:
            if (version == 1) != (options != "") or (
                version == 1 and controller not in options.split(",")
            ):
                continue
            top = root / point.lstrip("/")
            inner = path.removeprefix(mount_root) if mount_root != "/" else path
            place = top / inner.lstrip("/")
            while True:
                found.append((place, version))
                if place == top or top not in place.parents:
                    break
                place = place.parent
    return [(place, version) for place, version in found if place.is_dir()]


def read_number(path: Path) -> int | None:
    """Read a number; None where there is no file, or no limit in it."""
    try:
        text = path.read_text().strip()
    except OSError:
        return None
    return int(text) if text.lstrip("-").isdigit() else None
