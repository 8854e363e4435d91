"""From original files, or a .dts file of plain arrays, to an ArrayReader."""

from typing import Any

from dts.datasets.arrays import RawArrays, room_for
from dts.errors import FormatError
from dts.format import DtsFile
from dts.format.arrays import read_arrays
from dts.loaders.array_reader import ArrayReader

_SETTINGS = ("split", "order", "num_workers", "seed", "bad")


def read_raw_arrays(raw: RawArrays, **settings: Any) -> ArrayReader:
    """Read a split in its original files.

    Parameters
    ----------
    raw : RawArrays
    **settings
        Those of ArrayReader. Those of BlockReader that have no use here may be given too: `mode`,
        `window`, `load_workers`.

    Raises
    ------
    FormatError
        A damaged file.
    """
    pixels, labels = raw.read()
    return ArrayReader(
        pixels,
        labels,
        raw.set.sample_bytes,
        paths=raw.paths,
        counts=raw.counts,
        bytes_read=raw.file_bytes,
        **_taken(settings),
    )


def read_array_file(file: DtsFile, **settings: Any) -> ArrayReader:
    """Read an open .dts file of plain arrays; as `read_raw_arrays`.

    Raises
    ------
    CorruptError
        The file is cut off, or a label is out of range.
    FormatError
        It holds JPEG pictures.
    """
    if file.level is not None:
        raise FormatError(f"{file.paths[0]}: holds blocks of pictures, not arrays")
    header = file.header
    shape = header.image_height, header.image_width, header.num_channels
    flat, pixels = room_for(len(file), shape)
    labels = read_arrays(file, pixels)
    return ArrayReader(
        flat,
        labels,
        shape[0] * shape[1] * shape[2],
        paths=file.paths,
        bytes_read=pixels.nbytes + len(file),
        **_taken(settings),
    )


def _taken(settings: dict[str, Any]) -> dict[str, Any]:
    return {key: settings[key] for key in _SETTINGS if key in settings}
