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


def bench_file(path, **medians):
    entries = [{"fullname": k, "stats": {"median": v, "min": v / 2}} for k, v in medians.items()]
    path.write_text(json.dumps({"benchmarks": entries}))
    return str(path)


def test_compare_bench_fails_only_over_the_threshold(tmp_path, capsys):
    main = load("compare_bench").main
    old = bench_file(tmp_path / "old.json", a=0.010, b=0.020, gone=1.0)
    new = bench_file(tmp_path / "new.json", a=0.011, b=0.030, fresh=1.0)
    assert main([old, new, "--threshold", "2"]) == 0
    assert "none slower" in capsys.readouterr().out
    assert main([old, new]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines if line.endswith("SLOWER")] == ["b"]
    assert any(line.split() == ["a", "10.000", "11.000", "1.100"] for line in lines)
    assert main([old, new, "--statistic", "min"]) == 1


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
