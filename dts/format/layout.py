"""Numbers and names that fix where things lie in a .dts file. docs/format.md has the table."""

import os
import re

MAGIC = b".DTS"
VERSION = (3, 0, 0, 0)

HEADER_STRUCT_BYTES = 144
ARRAY_HEADER_BYTES = 256  # header area of MNIST and CIFAR files
BLOCK_BYTES = 16 << 20
HEADER_AREA = BLOCK_BYTES  # header area of files of blocks
EXTENSION_OFFSET = 4096
EXTENSION_ROOM = HEADER_AREA - EXTENSION_OFFSET

LEVELS = (0, 1, 2, 3)
BLOCK_HEAD_BYTES = 12  # magic, number, count; then the table
BLOCK_HEADER_SIZE = (4096, 16384, 16384, 16384)  # by level: where the first picture starts
TABLE_CAPACITY = tuple((size - BLOCK_HEAD_BYTES) // 12 for size in BLOCK_HEADER_SIZE)
MAX_PICTURES = (340, 1000, 1000, 1000)  # by level: what we write; the reference reads 1000
ALIGNMENT = 64

PICTURES = "IMAGENET"  # dataset_type of every file of JPEG blocks, whatever is in it

# (height, width, channels) of the data sets that are stored as plain arrays.
ARRAY_SHAPES = {"   MNIST": (28, 28, 1), " CIFAR10": (32, 32, 3), "CIFAR100": (32, 32, 3)}
ARRAY_CLASSES = {"   MNIST": 10, " CIFAR10": 10, "CIFAR100": 100}


def up64(n):
    """Round up to a multiple of 64; works for arrays too."""
    return (n + (ALIGNMENT - 1)) & ~(ALIGNMENT - 1)


def block_magic(level: int) -> bytes:
    """First four bytes of a block."""
    return b"LV%dB" % level


def renumber(block: bytearray, number: int) -> None:
    """Give a packed block another number: it goes to another place or file."""
    block[4:8] = number.to_bytes(4, "little")


def file_name(dataset: str, is_training: bool, level: int | None = None) -> str:
    """Name under which a data set is looked for.

    Parameters
    ----------
    dataset : str
        ``mnist``, ``cifar10``, ``cifar100``, ``imagenet`` or ``folder``.
    is_training : bool
    level : int, optional
        0..3, for files of pictures only.

    Returns
    -------
    str
        For example ``imagenet_train_lv0.dts``, ``mnist_test.dts``.
    """
    if level is None:
        return f"{dataset}_{'train' if is_training else 'test'}.dts"
    return f"{dataset}_{'train' if is_training else 'val'}_lv{level}.dts"


def volume_path(path: str | os.PathLike[str], volume_id: int) -> str:
    """Name of one volume of a set that would be `path` as a single file."""
    stem, end = os.path.splitext(os.fspath(path))
    return f"{stem}_vol{volume_id:03d}{end}"


def split_volume_path(path: str | os.PathLike[str]) -> tuple[str, int] | None:
    """Undo `volume_path`: the path of the set and the volume's number, or None for other names."""
    found = re.fullmatch(r"(?s)(.*)_vol(\d{3,9})(\.[^./\\]*)?", os.fspath(path))
    return (found[1] + (found[3] or ""), int(found[2])) if found else None


def sidecar_path(path: str | os.PathLike[str]) -> str:
    """File beside a .dts file that holds what its header area has no room for."""
    return os.fspath(path) + ".dtsx"
