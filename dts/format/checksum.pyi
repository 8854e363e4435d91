import os
from typing import Final

from numpy.typing import ArrayLike
from typing_extensions import Buffer

__all__ = ["PIECE", "crc32_around", "crc32_combine", "crc32_concat", "crc32_of_file"]

PIECE: Final[int]

def crc32_combine(crc1: int, crc2: int, len2: int) -> int: ...
def crc32_concat(crcs: ArrayLike, lengths: ArrayLike) -> int: ...
def crc32_around(data: Buffer, offsets: ArrayLike, lengths: ArrayLike, crcs: ArrayLike) -> int: ...
def crc32_of_file(
    path: str | os.PathLike[str] | int,
    offset: int = 0,
    length: int | None = None,
    threads: int | None = None,
) -> int: ...
