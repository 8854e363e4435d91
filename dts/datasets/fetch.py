"""Fetching one file that is known by size and CRC-32 from one of several mirrors.

What arrives goes to ``NAME.part``, where a later try goes on, at another mirror or in another run;
the file gets its name when size and CRC-32 are right.
"""

from __future__ import annotations

import contextlib
import errno
import http.client
import logging
import os
import urllib.error
import urllib.request
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import BinaryIO

from dts.errors import ConfigError, DtsError

if os.name == "posix":
    import fcntl

_log = logging.getLogger("dts")

CHUNK = 1 << 20
TIMEOUT = 30.0  # seconds without a byte
FRUITLESS = 2  # tries at one mirror that bring nothing new before it is given up
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@dataclass(frozen=True)
class Archive:
    """A file to fetch.

    Attributes
    ----------
    name : str
    size : int
        Bytes.
    crc : int
        CRC-32 of all of it.
    """

    name: str
    size: int
    crc: int


def fetch(
    archive: Archive,
    path: str,
    urls: Sequence[str],
    *,
    progress: Callable[[int], object] | None = None,
    timeout: float = TIMEOUT,
) -> None:
    """Fetch one file to `path`, unless it is there.

    Parameters
    ----------
    archive : Archive
    path : str
        Final name; ``path + ".part"`` holds what has arrived.
    urls : sequence of str
        Mirrors, each ending in a slash.
    progress, timeout
        As in `download`.
    """
    if os.path.exists(path):
        _check_existing(archive, path)
        return
    reasons = []
    with _locked(path + ".part") as part:
        if os.path.exists(path):  # another process was faster
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path + ".part")
            return
        for url in urls:
            _log.info("fetching %s (%d bytes)", url + archive.name, archive.size)
            try:
                _fetch_from(url + archive.name, archive, part, progress, timeout)
                part.flush()
                os.fsync(part.fileno())
                os.replace(path + ".part", path)
                return
            except _Failed as failure:
                reasons.append(f"{url}: {failure}")
                _log.warning("download of %s from %s: %s", archive.name, url, failure)
    raise DtsError(
        f"download: {archive.name} could not be fetched ({'; '.join(reasons)}). What has arrived "
        f"is in {path}.part, and the next try goes on there; or put the file at {path} yourself, "
        "or name another mirror in DTS_MIRRORS"
    )


class _Failed(Exception):
    """Why a mirror could not give a file."""


def _check_existing(archive: Archive, path: str) -> None:
    size = os.path.getsize(path)
    with open(path, "rb") as file:
        crc = _crc(file)
    if (size, crc) != (archive.size, archive.crc):
        raise ConfigError(
            f"download: {path} is there, but is not the right file: {size} bytes with CRC-32 "
            f"{crc:08x} instead of {archive.size} with {archive.crc:08x}; remove it"
        )


def _crc(file: BinaryIO) -> int:
    file.seek(0)
    crc = 0
    while data := file.read(CHUNK):
        crc = zlib.crc32(data, crc)
    return crc


@contextlib.contextmanager
def _locked(path: str) -> Iterator[BinaryIO]:
    """Open the file that grows, alone among all processes of this machine where that can be."""
    with open(path, "a+b") as file:
        if os.name == "posix":
            fcntl.flock(file, fcntl.LOCK_EX)
        yield file


def _fetch_from(
    url: str,
    archive: Archive,
    part: BinaryIO,
    progress: Callable[[int], object] | None,
    timeout: float,
) -> None:
    """Bring the part file to its full length from one mirror, and compare its checksum."""
    resumed = part.seek(0, os.SEEK_END) > 0
    _complete(url, archive, part, progress, timeout)
    crc = _crc(part)
    if crc != archive.crc and resumed:  # perhaps the beginning, of another mirror, was wrong
        part.truncate(0)
        _complete(url, archive, part, progress, timeout)
        crc = _crc(part)
    if crc != archive.crc:
        part.truncate(0)
        raise _Failed(f"wrong content, CRC-32 {crc:08x} instead of {archive.crc:08x}")


def _complete(
    url: str,
    archive: Archive,
    part: BinaryIO,
    progress: Callable[[int], object] | None,
    timeout: float,
) -> None:
    """Ask again and again for what is missing, as long as more comes."""
    size = best = part.seek(0, os.SEEK_END)
    fruitless = 0
    while size != archive.size:
        if size > archive.size:
            part.truncate(0)
            size = best = 0
        reason = f"ended after {size} of {archive.size} bytes"
        try:
            _receive(url, archive, part, size, progress, timeout)
        except urllib.error.HTTPError as error:
            error.close()
            if error.code != http.client.REQUESTED_RANGE_NOT_SATISFIABLE or not size:
                raise _Failed(f"HTTP {error.code} {error.reason}") from None
            part.truncate(0)  # this mirror has a shorter file
        except OSError as error:
            if error.errno in NO_ROOM:
                raise
            reason = str(getattr(error, "reason", None) or error) or type(error).__name__
        except http.client.HTTPException as error:
            reason = f"{type(error).__name__} {error}".rstrip()
        size = part.seek(0, os.SEEK_END)
        fruitless = 0 if size > best else fruitless + 1
        best = max(best, size)
        if fruitless == FRUITLESS:
            raise _Failed(reason)


def _receive(
    url: str,
    archive: Archive,
    part: BinaryIO,
    start: int,
    progress: Callable[[int], object] | None,
    timeout: float,
) -> None:
    """Append what a mirror sends; from the beginning if it does not know ranges."""
    request = urllib.request.Request(url, headers={"User-Agent": "dts"})
    if start:
        request.add_header("Range", f"bytes={start}-")
    with urllib.request.urlopen(request, timeout=timeout) as answer:
        wanted = f"bytes {start}-"
        if start and (
            answer.status != http.client.PARTIAL_CONTENT
            or not answer.headers.get("Content-Range", "").startswith(wanted)
        ):
            part.truncate(0)
            start = 0
        promised = answer.headers.get("Content-Length")
        if promised is not None and start + int(promised) != archive.size:
            raise _Failed(f"has {start + int(promised)} bytes, not {archive.size}")
        while data := answer.read1(CHUNK):
            start += len(data)
            if start > archive.size:
                part.truncate(0)
                raise _Failed(f"sends more than {archive.size} bytes")
            part.write(data)
            if progress is not None:
                progress(len(data))
