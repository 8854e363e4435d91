"""ImageNet as it is handed out: a tar of class tars, or one tar of pictures and a map of classes.

Nothing is unpacked. One pass over the headers finds name, place and size of every picture; the
pictures are read from their places later.
"""

from __future__ import annotations

import io
import os
import tarfile
from array import array
from collections import defaultdict
from typing import TYPE_CHECKING

import numpy as np

from dts.datasets.places import Piece
from dts.datasets.report import EXAMPLES, Skipped, printable
from dts.datasets.walk import extension
from dts.errors import DtsError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

TAR_BLOCK = 512


class ArchiveError(DtsError, ValueError):
    """An archive, or a map of classes, that is damaged or not what was expected."""


class TarWalk:
    """All pictures of a tar archive, as `dts.datasets.walk.Walk` gives those of a folder.

    A tar inside the archive is the class of its name; a picture in a folder is of that folder.

    Parameters
    ----------
    path : bytes
        The archive.
    wanted : iterable of bytes
        Extensions of pictures, lower case with the dot.
    skipped : Skipped
        Takes what is left out.
    classes : dict of bytes to bytes, optional
        Class of each picture by its file name, for archives that hold no classes.

    Attributes
    ----------
    root, folders, counts, pool, lengths, sizes
        As in `Walk`.
    offsets : int64 array of shape (n,)
        First byte of each picture in the archive.

    Raises
    ------
    ArchiveError
        The archive is damaged, cut off or compressed, or a picture has no class.
    """

    def __init__(
        self,
        path: bytes,
        wanted: Iterable[bytes],
        skipped: Skipped,
        classes: dict[bytes, bytes] | None = None,
    ):
        self.root = path
        self.wanted = frozenset(wanted)
        self.skipped = skipped
        self.folders: list[bytes] = []
        self.counts = array("q")
        self.pool = bytearray()
        self.lengths = array("H")
        self.sizes = array("q")
        self._found: dict[bytes, list[tuple[bytes, int, int]]] = defaultdict(list)
        self._classes = classes
        self._unknown: list[bytes] = []
        self._walk()
        if self._unknown:
            names = ", ".join(map(printable, self._unknown[:EXAMPLES]))
            raise ArchiveError(
                f"{printable(path)}: {len(self._unknown):,} pictures have no class"
                f"{'' if classes is None else ' in the map'}: {names}"
                + ("" if classes else " (the validation archive needs a map of classes)")
            )
        offsets = []
        for folder, pictures in sorted(self._found.items()):
            pictures.sort()
            self.folders.append(folder)
            self.counts.append(len(pictures))
            for name, offset, size in pictures:
                self.pool += name
                self.lengths.append(len(name))
                self.sizes.append(size)
                offsets.append(offset)
        self._found.clear()
        self.offsets = np.array(offsets, np.int64)

    def _walk(self) -> None:
        total = os.path.getsize(self.root)
        for name, offset, size in members(self.root, 0, total, printable(self.root)):
            if extension(name) == b".tar":
                folder = os.path.basename(name)[:-4]
                where = f"{printable(self.root)}: {printable(name)}"
                for inner, at, length in members(self.root, offset, size, where):
                    self._take(folder, os.path.basename(inner), inner, at, length)
            else:
                folder, _, base = name.removeprefix(b"./").rpartition(b"/")
                if self._classes is not None:
                    folder = self._classes.get(base, b"")
                self._take(folder, base, name, offset, size)

    def _take(self, folder: bytes, base: bytes, name: bytes, offset: int, size: int) -> None:
        if extension(base) not in self.wanted:
            ending = extension(base)
            text = os.fsdecode(ending)
            self.skipped.add(f"ends in {text!a}" if ending else "no extension", name)
        elif not folder:
            self._unknown.append(name)
        else:
            self._found[folder].append((base, offset, size))


def members(path: bytes, start: int, size: int, where: str) -> Iterator[tuple[bytes, int, int]]:
    """Yield name, first byte in `path` and size of each file in a tar, from headers alone.

    Parameters
    ----------
    path : bytes
        A file that holds the tar.
    start, size : int
        Where in it the tar is.
    where : str
        What to call it in errors.

    Raises
    ------
    ArchiveError
        It is damaged, cut off or compressed.
    """
    # A buffer just large enough for a header: what is between headers is passed over.
    with io.BufferedReader(Piece(path, start, size), 2 * TAR_BLOCK) as piece:
        try:
            with tarfile.open(fileobj=piece, mode="r:") as tar:
                while (member := tar.next()) is not None:
                    tar.members.clear()  # type: ignore[attr-defined]  # else all are kept
                    if member.isreg():
                        if member.offset_data + member.size > size:
                            raise ArchiveError(
                                f"{where}: cut off in {printable(member.name)}, at byte {size:,}"
                            )
                        name = os.fsencode(member.name)
                        yield name, start + member.offset_data, member.size
                end = tar.offset
        except tarfile.TarError as error:
            raise ArchiveError(f"{where}: damaged, or not a tar archive ({error})") from None
        piece.seek(end)
        block = piece.read(TAR_BLOCK)
    if len(block) < TAR_BLOCK:
        raise ArchiveError(f"{where}: cut off at byte {size:,}, the end mark of a tar is missing")
    if block.strip(b"\0"):
        raise ArchiveError(f"{where}: the header at byte {end:,} is damaged")


def read_map(path: str | os.PathLike[str]) -> dict[bytes, bytes]:
    """Read which class each picture is of.

    Parameters
    ----------
    path : path
        Text, one picture a line: file name, white space, class. Empty lines and lines that begin
        with ``#`` are passed over.

    Returns
    -------
    dict
        Class by file name.

    Raises
    ------
    ArchiveError
        A line of another form, or a name that comes twice with two classes.
    """
    shown = printable(os.fspath(path))
    found: dict[bytes, bytes] = {}
    with open(path, "rb") as file:
        for number, line in enumerate(file, 1):
            text = line.removeprefix(b"\xef\xbb\xbf").strip()
            if not text or text.startswith(b"#"):
                continue
            words = text.rsplit(None, 1)
            if len(words) != 2:
                raise ArchiveError(f"{shown}, line {number}: not a file name and a class")
            name, folder = words
            if found.setdefault(name, folder) != folder:
                raise ArchiveError(f"{shown}, line {number}: {printable(name)} has two classes")
    if not found:
        raise ArchiveError(f"{shown}: names no picture")
    return found
