#!/usr/bin/env python3
"""Compare two runs of the gates (JSON of pytest-benchmark): a table of ratios, and a verdict.

Usage: ``python tools/compare_bench.py OLD.json NEW.json [--threshold 1.1] [--times]``.
Each gate's ratio to its baseline is compared, not its time: times of two machines, or of a busy
one, say nothing of the code. Exit code 1 if a ratio of both files got worse by more than THRESHOLD
times, 2 if the files share none. ``--times`` compares the medians of the times instead, for runs
that were made together.
"""

import argparse
import json
import sys
from pathlib import Path

UNSURE = ("machine busy", "not here")


def read(path, times):
    """Return {full name: (value, "at most" or "at least", verdict)} of one JSON file."""
    try:
        found = json.loads(Path(path).read_text(encoding="utf-8"))
        values = {}
        for bench in found["benchmarks"]:
            facts = bench.get("extra_info", {})
            verdict = facts.get("verdict", "")
            if times:
                value = float(bench["stats"]["median"]) * 1e3, "at most", verdict
            elif "ratio" in facts:
                value = float(facts["ratio"]), facts["direction"], verdict
            else:
                continue
            values[bench["fullname"]] = value
    except (ValueError, KeyError, TypeError) as error:
        raise SystemExit(f"{path}: not a pytest-benchmark file ({error!r})") from None
    return values


def table(old, new, threshold, head):
    """Return the lines of the table, and the names that got worse than allowed."""
    width = max(map(len, [*old, *new]), default=9)
    lines = [f"{'benchmark':<{width}}  {'old ' + head:>10}  {'new ' + head:>10}  {'worse':>7}"]
    slower = []
    for name in sorted({*old, *new}):
        sides = [side.get(name) for side in (old, new)]
        cells = [f"{side[0]:10.3f}" if side else f"{'-':>10}" for side in sides]
        ratio, mark = f"{'-':>7}", ""
        if all(sides):
            (before, direction, verdict0), (after, _, verdict1) = sides
            better, worse = (before, after) if direction == "at most" else (after, before)
            value = worse / better if better else float("inf")
            ratio = f"{value:7.3f}"
            if verdict0 in UNSURE or verdict1 in UNSURE:
                mark = "  machine busy"
            elif value > threshold:
                slower.append(name)
                mark = "  WORSE"
        lines.append(f"{name:<{width}}  {cells[0]}  {cells[1]}  {ratio}{mark}")
    return lines, slower


def main(argv=None):
    """Print the table; return 1 if something got worse."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--threshold", type=float, default=1.1, help="default %(default)s")
    parser.add_argument("--times", action="store_true", help="compare times, in ms, not ratios")
    options = parser.parse_args(argv)
    old, new = (read(path, options.times) for path in (options.old, options.new))
    lines, slower = table(old, new, options.threshold, "ms" if options.times else "ratio")
    print("\n".join(lines))
    if not set(old) & set(new):
        print("no benchmark stands in both files")
        return 2
    print(f"{len(slower)} worse than {options.threshold} x" if slower else "none worse")
    return 1 if slower else 0


if __name__ == "__main__":
    sys.exit(main())
