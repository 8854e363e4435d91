"""Positional reads that are complete or an error."""

import contextlib
import os
import threading
from collections.abc import Iterator

from dts.errors import CorruptError
from dts.format.crc import crc32

CHUNK = 256 << 10  # still in the second cache when its checksum is taken
_seek_lock = threading.Lock()


def read_at(fd: int, offset: int, size: int) -> bytes:
    """Read up to `size` bytes at `offset`; fewer only where the file ends."""
    parts = []
    while size > 0:
        part = _pread(fd, size, offset)
        if not part:
            break
        parts.append(part)
        offset += len(part)
        size -= len(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def crc32_at(fd: int, offset: int, length: int) -> int:
    """CRC-32 of a piece of a file; CorruptError where the file ends early."""
    crc, done = 0, 0
    buffer = memoryview(bytearray(min(CHUNK, length)))
    while done < length:
        count = _pread_into(fd, buffer[: length - done], offset + done)
        if not count:
            raise CorruptError(f"file ends at byte {offset + done}, not at {offset + length}")
        crc = crc32(buffer[:count], crc)
        done += count
    return crc


@contextlib.contextmanager
def opened(path: str | os.PathLike[str] | int) -> Iterator[int]:
    """Give a descriptor; one that was made here is closed at the end."""
    if isinstance(path, int):
        yield path
        return
    with open(path, "rb", buffering=0) as file:
        yield file.fileno()


def allowed_cpus() -> int:
    """CPUs this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


if hasattr(os, "pread"):

    def _pread(fd: int, size: int, offset: int) -> bytes:
        return os.pread(fd, size, offset)

else:  # Windows: one position for each descriptor

    def _pread(fd: int, size: int, offset: int) -> bytes:
        with _seek_lock:
            os.lseek(fd, offset, os.SEEK_SET)
            return os.read(fd, size)


if hasattr(os, "preadv"):

    def _pread_into(fd: int, buffer: memoryview, offset: int) -> int:
        return os.preadv(fd, [buffer], offset)

else:

    def _pread_into(fd: int, buffer: memoryview, offset: int) -> int:
        data = _pread(fd, len(buffer), offset)
        buffer[: len(data)] = data
        return len(data)
