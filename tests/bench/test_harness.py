"""The harness of the gates, with figures that are made up: nothing here is timed."""

import harness
import pytest
from harness import FAIL, MACHINE_BUSY, NOT_HERE, PASS


@pytest.fixture(autouse=True)
def _quiet_machine(monkeypatch):
    """Gates of their own for each test, and a machine with two CPUs that nobody else uses."""
    monkeypatch.setattr(harness, "GATES", [])
    monkeypatch.setattr(harness, "cpus", lambda: 2)
    monkeypatch.setattr(harness.Load, "others", lambda self: 0.0)


def made(turns, **options):
    """Register a gate that yields `turns` behind a first one that is far off; return it."""
    options = {"against": "something", "rounds": len(turns), **options}

    @harness.gate("stage", **options)
    def run(room):
        yield 1e9, 1e9
        yield from turns

    return harness.GATES[-1]


def found(turns, **options):
    return harness.measure(made(turns, **options), None)


def test_ratio_is_the_median_of_the_rounds_and_the_first_does_not_count():
    result = found([(2.0, 4.0), (3.0, 4.0), (90.0, 4.0)], at_most=0.8)
    assert (result.figure, result.baseline, result.ratio) == (3.0, 4.0, 0.75)
    assert result.verdict == PASS
    assert result.ratios == [0.5, 0.75, 22.5]


def test_at_least_compares_speeds():
    turns = [(2.0, 3.8)] * 5
    assert found(turns, at_least=1.9).ratio == pytest.approx(1.9)
    harness.GATES.clear()
    assert found(turns, at_least=1.89).verdict == PASS
    harness.GATES.clear()
    assert found(turns, at_least=1.91).verdict == FAIL


def test_over_its_gate_fails():
    assert found([(0.83, 1.0)] * 5, at_most=0.82).verdict == FAIL
    harness.GATES.clear()
    assert found([(0.82, 1.0)] * 5, at_most=0.82).verdict == PASS


def test_a_limit_is_a_gate_without_a_baseline(monkeypatch):
    monkeypatch.setattr(harness, "_gauge", lambda: 1.0)
    gate = made([140e-9] * 5, limit=150e-9, unit="ns")
    result = harness.measure(gate, None)
    assert result.verdict == PASS
    assert result.ratio == pytest.approx(140 / 150)
    assert harness.cells(result.facts())[1:3] == ("140 ns", "150 ns")


def test_a_limit_on_a_machine_whose_speed_moves_is_no_verdict(monkeypatch):
    gauge = iter([1.0, 1.5] * 5)
    monkeypatch.setattr(harness, "_gauge", lambda: next(gauge))
    gate = made([140e-9] * 5, limit=150e-9)
    assert harness.measure(gate, None, tries=1).verdict == MACHINE_BUSY


@pytest.mark.parametrize("figure", [0.1, 10.0])  # whether it would pass or fail
def test_a_moving_baseline_gives_no_verdict_after_a_second_try(figure):
    tries = []

    @harness.gate("stage", against="x", at_most=1.0, rounds=6)
    def run(room):
        tries.append(room)
        while True:
            yield figure, 1.0
            yield figure, 1.3

    result = harness.measure(harness.GATES[-1], "room")
    assert result.verdict == MACHINE_BUSY
    assert (tries, result.tries) == (["room", "room"], 2)


def test_the_second_try_counts_if_it_is_quiet():
    tries = []

    @harness.gate("stage", against="x", at_most=1.0, rounds=6)
    def run(room):
        tries.append(1)
        second = 2.0 if len(tries) == 1 else 1.0
        while True:
            yield 0.5, 1.0
            yield 0.5, second

    result = harness.measure(harness.GATES[-1], None)
    assert (result.verdict, result.tries, result.ratio) == (PASS, 2, 0.5)


def test_one_disturbed_round_is_no_busy_machine():
    assert found([(1.0, 1.0)] * 6 + [(9.0, 9.0)], at_most=1.1).verdict == PASS


def test_a_gate_that_needs_two_cpus_is_busy_when_others_take_one(monkeypatch):
    monkeypatch.setattr(harness.Load, "others", lambda self: 0.6)
    turns = [(1.0, 1.9)] * 5
    assert found(turns, at_least=1.8, cpus=0).verdict == PASS
    harness.GATES.clear()
    assert found(turns, at_least=1.8, cpus=2).verdict == MACHINE_BUSY


@pytest.mark.parametrize(
    ("given", "bound", "verdict"),
    [
        ([1.4, 1.6, 1.96], 1.8, MACHINE_BUSY),
        ([1.4, 1.6, 1.96], 1.95, MACHINE_BUSY),
        ([1.5, 1.96, 1.9], 1.8, PASS),
        ([1.5, 1.96, 1.9], 1.95, FAIL),
    ],
)
def test_a_machine_whose_cpus_are_halves_says_nothing_of_scaling(given, bound, verdict):
    @harness.gate("stage", against="x", at_least=bound, cpus=2, scales=1.9, rounds=3)
    def run(room):
        yield 1.0, 1.0, 1.0
        for scaling in given:
            yield 1.0, 1.9, scaling

    result = harness.measure(harness.GATES[-1], None)
    assert (result.verdict, result.facts()["scaling"]) == (verdict, given)
    assert result.tries == 1


def test_threads_that_decode_side_by_side_are_counted():
    assert 0 < harness.scaling(2) < 4


def test_what_cannot_be_measured_here_is_told():
    @harness.gate("stage", against="x", at_most=1.0)
    def run(room):
        raise harness.NotHere("no such instruction set")
        yield

    result = harness.measure(harness.GATES[-1], None)
    assert result.verdict == NOT_HERE
    assert "no such instruction set" in harness.table([result.facts()])[-1]


def test_a_gate_cleans_up_and_rounds_end_with_the_time(monkeypatch):
    clock = iter(range(1000))
    monkeypatch.setattr(harness.time, "monotonic", lambda: next(clock))
    cleaned = []

    @harness.gate("stage", against="x", at_most=1.0, rounds=100, seconds=1)
    def run(room):
        try:
            while True:
                yield 1.0, 1.0
        finally:
            cleaned.append(room)

    result = harness.measure(harness.GATES[-1], "room")
    assert len(result.figures) == harness.LEAST_ROUNDS
    assert cleaned == ["room"]


def test_a_gate_that_ends_by_itself_is_a_mistake():
    with pytest.raises(RuntimeError, match="ended after 2 rounds"):
        found([(1.0, 1.0)] * 2, at_most=1.0, rounds=3)


def test_stacked_decorators_are_gates_in_the_order_of_the_text(tmp_path, monkeypatch):
    (tmp_path / "gates_made.py").write_text(
        "from harness import gate\n"
        "@gate('first', against='x', at_most=1.0, k=1)\n"
        "@gate('second', against='x', at_least=2.0, k=2)\n"
        "def run(room, k):\n"
        "    yield k, k\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    gates = harness.load_gates(tmp_path)
    assert [(g.area, g.name, g.settings) for g in gates] == [
        ("made", "first", {"k": 1}),
        ("made", "second", {"k": 2}),
    ]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "one of at_most, at_least and limit"),
        ({"at_most": 1.0, "limit": 1.0}, "one of at_most"),
        ({"at_most": 1.0, "unit": "m"}, "unit 'm'"),
    ],
)
def test_wrong_gates_are_refused(options, words):
    with pytest.raises(ValueError, match=words):
        harness.gate("stage", against="x", **options)


def test_the_same_name_twice_is_refused():
    made([(1.0, 1.0)], at_most=1.0)
    with pytest.raises(ValueError, match="two gates"):
        made([(1.0, 1.0)], at_most=1.0)


def test_the_table_says_it_all():
    facts = [found([(0.00083, 0.001)] * 5, at_most=0.9, aim=0.84).facts()]
    head, line, row = harness.table(facts)
    assert head.split() == ["stage", "figure", "baseline", "ratio", "target", "verdict"]
    assert set(line) == {"-"}
    assert row.split() == (
        f"{facts[0]['area']}: stage 0.83 ms 1 ms something 0.830 ≤ 0.9 (aim 0.84) pass".split()
    )
