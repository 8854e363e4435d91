"""The one listing routine: a tree of class folders becomes numbered, labelled samples."""

from __future__ import annotations

import contextlib
import os
import unicodedata
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from dts.datasets.report import EXAMPLES, ScanReport, Skipped, printable
from dts.datasets.walk import Walk
from dts.errors import DtsError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

IMAGENET_EXTENSIONS = (b".jpeg",)
FOLDER_EXTENSIONS = (
    *(b".jpg", b".jpeg", b".jpe", b".jfif"),
    *(b".png", b".webp", b".bmp", b".gif"),
)
SPLIT_FOLDERS = frozenset((b"train", b"val", b"valid", b"validation", b"test"))


class ListingError(DtsError, ValueError):
    """A folder that cannot be read as a data set, or not in the way it was meant."""


@dataclass(frozen=True)
class Listing:
    """The samples of a class folder tree, in their order.

    Names are bytes, exactly as the file system has them, and never cut.

    Attributes
    ----------
    root : bytes
        The folder all names are below.
    classes : tuple of bytes
        Class names in the order of their labels.
    labels : int32 array of shape (n,)
        Class of each sample.
    sizes : int64 array of shape (n,)
        Size of each file in bytes.
    report : ScanReport
        What was found and what was left out.
    """

    root: bytes
    classes: tuple[bytes, ...]
    labels: NDArray[np.int32]
    sizes: NDArray[np.int64]
    report: ScanReport
    _names: _Names = field(repr=False)

    def __len__(self) -> int:
        return len(self.labels)

    def name(self, i: int | np.integer) -> bytes:
        """Path of sample i below the root, with forward slashes."""
        return self._names[i]

    def path(self, i: int | np.integer) -> bytes:
        """Path of sample i."""
        return os.path.join(self.root, self._names[i])

    def select(self, index: NDArray) -> Listing:
        """Return the samples an index or mask array picks, with the same classes and report."""
        return replace(
            self,
            labels=self.labels[index],
            sizes=self.sizes[index],
            _names=self._names.select(index),
        )


@dataclass(frozen=True)
class _Names:
    """Names as a folder number and a piece of one pool of bytes each."""

    folders: list[bytes]
    pool: bytearray
    folder: NDArray[np.int32]
    start: NDArray[np.int64]
    length: NDArray[np.uint16]

    @classmethod
    def of(cls, walk: Walk) -> _Names:
        length = np.array(walk.lengths, np.uint16)
        start = np.cumsum(length, dtype=np.int64) - length
        folder = np.repeat(np.arange(len(walk.folders), dtype=np.int32), walk.counts)
        return cls(walk.folders, walk.pool, folder, start, length)

    def __getitem__(self, i: int | np.integer) -> bytes:
        start, folder = int(self.start[i]), self.folders[self.folder[i]]
        name = bytes(self.pool[start : start + int(self.length[i])])
        return folder + b"/" + name if folder else name

    def select(self, index: NDArray) -> _Names:
        return replace(
            self, folder=self.folder[index], start=self.start[index], length=self.length[index]
        )

    def order_by_file_name(self, order: NDArray[np.int64]) -> NDArray[np.int64]:
        """`order`, stably sorted by file name: a radix sort, 8 bytes of all names at a time."""
        pool = np.frombuffer(self.pool, np.uint8)
        stop = self.start + self.length
        width = int(self.length.max(initial=0))
        for column in reversed(range(0, width, 8)):
            key = np.zeros(len(stop), np.uint64)
            for at in range(column, column + 8):
                byte = self.start + at
                inside = byte < stop
                key <<= np.uint64(8)
                key[inside] |= pool[byte[inside]]
            order = order[np.argsort(key[order], kind="stable")]
        return order


def list_pictures(
    root: str | os.PathLike,
    *,
    dataset: str = "folder",
    split: str | None = None,
    classes: Sequence[bytes] | None = None,
) -> Listing:
    """List the labelled pictures below a folder.

    `folder`: each folder in the root is a class, pictures lie anywhere below it, and a class
    without pictures keeps its number. Samples are ordered by class, then folder, then file name.

    `imagenet`: each folder that holds a ``.jpeg`` file (in any case) is a class, called by
    its own name wherever it lies. Samples are ordered by file name, then class. If the root holds
    a folder called like the split, that one is read.

    Names are compared byte by byte. Hidden and system files, links that lead nowhere or back, and
    what does not end like a picture is left out and reported.

    Parameters
    ----------
    root : path
        Folder of class folders.
    dataset : {"folder", "imagenet"}
        Which rules hold.
    split : str, optional
        ``"train"`` or ``"val"``.
    classes : sequence of bytes, optional
        Class names in the order of their labels, instead of the folder's own.

    Returns
    -------
    Listing

    Raises
    ------
    FileNotFoundError, NotADirectoryError, PermissionError
        The root or a folder below it cannot be read.
    ListingError
        There are no pictures; or a class is not in `classes`; or the root holds whole data sets.
    """
    top = os.fsencode(root)
    imagenet = dataset == "imagenet"
    skipped = Skipped()
    with _paths_as_text():
        if imagenet and split is not None:
            top = _split_folder(top, split)
        walk = Walk(top, IMAGENET_EXTENSIONS if imagenet else FOLDER_EXTENSIONS, skipped)
    if not imagenet:
        _refuse_whole_data_sets(walk)
    own, label_of_folder, warnings = _classes_of(walk, imagenet, classes)
    names = _Names.of(walk)
    labels = label_of_folder[names.folder]
    for i in np.flatnonzero(labels < 0):
        skipped.add("not in a class folder", names[i])

    rank = np.empty(len(walk.folders), np.int64)
    rank[sorted(range(len(rank)), key=walk.folders.__getitem__)] = np.arange(len(rank))
    # Within a folder the walk's order is by file name already, and lexsort is stable.
    order = np.lexsort((rank[names.folder], labels))[np.count_nonzero(labels < 0) :]
    if len(order) == 0:
        raise ListingError(_nothing_found(walk, skipped))
    if imagenet:
        order = names.order_by_file_name(order)
    labels, sizes = labels[order], np.array(walk.sizes, np.int64)[order]
    counts = np.bincount(labels, minlength=len(own))
    warnings += _empty_classes(own, np.flatnonzero(counts == 0).tolist())
    report = ScanReport(
        root=os.fsdecode(top),
        dataset=dataset,
        classes=tuple(map(os.fsdecode, own)),
        counts=counts,
        num_bytes=int(sizes.sum()),
        skipped=skipped,
        warnings=tuple(warnings),
    )
    return Listing(top, tuple(own), labels, sizes, report, names.select(order))


def _classes_of(
    walk: Walk, imagenet: bool, given: Sequence[bytes] | None
) -> tuple[list[bytes], NDArray[np.int32], list[str]]:
    """Class names by number, the number of each folder's class (-1: none), and warnings."""
    class_of = [f.rpartition(b"/")[2] if imagenet else f.partition(b"/")[0] for f in walk.folders]
    full = {name for name, count in zip(class_of, walk.counts, strict=True) if count and name}
    own = full if imagenet else set(class_of) - {b""}
    warnings = _lookalikes(own)
    names = sorted(own)
    if given is not None:
        names = list(given)
        unknown = sorted(full - set(names))
        if unknown:
            raise ListingError(
                f"{printable(walk.root)}: {len(unknown)} of its classes are not in the class "
                f"list: {', '.join(map(printable, unknown))}"
            )
    number = {name: k for k, name in enumerate(names)}
    return names, np.array([number.get(name, -1) for name in class_of], np.int32), warnings


def _lookalikes(names: set[bytes]) -> list[str]:
    """Warn of classes whose names differ by nothing one can see, or by case only."""
    seen: dict[str, list[bytes]] = {}
    for name in sorted(names):
        folded = unicodedata.normalize("NFC", os.fsdecode(name)).casefold()
        seen.setdefault(folded, []).append(name)
    return [
        f"the classes {', '.join(ascii(os.fsdecode(n)) for n in same)} look alike, "
        f"but are {len(same)} classes"
        for same in seen.values()
        if len(same) > 1
    ]


def _empty_classes(names: list[bytes], empty: list[int]) -> list[str]:
    if not empty:
        return []
    first = ", ".join(f"{k} '{printable(names[k])}'" for k in empty[:EXAMPLES])
    more = ", ..." if len(empty) > EXAMPLES else ""
    return [f"{len(empty)} of {len(names)} classes hold no picture here: {first}{more}"]


@contextlib.contextmanager
def _paths_as_text() -> Iterator[None]:
    """Name files in errors as people do; the listing itself works on bytes."""
    try:
        yield
    except OSError as error:
        if isinstance(error.filename, bytes):
            error.filename = os.fsdecode(error.filename)
        raise


def _split_folder(root: bytes, split: str) -> bytes:
    """Return the half of ImageNet that a root holds: a folder called like the split, or itself."""
    inner = os.path.join(root, os.fsencode(split))
    if os.path.isdir(inner):
        return inner
    with os.scandir(root) as entries:
        others = sorted(e.name for e in entries if e.name in SPLIT_FOLDERS and e.is_dir())
    if others:
        raise ListingError(
            f"{printable(root)} holds {', '.join(map(printable, others))}, but no folder {split!r}"
        )
    return root


def _refuse_whole_data_sets(walk: Walk) -> None:
    """Refuse a root whose only folders are `train`, `val` and the like, with classes in them."""
    full = [f for f, count in zip(walk.folders, walk.counts, strict=True) if count and f]
    tops = {folder.partition(b"/")[0] for folder in full}
    nested = all(b"/" in folder for folder in full)
    if nested and tops and all(name.lower() in SPLIT_FOLDERS for name in tops):
        halves = [printable(os.path.join(walk.root, name)) for name in sorted(tops)]
        raise ListingError(
            f"{printable(walk.root)} holds whole data sets, not classes: "
            f"give one of them as the source: {', '.join(halves)}"
        )


def _nothing_found(walk: Walk, skipped: Skipped) -> str:
    wanted = ", ".join(sorted(map(os.fsdecode, walk.wanted)))
    seen = "; seen:\n" + "\n".join(skipped.lines()) if skipped else ", the folder is empty"
    return f"{printable(walk.root)}: no pictures in class folders (looked for {wanted}){seen}"
