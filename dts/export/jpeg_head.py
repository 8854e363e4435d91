"""Read what a JPEG file says of itself, without decoding it."""

from __future__ import annotations

from typing import NamedTuple

from dts.export.errors import PictureError

SIGNATURES = (  # offset, bytes, name
    (0, b"\xff\xd8", "JPEG"),
    (0, b"\x89PNG\r\n\x1a\n", "PNG"),
    (0, b"GIF8", "GIF"),
    (8, b"WEBP", "WebP"),
    (0, b"BM", "BMP"),
    (0, b"II*\0", "TIFF"),
    (0, b"MM\0*", "TIFF"),
)
FRAME_MARKERS = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
ALONE = frozenset((0x01, *range(0xD0, 0xD8)))  # markers without a length


class JpegHead(NamedTuple):
    """Size in pixels and bits per channel."""

    width: int
    height: int
    bits: int


class NeedMore(Exception):
    """The bytes given end before the frame header."""


def kind_of(data: bytes | bytearray, start: int = 0) -> str | None:
    """Name the picture format `data` begins with, from `start` on; None if it is no picture."""
    for offset, signature, name in SIGNATURES:
        at = start + offset
        if data[at : at + len(signature)] == signature:
            return name
    return None


def read_head(data: bytes | bytearray, start: int = 0, stop: int | None = None) -> JpegHead:
    """Find the frame header of a JPEG file in a buffer.

    Parameters
    ----------
    data : bytes or bytearray
    start, stop : int
        Where the file lies in `data`.

    Returns
    -------
    JpegHead

    Raises
    ------
    PictureError
        It is not a JPEG file, or has no frame header before its scan.
    NeedMore
        All is well as far as `data` goes.
    """
    stop = len(data) if stop is None else stop
    if stop - start < 2:
        raise PictureError(f"has {stop - start} bytes")
    if data[start] != 0xFF or data[start + 1] != 0xD8:
        raise PictureError(why_not_jpeg(data, start, stop))
    at = start + 2
    while True:
        at = data.find(b"\xff", at, stop)
        if at < 0 or at + 9 > stop:
            raise NeedMore
        marker = data[at + 1]
        if marker == 0xFF:  # fill byte
            at += 1
        elif marker in FRAME_MARKERS:
            return JpegHead(
                width=data[at + 7] << 8 | data[at + 8],
                height=data[at + 5] << 8 | data[at + 6],
                bits=data[at + 4],
            )
        elif marker in (0xDA, 0xD9):
            raise PictureError("a JPEG file without a frame header")
        elif marker == 0 or marker in ALONE:
            at += 2
        else:
            at += 2 + (data[at + 2] << 8 | data[at + 3])


def why_not_jpeg(data: bytes | bytearray, start: int = 0, stop: int | None = None) -> str:
    """Say what bytes are that do not begin like a JPEG file."""
    kind = kind_of(data, start)
    if kind is not None:
        return f"is a {kind} file, not a JPEG (levels 1-3 convert it)"
    stop = len(data) if stop is None else stop
    if stop - start < 4:
        return f"has {stop - start} bytes"
    found = data.find(b"\xff\xd8\xff", start, min(stop, start + 1024))
    if found >= 0:
        return f"has {found - start} bytes before its JPEG start marker"
    return "is not a picture of a known format"
