"""One export from its listing on: what to leave out, the plan, the blocks, the result."""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from tqdm import tqdm

from dts.datasets.report import EXAMPLES, ScanReport, human_bytes, printable
from dts.errors import ExportError
from dts.export.packing import arrange, padded
from dts.export.sources import (
    MOST_READERS,
    READERS,
    BadSample,
    capacity,
    changed_files,
    check_files,
    encoded_blocks,
    stored_blocks,
)
from dts.export.writer import Writer
from dts.format.layout import BLOCK_BYTES, MAX_PICTURES

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable
    from concurrent.futures import Executor

    from dts.datasets.listing import Listing
    from dts.export.output import OutputFile
    from dts.export.sources import Filled
    from dts.format.header import Header

NAMED_IN_ERROR = 5  # bad pictures an error names
NAMED_IN_RESULT = 20  # and the text of a result; `ExportResult.skipped` has them all


class _Bar(tqdm):
    monitor_interval = 0  # no thread that looks after the bar


@dataclass(frozen=True)
class ExportResult:
    """What an export made. `str()` of it says it in a few lines.

    Attributes
    ----------
    path : str
        The .dts file.
    header : Header
        Its header.
    report : ScanReport
        What the scan of the source found.
    skipped : tuple of (str, str)
        Name and reason of each listed picture that was left out (``on_error="skip"``).
    warnings : tuple of str
        What was packed but is odd: may not be decodable, was converted, lacks its end marker.
    """

    path: str
    header: Header
    report: ScanReport
    skipped: tuple[tuple[str, str], ...] = ()
    warnings: tuple[str, ...] = ()

    def __str__(self) -> str:
        h = self.header
        lines = [
            f"{printable(self.path)}: {h.num_samples:,} picture{'s' * (h.num_samples != 1)} in "
            f"{h.num_blocks:,} block{'s' * (h.num_blocks != 1)}, {human_bytes(h.total_bytes)}"
        ]
        if self.skipped:
            lines.append(f"  could not be packed: {len(self.skipped):,}")
            named = self.skipped[:NAMED_IN_RESULT]
            lines += [f"    {printable(name)}: {why}" for name, why in named]
            lines += ["    ..."] * (len(self.skipped) > len(named))
        lines += [f"  warning: {text}" for text in self.warnings]
        return "\n".join(lines)


class Run:
    """One export at work.

    Parameters
    ----------
    listing : Listing
        What is to be packed.
    output : OutputFile
        Where to.
    level, jobs, min_blocks, executor, progress
        As in `export_folder`.
    skip : bool
        Leave out what cannot be packed, instead of raising.
    check : bool
        Decode everything at level 0 too.
    """

    def __init__(
        self,
        listing: Listing,
        output: OutputFile,
        *,
        level: int,
        jobs: int,
        min_blocks: int | None,
        skip: bool,
        check: bool,
        executor: Executor | None,
        progress: bool | None,
    ):
        self.listing = listing
        self.output = output
        self.level = level
        self.jobs = jobs
        self.min_blocks = min_blocks
        self.skip = skip
        self.check = check
        self.executor = executor
        self.hide_progress = None if progress is None else not progress
        self.skipped: list[tuple[str, str]] = []
        self._notes: dict[str, list[int]] = {}

    def export(self, *, is_training: bool, plain: bool) -> ExportResult:
        """Check, arrange, write, and give the file its name.

        Raises
        ------
        ExportError
            Something cannot be packed and may not be left out; nothing is left to pack; the disk
            is full; the name was taken meanwhile.
        """
        self._leave_out(self._bad_sizes())
        if self.level == 0:
            writer = self._store()
        else:
            self.output.require(2 * BLOCK_BYTES)
            writer = self._encode()
        header = writer.finish(self.listing, is_training=is_training, plain=plain)
        return ExportResult(
            path=self.output.path,
            header=header,
            report=self.listing.report,
            skipped=tuple(self.skipped),
            warnings=tuple(self._warnings(header)),
        )

    def _bad_sizes(self) -> list[tuple[int, str]]:
        sizes = self.listing.sizes
        bad = [(i, "has 0 bytes") for i in np.flatnonzero(sizes == 0).tolist()]
        if self.level == 0:
            room = capacity(0)
            large = np.flatnonzero(padded(sizes) > room).tolist()
            bad += [(i, f"has {sizes[i]:,} bytes, a block holds {room:,}") for i in large]
        return bad

    def _leave_out(self, bad: Iterable[tuple[int, str]]) -> None:
        """Take samples out of the listing, or raise if that is not wanted."""
        found = sorted(dict(bad).items())
        if not found:
            return
        named = [(os.fsdecode(self.listing.name(i)), reason) for i, reason in found]
        if not self.skip:
            raise self._error(named)
        self.skipped += named
        if len(found) == len(self.listing):
            raise self._error(self.skipped)
        keep = np.ones(len(self.listing), bool)
        keep[[i for i, _ in found]] = False
        self.listing = self.listing.select(keep)

    def _bad(self, sample: int, reason: str) -> None:
        """Note a sample that turned out bad while it was encoded, or raise."""
        named = os.fsdecode(self.listing.name(sample)), reason
        if not self.skip:
            raise self._error([named])
        self.skipped.append(named)

    def _error(self, bad: list[tuple[str, str]]) -> ExportError:
        root = os.fsdecode(self.listing.root)
        text = "; ".join(
            f"{printable(os.path.join(root, name))}: {reason}"
            for name, reason in bad[:NAMED_IN_ERROR]
        )
        if len(bad) > 1:
            text = f"{len(bad):,} pictures cannot be packed: {text}"
        if len(bad) > NAMED_IN_ERROR:
            text += "; ..."
        return ExportError(text)

    def _store(self) -> Writer:
        """Write the blocks of level 0; begin again without what changed meanwhile."""
        if self.check or self.listing.report.dataset == "folder":
            threads = self.jobs if self.check else READERS
            with self._bar("checking") as bar:
                found = check_files(self.listing, bar.update, decode=self.check, threads=threads)
                bad = list(found)
            self._leave_out(bad)
        while True:
            plan = arrange(
                self.listing.sizes,
                self.min_blocks,
                capacity(0),
                MAX_PICTURES[0],
                num_classes=len(self.listing.classes),
            )
            self.output.require((plan.num_blocks + 1) * BLOCK_BYTES)
            readers = min(max(self.jobs, READERS), MOST_READERS)
            source = partial(stored_blocks, self.listing, plan, readers)
            try:
                return self._write(source)
            except BadSample as bad:
                first = bad.sample, bad.reason
            self._leave_out([*changed_files(self.listing), first] if self.skip else [first])
            self.output.restart()

    def _encode(self) -> Writer:
        """Write the blocks of levels 1-3."""
        source = partial(
            encoded_blocks, self.listing, self.level, self.jobs, self.executor, self._bad
        )
        writer = self._write(source)
        if writer.num_blocks == 0:
            raise self._error(self.skipped)
        return writer

    def _write(self, source: Callable[[Callable[[int], object]], Generator[Filled]]) -> Writer:
        writer = Writer(self.output, self.level)
        self._notes = {"not_jpeg": [], "no_end": []}
        with (
            self._bar("packing") as bar,
            contextlib.closing(source(bar.update)) as blocks,
        ):
            for filled in blocks:
                writer.add(filled)
                for kind, notes in self._notes.items():
                    notes += filled.samples[getattr(filled.block, kind)].tolist()
        return writer

    def _bar(self, what: str) -> _Bar:
        return _Bar(
            desc=what, total=len(self.listing), unit=" pictures", disable=self.hide_progress
        )

    def _warnings(self, header: Header) -> list[str]:
        texts = {
            "not_jpeg": "files are no JPEGs, stored as they are",
            "no_end": "files have no JPEG end marker, perhaps cut short",
        }
        if self.level > 0:
            texts["not_jpeg"] = "files are no JPEGs, and were converted"
            texts["no_end"] = "files have stray bytes or no end marker, but every pixel"
        elif self.check:
            texts["no_end"] = "files have no JPEG end marker, but every pixel"
        warnings = []
        limit = MAX_PICTURES[self.level]
        if header.num_blocks > 1 and header.num_samples > (header.num_blocks - 1) * limit:
            warnings.append(
                f"the pictures are so small that blocks are partly empty: at level {self.level} "
                f"one holds {limit} at most"
            )
        for kind, samples in self._notes.items():
            if samples:
                names = ", ".join(printable(self.listing.name(i)) for i in samples[:EXAMPLES])
                more = ", ..." if len(samples) > EXAMPLES else ""
                warnings.append(f"{len(samples):,} {texts[kind]}: {names}{more}")
        return warnings
