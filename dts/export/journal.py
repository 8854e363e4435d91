"""What a stopped export of levels 1-3 leaves, so that another one can go on with it.

Beside the target stand two hidden files: the blocks as far as they are written, and a journal with
one line a finished block. A line has a checksum of its own, so that one that was cut off counts as
not there, and the block's bytes are compared with the CRC-32 in it before they are used again.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import zlib
from typing import TYPE_CHECKING, Any

import numpy as np
import PIL
from PIL import features

from dts.datasets.report import printable
from dts.errors import ExportError
from dts.export.writer import Record
from dts.format.crc import crc32
from dts.format.layout import BLOCK_BYTES, HEADER_AREA

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

    from dts.datasets.listing import Listing
    from dts.export.output import OutputFile

VERSION = 1


def partial_path(path: str) -> str:
    """Hidden file beside `path` that takes the blocks until they are all there."""
    folder, name = os.path.split(os.path.realpath(path))
    return os.path.join(folder, f".{name}.part")


def fingerprint(listing: Listing, level: int, *, roi: bool, skip: bool) -> dict[str, Any]:
    """Say what decides about the bytes of an export: source, settings and encoder.

    Parameters
    ----------
    listing : Listing
    level : int
    roi : bool
        Whether pictures are in the ROI layout.
    skip : bool
        Whether pictures that cannot be packed are left out.

    Returns
    -------
    dict
        Values that go into a JSON file.
    """
    names = hashlib.sha256()
    for i in range(len(listing)):
        names.update(listing.name(i) + b"\0")
    for name in listing.classes:
        names.update(name + b"\0")
    names.update(np.ascontiguousarray(listing.labels, "<i4").tobytes())
    names.update(np.ascontiguousarray(listing.sizes, "<i8").tobytes())
    names.update(np.ascontiguousarray(_times(listing), "<i8").tobytes())
    return {
        "version": VERSION,
        "source": names.hexdigest(),
        "level": level,
        "layout": "roi" if roi else "plain",
        "on_error": "skip" if skip else "raise",
        "pillow": PIL.__version__,
        "jpeg": features.version("jpg") or "",
    }


def _times(listing: Listing) -> list[int]:
    """When each file was changed last, in ns; 0 for what is not there any more."""
    times = []
    for i in range(len(listing)):
        try:
            times.append(os.stat(listing.place(i)[0]).st_mtime_ns)
        except OSError:
            times.append(0)
    return times


class Journal:
    """The journal of one export, open for writing.

    Parameters
    ----------
    path : str
        The file with the blocks; the journal is called the same with ``.journal``.
    facts : dict
        See `fingerprint`.
    output : OutputFile
        That file, open.

    Attributes
    ----------
    records : list of Record
        Blocks that are in the file and whose bytes are right.
    next : int
        Place in the order of encoding that comes next.
    skipped : list of (int, str)
        Samples before it that cannot be packed, and why.
    notes : dict of str to list of int
        Samples in the blocks that something is to be said of; see `dts.export.blocks.Block`.

    Raises
    ------
    ExportError
        There is a journal, but it belongs to another source, or to other settings.
    """

    def __init__(self, path: str, facts: dict[str, Any], output: OutputFile):
        self.path = path + ".journal"
        self.records: list[Record] = []
        self.next = 0
        self.skipped: list[tuple[int, str]] = []
        self.notes: dict[str, list[int]] = {}
        lines, ends = self._read()
        if lines and lines[0] != facts:
            other = [key for key in facts if lines[0].get(key) != facts[key]]
            raise ExportError(
                f"{printable(self.path)} is of another export ({', '.join(other)} changed): "
                f"remove it and {printable(path)} to begin anew"
            )
        for line in lines[1:]:
            record = _record(line)
            offset = HEADER_AREA + len(self.records) * BLOCK_BYTES
            if crc32(output.read(offset, BLOCK_BYTES)) != record.crc:
                break
            self.records.append(record)
            self.next = line["next"]
            self.skipped += [(i, reason) for i, reason in line["skipped"]]
            for kind, samples in line["notes"].items():
                self.notes.setdefault(kind, []).extend(samples)
        output.cut(HEADER_AREA + len(self.records) * BLOCK_BYTES)
        self._file = open(self.path, "ab", buffering=0)  # noqa: SIM115 - closed by __exit__
        self._file.truncate(ends[len(self.records)] if lines else 0)
        if not lines:
            self._write(facts)

    def _read(self) -> tuple[list[dict[str, Any]], list[int]]:
        """Give all lines up to the first one that is not complete, and where each one ends."""
        lines: list[dict[str, Any]] = []
        ends: list[int] = []
        with contextlib.suppress(FileNotFoundError), open(self.path, "rb") as file:
            for line in file:
                text, _, crc = line.rpartition(b" ")
                if crc != b"%08x\n" % zlib.crc32(text):
                    break
                lines.append(json.loads(text))
                ends.append(len(line) + (ends[-1] if ends else 0))
        return lines, ends

    def _write(self, line: dict[str, Any]) -> None:
        text = json.dumps(line).encode()
        self._file.write(b"%b %08x\n" % (text, zlib.crc32(text)))

    @property
    def num_blocks(self) -> int:
        return len(self.records)

    def add(
        self,
        record: Record,
        following: int,
        skipped: list[tuple[int, str]],
        notes: dict[str, list[int]],
    ) -> None:
        """Note a block that has been written, and the samples that were left out before the next.

        Parameters
        ----------
        record : Record
        following : int
            Place in the order of encoding of the first picture of the next block.
        skipped : list of (int, str)
            All samples that were left out so far.
        notes : dict of str to list of int
            Samples of the block that something is to be said of.
        """
        line = {
            "crc": record.crc,
            "max_area": record.max_area,
            "samples": record.samples.tolist(),
            "source_sizes": record.source_sizes.tolist(),
            "sample_crcs": record.sample_crcs.tolist(),
            "next": following,
            "skipped": skipped[len(self.skipped) :],
            "notes": notes,
        }
        self._write(line)
        self.records.append(record)
        self.next = following
        self.skipped = list(skipped)

    def remove(self) -> None:
        """Delete it: the export is complete."""
        self._file.close()
        os.unlink(self.path)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._file.close()


def _record(line: dict[str, Any]) -> Record:
    return Record(
        line["crc"],
        line["max_area"],
        np.array(line["samples"], np.int64),
        np.array(line["source_sizes"], np.int64),
        np.array(line["sample_crcs"], np.uint32),
    )
