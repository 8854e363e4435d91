"""Walk a folder tree once and keep what matters of each picture in a few flat arrays."""

from __future__ import annotations

import errno
import os
import stat
from array import array
from typing import TYPE_CHECKING

from dts.datasets.report import Skipped

if TYPE_CHECKING:
    from collections.abc import Iterable

JUNK = frozenset((b"thumbs.db", b"desktop.ini", b"__macosx", b"@eadir", b"lost+found"))


def extension(name: bytes) -> bytes:
    """Return the last part of a name from its dot on, in lower case; empty without a dot."""
    dot = name.rfind(b".")
    return name[dot:].lower() if dot > 0 else b""


def join(folder: bytes, name: bytes) -> bytes:
    return folder + b"/" + name if folder else name


class Walk:
    """All pictures below a root, folder by folder, in an order no file system decides.

    Real folders come first, then linked ones; each folder is entered once, by whichever way.

    Parameters
    ----------
    root : str or bytes
        Where to begin.
    wanted : iterable of bytes
        Extensions of pictures, lower case with the dot.
    skipped : Skipped
        Takes what is left out.

    Attributes
    ----------
    folders : list of bytes
        Folders entered, as paths below the root; the root is the empty path.
    counts : array of int64
        Pictures in each folder.
    pool : bytearray
        The file names, one after the other.
    lengths, sizes : array of uint16, array of int64
        Bytes of each picture's file name and of its content.
    """

    def __init__(self, root: str | bytes, wanted: Iterable[bytes], skipped: Skipped):
        self.root = os.fsencode(root)
        self.wanted = frozenset(wanted)
        self.skipped = skipped
        self.folders: list[bytes] = []
        self.counts = array("q")
        self.pool = bytearray()
        self.lengths = array("H")
        self.sizes = array("q")
        self._seen: set[tuple[int, int]] = set()
        self._walk()

    def _walk(self) -> None:
        links = self._walk_real(b"")
        while links:
            found = []
            for link in sorted(links):
                found += self._walk_real(link)
            links = found

    def _walk_real(self, top: bytes) -> list[bytes]:
        """Enter a folder and all real ones below; return the linked ones that were met."""
        links: list[bytes] = []
        todo = [top]
        while todo:
            folder = todo.pop()
            path = os.path.join(self.root, folder)
            status = os.stat(path)
            if (status.st_dev, status.st_ino) in self._seen:
                self.skipped.add("link to a folder that is listed already", folder)
                continue
            self._seen.add((status.st_dev, status.st_ino))
            below, linked = self._scan(path, folder)
            todo += sorted(below, reverse=True)
            links += linked
        return links

    def _scan(self, path: bytes, folder: bytes) -> tuple[list[bytes], list[bytes]]:
        """Take the pictures of one folder; return the real and the linked folders in it."""
        below: list[bytes] = []
        linked: list[bytes] = []
        pictures: list[tuple[bytes, int]] = []
        wanted, skip = self.wanted, self.skipped.add
        with os.scandir(path) as entries:
            for entry in entries:
                name = entry.name
                if name[0] == 46:  # a dot
                    skip("hidden", join(folder, name))
                    continue
                if extension(name) in wanted or entry.is_symlink():
                    try:
                        status = entry.stat()
                    except OSError as error:
                        self._lost(error, join(folder, name))
                        continue
                    is_file = stat.S_ISREG(status.st_mode)
                    is_folder = stat.S_ISDIR(status.st_mode)
                    size = status.st_size
                else:
                    is_file, is_folder, size = entry.is_file(), entry.is_dir(), 0
                if is_file and extension(name) in wanted:
                    pictures.append((name, size))
                elif name.lower() in JUNK:
                    skip("made by the system", join(folder, name))
                elif is_folder:
                    (linked if entry.is_symlink() else below).append(join(folder, name))
                elif is_file:
                    ending = extension(name)
                    text = os.fsdecode(ending)
                    skip(f"ends in {text!a}" if ending else "no extension", join(folder, name))
                else:
                    skip("neither file nor folder", join(folder, name))
        pictures.sort()
        self.folders.append(folder)
        self.pool += b"".join([name for name, _ in pictures])
        self.lengths.extend([len(name) for name, _ in pictures])
        self.sizes.extend([size for _, size in pictures])
        self.counts.append(len(pictures))
        return below, linked

    def _lost(self, error: OSError, name: bytes) -> None:
        if error.errno in (errno.ENOENT, errno.ELOOP):
            self.skipped.add("link that leads nowhere", name)
        else:
            raise error
