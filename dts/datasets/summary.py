"""summary.bin: the index of a class folder tree, in the layout of the reference.

It names every file with its size, in the order of a fixed shuffle and dealt to 16 parts of about
equal bytes. dts needs none of it: it scans the tree. It reads such an index where asked to, as
long as the tree has not changed, and writes one where asked to.

Layout (little-endian): a header of 256 bytes; the names of the classes, each with a NUL; a record
of 32 bytes for each file; the file names, without anything between them. With 1000 classes what is
written is version 1, the reference's, byte for byte. The reference's reader takes nothing else:
with fewer classes it would write empty names up to 1000 and then refuse them. So any other number
of classes is written as version 2: the true number at byte 12, that many names, and nothing
else changed (labels past 65,535 are in the 32-bit field of a record). Both are read, and version 1
with the empty names too.
"""

from __future__ import annotations

import os
import struct
import tempfile
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dts.datasets.listing import Listing, list_pictures
from dts.datasets.report import printable
from dts.datasets.walk import JUNK
from dts.errors import DtsError, FormatError
from dts.rng.philox import philox4x32

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

MAGIC = b"RAWS"
PARTS = 16
SEED = 42
REFERENCE_CLASSES = 1000
_HEADER = struct.Struct("<4s4B5IQ16Q16I3Q4x")
_RECORD = np.dtype(
    {
        "names": ["offset", "length", "label16", "size", "part", "label", "index"],
        "formats": ["<u4", "<u2", "<u2", "<u4", "<u2", "<u4", "<u4"],
        "offsets": [0, 4, 6, 8, 12, 16, 20],
        "itemsize": 32,
    }
)


@dataclass(frozen=True)
class Summary:
    """What an index says.

    Attributes
    ----------
    is_training : bool
    classes : tuple of bytes
        Names in the order of their labels.
    records : structured array of shape (n,)
        In the order of the file: offset and length of the name, label, size in bytes, part, and
        index: the position by class, then name.
    pool : bytes
        The file names.
    """

    is_training: bool
    classes: tuple[bytes, ...]
    records: NDArray[np.void]
    pool: bytes

    def listing(self, root: str | os.PathLike[str]) -> Listing:
        """Return the files as a Listing of a folder, without a look at it."""
        by_index = np.argsort(self.records["index"], kind="stable")
        rows = self.records[by_index]
        return Listing.of_names(
            os.fsencode(root),
            self.classes,
            rows["label"].astype(np.int32),
            rows["size"].astype(np.int64),
            self.pool,
            rows["offset"].astype(np.int64),
            rows["length"].astype(np.uint16),
        )


def shuffled_index(n: int) -> NDArray[np.int64]:
    """Order of the records of n files: for i from n-1 down to 1, swap i and word(i) mod (i + 1).

    word(i) is the first word of Philox4x32-10 with key 42 and counter i.
    """
    counters = np.zeros((n, 4), np.uint32)
    counters[:, 0] = np.arange(n, dtype=np.uint32)
    words = philox4x32((SEED, 0), counters)[:, 0].tolist() if n else []
    order = list(range(n))
    for i in range(n - 1, 0, -1):
        j = words[i] % (i + 1)
        order[i], order[j] = order[j], order[i]
    return np.array(order, np.int64)


def parts_of(sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Part of each file: the next of 16 begins where a part holds a 16th of all bytes or more."""
    target = int(sizes.sum()) // PARTS
    parts, part, held = [], 0, 0
    for size in sizes.tolist():
        if part < PARTS - 1 and held >= target:
            part, held = part + 1, 0
        parts.append(part)
        held += size
    return np.array(parts, np.int64)


def summary_bytes(
    listing: Listing, *, is_training: bool = True, version: int | None = None
) -> bytes:
    """Write the index of a listing.

    Parameters
    ----------
    listing : Listing
        Any order: the index has its own.
    is_training : bool
    version : int, optional
        By default 1, the reference's, with 1000 classes and 2 with any other number. 1 with fewer
        gives what the reference writes, empty names included.

    Raises
    ------
    DtsError
        Something the layout has no room for: a file of 4 GiB, a name over 65,535 bytes.
    """
    classes = listing.classes
    if version is None:
        version = 1 if len(classes) == REFERENCE_CLASSES else 2
    if version == 1 and len(classes) > REFERENCE_CLASSES:
        raise DtsError(f"a summary of version 1 has 1000 classes, not {len(classes)}")
    listing = listing.by_class()
    order = shuffled_index(len(listing))
    labels, sizes = listing.labels[order], listing.sizes[order]
    names = [_below_class(listing, i) for i in order.tolist()]
    records = np.zeros(len(order), _RECORD)
    records["length"] = lengths = np.array([len(name) for name in names], np.int64)
    offsets = np.cumsum(lengths) - lengths
    if sizes.max(initial=0) >= 1 << 32 or lengths.sum() >= 1 << 32:
        raise DtsError("a summary holds files and names of less than 4 GiB only")
    records["offset"] = offsets
    records["size"] = sizes
    records["label"] = records["label16"] = labels
    records["index"] = order
    records["part"] = parts = parts_of(sizes)

    counts = np.bincount(parts, minlength=PARTS)
    named = b"".join(name + b"\0" for name in classes)
    padding = b"\0" * (REFERENCE_CLASSES - len(classes)) if version == 1 else b""
    table = _HEADER.size + len(named)
    header = _HEADER.pack(
        *(MAGIC, version, 0, 0, 0, is_training),
        *(REFERENCE_CLASSES if version == 1 else len(classes), len(order), PARTS, SEED),
        int(sizes.sum()),
        *(int(c) * _RECORD.itemsize for c in np.cumsum(counts) - counts),
        *counts.tolist(),
        *(_HEADER.size, table, table + len(padding) + records.nbytes),
    )
    return b"".join((header, named, padding, records.tobytes(), *names))


def _below_class(listing: Listing, i: int) -> bytes:
    label, name = listing.classes[listing.labels[i]], listing.name(i)
    if not name.startswith(label + b"/") or len(name) - len(label) > 1 << 16:
        raise DtsError(f"{printable(name)}: a summary names files below their class folder only")
    return name[len(label) + 1 :]


def write_summary(
    listing: Listing,
    path: str | os.PathLike[str],
    *,
    is_training: bool = True,
    version: int | None = None,
) -> None:
    """Write the index of a listing to a file, whole or not at all.

    Parameters
    ----------
    listing, is_training, version
        As in `summary_bytes`.
    path : path
        The reference looks for ``train_summary.bin`` or ``val_summary.bin`` in the folder itself.

    Raises
    ------
    DtsError
        As `summary_bytes`.
    OSError
        A place that cannot be written to.
    """
    data = summary_bytes(listing, is_training=is_training, version=version)
    folder, name = os.path.split(os.path.abspath(os.fspath(path)))
    descriptor, temporary = tempfile.mkstemp(prefix=f".{name}.", dir=folder)
    try:
        with open(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(descriptor)
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def read_summary(path: str | os.PathLike[str]) -> Summary:
    """Read an index, and check all of it.

    Raises
    ------
    FormatError
        Not an index, or one that cannot be true.
    OSError
        A file that cannot be read.
    """
    with open(path, "rb") as file:
        data = file.read()
    try:
        return _parse(data)
    except (ValueError, struct.error) as error:
        raise FormatError(f"{printable(os.fspath(path))}: {error}") from None


def _parse(data: bytes) -> Summary:
    if len(data) < _HEADER.size or data[:4] != MAGIC:
        raise ValueError("not a summary.bin")
    fields = _HEADER.unpack_from(data)
    version, is_training, n_classes, n, n_parts, seed, total = fields[1], *fields[5:11]
    if version not in (1, 2) or n_parts != PARTS or seed != SEED or is_training > 1:
        raise ValueError(f"a summary of version {version}, {n_parts} parts, seed {seed}")
    first, table, pool_at = fields[43:46]
    pool = data[pool_at:]
    start = pool_at - n * _RECORD.itemsize
    if not _HEADER.size == first <= table <= start <= pool_at <= len(data):
        raise ValueError("its tables lie outside the file")
    classes = data[first:start].split(b"\0")[:-1]
    if len(classes) != n_classes:
        raise ValueError(f"{len(classes)} names for {n_classes} classes")
    while version == 1 and classes and not classes[-1]:
        classes.pop()
    records = np.frombuffer(data, _RECORD, n, start)
    ends = records["offset"].astype(np.int64) + records["length"]
    checks = {
        "a class has no name, or a name is used twice": len({*classes, b""}) == len(classes) + 1,
        "a name lies outside its table": bool((ends <= len(pool)).all()),
        "a file has no name": bool((records["length"] > 0).all()),
        "a label is past the last class": bool((records["label"] < len(classes)).all()),
        "files are numbered twice": bool((np.sort(records["index"]) == np.arange(n)).all()),
        "sizes do not add up": int(records["size"].sum(dtype=np.uint64)) == total,
        "it names no file": n > 0,
    }
    for reason, fine in checks.items():
        if not fine:
            raise ValueError(reason)
    return Summary(bool(is_training), tuple(classes), records, pool)


def list_with_summary(
    root: str | os.PathLike[str],
    path: str | os.PathLike[str],
    *,
    dataset: str = "folder",
    classes: Sequence[bytes] | None = None,
    check_files: bool = True,
) -> Listing:
    """List a folder out of its index where that still holds, else by a scan. Writes nothing.

    The index holds if it can be read, its classes are the folders that are there (with `classes`:
    some of them may be missing), and no folder with pictures is newer than it: so nothing was
    added, removed or renamed.

    Parameters
    ----------
    root : path
        Folder of class folders.
    path : path
        The index. It says which files belong to the set; one by the reference lists ``.jpg`` and
        ``.jpeg`` only.
    dataset, classes
        For the scan, as in `list_pictures`; the index has to have these classes.
    check_files : bool
        Ask for size and time of each file too: notices files that were changed in place. Without
        it, those are errors of their samples when they are read.

    Returns
    -------
    Listing
        By class, then name.

    Raises
    ------
    OSError, ListingError
        As `list_pictures`.
    """
    try:
        summary = read_summary(path)
        listing = summary.listing(root)
        limit = os.stat(path).st_mtime_ns
        if (classes is None or tuple(classes) == summary.classes) and _holds(
            listing, limit, all_there=classes is None, check_files=check_files
        ):
            return listing
    except (OSError, FormatError):
        pass  # missing or damaged, or a file went meanwhile: the tree itself is asked
    return list_pictures(root, dataset=dataset, classes=classes).by_class()


def _holds(listing: Listing, limit: int, *, all_there: bool, check_files: bool) -> bool:
    with os.scandir(listing.root) as entries:
        there = {e.name for e in entries if not e.name.startswith(b".") and e.is_dir()}
    named = set(listing.classes)
    if there - named - JUNK or (all_there and named - there):
        return False
    names = [listing.name(i) for i in range(len(listing))]
    folders = {os.path.dirname(name) for name in names} | (named & there)
    if any(os.stat(os.path.join(listing.root, f)).st_mtime_ns >= limit for f in folders):
        return False
    if check_files:
        for name, size in zip(names, listing.sizes.tolist(), strict=True):
            status = os.stat(os.path.join(listing.root, name))
            if status.st_size != size or status.st_mtime_ns >= limit:
                return False
    return True
