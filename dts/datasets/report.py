"""What a scan found and what it left out, for people to read before any work begins."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

EXAMPLES = 3  # names kept per reason
REASONS = 50  # reasons kept apart


def printable(name: bytes | str) -> str:
    """Make a file name fit for a terminal: what cannot be printed is escaped, nothing is cut."""
    text = os.fsdecode(name)
    if text.isprintable():
        return text
    return "".join(
        c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text
    )


class Skipped:
    """Files that were left out: how many for which reason, and the first few names of each."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.examples: dict[str, list[bytes]] = {}

    def add(self, reason: str, name: bytes) -> None:
        """Count one file or folder; `name` is its path below the root."""
        if reason not in self.counts and len(self.counts) >= REASONS:
            reason = "other reasons"
        self.counts[reason] += 1
        names = self.examples.setdefault(reason, [])
        if len(names) < EXAMPLES:
            names.append(name)

    def __len__(self) -> int:
        return sum(self.counts.values())

    def lines(self) -> list[str]:
        """One line per reason, the most frequent first."""
        lines = []
        for reason, count in sorted(self.counts.items(), key=lambda item: (-item[1], item[0])):
            names = ", ".join(map(printable, self.examples[reason]))
            more = ", ..." if count > len(self.examples[reason]) else ""
            lines.append(f"{count:9,}  {reason}: {names}{more}")
        return lines


def human_bytes(count: int) -> str:
    """Say a number of bytes in binary units."""
    value, units = float(count), ["TiB", "GiB", "MiB", "KiB", "bytes"]
    while value >= 1024 and len(units) > 1:
        value /= 1024
        units.pop()
    return f"{count} bytes" if value == count else f"{value:.1f} {units[-1]}"


@dataclass(frozen=True)
class ScanReport:
    """What a scan found. `str()` of it is the report people read.

    Attributes
    ----------
    root, dataset : str
        The folder that was read, and by which data set's rules.
    classes : tuple of str
        Class names in the order of their labels.
    counts : int64 array of shape (num_classes,)
        Pictures of each class.
    num_bytes : int
        Size of all pictures together.
    skipped : Skipped
        What was left out, and why.
    warnings : tuple of str
        What is probably not meant.
    """

    root: str
    dataset: str
    classes: tuple[str, ...]
    counts: NDArray[np.int64]
    num_bytes: int
    skipped: Skipped = field(default_factory=Skipped)
    warnings: tuple[str, ...] = ()

    @property
    def num_pictures(self) -> int:
        return int(self.counts.sum())

    def __str__(self) -> str:
        pictures, classes = self.num_pictures, len(self.classes)
        lines = [
            f"{printable(self.root)}: {pictures:,} picture{'s' * (pictures != 1)} in {classes:,} "
            f"class{'es' * (classes != 1)}, {human_bytes(self.num_bytes)}"
        ]
        low, high = int(self.counts.argmin()), int(self.counts.argmax())
        if self.counts[low] == self.counts[high]:
            lines.append(f"  each class: {self.counts[low]:,}")
        else:
            lines.append(
                f"  smallest class: {printable(self.classes[low])} ({self.counts[low]:,}), "
                f"largest: {printable(self.classes[high])} ({self.counts[high]:,})"
            )
        if self.skipped:
            lines.append(f"  left out: {len(self.skipped):,}")
            lines += self.skipped.lines()
        lines += [f"  warning: {text}" for text in self.warnings]
        return "\n".join(lines)
