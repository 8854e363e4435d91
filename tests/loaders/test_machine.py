"""Memory and CPUs that a container allows, on made-up file systems."""

import os

import pytest

from dts.errors import ConfigError
from dts.loaders import cgroup
from dts.loaders.cpus import default_threads
from dts.loaders.memory import available_bytes, check_fits, choose_mode

MIB = 1 << 20


@pytest.fixture
def machine(tmp_path):
    """machine(files): a file system with these files; memory of 1000 MiB is available."""

    def make(files, group="0::/\n", mounts=("/ /sys/fs/cgroup", "cgroup2 cgroup2 rw")):
        lines = [f"31 23 0:28 {mounts[0]} rw,nosuid shared:9 - {mounts[1]}"]
        everything = {
            "proc/self/mountinfo": "1 1 0:1 / / rw - ext4 /dev/sda rw\n" + "\n".join(lines),
            "proc/self/cgroup": group,
            "proc/meminfo": "MemTotal: 9999999 kB\nMemAvailable: 1024000 kB\n",
            **files,
        }
        for name, text in everything.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(text)
        return tmp_path

    return make


def v1(controller, path="/"):
    return {
        "group": f"4:{controller}:{path}\n",
        "mounts": (f"/ /sys/fs/cgroup/{controller}", f"cgroup cgroup rw,{controller}"),
    }


def test_no_limit(machine):
    root = machine({"sys/fs/cgroup/memory.max": "max\n", "sys/fs/cgroup/memory.current": "5\n"})
    assert available_bytes(root) == (1000 * MIB, "MemAvailable of /proc/meminfo")
    assert default_threads(root)[0] == len(os.sched_getaffinity(0))


def test_version_2_counts_what_is_used_but_not_the_cache(machine):
    root = machine(
        {
            "sys/fs/cgroup/memory.max": f"{300 * MIB}\n",
            "sys/fs/cgroup/memory.current": f"{250 * MIB}\n",
            "sys/fs/cgroup/memory.stat": f"anon 5\ninactive_file {100 * MIB}\nslab 3\n",
        }
    )
    room, why = available_bytes(root)
    assert room == 150 * MIB
    assert "control group" in why


def test_version_2_every_level_counts(machine):
    root = machine(
        {
            "sys/fs/cgroup/a/memory.max": f"{80 * MIB}\n",
            "sys/fs/cgroup/a/memory.current": f"{20 * MIB}\n",
            "sys/fs/cgroup/a/b/memory.max": "max\n",
            "sys/fs/cgroup/a/b/memory.high": f"{90 * MIB}\n",
            "sys/fs/cgroup/a/b/memory.current": f"{10 * MIB}\n",
        },
        group="0::/a/b\n",
    )
    assert available_bytes(root)[0] == 60 * MIB


def test_version_1(machine):
    top = "sys/fs/cgroup/memory/job"
    root = machine(
        {
            f"{top}/memory.limit_in_bytes": f"{100 * MIB}\n",
            f"{top}/memory.usage_in_bytes": f"{60 * MIB}\n",
            f"{top}/memory.stat": f"total_inactive_file {10 * MIB}\n",
            "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
            "sys/fs/cgroup/memory/memory.usage_in_bytes": "1\n",
        },
        **v1("memory", "/job"),
    )
    assert available_bytes(root)[0] == 50 * MIB


def test_a_mount_whose_root_is_the_group_itself(machine):
    """Containers without a cgroup namespace see their own group mounted, under its host path."""
    root = machine(
        {
            "sys/fs/cgroup/memory/memory.limit_in_bytes": f"{70 * MIB}\n",
            "sys/fs/cgroup/memory/memory.usage_in_bytes": f"{30 * MIB}\n",
        },
        group="4:memory:/docker/abc\n",
        mounts=("/docker/abc /sys/fs/cgroup/memory", "cgroup cgroup rw,memory"),
    )
    assert available_bytes(root)[0] == 40 * MIB


def test_over_the_limit_is_no_room(machine):
    root = machine(
        {"sys/fs/cgroup/memory.max": "1000\n", "sys/fs/cgroup/memory.current": "5000\n"}
    )
    assert available_bytes(root)[0] == 0
    assert choose_mode(1, root) == "PARTIAL"


def test_mode_at_60_per_cent(machine):
    root = machine({})
    assert choose_mode(600 * MIB, root) == "FULLY"
    assert choose_mode(600 * MIB + 1, root) == "PARTIAL"
    check_fits(1000 * MIB, root)
    with pytest.raises(ConfigError, match=rf"{1001 * MIB} bytes, {1000 * MIB} .*partial_mode"):
        check_fits(1001 * MIB, root)


@pytest.mark.parametrize(
    ("quota", "threads"), [("50000 100000", 1), ("100000 100000", 1), ("250000 100000", 3)]
)
def test_cpu_quota_of_version_2(machine, quota, threads, monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(64)), raising=False)
    root = machine({"sys/fs/cgroup/cpu.max": quota + "\n"})
    count, why = default_threads(root)
    assert count == threads
    assert "quota" in why


@pytest.mark.parametrize(("quota", "threads"), [(200000, 2), (210000, 3), (-1, 64), (9900000, 64)])
def test_cpu_quota_of_version_1(machine, quota, threads, monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(64)), raising=False)
    root = machine(
        {
            "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us": f"{quota}\n",
            "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us": "100000\n",
        },
        **v1("cpu,cpuacct"),
    )
    count, why = default_threads(root)
    assert count == threads
    assert ("quota" in why) == (threads < 64)


def test_affinity(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 5, 9}, raising=False)
    monkeypatch.setattr("dts.loaders.cpus.directories", lambda *_: [])
    assert default_threads()[0] == 3
    assert "affinity" in default_threads()[1]


def test_a_system_without_proc(tmp_path):
    assert cgroup.directories("memory", tmp_path) == []
    assert default_threads(tmp_path)[0] >= 1
    assert choose_mode(1, tmp_path) in ("FULLY", "PARTIAL")


def test_this_machine():
    room, why = available_bytes()
    assert room > 0
    assert why
    assert 1 <= default_threads()[0] <= os.cpu_count()
