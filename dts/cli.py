"""The ``dts`` command.

Exit codes: 0 done, 1 failed (one line on stderr says why), 2 wrong usage, 130 stopped by Ctrl-C.
``DTS_DEBUG_TRACEBACK=1`` shows the whole traceback of a failure.
"""

import argparse
import io
import json
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from tqdm import tqdm

from dts.datasets.catalog import ARRAY_SETS, DATASETS
from dts.datasets.report import human_bytes, printable
from dts.errors import DtsError, FormatError
from dts.export import export_dataset
from dts.export.repair import repair
from dts.export.roi import has_roi_layout
from dts.format import DtsFile, read_header
from dts.format.volumes import first_volume
from dts.version import __version__

EXIT_FAILED, EXIT_INTERRUPTED = 1, 130


def main(argv: Sequence[str] | None = None) -> int:
    """Carry out one command.

    Parameters
    ----------
    argv : list of str, optional
        Arguments after the program's name; those of the process if not given.

    Returns
    -------
    int
        The exit code. Wrong usage leaves by `SystemExit` with code 2, as argparse does.
    """
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # names may be in any script
    options = _parser().parse_args(argv)
    try:
        with warnings.catch_warnings():
            warnings.showwarning = lambda message, *_, **__: _complain(f"warning: {message}")
            options.run(options)
        sys.stdout.flush()
        return 0
    except KeyboardInterrupt:
        _complain("interrupted")
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        # The reader of our output, `head` say, has had enough. Python would complain once more
        # when it flushes at exit, so that goes nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_FAILED
    except Exception as error:
        if os.environ.get("DTS_DEBUG_TRACEBACK") == "1":
            raise
        _complain(_explained(error))
        return EXIT_FAILED


def _complain(text: str) -> None:
    print(f"dts: {printable(' '.join(text.split()))}", file=sys.stderr)


def _explained(error: Exception) -> str:
    """Return what went wrong, in words for the one line that people see."""
    if isinstance(error, DtsError | NotImplementedError):
        return str(error)
    if isinstance(error, MemoryError):
        return f"out of memory {error}".rstrip()
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return f"{type(error).__name__}: {error} (DTS_DEBUG_TRACEBACK=1 shows where)"


def _bar(total: int, unit: str, **options: Any) -> tqdm:
    """Return a progress bar that shows itself on a terminal only."""
    return tqdm(total=total, unit=unit, disable=None, leave=False, file=sys.stderr, **options)


# The commands. Each takes the parsed options, and raises if it failed.


def run_export(options: argparse.Namespace) -> None:
    """Pack a data set; tell first what was found."""
    if options.level is None and options.dataset not in ARRAY_SETS:
        options.wrong_usage(f"--level is needed: {options.dataset} can be packed at 0 to 3")
    result = export_dataset(
        options.dataset,
        options.src,
        options.dst,
        level=options.level,
        roi=options.roi,
        split=options.split,
        classes=options.classes,
        jobs=options.jobs,
        min_blocks=options.min_blocks,
        volumes=options.volumes,
        volume_size=options.volume_size,
        append=options.append,
        resume=options.resume,
        val_map=options.val_map,
        plain=options.plain,
        overwrite=options.overwrite,
        on_error=options.on_error,
        check=options.check,
        strict=options.strict,
        report=lambda found: print(found, flush=True),
    )
    print(result)


def run_info(options: argparse.Namespace) -> None:
    """Print every field of the header."""
    path = first_volume(options.file)
    header = read_header(path).as_dict()
    facts: dict[str, Any] = {"path": path, "file_bytes": Path(path).stat().st_size}
    facts.update(_contents(path))
    if options.json:
        print(json.dumps({**facts, "header": header}, indent=2, allow_nan=False))
        return
    classes = facts["class_names"]
    facts["class_names"] = None if classes is None else f"{len(classes)}: {_some(classes)}"
    facts["file_bytes"] = f"{facts['file_bytes']} ({human_bytes(facts['file_bytes'])})"
    for name, value in {**facts, **header}.items():
        if name == "problem" and value is None:
            continue
        if isinstance(value, bool) or value is None:
            value = "yes" if value else "no"
        elif isinstance(value, list):
            value = " ".join(map(str, value))
        print(f"{name:<19} {printable(str(value))}")


def _contents(path: str) -> dict[str, Any]:
    """Return what is told beyond the header; a damaged file still has a header to show."""
    try:
        with DtsFile(path) as file:
            return {
                "problem": None,
                "files": len(file.paths),
                "blocks": len(file.block_counts),
                "samples": len(file),
                "class_names": file.class_names,
                "sample_names": file.names is not None,
                "block_crcs": file.block_crcs is not None,
                "sample_crcs": file.sample_crcs is not None,
                "roi": has_roi_layout(file),
            }
    except (DtsError, OSError) as error:
        counts, parts = ("files", "blocks", "samples"), ("class_names", "sample_names")
        nothing = dict.fromkeys((*counts, *parts, "block_crcs", "sample_crcs", "roi"))
        return {"problem": _explained(error), **nothing}


def _some(names: list[str], limit: int = 6) -> str:
    shown = ", ".join(names[:limit])
    return f"{shown}, ..." if len(names) > limit else shown


def run_verify(options: argparse.Namespace) -> None:
    """Check all checksums; exit code 1 if anything is damaged."""
    problem = None
    try:
        file = DtsFile(options.file)
    except FormatError as error:
        # With a damaged extension the blocks can be checked all the same, if less exactly.
        problem, file = error, _without_extension(options.file, error)
    total = sum(header.block_bytes for header in file.headers)
    with file, _bar(total, "B", unit_scale=True, unit_divisor=1024) as bar:
        report = file.verify(progress=bar.update)
        ids = {(file.paths[b.volume], b.number): b.ids for b in file.blocks()}
    lines = [str(problem)] * (problem is not None)
    for damage in report.damaged:
        line = str(damage)
        if damage.block is not None and damage.sample is None:
            of_block = ids[damage.path, damage.block]  # which samples may be concerned
            line += f" (ids {of_block.start} to {of_block.stop - 1})"
        lines.append(line)
    for line in lines:
        print(printable(line))
    if not lines:
        print(f"{printable(options.file)}: {report}")
        return
    blocks = len({(d.path, d.block) for d in report.damaged if d.block is not None})
    hint = "" if report.pinpointed else ", found without checksums of blocks and samples"
    where = f"{blocks} of {report.blocks} block(s)"
    raise DtsError(f"{options.file}: {len(lines)} damaged place(s) in {where}{hint}")


def _opened(path: str) -> DtsFile:
    """Open a file, without its extension if that is damaged."""
    try:
        return DtsFile(path)
    except FormatError as error:
        file = _without_extension(path, error)
        _complain(f"warning: {error}; going on without names and checksums")
        return file


def _without_extension(path: str, error: FormatError) -> DtsFile:
    try:
        return DtsFile(path, extension="ignore")
    except FormatError:
        raise error from None


def run_ls(options: argparse.Namespace) -> None:
    """Print one line a sample: id, label, class, name, bytes, with tabs between."""
    with DtsFile(options.file) as file:
        names, classes = file.names, file.class_names
        for id, (label, size) in enumerate(_labels_and_sizes(file)):
            kind = "-" if classes is None else printable(classes[label])
            name = "-" if names is None else printable(names[id])
            print(id, label, kind, name, size, sep="\t")


def _labels_and_sizes(file: DtsFile) -> Iterator[tuple[int, int]]:
    """Yield label and size of each sample, without reading the samples."""
    if file.level is None:
        header = file.header
        size = header.image_height * header.image_width * header.num_channels
        for label in file.labels().tolist():
            yield label, size
        return
    for number in range(len(file.blocks())):
        _, sizes, labels = file.table(number)
        yield from zip(labels.tolist(), sizes.tolist(), strict=True)


def run_extract(options: argparse.Namespace) -> None:
    """Write every sample to a file of its own, byte for byte as packed."""
    from dts.extract import extract

    with DtsFile(options.file) as file, _bar(len(file), "picture") as bar:
        extract(file, options.dir, progress=bar.update)
        count = len(file)
    print(f"{count} pictures in {printable(options.dir)}")


def run_view(options: argparse.Namespace) -> None:
    """Write a contact sheet of some samples; exit code 1 if any of them is damaged."""
    from dts.sheet import draw_sheet

    with _opened(options.file) as file:
        damaged = draw_sheet(
            file,
            options.out,
            start=options.start,
            count=options.count,
            columns=options.columns,
            size=options.size,
        )
    for line in map(str, damaged):
        print(printable(line))
    if damaged:
        raise DtsError(f"{options.file}: {len(damaged)} damaged, marked in {options.out}")


def run_repair(options: argparse.Namespace) -> None:
    """Write a new file without the damaged samples, or with others in their place."""
    with _opened(options.file) as file, _bar(len(file.block_counts), "block") as bar:
        result = repair(
            file,
            options.out,
            replace=options.replace,
            overwrite=options.overwrite,
            progress=bar.update,
        )
    print(result)


def run_bench(options: argparse.Namespace) -> None:
    """Measure the pipeline against plain decoding."""
    from dts import measure

    with _bar(options.rounds + 1, "round") as bar:
        found = measure.compare(
            options.file, rounds=options.rounds, pictures=options.pictures, progress=bar.update
        )
    print(found.to_json() if options.json else "\n".join(found.lines()))


def run_demo(options: argparse.Namespace) -> None:
    """Run the whole way of a sample on pictures made for it."""
    from dts import demo

    demo.run(
        options.dir,
        pictures=options.pictures,
        sheet=options.sheet,
        echo=lambda line: print(line, flush=True),
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="dts", description="Pack labelled pictures into .dts files, look into them, measure."
    )
    parser.add_argument("--version", action="version", version=f"dts {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def command(name: str, run: Callable[[argparse.Namespace], None]) -> argparse.ArgumentParser:
        added = commands.add_parser(name, help=run.__doc__, description=run.__doc__)
        added.set_defaults(run=run)
        return added

    export = command("export", run_export)
    export.set_defaults(wrong_usage=export.error)
    export.add_argument(
        "src", metavar="SRC", help="folder of class folders or of the original files, or a tar"
    )
    export.add_argument("dst", metavar="DST", help="a .dts file, or a folder for the usual name")
    export.add_argument("--dataset", required=True, choices=DATASETS)
    export.add_argument("--split", required=True, choices=("train", "val"))
    export.add_argument(
        "--level", type=int, choices=range(4), help="of folder and imagenet, where it is needed"
    )
    export.add_argument(
        "--roi",
        action="store_true",
        help="level 1-3: restart markers, so that loading a crop reads a part of a picture only",
    )
    export.add_argument(
        "--classes",
        metavar="FILE|TRAIN.dts",
        help="label by this list (one name a line), or by that of a .dts file",
    )
    export.add_argument(
        "--jobs", type=_count, default=0, metavar="N", help="processes; default: one a CPU"
    )
    export.add_argument("--min-blocks", type=_count, metavar="B", help="least blocks at level 0")
    several = export.add_mutually_exclusive_group()
    several.add_argument("--volumes", type=_count, metavar="N", help="cut the set into N files")
    several.add_argument(
        "--volume-size",
        type=_size,
        metavar="BYTES",
        help="or into files of at most that; 4G is 4 GiB",
    )
    export.add_argument(
        "--val-map", metavar="FILE", help="class of each picture of ImageNet's validation tar"
    )
    export.add_argument("--resume", action="store_true", help="go on where one stopped, level 1-3")
    export.add_argument(
        "--on-error",
        choices=("raise", "skip"),
        default="raise",
        help="what a picture that cannot be packed does (default: %(default)s)",
    )
    export.add_argument(
        "--check",
        action="store_true",
        help="level 0: decode every picture once, to find damaged ones (other levels always do)",
    )
    export.add_argument(
        "--strict",
        action="store_true",
        help="a class without pictures, or classes that look alike, are errors",
    )
    export.add_argument("--plain", action="store_true", help="no names, no checksums of samples")
    there = export.add_mutually_exclusive_group()
    there.add_argument("--overwrite", action="store_true", help="replace DST")
    there.add_argument("--append", action="store_true", help="add volumes to DST")

    info = command("info", run_info)
    info.add_argument("file", metavar="FILE")
    info.add_argument("--json", action="store_true")

    for name, run in (("verify", run_verify), ("ls", run_ls)):
        command(name, run).add_argument("file", metavar="FILE")

    extract = command("extract", run_extract)
    extract.add_argument("file", metavar="FILE")
    extract.add_argument("dir", metavar="DIR", help="nothing in it is overwritten")

    view = command("view", run_view)
    view.add_argument("file", metavar="FILE")
    view.add_argument("out", metavar="OUT.png")
    view.add_argument("--start", type=int, default=0, metavar="ID", help="default %(default)s")
    view.add_argument("--count", type=_count, default=64, metavar="N", help="default %(default)s")
    view.add_argument("--columns", type=_count, default=8, metavar="N", help="default %(default)s")
    view.add_argument(
        "--size",
        type=_count,
        default=128,
        metavar="PIXELS",
        help="of a picture; default %(default)s",
    )

    mend = command("repair", run_repair)
    mend.add_argument("file", metavar="FILE")
    mend.add_argument("out", metavar="OUT.dts", help="one file, also of a set of volumes")
    mend.add_argument(
        "--replace", metavar="DIR", help="take pictures of the same names from there"
    )
    mend.add_argument("--overwrite", action="store_true", help="replace OUT.dts")

    bench = command("bench", run_bench)
    bench.add_argument("file", metavar="FILE")
    bench.add_argument("--rounds", type=_count, default=5, metavar="N", help="default %(default)s")
    bench.add_argument(
        "--pictures", type=_count, default=1000, metavar="N", help="a round; default %(default)s"
    )
    bench.add_argument("--json", action="store_true")

    demo = command("demo", run_demo)
    demo.add_argument("dir", nargs="?", metavar="DIR", help="keep the files there; new or empty")
    demo.add_argument(
        "--pictures", type=_count, default=320, metavar="N", help="default %(default)s"
    )
    demo.add_argument("--sheet", metavar="FILE.png", help="default dts_demo.png, here or in DIR")
    return parser


def _count(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text} is not at least 1")
    return value


def _size(text: str) -> int:
    found = re.fullmatch(r"(\d+)\s*([KMGT]?)(i?B)?", text, re.I)
    if not found:
        raise argparse.ArgumentTypeError(f"{text} is not a number of bytes, such as 4G")
    return int(found[1]) << 10 * ("", "K", "M", "G", "T").index(found[2].upper())
