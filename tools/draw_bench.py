#!/usr/bin/env python3
"""Draw the gates of a saved run, and write their table into the documentation.

Usage: ``python tools/draw_bench.py RUN.json [AGAIN.json ...] [--docs DIR]``, where RUN.json is
from ``bash tools/bench.sh --benchmark-json=RUN.json``. AGAIN.json is from another run of some
gates on the same machine, at the same commit: those that met a busy machine before are taken from
it, and no others. Writes DIR/gates.svg, and the table into DIR/performance.md between its markers.
DIR is docs/ unless given.
"""

import argparse
import json
import sys
from html import escape
from itertools import groupby
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "bench"))

from harness import FAIL, MACHINE_BUSY, PASS, cells  # noqa: E402

BEGIN, END = "<!-- gates: begin -->", "<!-- gates: end -->"

WIDTH, ROW, TOP = 1040, 27, 96
LEFT, RIGHT = 292, 306  # room for names, and for figures
MOST = 2.0  # of the gate; what is longer ends in an arrow
COLOURS = {PASS: "#2a9d76", FAIL: "#d1495b"}
UNSURE = "#aab2bf"

STYLE = """
  text { font-family: system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; font-size: 13px;
         fill: #24303f }
  .title { font-size: 19px; font-weight: 600 }
  .small { font-size: 11.5px; fill: #66707f }
  .area { font-size: 11.5px; font-weight: 600; letter-spacing: .08em; fill: #66707f }
  .figure { font-variant-numeric: tabular-nums }
"""


def load(path):
    """Return the facts of all gates of a JSON file, and those of the machine."""
    try:
        found = json.loads(Path(path).read_text(encoding="utf-8"))
        facts = [bench["extra_info"] for bench in found["benchmarks"]]
        if not facts or any("stage" not in f for f in facts):
            raise KeyError("stage")
    except (ValueError, KeyError, TypeError) as error:
        raise SystemExit(f"{path}: not a run of the gates ({error!r})") from None
    return facts, found["machine_info"]


def load_all(paths):
    """Return what `load` does, with gates of later files where earlier ones have no verdict."""
    facts, machine = load(paths[0])
    for path in paths[1:]:
        again, other = load(path)
        if other != machine:
            raise SystemExit(f"{path}: of another machine or commit than {paths[0]}")
        found = {(f["area"], f["stage"]): f for f in again}
        facts = [
            found.get((f["area"], f["stage"]), f) if f["verdict"] == MACHINE_BUSY else f
            for f in facts
        ]
    return facts, machine


def told(machine):
    """Say on what it was measured, in one line."""
    return (
        f"{machine['cpu']}, {machine['cpus']} CPUs, {machine['isa']} · {machine['jpeg']} ·"
        f" {machine['compiler']} · numpy {machine['numpy']} · commit {machine['commit']}"
    )


def costs(facts):
    """Return the cost of the stage and of its baseline, both as shares of what the gate allows."""
    if facts["direction"] == "at most":
        return facts["ratio"] / facts["gate"], 1 / facts["gate"]
    return facts["gate"] / facts["ratio"], facts["gate"]


def picture(all_facts, machine):
    """Return the SVG: a bar for each stage, a mark for its baseline, a line for the gate."""
    areas = [(area, list(rows)) for area, rows in groupby(all_facts, key=lambda f: f["area"])]
    height = TOP + sum(30 + ROW * len(rows) for _, rows in areas) + 20
    span = WIDTH - LEFT - RIGHT
    gate_at = LEFT + span / MOST

    def x(cost):
        return LEFT + span * min(cost, MOST) / MOST

    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}"'
        f' viewBox="0 0 {WIDTH} {height}" role="img" aria-label="Gates of dts">',
        f"<style>{STYLE}</style>",
        f'<rect width="{WIDTH}" height="{height}" rx="10" fill="#fbfcfe" stroke="#dfe4ec"/>',
        '<text class="title" x="24" y="36">Cost of each stage, as a share of what its gate allows'
        "</text>",
        f'<text class="small" x="24" y="56">{escape(told(machine))}</text>',
        *legend(76),
    ]
    y = TOP
    line_top = y + 6
    bars = []
    for area, rows in areas:
        y += 30
        bars.append(f'<text class="area" x="24" y="{y - 8}">{escape(area.upper())}</text>')
        for facts in rows:
            bars += row(facts, y, x)
            y += ROW
    out.append(
        f'<line x1="{gate_at:.1f}" x2="{gate_at:.1f}" y1="{line_top}" y2="{y + 2}"'
        ' stroke="#24303f" stroke-dasharray="3 3" stroke-opacity=".55"/>'
    )
    return "\n".join([*out, *bars, "</svg>", ""])


def legend(y):
    """Return the parts of the line that explains colours and marks."""
    parts, at = [], 24
    for colour, text in ((COLOURS[PASS], "holds"), (COLOURS[FAIL], "over its gate"),
                         (UNSURE, "machine busy: no verdict")):  # fmt: skip
        parts.append(
            f'<rect x="{at}" y="{y - 9}" width="14" height="10" rx="2" fill="{colour}"/>'
            f'<text class="small" x="{at + 19}" y="{y}">{text}</text>'
        )
        at += 42 + 6.2 * len(text)
    parts.append(
        f'{diamond(at + 5, y - 4)}<text class="small" x="{at + 16}" y="{y}">its baseline</text>'
        f'<line x1="{at + 106}" x2="{at + 106}" y1="{y - 11}" y2="{y + 3}" stroke="#24303f"'
        ' stroke-dasharray="3 3" stroke-opacity=".55"/>'
        f'<text class="small" x="{at + 113}" y="{y}">the gate; shorter is better</text>'
    )
    return parts


def diamond(x, y):
    return (
        f'<path d="M{x - 5:.1f} {y}l5 -5l5 5l-5 5z" fill="#fbfcfe" stroke="#24303f"'
        ' stroke-width="1.4"/>'
    )


def arrow(x, y, colour):
    return f'<path d="M{x:.1f} {y - 6}l7 6l-7 6z" fill="{colour}"/>'


def row(facts, y, x):
    """Return the parts of one stage, `y` being the top of its line."""
    cost, baseline = costs(facts)
    colour = COLOURS.get(facts["verdict"], UNSURE)
    _, _, _, against, ratio, target, verdict = cells(facts)
    middle = y + ROW // 2
    end = x(cost)
    parts = [
        f'<text x="24" y="{middle + 4}">{escape(facts["stage"])}</text>',
        f'<rect x="{LEFT}" y="{y + 6}" width="{max(end - LEFT, 1.5):.1f}" height="{ROW - 12}"'
        f' rx="3" fill="{colour}"><title>{escape(verdict)}</title></rect>',
    ]
    if cost > MOST:
        parts.append(arrow(end, middle, colour))
    if baseline <= MOST:
        parts.append(diamond(x(baseline), middle))
    else:
        parts.append(arrow(x(baseline) + 9, middle, "#24303f"))
    at = WIDTH - RIGHT + 68
    parts += [
        f'<text class="figure" text-anchor="end" x="{at}" y="{middle + 4}">{ratio}</text>',
        f'<text class="small" x="{at + 12}" y="{middle + 4}">{escape(target.split(" (")[0])}'
        f" x {escape(shortened(against))}</text>",
    ]
    return parts


def shortened(text, most=31):
    return text if len(text) <= most else text[: most - 1].rstrip(" ,") + "…"


def markdown(all_facts, machine, names):
    """Return the lines that stand between the markers."""
    lines = [
        BEGIN,
        "![Cost of each stage, as a share of what its gate allows](gates.svg)",
        "",
        *sources(names),
        "",
        f"{told(machine)}.",
        "",
        "| stage | figure | baseline | against | ratio | target | verdict |",
        "|---|---:|---:|---|---:|---|---|",
    ]
    for facts in all_facts:
        row = cells(facts)
        verdict = f"**{row[-1]}**" if row[-1] == FAIL else row[-1]
        lines.append("| " + " | ".join([*row[:-1], verdict]) + " |")
    return [*lines, END]


def sources(names):
    """Return the lines that name the raw results."""
    first, *more = (f"[{name}](results/{name})" for name in names)
    if not more:
        return [f"Raw results: {first}."]
    return [f"Raw results: {first}; what met a busy machine there, again:", f"{', '.join(more)}."]


def between_markers(text, lines):
    """Put lines in place of what stands between the markers, markers included."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise SystemExit(f"no {BEGIN} ... {END} to write between")
    return before + "\n".join(lines) + after


def main(argv=None):
    """Write the picture and the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("run", nargs="+")
    parser.add_argument("--docs", type=Path, default=ROOT / "docs")
    options = parser.parse_args(argv)
    facts, machine = load_all(options.run)
    page = options.docs / "performance.md"
    text = between_markers(
        page.read_text(encoding="utf-8"),
        markdown(facts, machine, [Path(run).name for run in options.run]),
    )
    page.write_text(text, encoding="utf-8")
    (options.docs / "gates.svg").write_text(picture(facts, machine), encoding="utf-8")
    print(f"wrote {options.docs / 'gates.svg'} and the table in {page}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
