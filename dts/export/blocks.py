"""Fill one block: the table, the pictures at their places, zeros, and the checksums of it all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dts.datasets.places import open_place
from dts.export.errors import PictureError
from dts.export.jpeg_head import NeedMore, kind_of, read_head
from dts.format.block import pack_table
from dts.format.checksum import crc32_around
from dts.format.crc import crc32
from dts.format.layout import BLOCK_BYTES, BLOCK_HEADER_SIZE, up64

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import ArrayLike, NDArray

    from dts.datasets.places import Place
    from dts.export.pictures import Encoded


@dataclass(frozen=True)
class Block:
    """A block ready to be written, and what the file has to know of it.

    Attributes
    ----------
    data : bytearray
        `BLOCK_BYTES` bytes.
    crc : int
        CRC-32 of `data`.
    sample_crcs : uint32 array of shape (n,)
        CRC-32 of each picture, without its padding.
    max_area : int
        Largest width x height.
    not_jpeg, no_end : list of int
        Places in the block of what is, or was, no JPEG file, and of JPEG files without an end
        marker (of encoded ones: that had any harmless oddity).
    """

    data: bytearray
    crc: int
    sample_crcs: NDArray[np.uint32]
    max_area: int
    not_jpeg: list[int]
    no_end: list[int]


class ReadError(Exception):
    """A file that could not be read as the scan saw it.

    Attributes
    ----------
    place : int
        Its place in the block.
    reason : str
    """

    def __init__(self, place: int, reason: str):
        super().__init__(place, reason)
        self.place = place
        self.reason = reason


def _begin(
    level: int,
    number: int,
    sizes: ArrayLike,
    labels: ArrayLike,
    used: bytearray | None = None,
) -> tuple[bytearray, list[int]]:
    """Make a block with its table and zeros, and say where each picture starts.

    In `used`, if it is given: zeros are only where no picture will be.
    """
    space = up64(np.asarray(sizes, np.int64))
    offsets = BLOCK_HEADER_SIZE[level] + np.cumsum(space) - space
    data = bytearray(BLOCK_BYTES) if used is None else used
    table = pack_table(level, number, offsets, sizes, labels)
    data[: len(table)] = table
    if used is not None:
        ends = (offsets + np.asarray(sizes, np.int64)).tolist()
        for end, following in zip(ends, [*offsets[1:].tolist(), BLOCK_BYTES], strict=True):
            data[end:following] = bytes(following - end)
    return data, offsets.tolist()


def pack_pictures(
    level: int,
    number: int,
    pictures: Sequence[Encoded],
    labels: ArrayLike,
) -> Block:
    """Make a block of encoded pictures.

    Parameters
    ----------
    level, number : int
        Level of the file, number of the block in it.
    pictures : sequence of Encoded
    labels : array_like of int
    """
    data, offsets = _begin(level, number, [len(p.data) for p in pictures], labels)
    for offset, picture in zip(offsets, pictures, strict=True):
        data[offset : offset + len(picture.data)] = picture.data
    crcs = np.array([crc32(p.data) for p in pictures], np.uint32)
    return Block(
        data,
        crc32_around(data, offsets, [len(p.data) for p in pictures], crcs),
        sample_crcs=crcs,
        max_area=max(p.width * p.height for p in pictures),
        not_jpeg=[i for i, p in enumerate(pictures) if p.kind != "JPEG"],
        no_end=[i for i, p in enumerate(pictures) if p.odd],
    )


def read_files(
    number: int,
    places: Sequence[Place],
    sizes: Sequence[int],
    labels: ArrayLike,
    stopped: Callable[[], bool],
    used: bytearray | None = None,
) -> Block | None:
    """Make a level 0 block: read files to their places, unchanged.

    Parameters
    ----------
    number : int
        Number of the block in the file.
    places, sizes, labels
        Of each picture; sizes as the scan saw them.
    stopped : callable
        Asked before each file; if it says True the answer is None.
    used : bytearray, optional
        Memory of a block that nobody needs any more.

    Raises
    ------
    ReadError
        A file cannot be read, or has another size by now.
    """
    data, offsets = _begin(0, number, sizes, labels, used)
    view = memoryview(data)
    crcs = np.empty(len(places), np.uint32)
    max_area, not_jpeg, no_end = 0, [], []
    for i, (place, start, size) in enumerate(zip(places, offsets, sizes, strict=True)):
        if stopped():
            return None
        stop = start + size
        try:
            read = _read_into(place, view[start:stop])
        except OSError as error:
            raise ReadError(i, f"cannot be read: {error.strerror}") from None
        if read != size:
            raise ReadError(i, "changed its size since it was listed")
        crcs[i] = crc32(view[start:stop])
        try:
            head = read_head(data, start, stop)
            max_area = max(max_area, head.width * head.height)
            if data[stop - 2 : stop] != b"\xff\xd9" and data.rfind(b"\xff\xd9", start, stop) < 0:
                no_end.append(i)
        except (PictureError, NeedMore):
            if kind_of(data, start) != "JPEG":
                not_jpeg.append(i)
    crc = crc32_around(data, offsets, sizes, crcs)
    return Block(data, crc, crcs, max_area, not_jpeg, no_end)


def _read_into(place: Place, view: memoryview) -> int:
    """Fill `view` from a file; say how many bytes were there, one more if the file goes on."""
    with open_place(place) as file:
        done = 0
        while done < len(view):
            count = file.readinto(view[done:])  # type: ignore[attr-defined]
            if not count:
                return done
            done += count
        return done + len(file.read(1))
