"""The ROI layout of levels 1-3 against the plain one, through the whole pipeline.

    python bench/roi_layout.py [DIRECTORY] [--rounds N] [--levels 3 1]

CPU time a picture with one preprocessing thread, RandomResizedCrop(224) + flip + normalise, FP16,
over full decodes by simplejpeg: of the very pictures that were delivered, and of those of the
plain layout. All take turns in each round. DIRECTORY: class folders of photographs.
"""

import argparse
import contextlib
import os
import statistics
import tempfile
from pathlib import Path

from room import Room

from dts import measure


def layouts(plain, roi, pictures):
    """Yield, for ever, one `measure.Turn` of each layout's file."""
    with contextlib.ExitStack() as stack:
        both = [
            stack.enter_context(contextlib.closing(measure.turns(path, pictures)))
            for path in (plain, roi)
        ]
        while True:
            yield tuple(next(turns) for turns in both)


def compared(room, level):
    """Yield pairs for ever: CPU seconds a picture of the ROI layout, and of the plain one."""
    # Whole epochs: parts of them would be other pictures in either file.
    for plain, roi in layouts(room.dts(level), room.dts(level, roi=True), room.count):
        yield roi.pipeline, plain.pipeline


def report(room, level, rounds):
    """Print the table of one level."""
    paths = [room.dts(level, roi=roi) for roi in (False, True)]
    turns = layouts(*paths, room.count)
    next(turns)  # warms up
    plain, roi = zip(*(next(turns) for _ in range(rounds)), strict=True)
    turns.close()
    rows = {
        "plain, of its own pictures": [t.pipeline / t.decode for t in plain],
        "ROI, of its own pictures": [t.pipeline / t.decode for t in roi],
        "ROI, of the plain pictures": [
            r.pipeline / p.decode for p, r in zip(plain, roi, strict=True)
        ],
        "ROI pipeline / plain pipeline": [
            r.pipeline / p.pipeline for p, r in zip(plain, roi, strict=True)
        ],
        "full decode, ROI / plain": [r.decode / p.decode for p, r in zip(plain, roi, strict=True)],
    }
    ms = [statistics.median(t.pipeline for t in turn) * 1e3 for turn in (plain, roi)]
    print(f"level {level}: pipeline {ms[0]:.3f} ms plain, {ms[1]:.3f} ms ROI")
    for name, ratios in rows.items():
        middle = statistics.median(ratios)
        print(f"  {name:30} {middle:.3f}  ({min(ratios):.3f}-{max(ratios):.3f})")
    moved = max(measure.spread([t.decode for t in turn]) for turn in (plain, roi))
    if moved > measure.BUSY:
        print(f"  machine busy: full decoding alone moved by a factor of {moved:.2f}")


def main():
    """Run the benchmark and print its tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("directory", nargs="?", type=Path)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--levels", type=int, nargs="+", default=[3, 1], choices=(1, 2, 3))
    options = parser.parse_args()
    if options.directory is not None:
        os.environ["DTS_BENCH_FOLDER"] = str(options.directory)
    with tempfile.TemporaryDirectory() as folder:
        room = Room(Path(folder))
        for level in options.levels:
            report(room, level, options.rounds)


if __name__ == "__main__":
    main()
