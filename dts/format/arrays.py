"""Files of plain arrays (MNIST, CIFAR): the whole body at once."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dts.errors import CorruptError, FormatError
from dts.format.crc import crc32
from dts.format.header import Header
from dts.format.layout import ARRAY_HEADER_BYTES

PIECE = 4 << 20

if TYPE_CHECKING:
    from dts.format.file import DtsFile


def array_head(dataset: str, *, is_training: bool, labels: Any, pixels: Any) -> bytes:
    """Make what stands before the body: the header with its true numbers, and zeros.

    Parameters
    ----------
    dataset : str
        ``mnist``, ``cifar10`` or ``cifar100``.
    is_training : bool
    labels : ndarray of uint8, shape (n,)
    pixels : ndarray of uint8, shape (n, h, w, c)
        C-contiguous. The body is one after the other.
    """
    header = Header(
        dataset_type=dataset.upper(),
        is_training=int(is_training),
        num_samples=len(labels),
        crc_code=crc32(pixels, crc32(labels)),
    )
    header.validate()
    return bytes(header.to_bytes()).ljust(ARRAY_HEADER_BYTES, b"\0")


def read_arrays(file: "DtsFile", pixels: NDArray[np.uint8]) -> NDArray[np.int32]:
    """Read all pictures of an open file into memory that is there, and its labels.

    Parameters
    ----------
    file : DtsFile
        Of MNIST, CIFAR-10 or CIFAR-100.
    pixels : ndarray of uint8, shape (n, h, w, c)
        C-contiguous, of the file's own shape.

    Returns
    -------
    ndarray of int32, shape (n,)
        Labels, each below the number of classes.

    Raises
    ------
    CorruptError
        The file is cut off, or a label is out of range.
    """
    header, path = file.header, file.paths[0]
    shape = (len(file), header.image_height, header.image_width, header.num_channels)
    if file.level is not None or pixels.shape != shape:
        raise FormatError(f"{path}: holds no arrays of shape {pixels.shape}")
    labels = file.labels()
    wrong = np.flatnonzero(labels >= header.num_classes)
    if wrong.size:
        first = int(wrong[0])
        raise CorruptError(
            f"label {labels[first]} is not within 0..{header.num_classes - 1}", path=path, id=first
        )
    flat = pixels.reshape(-1)
    start, done = header.header_bytes + len(file), 0
    while done < len(flat):
        part = file._volumes[0].read(start + done, min(PIECE, len(flat) - done))
        if not part:
            n = done // (len(flat) // len(file))
            raise CorruptError(
                f"file is cut off: {n:,} of {len(file):,} pictures are there", path=path
            )
        flat[done : done + len(part)] = np.frombuffer(part, np.uint8)
        done += len(part)
    return labels
