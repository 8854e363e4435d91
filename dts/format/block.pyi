from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from typing_extensions import Buffer

__all__ = ["ANY_LABEL", "pack_table", "parse_table"]

ANY_LABEL: Final[int]

def pack_table(
    level: int, block_id: int, offsets: ArrayLike, sizes: ArrayLike, labels: ArrayLike
) -> bytes: ...
def parse_table(
    buffer: Buffer,
    *,
    level: int,
    block_id: int | None = None,
    count: int | None = None,
    num_classes: int | None = None,
) -> tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.int32]]: ...
