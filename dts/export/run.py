"""One export from its listing on: what to leave out, the plan, the blocks, the result."""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from functools import partial
from itertools import repeat
from typing import TYPE_CHECKING

import numpy as np
from tqdm import tqdm

from dts.datasets.report import EXAMPLES, ScanReport, human_bytes, printable
from dts.errors import ExportError
from dts.export.journal import Journal, fingerprint
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
    from dts.export.volumes import Target
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
        The .dts file, or the first of the volumes that were made.
    header : Header
        Its header.
    report : ScanReport
        What the scan of the source found.
    skipped : tuple of (str, str)
        Name and reason of each listed picture that was left out (``on_error="skip"``).
    warnings : tuple of str
        What was packed but is odd: may not be decodable, was converted, lacks its end marker.
    paths : tuple of str
        All files that were made, if there may be several.
    headers : tuple of Header
        Theirs.
    """

    path: str
    header: Header
    report: ScanReport
    skipped: tuple[tuple[str, str], ...] = ()
    warnings: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    headers: tuple[Header, ...] = ()

    def __str__(self) -> str:
        lines = [
            f"{printable(path)}: {h.num_samples:,} picture{'s' * (h.num_samples != 1)} in "
            f"{h.num_blocks:,} block{'s' * (h.num_blocks != 1)}, {human_bytes(h.total_bytes)}"
            for path, h in zip(
                self.paths or (self.path,), self.headers or (self.header,), strict=True
            )
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
    target : Target
        Where to.
    level, roi, jobs, min_blocks, executor, progress
        As in `export_folder`.
    skip : bool
        Leave out what cannot be packed, instead of raising.
    check : bool
        Decode everything at level 0 too.
    """

    def __init__(
        self,
        listing: Listing,
        target: Target,
        *,
        level: int,
        roi: bool,
        jobs: int,
        min_blocks: int | None,
        skip: bool,
        check: bool,
        executor: Executor | None,
        progress: bool | None,
    ):
        self.listing = listing
        self.target = target
        self.level = level
        self.roi = roi
        self.jobs = jobs
        self.min_blocks = min_blocks
        self.skip = skip
        self.check = check
        self.executor = executor
        self.hide_progress = None if progress is None else not progress
        self.skipped: list[tuple[str, str]] = []
        self._notes: dict[str, list[int]] = {}
        self._bads: list[tuple[int, str]] = []  # found while encoding

    def export(self, *, is_training: bool, plain: bool) -> ExportResult:
        """Check, arrange, write, and give the file its name.

        Raises
        ------
        ExportError
            Something cannot be packed and may not be left out; nothing is left to pack; the disk
            is full; the name was taken meanwhile.
        """
        self._leave_out(self._bad_sizes())
        with contextlib.ExitStack() as stack:
            journal = None
            if self.level == 0:
                writers = self._store()
            else:
                (output,) = self.target.open(1)
                if self.target.kept is not None:
                    facts = fingerprint(self.listing, self.level, roi=self.roi, skip=self.skip)
                    journal = stack.enter_context(Journal(self.target.kept, facts, output))
                output.require(2 * BLOCK_BYTES)
                writers = self._encode(output, journal)
            headers, sidecars = self._finish(writers, is_training=is_training, plain=plain)
            self.target.commit(sidecars)
            if journal is not None:
                journal.remove()
        return ExportResult(
            path=writers[0].output.path,
            header=headers[0],
            report=self.listing.report,
            skipped=tuple(self.skipped),
            warnings=tuple(self._warnings(headers)),
            paths=tuple(writer.output.path for writer in writers),
            headers=tuple(headers),
        )

    def _finish(
        self, writers: list[Writer], *, is_training: bool, plain: bool
    ) -> tuple[list[Header], list[bytes | None]]:
        """Write the headers; give them, and what is to go into the sidecars."""
        earlier = self.target.earlier
        finished = [
            writer.finish(
                self.listing.classes,
                self.listing.name,
                num_classes=len(self.listing.classes),
                is_training=is_training,
                plain=plain,
                volume_id=earlier.volumes + v,
                num_volumes=earlier.volumes + len(writers),
                total_blocks=earlier.blocks + sum(writer.num_blocks for writer in writers),
            )
            for v, writer in enumerate(writers)
        ]
        return [header for header, _ in finished], [sidecar for _, sidecar in finished]

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
        named = [self._named(i, reason) for i, reason in found]
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
        named = self._named(sample, reason)
        if not self.skip:
            raise self._error([named])
        self._bads.append((sample, reason))
        self.skipped.append(named)

    def _named(self, sample: int, reason: str) -> tuple[str, str]:
        return os.fsdecode(self.listing.name(sample)), reason

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

    def _store(self) -> list[Writer]:
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
            parts = self.target.cut(plan.num_blocks)
            outputs = self.target.open(len(parts))
            outputs[0].require((plan.num_blocks + len(parts)) * BLOCK_BYTES)
            readers = min(max(self.jobs, READERS), MOST_READERS)
            numbers = [number for part in parts for number in range(len(part))]
            source = partial(stored_blocks, self.listing, plan, numbers, readers)
            writers = [Writer(output, 0) for output in outputs]
            try:
                self._write(source, [writers[v] for v, part in enumerate(parts) for _ in part])
                return writers
            except BadSample as bad:
                first = bad.sample, bad.reason
            self._leave_out([*changed_files(self.listing), first] if self.skip else [first])
            for output in outputs:
                output.restart()

    def _encode(self, output: OutputFile, journal: Journal | None) -> list[Writer]:
        """Write the blocks of levels 1-3 into one file, then cut it."""
        first = Writer(output, self.level, journal.records if journal else ())
        start = 0, 0
        if journal is not None:
            start = journal.num_blocks, journal.next
            self._bads = list(journal.skipped)
            self.skipped += [self._named(sample, reason) for sample, reason in self._bads]
        source = partial(
            encoded_blocks,
            self.listing,
            self.level,
            self.jobs,
            self.executor,
            self._bad,
            start,
            self.roi,
        )
        self._write(source, repeat(first), journal)
        if first.num_blocks == 0:
            raise self._error(self.skipped)
        parts = self.target.cut(first.num_blocks)
        outputs = self.target.open(len(parts))
        writers = [first, *(Writer(other, self.level) for other in outputs[1:])]
        first.move_to(writers[1:], parts)
        return writers

    def _write(
        self,
        source: Callable[[Callable[[int], object]], Generator[Filled]],
        writers: Iterable[Writer],
        journal: Journal | None = None,
    ) -> None:
        """Write blocks, each with the writer of its turn."""
        self._notes = {"not_jpeg": [], "no_end": [], **(journal.notes if journal else {})}
        with (
            self._bar("packing") as bar,
            contextlib.closing(source(bar.update)) as blocks,
        ):
            for writer, filled in zip(writers, blocks, strict=False):
                record = writer.add(filled)
                notes = {
                    kind: filled.samples[getattr(filled.block, kind)].tolist()
                    for kind in self._notes
                }
                if journal is not None:
                    journal.add(record, filled.following, self._bads, notes)
                for kind, samples in notes.items():
                    self._notes[kind] += samples

    def _bar(self, what: str) -> _Bar:
        return _Bar(
            desc=what, total=len(self.listing), unit=" pictures", disable=self.hide_progress
        )

    def _warnings(self, headers: list[Header]) -> list[str]:
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
        blocks = sum(header.num_blocks for header in headers)
        samples = sum(header.num_samples for header in headers)
        if blocks > 1 and samples > (blocks - 1) * limit:
            warnings.append(
                f"the pictures are so small that blocks are partly empty: at level {self.level} "
                f"one holds {limit} at most"
            )
        for kind, noted in self._notes.items():
            if noted:
                names = ", ".join(printable(self.listing.name(i)) for i in noted[:EXAMPLES])
                more = ", ..." if len(noted) > EXAMPLES else ""
                warnings.append(f"{len(noted):,} {texts[kind]}: {names}{more}")
        return warnings
