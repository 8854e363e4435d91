"""One room for all gates, and the one table at the end of the run."""

import functools
import platform
import shutil
import subprocess
import time

import harness
import load
import pytest
import room as shared
from room import ROOT

import dts

RESULTS = pytest.StashKey[list]()
BEGIN = pytest.StashKey[float]()
NO_MORE_TRIES = (
    360  # seconds after which a busy machine gets no second try: a run takes 10 minutes
)


def pytest_addoption(parser):
    group = parser.getgroup("gates")
    group.addoption("--gate-seconds", type=float, help="time of each gate, instead of its own")
    group.addoption("--gate-tries", type=int, default=2, help="measurements on a busy machine")


def pytest_configure(config):
    config.stash[RESULTS] = []
    config.stash[BEGIN] = time.monotonic()
    config.option.benchmark_quiet = True  # its own table would say the same in other words


@pytest.fixture(scope="session")
def room(tmp_path_factory):
    """Return the Room of this run. Its folder is removed: it holds a GB."""
    path = tmp_path_factory.mktemp("gates")
    yield shared.Room(path)
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture
def measured(request, room):
    """Return a function that measures a gate and puts the result into the table."""
    options = request.config.option
    begin = request.config.stash[BEGIN]

    def measure(gate):
        late = time.monotonic() - begin > NO_MORE_TRIES
        result = harness.measure(
            gate, room, tries=1 if late else options.gate_tries, seconds=options.gate_seconds
        )
        request.config.stash[RESULTS].append(result.facts())
        return result

    return measure


def pytest_terminal_summary(terminalreporter, config):
    facts = config.stash[RESULTS]
    if facts:
        terminalreporter.section("gates")
        terminalreporter.write_line("\n".join(machine_lines()))
        terminalreporter.write_line("\n".join(harness.table(facts)))


@functools.cache
def machine():
    """Return what a figure depends on, without what only names this very machine."""
    build = dts.build_info()
    jpeg = build["jpeg"]
    return {
        "cpu": cpu_model(),
        "cpus": load.cpus(),
        "isa": build["isa"],
        "compiler": build["compiler"],
        "jpeg": f"{jpeg['kind']} {jpeg['version']}",
        "python": build["python"],
        "numpy": build["numpy"],
        "dts": build["version"],
        "commit": commit(),
    }


def machine_lines():
    m = machine()
    return [
        f"{m['cpu']}, {m['cpus']} CPUs, {m['isa']}; {m['jpeg']}; {m['compiler']};"
        f" numpy {m['numpy']}; commit {m['commit']}",
        "",
    ]


def cpu_model():
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            lines = [line.partition(":") for line in file]
    except OSError:
        return platform.processor() or platform.machine()
    return next((v.strip() for k, _, v in lines if k.strip() == "model name"), platform.machine())


def commit():
    """Return the commit that is measured, with a + if files were changed since."""
    try:
        told = ["git", "-C", str(ROOT)]
        name = subprocess.run(
            [*told, "rev-parse", "--short=12", "HEAD"], check=True, capture_output=True, text=True
        )
        state = subprocess.run(
            [*told, "status", "--porcelain", "-uno"], check=True, capture_output=True, text=True
        )
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return name.stdout.strip() + "+" * bool(state.stdout.strip())


def pytest_benchmark_update_machine_info(config, machine_info):
    machine_info.clear()
    machine_info.update(machine())


def pytest_benchmark_update_commit_info(config, commit_info):
    for key in ("branch", "project", "author_time"):
        commit_info.pop(key, None)
