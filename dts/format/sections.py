"""The container of the extension: a head, a directory, and compressed sections with checksums.

In a .dts file it starts at byte 4096, in a sidecar at byte 0. docs/format.md has the byte table.
"""

import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass

from dts.errors import FormatError
from dts.format.reading import read_at

MAGIC = b"DTSX"
VERSION = 1
HAS_SIDECAR = 1  # flags: further sections are in the sidecar
IS_SIDECAR = 2
MAX_SECTIONS = 256
COMPRESSION = 6

# magic, version, flags, number of sections, checksum of the sidecar's head, 0; then the checksum
# of these bytes and the directory.
_HEAD = struct.Struct("<4sHHIII")
_CHECK = struct.Struct("<I")
_ENTRY = struct.Struct("<4sIQQQ")  # tag, CRC-32 as stored, offset, length, length unpacked
HEAD_BYTES = _HEAD.size + _CHECK.size
ENTRY_BYTES = _ENTRY.size

# Deflate cannot pack better than 1032 : 1. A section that claims more is not worth unpacking.
_MAX_RATIO = 1032


def damaged(path: str, what: str) -> FormatError:
    """Make the error for an extension that cannot be read, with the way around it."""
    return FormatError(f"{path}: extension: {what} (extension='ignore' opens the file without it)")


@dataclass(frozen=True, slots=True)
class Section:
    """Where a section lies (`offset` counted from the head) and what it must be."""

    tag: bytes
    crc: int
    offset: int
    length: int
    raw_length: int


def packed_bytes(stored: Sequence[bytes]) -> int:
    """Size of a container of sections that are compressed already."""
    return HEAD_BYTES + sum(ENTRY_BYTES + len(data) for data in stored)


def pack(
    sections: Sequence[tuple[bytes, bytes, int]], *, flags: int = 0, sidecar: int = 0
) -> bytes:
    """Make a container.

    Parameters
    ----------
    sections : sequence of (tag, compressed bytes, length unpacked)
    flags, sidecar : int
        `sidecar` is the head checksum of the sidecar that belongs to it.
    """
    head = _HEAD.pack(MAGIC, VERSION, flags, len(sections), sidecar, 0)
    offset = HEAD_BYTES + ENTRY_BYTES * len(sections)
    directory = b""
    for tag, data, raw_length in sections:
        directory += _ENTRY.pack(tag, zlib.crc32(data), offset, len(data), raw_length)
        offset += len(data)
    check = _CHECK.pack(zlib.crc32(directory, zlib.crc32(head)))
    return b"".join((head, check, directory, *(data for _, data, _ in sections)))


def head_checksum(container: bytes) -> int:
    """Checksum of a container's head and directory, by which a sidecar is recognised."""
    return int(_CHECK.unpack_from(container, _HEAD.size)[0])


class Container:
    """A container in an open file: its directory, read and checked.

    Parameters
    ----------
    fd : int
    path : str
        For messages.
    base : int
        Where the head lies in the file.
    end : int
        First byte that no longer belongs to the container.
    """

    def __init__(self, fd: int, path: str, base: int, end: int) -> None:
        self.path = path
        self._base = base
        head = read_at(fd, base, HEAD_BYTES)
        if len(head) < HEAD_BYTES or head[:4] != MAGIC:
            raise damaged(path, "head is not that of an extension")
        _, version, self.flags, count, self.sidecar, _ = _HEAD.unpack_from(head)
        if version != VERSION:
            raise damaged(path, f"version is {version}, this library reads {VERSION}")
        if count > MAX_SECTIONS:
            raise damaged(path, f"{count} sections, at most {MAX_SECTIONS}")
        directory = read_at(fd, base + HEAD_BYTES, count * ENTRY_BYTES)
        self.checksum = head_checksum(head)
        if zlib.crc32(directory, zlib.crc32(head[: _HEAD.size])) != self.checksum:
            raise damaged(path, "head or directory is damaged (CRC-32)")
        self.sections: dict[bytes, Section] = {}
        for fields in _ENTRY.iter_unpack(directory):
            section = Section(*fields)
            if section.offset + section.length > end - base:
                raise damaged(path, f"{_name(section.tag)} lies outside its area")
            self.sections[section.tag] = section

    def load(self, fd: int, tag: bytes, *, most: int) -> bytes:
        """Read a section, check it, and unpack it.

        Parameters
        ----------
        fd : int
        tag : bytes
        most : int
            Bytes it may have when unpacked.

        Raises
        ------
        FormatError
            Damaged, or larger than `most`; names file and section.
        """
        section = self.sections[tag]
        where = _name(tag)
        if section.raw_length > min(most, section.length * _MAX_RATIO):
            raise damaged(
                self.path, f"{where} claims {section.raw_length} bytes, at most {most} expected"
            )
        data = read_at(fd, self._base + section.offset, section.length)
        if len(data) < section.length:
            raise damaged(self.path, f"{where} is cut off")
        if zlib.crc32(data) != section.crc:
            raise damaged(self.path, f"{where} is damaged (CRC-32)")
        unpacker = zlib.decompressobj()
        try:
            raw = unpacker.decompress(data, section.raw_length + 1)
        except zlib.error as error:
            raise damaged(self.path, f"{where} cannot be unpacked: {error}") from None
        if len(raw) != section.raw_length or not unpacker.eof:
            raise damaged(self.path, f"{where} is not of its stated length {section.raw_length}")
        return raw


def _name(tag: bytes) -> str:
    return f"section {tag.decode('latin-1')!r}"


def is_blank(fd: int, base: int) -> bool:
    """Whether there is no container: the area is zeros, as everywhere in plain files."""
    return not read_at(fd, base, HEAD_BYTES).strip(b"\0")
