#!/usr/bin/env python3
"""Compare two pytest-benchmark JSON files: a table of ratios, and a verdict.

Usage: ``python tools/compare_bench.py OLD.json NEW.json [--threshold 1.15] [--statistic median]``.
Exit code 1 if a benchmark of both files took more than THRESHOLD times as long in NEW, 2 if the
files share none. Times of two machines, or of a busy one, say nothing: compare runs made together.
"""

import argparse
import json
import sys
from pathlib import Path


def times(path, statistic):
    """Return {full name: seconds} of one JSON file."""
    try:
        found = json.loads(Path(path).read_text(encoding="utf-8"))
        return {b["fullname"]: float(b["stats"][statistic]) for b in found["benchmarks"]}
    except (ValueError, KeyError, TypeError) as error:
        raise SystemExit(f"{path}: not a pytest-benchmark file ({error!r})") from None


def table(old, new, threshold):
    """Return the lines of the table, and the names that got slower than allowed."""
    width = max(map(len, [*old, *new]), default=9)
    lines = [f"{'benchmark':<{width}}  {'old ms':>10}  {'new ms':>10}  {'new/old':>7}"]
    slower = []
    for name in sorted({*old, *new}):
        cells = [
            f"{side[name] * 1e3:10.3f}" if name in side else f"{'-':>10}" for side in (old, new)
        ]
        ratio, mark = f"{'-':>7}", ""
        if name in old and name in new:
            value = new[name] / old[name] if old[name] else float("inf")
            ratio = f"{value:7.3f}"
            if value > threshold:
                slower.append(name)
                mark = "  SLOWER"
        lines.append(f"{name:<{width}}  {cells[0]}  {cells[1]}  {ratio}{mark}")
    return lines, slower


def main(argv=None):
    """Print the table; return 1 if something got slower."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--threshold", type=float, default=1.15, help="default %(default)s")
    parser.add_argument("--statistic", choices=["min", "median", "mean"], default="median")
    options = parser.parse_args(argv)
    old = times(options.old, options.statistic)
    new = times(options.new, options.statistic)
    lines, slower = table(old, new, options.threshold)
    print("\n".join(lines))
    if not set(old) & set(new):
        print("no benchmark stands in both files")
        return 2
    print(f"{len(slower)} slower than {options.threshold} x" if slower else "none slower")
    return 1 if slower else 0


if __name__ == "__main__":
    sys.exit(main())
