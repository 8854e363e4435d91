"""Gates: a stage's cost against a baseline of the same interleaved run, and what is made of it.

A gate is a generator function behind the decorator `gate`, in a file ``gates_*.py``. It is given a
`room.Room`, prepares what it needs, and yields pairs for ever: the figure and the baseline of one
round, taken one right after the other. All else is done here: the first round only warms up, the
median of the rounds' ratios meets the bound, and a baseline that moves spoils the verdict.
"""

import gc
import importlib
import itertools
import statistics
import threading
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import simplejpeg
from load import Load, cpus

from dts.measure import BUSY, spread

UNITS = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9, "MiB": 2.0**-20}
LEAST_ROUNDS = 5
PASS, FAIL, MACHINE_BUSY, NOT_HERE = "pass", "FAIL", "machine busy", "not here"

GATES: list["Gate"] = []
_places = itertools.count()  # decorators are read from above and applied from below


class NotHere(Exception):
    """Raised by a gate: this machine cannot measure it, and why."""


@dataclass(frozen=True)
class Gate:
    """One line of the table; `gate` says what the fields mean."""

    name: str
    run: Callable[..., Iterator[Any]]
    against: str
    at_most: float | None = None
    at_least: float | None = None
    limit: float | None = None
    aim: float | None = None
    unit: str = "ms"
    rounds: int = 9
    seconds: float = 6.0
    cpus: int = 0
    scales: float = 0.0
    settings: dict[str, Any] = field(default_factory=dict)
    place: int = 0

    @property
    def area(self) -> str:
        """``pipeline`` for a gate of gates_pipeline.py."""
        return self.run.__module__.rpartition(".")[2].removeprefix("gates_")

    @property
    def bound(self) -> float:
        return self.at_least if self.at_least is not None else self.at_most or 1.0

    def ratio(self, figure: float, baseline: float) -> float:
        """Cost over cost where less is better, speed over speed where more is."""
        return baseline / figure if self.at_least is not None else figure / baseline

    def holds(self, ratio: float) -> bool:
        return ratio >= self.bound if self.at_least is not None else ratio <= self.bound

    def target(self) -> str:
        sign = "≥" if self.at_least is not None else "≤"
        aim = "" if self.aim is None else f" (aim {self.aim:g})"
        return f"{sign} {self.bound:g}{aim}"


def gate(
    name: str,
    /,
    *,
    against: str,
    at_most: float | None = None,
    at_least: float | None = None,
    limit: float | None = None,
    aim: float | None = None,
    unit: str = "ms",
    rounds: int = 9,
    seconds: float = 6.0,
    cpus: int = 0,
    scales: float = 0.0,
    **settings: Any,
) -> Callable[[Callable[..., Iterator[Any]]], Callable[..., Iterator[Any]]]:
    """Register a generator function as a gate. Decorators may be stacked: one gate each.

    Parameters
    ----------
    name : str
        What is measured; unique within its file.
    against : str
        The baseline, in a few words.
    at_most, at_least : float
        One of them. `at_most`: figure / baseline may not be larger. `at_least`: both are times of
        the same work, and baseline / figure, the ratio of speeds, may not be smaller.
    limit : float
        Instead of a baseline: a cost, in seconds or bytes, that the figure may not exceed. The
        gate then yields figures alone; a fixed piece of work tells whether the machine is busy.
    aim : float, optional
        A better ratio that is hoped for; told, not enforced.
    unit : {"s", "ms", "us", "ns", "MiB"}
        How figures, which are seconds (or bytes) in code, are printed.
    rounds : int
        Rounds behind the one that warms up.
    seconds : float
        After so much time a measurement ends, if it has `LEAST_ROUNDS` rounds.
    cpus : int
        CPUs that the figure needs at once: if others leave fewer, the machine is busy. 0: it does
        not matter, since CPU time is compared, or the median of very short calls.
    scales : float
        How many times the work of one thread or process the machine has to do in `cpus` of them,
        where nothing but the machine keeps them from it, or it is busy: virtual CPUs may be halves
        of one. The gate then yields what the machine did as a third number; `scaling` measures
        it. 0: it does not matter.
    **settings
        Go to the function.
    """
    if sum(bound is not None for bound in (at_most, at_least, limit)) != 1:
        raise ValueError(f"gate {name!r}: give one of at_most, at_least and limit")
    if unit not in UNITS:
        raise ValueError(f"gate {name!r}: unit {unit!r} is none of {', '.join(UNITS)}")

    place = next(_places)

    def register(run: Callable[..., Iterator[Any]]) -> Callable[..., Iterator[Any]]:
        made = Gate(
            name,
            run,
            against,
            at_most,
            at_least,
            limit,
            aim,
            unit,
            rounds,
            seconds,
            cpus,
            scales,
            settings,
            place,
        )
        if any((g.area, g.name) == (made.area, made.name) for g in GATES):
            raise ValueError(f"two gates of {made.area} are called {name!r}")
        GATES.append(made)
        return run

    return register


@dataclass
class Result:
    """What one gate found.

    Attributes
    ----------
    gate : Gate
    figures, baselines : list of float
        Seconds (or bytes), one entry a round.
    gauges : list of float
        What is looked at to tell whether the machine was busy: the baselines, or the times of a
        fixed piece of work.
    others : float
        CPUs that were taken by others meanwhile, the host of a virtual machine included.
    scaling : list of float
        How many times the work of one CPU the machine did with as many as the gate needs, one
        entry a round; none where it does not matter.
    tries : int
        Measurements made; all but the last on a busy machine.
    reason : str
        Why the gate could not be measured here; then there are no figures.
    """

    gate: Gate
    figures: list[float] = field(default_factory=list)
    baselines: list[float] = field(default_factory=list)
    gauges: list[float] = field(default_factory=list)
    others: float = 0.0
    scaling: list[float] = field(default_factory=list)
    tries: int = 1
    reason: str = ""

    @property
    def figure(self) -> float:
        return statistics.median(self.figures)

    @property
    def baseline(self) -> float:
        return statistics.median(self.baselines)

    @property
    def ratio(self) -> float:
        """Median of those of the rounds: both halves of a round meet the same speed."""
        return statistics.median(self.ratios)

    @property
    def ratios(self) -> list[float]:
        """Those of the rounds."""
        return [self.gate.ratio(f, b) for f, b in zip(self.figures, self.baselines, strict=True)]

    @property
    def busy(self) -> bool:
        """Whether the baseline moved by more than a quarter, or too few CPUs were free."""
        free = cpus() - self.others
        return self.halves or spread(self.gauges) > BUSY or free < self.gate.cpus * 0.9

    @property
    def halves(self) -> bool:
        """Whether the CPUs together can do less than the gate needs."""
        return bool(self.scaling) and statistics.median(self.scaling) < self.gate.scales

    @property
    def verdict(self) -> str:
        if self.reason:
            return NOT_HERE
        if self.busy:
            return MACHINE_BUSY
        return PASS if self.gate.holds(self.ratio) else FAIL

    def facts(self) -> dict[str, Any]:
        """Return what goes into the JSON file, enough to print and draw the table again."""
        facts: dict[str, Any] = {
            "area": self.gate.area,
            "stage": self.gate.name,
            "against": self.gate.against,
            "unit": self.gate.unit,
            "gate": self.gate.bound,
            "aim": self.gate.aim,
            "direction": "at least" if self.gate.at_least is not None else "at most",
            "target": self.gate.target(),
            "verdict": self.verdict,
            "reason": self.reason,
        }
        if not self.reason:
            facts.update(
                ratio=round(self.ratio, 4),
                ratios=[round(r, 4) for r in self.ratios],
                figure=self.figure,
                baseline=self.baseline,
                figures=self.figures,
                baselines=self.baselines,
                gauge_spread=round(spread(self.gauges), 4),
                others=round(self.others, 2),
                scaling=[round(s, 3) for s in self.scaling],
                tries=self.tries,
            )
        return facts


def measure(wanted: Gate, room: Any, *, tries: int = 2, seconds: float | None = None) -> Result:
    """Measure a gate, and once more if the machine was busy.

    Parameters
    ----------
    wanted : Gate
    room : Room
        Goes to the gate's function.
    tries : int
        Measurements at most.
    seconds : float, optional
        Instead of the gate's own.
    """
    if seconds is not None:
        wanted = replace(wanted, seconds=seconds)
    result = Result(wanted)
    for attempt in range(1, tries + 1):
        try:
            result = _measure(wanted, room)
        except NotHere as why:
            return Result(wanted, reason=str(why))
        result.tries = attempt
        if not result.busy or result.halves:  # which another minute does not change
            break
    return result


def _measure(wanted: Gate, room: Any) -> Result:
    result = Result(wanted)
    gc.collect()
    turns = wanted.run(room, **wanted.settings)
    try:
        next(turns)  # warms caches, clocks and memory
        begin, load = time.monotonic(), Load()
        for done in itertools.count():
            gauge = _gauge() if wanted.limit is not None else 0.0
            try:
                turn = next(turns)
            except StopIteration:
                raise RuntimeError(f"gate {wanted.name!r} ended after {done} rounds") from None
            if wanted.scales:
                *turn, given = turn
                result.scaling.append(given)
            figure, baseline = (turn, wanted.limit) if wanted.limit is not None else turn
            result.figures.append(figure)
            result.baselines.append(baseline)
            result.gauges.append(gauge or baseline)
            late = time.monotonic() - begin > wanted.seconds
            if done + 1 >= wanted.rounds or (late and done + 1 >= LEAST_ROUNDS):
                break
        result.others = load.others()
    finally:
        turns.close()
    return result


_WORK = bytes(1 << 20)


def _gauge() -> float:
    """CPU seconds of a fixed piece of work, a few milliseconds of it."""
    begin = time.perf_counter()
    for _ in range(4):
        zlib.crc32(_WORK)
    return time.perf_counter() - begin


def scaling(threads: int) -> float:
    """Return how many times the work of one thread so many do, decoding a picture plainly."""
    noise = np.random.default_rng(0).integers(0, 255, (32, 32, 3), dtype=np.uint8)
    picture = simplejpeg.encode_jpeg(np.repeat(np.repeat(noise, 12, 0), 12, 1))

    def seconds(n: int) -> float:
        pool = [threading.Thread(target=decode) for _ in range(n)]
        begin = time.perf_counter()
        for thread in pool:
            thread.start()
        for thread in pool:
            thread.join()
        return time.perf_counter() - begin

    def decode() -> None:
        for _ in range(100):
            simplejpeg.decode_jpeg(picture)

    return threads * seconds(1) / seconds(threads)


def load_gates(folder: Path) -> list[Gate]:
    """Import all ``gates_*.py`` of a folder and return their gates, in the order of the text."""
    for path in sorted(folder.glob("gates_*.py")):
        importlib.import_module(path.stem)
    return sorted(GATES, key=lambda gate: gate.place)


HEAD = ("stage", "figure", "baseline", "", "ratio", "target", "verdict")


def cells(facts: dict[str, Any]) -> tuple[str, ...]:
    """Return the cells of a line of the table, from `Result.facts`."""
    stage = f"{facts['area']}: {facts['stage']}"
    if facts["reason"]:
        return (stage, "-", "-", facts["against"], "-", facts["target"], facts["verdict"])
    scale, unit = UNITS[facts["unit"]], facts["unit"]
    figure, baseline = (f"{facts[key] * scale:.4g} {unit}" for key in ("figure", "baseline"))
    ratio = f"{facts['ratio']:.3f}"
    return (stage, figure, baseline, facts["against"], ratio, facts["target"], facts["verdict"])


def table(all_facts: Sequence[dict[str, Any]]) -> list[str]:
    """Return the lines of the table as plain text."""
    rows = [HEAD, *map(cells, all_facts)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    right = (1, 2, 4)
    lines = []
    for row in rows:
        padded = (
            text.rjust(width) if k in right else text.ljust(width)
            for k, (text, width) in enumerate(zip(row, widths, strict=True))
        )
        lines.append("  ".join(padded).rstrip())
    lines.insert(1, "-" * max(map(len, lines)))
    lines += [f"not here: {f['stage']}: {f['reason']}" for f in all_facts if f["reason"]]
    return lines
