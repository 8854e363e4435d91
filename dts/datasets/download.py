"""Fetching the original files of MNIST and CIFAR.

Mirrors are tried in order: those of `add_mirror`, those of the environment variable
``DTS_MIRRORS``, then the built-in ones. What arrives goes to ``NAME.part``, where a later try goes
on; the file gets its name when size and CRC-32 are right.
"""

from __future__ import annotations

import contextlib
import errno
import http.client
import logging
import os
import tarfile
import urllib.error
import urllib.request
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import BinaryIO

from dts.datasets.arrays import ArraySet
from dts.datasets.catalog import ARRAY_SETS
from dts.errors import ConfigError, DtsError

if os.name == "posix":
    import fcntl

_log = logging.getLogger("dts")

CHUNK = 1 << 20
TIMEOUT = 30.0  # seconds without a byte
FRUITLESS = 2  # tries at one mirror that bring nothing new before it is given up
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
MOST_MEMBER = 1 << 30  # bytes of one file in an archive


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


ARCHIVES: dict[str, dict[str, tuple[Archive, ...]]] = {
    "mnist": {
        "train": (
            Archive("train-images-idx3-ubyte.gz", 9_912_422, 0xEB392171),
            Archive("train-labels-idx1-ubyte.gz", 28_881, 0x28EE680A),
        ),
        "val": (
            Archive("t10k-images-idx3-ubyte.gz", 1_648_877, 0xDF9322EE),
            Archive("t10k-labels-idx1-ubyte.gz", 4_542, 0x5C1CF43B),
        ),
    },
    "cifar10": dict.fromkeys(
        ("train", "val"), (Archive("cifar-10-binary.tar.gz", 170_052_171, 0xF709D4BA),)
    ),
    "cifar100": dict.fromkeys(
        ("train", "val"), (Archive("cifar-100-binary.tar.gz", 168_513_733, 0xB2274685),)
    ),
}

MIRRORS: dict[str, tuple[str, ...]] = {
    "mnist": (
        "https://ossci-datasets.s3.amazonaws.com/mnist/",
        "https://storage.googleapis.com/cvdf-datasets/mnist/",
    ),
    "cifar10": ("https://www.cs.toronto.edu/~kriz/",),
    "cifar100": ("https://www.cs.toronto.edu/~kriz/",),
}

_added: dict[str, list[str]] = {}


def add_mirror(name: str, url: str) -> None:
    """Add a place to fetch a data set from, tried before all others.

    Parameters
    ----------
    name : {"mnist", "cifar10", "cifar100"}
    url : str
        What stands before the file names: ``https://host/folder/``.

    Raises
    ------
    ConfigError
        There is no such data set to fetch.
    """
    if name not in ARCHIVES:
        raise ConfigError(f"download: {name!r} is none of {', '.join(ARCHIVES)}")
    _added.setdefault(name, []).insert(0, url)


def mirrors(name: str) -> list[str]:
    """List where a data set is fetched from, in the order of trial.

    ``DTS_MIRRORS`` holds entries like ``mnist=https://host/folder/``, with spaces between.
    """
    given = []
    for entry in os.environ.get("DTS_MIRRORS", "").split():
        key, found, url = entry.partition("=")
        if not found or key not in ARCHIVES:
            raise ConfigError(
                f"download: DTS_MIRRORS has {entry!r}, must be like mnist=https://host/folder/"
            )
        if key == name:
            given.append(url)
    every = [*_added.get(name, ()), *given, *MIRRORS[name]]
    return [url if url.endswith("/") else f"{url}/" for url in dict.fromkeys(every)]


def download(
    name: str,
    directory: str | os.PathLike[str],
    *,
    splits: Sequence[str] = ("train", "val"),
    progress: Callable[[int], object] | None = None,
    timeout: float = TIMEOUT,
) -> None:
    """Fetch what is missing of a data set's original files.

    Archives stay beside what was unpacked from them. Nothing is written under its final name
    before it is complete and checked. Several processes may do this at once: one fetches.

    Parameters
    ----------
    name : {"mnist", "cifar10", "cifar100"}
    directory : path
        Made if it is not there.
    splits : sequence of {"train", "val"}
    progress : callable, optional
        Called with the number of bytes of each piece.
    timeout : float
        Seconds without a byte before a mirror is given up.

    Raises
    ------
    ConfigError
        There is no such data set to fetch, or a file is there that is not the right one.
    DtsError
        No mirror could give it; names each and why.
    OSError
        The directory cannot be written to.
    """
    if name not in ARCHIVES:
        raise ConfigError(f"download: {name!r} is none of {', '.join(ARCHIVES)}")
    kind, root = ARRAY_SETS[name], os.fspath(directory)
    missing = [split for split in splits if not _is_there(kind, root, split)]
    if not missing:
        return
    os.makedirs(root, exist_ok=True)
    for archive in dict.fromkeys(a for split in missing for a in ARCHIVES[name][split]):
        path = os.path.join(root, archive.name)
        fetch(archive, path, mirrors(name), progress=progress, timeout=timeout)
        if archive.name.endswith(".tar.gz"):
            _unpack(path, kind, root)


def _is_there(kind: ArraySet, root: str, split: str) -> bool:
    """Whether all original files of a split are there; a part of them does not count."""
    names = kind.files[split]
    return any(
        all(any(os.path.isfile(os.path.join(place, n + e)) for e in kind.endings) for n in names)
        for place in kind.places(root)
    )


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


def _unpack(path: str, kind: ArraySet, root: str) -> None:
    """Take the files of a set out of its archive, each complete or not at all.

    Only regular files of the expected names are taken, by their last part, so an archive cannot
    write anywhere else.
    """
    folder = os.path.join(root, kind.folders[-1])
    os.makedirs(folder, exist_ok=True)
    wanted = {name for names in kind.files.values() for name in names} | set(kind.extra)
    found = set()
    try:
        with tarfile.open(path, "r:gz") as archive:
            for member in archive:
                name = member.name.rsplit("/", 1)[-1]
                if name in wanted and member.isfile() and member.size <= MOST_MEMBER:
                    _take(archive, member, os.path.join(folder, name))
                    found.add(name)
    except (tarfile.TarError, EOFError, zlib.error) as error:
        raise DtsError(f"download: {path} cannot be unpacked: {error}") from None
    missing = sorted(wanted - found - set(kind.extra))
    if missing:
        raise DtsError(f"download: {path} holds no {', '.join(missing)}")


def _take(archive: tarfile.TarFile, member: tarfile.TarInfo, path: str) -> None:
    source = archive.extractfile(member)
    assert source is not None  # a regular file
    temporary = f"{path}.{os.getpid()}.part"
    try:
        with open(temporary, "wb") as file:
            while data := source.read(CHUNK):
                file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        raise


def say_what_to_fetch(name: str, directory: str | os.PathLike[str]) -> None:
    """Tell, where nothing of a set of pictures is there, how it gets there.

    Raises
    ------
    ConfigError
        Nothing is there: says what to fetch, and where to put it.
    """
    root = os.fspath(directory)
    if os.path.isfile(root):
        return
    entries = os.listdir(root) if os.path.isdir(root) else []
    if any(e.endswith(".dts") or os.path.isdir(os.path.join(root, e)) for e in entries):
        return
    if name != "imagenet":
        raise ConfigError(
            f"download: a data set of the kind {name} is your own; put a folder for each class "
            f"into {os.path.join(root, 'train')}"
        )
    raise ConfigError(
        "download: ImageNet is given out by its makers, after registration, at "
        "https://image-net.org/download-images. Fetch ILSVRC2012_img_train.tar "
        "(147,897,477,120 bytes, CRC-32 01f6e856) and ILSVRC2012_img_val.tar (6,744,924,160 "
        f"bytes, CRC-32 7c951e53), put them into {root}, unpack them to "
        f"{os.path.join(root, 'train', 'n01440764')} and so on, a folder for each class, and "
        f"{os.path.join(root, 'val')} alike"
    )
