"""Fetching the original files of MNIST and CIFAR.

Mirrors are tried in order: those of `add_mirror`, those of the environment variable
``DTS_MIRRORS``, then the built-in ones.
"""

from __future__ import annotations

import contextlib
import os
import tarfile
import zlib
from collections.abc import Callable, Sequence

from dts.datasets.arrays import ArraySet
from dts.datasets.catalog import ARRAY_SETS
from dts.datasets.fetch import CHUNK, TIMEOUT, Archive, fetch
from dts.errors import ConfigError, DtsError

MOST_MEMBER = 1 << 30  # bytes of one file in an archive

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
