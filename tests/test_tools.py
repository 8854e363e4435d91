"""The tools that judge stubs and benchmarks, on small made-up input."""

import importlib.util
import json
from pathlib import Path

import pytest

TOOLS = Path(__file__).resolve().parent.parent / "tools"


def load(name):
    spec = importlib.util.spec_from_file_location(name, TOOLS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def bench_file(path, *, direction="at most", verdicts=None, **ratios):
    entries = [
        {
            "fullname": name,
            "stats": {"median": ratio / 1000},
            "extra_info": {
                "ratio": ratio,
                "direction": direction,
                "verdict": (verdicts or {}).get(name, "pass"),
            },
        }
        for name, ratio in ratios.items()
    ]
    path.write_text(json.dumps({"benchmarks": entries}))
    return str(path)


def marked(out, mark):
    return [line.split()[0] for line in out.splitlines() if line.endswith(mark)]


def test_compare_bench_fails_only_over_the_threshold(tmp_path, capsys):
    main = load("compare_bench").main
    old = bench_file(tmp_path / "old.json", a=0.80, b=0.80, gone=1.0)
    new = bench_file(tmp_path / "new.json", a=0.84, b=1.20, fresh=1.0)
    assert main([old, new, "--threshold", "2"]) == 0
    assert "none worse" in capsys.readouterr().out
    assert main([old, new]) == 1
    out = capsys.readouterr().out
    assert marked(out, "WORSE") == ["b"]
    assert any(line.split() == ["a", "0.800", "0.840", "1.050"] for line in out.splitlines())
    assert main([old, new, "--times"]) == 1


def test_compare_bench_knows_where_more_is_better(tmp_path, capsys):
    main = load("compare_bench").main
    old = bench_file(tmp_path / "old.json", direction="at least", a=1.9, b=1.9)
    new = bench_file(tmp_path / "new.json", direction="at least", a=1.2, b=2.4)
    assert main([old, new]) == 1
    assert marked(capsys.readouterr().out, "WORSE") == ["a"]


def test_compare_bench_blames_nothing_on_a_busy_machine(tmp_path, capsys):
    main = load("compare_bench").main
    old = bench_file(tmp_path / "old.json", a=0.80)
    new = bench_file(tmp_path / "new.json", verdicts={"a": "machine busy"}, a=1.20)
    assert main([old, new]) == 0
    assert marked(capsys.readouterr().out, "machine busy") == ["a"]


def test_compare_bench_refuses_what_cannot_be_compared(tmp_path, capsys):
    main = load("compare_bench").main
    old = bench_file(tmp_path / "old.json", a=1.0)
    assert main([old, bench_file(tmp_path / "new.json", b=1.0)]) == 2
    assert "no benchmark" in capsys.readouterr().out
    (tmp_path / "other.json").write_text("[]")
    with pytest.raises(SystemExit, match="not a pytest-benchmark file"):
        main([old, str(tmp_path / "other.json")])


def test_check_stubs_finds_what_is_missing_and_what_is_left_over(tmp_path):
    room = tmp_path / "dts" / "room"
    room.mkdir(parents=True)
    for name in ("good.pyx", "good.pyi", "bare.pyx", "old.pyi"):
        (room / name).write_text("")
    tool = load("check_stubs")
    assert tool.unpaired(tmp_path) == [
        "dts/room/bare.pyx: has no .pyi",
        "dts/room/old.pyi: no .pyx beside it",
    ]
    assert tool.module_names(tmp_path) == ["dts.room.bare", "dts.room.good"]


def test_every_cython_module_here_has_a_stub():
    assert load("check_stubs").unpaired(TOOLS.parent) == []
