"""Every gate as a test: ``bash tools/bench.sh`` runs them, the tests never do.

A gate that a busy machine spoilt is skipped: a ratio made then proves nothing, for or against.
"""

from pathlib import Path

import harness
import pytest
from conftest import machine


class Replay:
    """A clock that moves by what was measured, so that pytest-benchmark's figures are ours."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now

    def advance(self, seconds):
        self.now += seconds


replay = Replay()


@pytest.mark.benchmark(timer=replay)
@pytest.mark.parametrize(
    "gate", harness.load_gates(Path(__file__).parent), ids=lambda g: f"{g.area}: {g.name}"
)
def test_gate(benchmark, measured, gate):
    result = measured(gate)
    benchmark.group = gate.area
    benchmark.extra_info.update(result.facts(), **machine())
    if result.reason:
        pytest.skip(result.reason)
    turns = iter(result.figures)
    benchmark.pedantic(lambda: replay.advance(next(turns)), rounds=len(result.figures))
    if result.verdict == harness.MACHINE_BUSY:
        pytest.skip(f"machine busy: ratio {result.ratio:.3f} for {gate.target()}")
    if result.verdict == harness.FAIL:
        pytest.fail(f"{result.ratio:.3f}, wanted {gate.target()}", pytrace=False)
