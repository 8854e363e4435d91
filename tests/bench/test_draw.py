"""The picture and the table of a saved run, from figures that are made up."""

import importlib.util
import json
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

TOOL = Path(__file__).resolve().parents[2] / "tools" / "draw_bench.py"
MACHINE = {
    "cpu": "Some CPU",
    "cpus": 2,
    "isa": "avx2",
    "jpeg": "libjpeg-turbo 3.2",
    "compiler": "gcc 12",
    "numpy": "2.0",
    "commit": "abc",
}


@pytest.fixture(scope="module")
def tool():
    spec = importlib.util.spec_from_file_location("draw_bench", TOOL)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def facts(stage, ratio, gate, direction="at most", verdict="pass", area="pipeline"):
    sign = "≤" if direction == "at most" else "≥"
    return {
        "area": area,
        "stage": stage,
        "against": "something <else>",
        "unit": "ms",
        "gate": gate,
        "aim": None,
        "direction": direction,
        "target": f"{sign} {gate}",
        "verdict": verdict,
        "reason": "",
        "ratio": ratio,
        "figure": 0.8e-3,
        "baseline": 1e-3,
    }


ALL = [
    facts("holds", 0.8, 0.9),
    facts("fails", 5.0, 0.9, verdict="FAIL"),
    facts("quick", 23.0, 5, "at least", area="small"),
    facts("busy", 1.0, 1.0, verdict="machine busy", area="small"),
]


@pytest.fixture
def drawn(tool, tmp_path):
    run = tmp_path / "run.json"
    run.write_text(
        json.dumps({"machine_info": MACHINE, "benchmarks": [{"extra_info": f} for f in ALL]})
    )
    page = tmp_path / "performance.md"
    page.write_text(f"before\n{tool.BEGIN}\nold\n{tool.END}\nafter\n")
    assert tool.main([str(run), "--docs", str(tmp_path)]) == 0
    return tmp_path


def saved(path, all_facts, machine=MACHINE):
    path.write_text(
        json.dumps({"machine_info": machine, "benchmarks": [{"extra_info": f} for f in all_facts]})
    )
    return str(path)


def test_what_met_a_busy_machine_is_taken_from_another_run(tool, drawn):
    again = [facts("busy", 0.7, 1.0, area="small"), facts("fails", 0.1, 0.9)]
    other = saved(drawn / "again.json", again)
    assert tool.main([str(drawn / "run.json"), other, "--docs", str(drawn)]) == 0
    page = (drawn / "performance.md").read_text()
    assert "[run.json](results/run.json); what met a busy machine there, again:" in page
    assert "[again.json](results/again.json)." in page
    rows = {line.split(" | ")[0]: line for line in page.splitlines() if line.startswith("| ")}
    assert "0.700" in rows["| small: busy"]
    assert "pass" in rows["| small: busy"]
    assert "5.000" in rows["| pipeline: fails"]
    assert "FAIL" in rows["| pipeline: fails"]


def test_runs_of_other_commits_are_not_mixed(tool, drawn):
    other = saved(drawn / "again.json", ALL, {**MACHINE, "commit": "def"})
    with pytest.raises(SystemExit, match="another machine or commit"):
        tool.main([str(drawn / "run.json"), other, "--docs", str(drawn)])


def test_table_takes_the_place_of_the_old_one(tool, drawn):
    lines = (drawn / "performance.md").read_text().splitlines()
    assert (lines[0], lines[-1]) == ("before", "after")
    assert "old" not in lines
    row = "| pipeline: holds | 0.8 ms | 1 ms | something <else> | 0.800 | ≤ 0.9 | pass |"
    assert row in lines
    assert sum("**FAIL**" in line for line in lines) == 1
    first = (drawn / "performance.md").read_text()
    assert tool.main([str(drawn / "run.json"), "--docs", str(drawn)]) == 0
    assert (drawn / "performance.md").read_text() == first


def test_picture_is_well_formed_and_has_a_bar_for_each_stage(tool, drawn):
    root = ET.parse(drawn / "gates.svg").getroot()
    svg = "{http://www.w3.org/2000/svg}"
    bars = [rect for rect in root.iter(f"{svg}rect") if rect.find(f"{svg}title") is not None]
    assert [bar.get("fill") for bar in bars] == [
        tool.COLOURS["pass"],
        tool.COLOURS["FAIL"],
        tool.COLOURS["pass"],
        tool.UNSURE,
    ]
    span = tool.WIDTH - tool.LEFT - tool.RIGHT
    widths = [float(bar.get("width")) for bar in bars]
    gate = span / tool.MOST
    assert widths == pytest.approx([gate * 0.8 / 0.9, span, gate * 5 / 23, gate], abs=0.1)


def test_costs_are_shares_of_the_gate(tool):
    assert tool.costs(facts("x", 0.41, 0.82)) == pytest.approx((0.5, 1 / 0.82))
    assert tool.costs(facts("x", 3.8, 1.9, "at least")) == pytest.approx((0.5, 1.9))


def test_other_files_are_refused(tool, tmp_path):
    path = tmp_path / "x.json"
    path.write_text('{"benchmarks": [{"extra_info": {}}]}')
    with pytest.raises(SystemExit, match="not a run of the gates"):
        tool.main([str(path), "--docs", str(tmp_path)])


def test_a_page_without_markers_is_left_alone(tool, drawn):
    page = drawn / "performance.md"
    page.write_text("nothing")
    with pytest.raises(SystemExit, match="gates: begin"):
        tool.main([str(drawn / "run.json"), "--docs", str(drawn)])
    assert page.read_text() == "nothing"
