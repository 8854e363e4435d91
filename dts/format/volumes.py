"""Opening the file or files of a set: headers that agree, descriptors, extensions."""

import os

from dts.errors import FormatError
from dts.format.extension import StoredExtension
from dts.format.header import Header, read_header
from dts.format.layout import split_volume_path, volume_path
from dts.format.reading import read_at

# What all volumes of a set must say alike.
_COMMON = (
    "dataset_type",
    "is_training",
    "compress_level",
    "num_classes",
    "num_volumes",
    "total_blocks",
)


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


def open_volumes(path: str | os.PathLike[str], *, use_extension: bool) -> list[Volume]:
    """Open a file, and with it all other volumes of its set, in their order.

    Raises
    ------
    FileNotFoundError
        No such file.
    FormatError
        Not a .dts file, a damaged extension, or a volume that is missing or contradicts the
        others; names the file.
    """
    path = os.fspath(path)
    header = read_header(path)
    if header.num_volumes == 1:
        return [Volume(path, use_extension=use_extension)]
    base = _base_of(path, header)
    volumes: list[Volume] = []
    try:
        volumes.extend(
            _open_one(base, k, header, use_extension) for k in range(header.num_volumes)
        )
        blocks = sum(volume.header.num_blocks for volume in volumes)
        if blocks != header.total_blocks:
            raise FormatError(
                f"{base}: its {len(volumes)} volumes have {blocks} blocks, their headers say "
                f"{header.total_blocks}"
            )
    except BaseException:
        for volume in volumes:
            volume.close()
        raise
    return volumes


def _base_of(path: str, header: Header) -> str:
    k, n = header.volume_id, header.num_volumes
    split = split_volume_path(path)
    if split is None or split[1] != k:
        raise FormatError(f"{path}: is volume {k} of {n}, so its name must end in _vol{k:03d}.dts")
    return split[0]


def _open_one(base: str, k: int, first: Header, use_extension: bool) -> Volume:
    path = volume_path(base, k)
    try:
        volume = Volume(path, use_extension=use_extension)
    except FileNotFoundError:
        raise FormatError(f"{path}: volume {k} of {first.num_volumes} is missing") from None
    wrong = [n for n in _COMMON if getattr(volume.header, n) != getattr(first, n)]
    if volume.header.volume_id != k:
        wrong.append("volume_id")
    if wrong:
        volume.close()
        raise FormatError(
            f"{path}: {wrong[0]} is {getattr(volume.header, wrong[0])!r}, which contradicts the "
            "other volumes of the set"
        )
    return volume
