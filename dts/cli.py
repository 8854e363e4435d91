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
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from tqdm import tqdm

from dts.datasets.report import human_bytes, printable
from dts.errors import CorruptError, DtsError, ExportError, FormatError
from dts.export import export_dataset
from dts.format import DtsFile, read_header
from dts.version import __version__

DATASETS = ("folder", "imagenet", "cifar10", "cifar100", "mnist")
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
    result = export_dataset(
        options.dataset,
        options.src,
        options.dst,
        level=options.level,
        split=options.split,
        classes=options.classes,
        jobs=options.jobs,
        min_blocks=options.min_blocks,
        plain=options.plain,
        overwrite=options.overwrite,
        on_error=options.on_error,
        report=lambda found: print(found, flush=True),
    )
    print(result)


def run_info(options: argparse.Namespace) -> None:
    """Print every field of the header."""
    header = read_header(options.file).as_dict()
    facts = {"path": options.file, "file_bytes": Path(options.file).stat().st_size}
    facts.update(_contents(options.file))
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
                "class_names": file.class_names,
                "sample_names": file.names is not None,
                "block_crcs": file.block_crcs is not None,
                "sample_crcs": file.sample_crcs is not None,
            }
    except (DtsError, OSError) as error:
        nothing = dict.fromkeys(("files", "class_names", "sample_names"))
        return {"problem": _explained(error), **nothing, "block_crcs": None, "sample_crcs": None}


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
    lines = [str(problem)] * (problem is not None) + [str(damage) for damage in report.damaged]
    for line in lines:
        print(printable(line))
    if not lines:
        print(f"{printable(options.file)}: {report}")
        return
    hint = "" if report.pinpointed else ", found without checksums of blocks and samples"
    raise DtsError(f"{options.file}: {len(lines)} damaged place(s){hint}")


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
    root = Path(options.dir)
    with DtsFile(options.file) as file:
        if file.level is None:
            kind = file.header.dataset_type.strip()
            raise NotImplementedError(f"extract: a {kind} file holds no picture files")
        for id, name in enumerate(file.names or ()):  # so that a bad one leaves nothing half done
            if not is_safe(name):
                raise ExportError(f"id {id}: the name {name!r} leads out of the folder; refused")
        with _bar(len(file), "picture") as bar:
            for id in range(len(file)):
                data, label = _checked_sample(file, id)
                name = file.names[id] if file.names else f"class_{label:05d}/{id:08d}.jpg"
                _write_new(root, name, data)
                bar.update()
        print(f"{len(file)} pictures in {printable(options.dir)}")


def is_safe(name: str, *, windows: bool = os.name == "nt") -> bool:
    """Tell whether a sample's name, joined to a folder, stays in it.

    Parameters
    ----------
    name : str
        With forward slashes, as in a .dts file.
    windows : bool
        By the rules of Windows, where more leads elsewhere.
    """
    parts = name.split("/")
    if any(part in ("", ".", "..") or "\0" in part for part in parts):
        return False
    return not windows or not any(
        re.search(r'[\\:*?"<>|\x00-\x1f]|[. ]$|^(con|prn|aux|nul|com\d|lpt\d)(\.|$)', part, re.I)
        for part in parts
    )


def _checked_sample(file: DtsFile, id: int) -> tuple[memoryview, int]:
    """Return data and label of a sample, if it is what was packed."""
    data, label = file[id]
    if file.sample_crcs is not None and zlib.crc32(data) != file.sample_crcs[id]:
        volume, block, sample = file.find(id)
        raise CorruptError(
            "CRC-32 differs from that of the packed picture",
            path=file.paths[volume],
            block=block,
            sample=sample,
            id=id,
            name=None if file.names is None else file.names[id],
        )
    return data, label


def _write_new(root: Path, name: str, data: memoryview) -> None:
    """Write a file that is not there yet, below `root` and nowhere else."""
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.parent.resolve().is_relative_to(root.resolve()):
        raise ExportError(f"{path}: a link leads out of {root}; refused")
    try:
        out = open(path, "xb")  # noqa: SIM115 - closed below, and removed if it is not complete
    except FileExistsError:
        raise ExportError(f"{path} exists already; nothing is overwritten") from None
    try:
        with out:
            out.write(data)
    except BaseException as error:
        path.unlink()
        if isinstance(error, OSError) and error.filename is None:
            error.filename = str(path)
        raise


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
    export.add_argument("src", metavar="SRC", help="folder of class folders")
    export.add_argument("dst", metavar="DST", help="a .dts file, or a folder for the usual name")
    export.add_argument("--dataset", required=True, choices=DATASETS)
    export.add_argument("--split", required=True, choices=("train", "val"))
    export.add_argument("--level", required=True, type=int, choices=range(4))
    export.add_argument(
        "--classes",
        metavar="FILE|TRAIN.dts",
        help="label by this list (one name a line), or by that of a .dts file",
    )
    export.add_argument(
        "--jobs", type=_count, default=0, metavar="N", help="processes; default: one a CPU"
    )
    export.add_argument("--min-blocks", type=_count, metavar="B", help="least blocks at level 0")
    export.add_argument(
        "--on-error",
        choices=("raise", "skip"),
        default="raise",
        help="what a picture that cannot be packed does (default: %(default)s)",
    )
    export.add_argument("--plain", action="store_true", help="no names, no checksums of samples")
    export.add_argument("--overwrite", action="store_true", help="replace DST")

    info = command("info", run_info)
    info.add_argument("file", metavar="FILE")
    info.add_argument("--json", action="store_true")

    for name, run in (("verify", run_verify), ("ls", run_ls)):
        command(name, run).add_argument("file", metavar="FILE")

    extract = command("extract", run_extract)
    extract.add_argument("file", metavar="FILE")
    extract.add_argument("dir", metavar="DIR", help="nothing in it is overwritten")

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
