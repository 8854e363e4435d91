"""Opening the file or files of a set: headers that agree, descriptors, extensions."""

import os
import warnings

from dts.errors import FormatError
from dts.format.extension import StoredExtension
from dts.format.header import Header, read_header
from dts.format.layout import split_volume_path, volume_path
from dts.format.reading import read_at

# What all volumes of a set must say alike.
_COMMON = ("dataset_type", "is_training", "compress_level", "num_classes")


class Volume:
    """One open .dts file.

    Attributes
    ----------
    path : str
    header : Header
        Checked.
    size : int
        Bytes the file has.
    extension : StoredExtension or None
    """

    def __init__(self, path: str, *, use_extension: bool) -> None:
        self.path = path
        self.header: Header = read_header(path)
        self._file = open(path, "rb", buffering=0)  # noqa: SIM115 - lives as long as the volume
        try:
            self.fd = self._file.fileno()
            self.size = os.fstat(self.fd).st_size
            if self.size < self.header.header_bytes:
                raise FormatError(
                    f"{path}: file has {self.size} bytes, its header area alone "
                    f"{self.header.header_bytes}"
                )
            self.extension = (
                StoredExtension.find(self.fd, path, self.header) if use_extension else None
            )
        except BaseException:
            self.close()
            raise

    def read(self, offset: int, size: int) -> bytes:
        """Read up to `size` bytes; fewer only at the end of the file. Errors name the path."""
        try:
            return read_at(self.fd, offset, size)
        except OSError as error:
            raise OSError(error.errno, error.strerror, self.path) from None

    def close(self) -> None:
        """Close the file; again does nothing."""
        self._file.close()


def first_volume(path: str | os.PathLike[str]) -> str:
    """Give `path`, or volume 0 of the set that would have this path as a single file."""
    path = os.fspath(path)
    first = volume_path(path, 0)
    return first if not os.path.lexists(path) and os.path.exists(first) else path


def open_volumes(path: str | os.PathLike[str], *, use_extension: bool) -> list[Volume]:
    """Open a file, and with it all other volumes of its set, in their order.

    Parameters
    ----------
    path : str or path-like
        One file, or any volume of a set, or the path that the set would have as a single file.
    use_extension : bool

    Raises
    ------
    FileNotFoundError
        No such file.
    FormatError
        Not a .dts file, a damaged extension, or a volume that is missing or contradicts the
        others; names the file.
    """
    path = first_volume(path)
    header = read_header(path)
    split = split_volume_path(path)
    if split is None or split[1] != header.volume_id:
        if header.num_volumes == 1:
            return [Volume(path, use_extension=use_extension)]
        k, n = header.volume_id, header.num_volumes
        raise FormatError(f"{path}: is volume {k} of {n}, so its name must end in _vol{k:03d}.dts")
    volumes: list[Volume] = []
    try:
        _open_all(volumes, split[0], header.num_volumes, use_extension)
        _warn_of_strays(split[0], len(volumes))
    except BaseException:
        for volume in volumes:
            volume.close()
        raise
    return volumes


def _open_all(volumes: list[Volume], base: str, least: int, use_extension: bool) -> None:
    """Open a set group by group: volumes that were written together count each other.

    Later groups were appended. Their headers count all volumes and blocks up to their own last,
    those before are as they were; so nothing that is complete is ever written again. There must
    be `least` volumes.
    """
    n = 1
    while len(volumes) < max(n, least) or os.path.exists(volume_path(base, len(volumes))):
        k = len(volumes)
        volume = _open_one(base, k, max(n, least, k + 1), use_extension)
        volumes.append(volume)
        _check_against(volume, volumes[0].header, k)
        counted = volume.header.num_volumes
        if k == 0 or k == n:
            n = counted
        elif counted != n:
            raise _contradicts(volume, "num_volumes")
        if k == n - 1:
            blocks = sum(volume.header.num_blocks for volume in volumes)
            for member in volumes:
                if member.header.num_volumes == n and member.header.total_blocks != blocks:
                    raise FormatError(
                        f"{base}: its {n} volumes have {blocks} blocks, their headers say "
                        f"{member.header.total_blocks}"
                    )


def _open_one(base: str, k: int, n: int, use_extension: bool) -> Volume:
    path = volume_path(base, k)
    try:
        return Volume(path, use_extension=use_extension)
    except FileNotFoundError:
        raise FormatError(f"{path}: volume {k} of {n} is missing") from None


def _warn_of_strays(base: str, n: int) -> None:
    """Warn of volumes behind a gap: an append was stopped there, or a volume was lost."""
    folder, name = os.path.split(base)
    with os.scandir(folder or ".") as entries:
        splits = [(entry.name, split_volume_path(entry.name)) for entry in entries]
    strays = sorted(
        entry for entry, split in splits if split and split[0] == name and split[1] > n
    )
    if strays:
        warnings.warn(
            f"{base}: volume {n} is not there, but {strays[0]} is; it was left out", stacklevel=4
        )


def _check_against(volume: Volume, first: Header, k: int) -> None:
    for name in _COMMON:
        if getattr(volume.header, name) != getattr(first, name):
            raise _contradicts(volume, name)
    if volume.header.volume_id != k:
        raise _contradicts(volume, "volume_id")


def _contradicts(volume: Volume, name: str) -> FormatError:
    value = getattr(volume.header, name)
    return FormatError(
        f"{volume.path}: {name} is {value!r}, which contradicts the other volumes of the set"
    )
