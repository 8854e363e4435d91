"""Where the bytes of a picture are: a file of its own, or a piece of an archive."""

from __future__ import annotations

import io
import os
from typing import TYPE_CHECKING, BinaryIO, NamedTuple, cast

if TYPE_CHECKING:
    from typing_extensions import Buffer

WHOLE = -1


class Place(NamedTuple):
    """A piece of a file; `size` is `WHOLE` for all of it."""

    path: bytes
    offset: int = 0
    size: int = WHOLE


class Piece(io.RawIOBase):
    """A piece of a file as a file of its own, for reading.

    Parameters
    ----------
    path : bytes
    offset, size : int
        The piece; it may reach past the end of the file, and ends there then.
    """

    def __init__(self, path: bytes, offset: int, size: int):
        super().__init__()
        self._file = open(path, "rb", buffering=0)  # noqa: SIM115 - closed with the piece
        self._start = offset
        self._size = size
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        self._at = offset + (0, self._at, self._size)[whence]
        return self._at

    def tell(self) -> int:
        return self._at

    def readinto(self, buffer: Buffer, /) -> int:
        view = memoryview(buffer)[: max(0, self._size - self._at)]
        self._file.seek(self._start + self._at)
        count = self._file.readinto(view)
        self._at += count
        return count

    def close(self) -> None:
        self._file.close()
        super().close()


def open_place(place: Place | bytes) -> BinaryIO:
    """Open a picture, or a file by its path, for reading, without a buffer.

    Raises
    ------
    OSError
        It cannot be opened.
    """
    if isinstance(place, bytes):
        place = Place(place)
    if place.size == WHOLE:
        return open(place.path, "rb", buffering=0)
    return cast("BinaryIO", Piece(*place))
