from collections.abc import Sequence
from enum import IntEnum
from typing import SupportsIndex

import numpy as np
from numpy.typing import ArrayLike, NDArray

class Kind(IntEnum):
    SAMPLE_ORDER = 0
    BLOCK_ORDER = 1
    WINDOW_ORDER = 2
    AUGMENT = 3
    REPLACE = 4
    MIX = 5

def philox4x32(
    key: SupportsIndex | Sequence[SupportsIndex], counter: ArrayLike
) -> NDArray[np.uint32]: ...
def words(
    seed: SupportsIndex,
    id: SupportsIndex,
    count: SupportsIndex = 1,
    *,
    kind: SupportsIndex = Kind.AUGMENT,
    split: SupportsIndex = 0,
    epoch: SupportsIndex = 0,
    op: SupportsIndex = 0,
    view: SupportsIndex = 0,
) -> NDArray[np.uint32]: ...
def uniform(
    seed: SupportsIndex,
    id: SupportsIndex,
    count: SupportsIndex = 1,
    *,
    kind: SupportsIndex = Kind.AUGMENT,
    split: SupportsIndex = 0,
    epoch: SupportsIndex = 0,
    op: SupportsIndex = 0,
    view: SupportsIndex = 0,
) -> NDArray[np.float64]: ...
def random_int(
    seed: SupportsIndex,
    id: SupportsIndex,
    n: SupportsIndex,
    count: SupportsIndex = 1,
    *,
    kind: SupportsIndex = Kind.AUGMENT,
    split: SupportsIndex = 0,
    epoch: SupportsIndex = 0,
    op: SupportsIndex = 0,
    view: SupportsIndex = 0,
) -> NDArray[np.int64]: ...
def permutation(
    n: SupportsIndex,
    seed: SupportsIndex,
    *,
    kind: SupportsIndex = Kind.SAMPLE_ORDER,
    split: SupportsIndex = 0,
    epoch: SupportsIndex = 0,
    window: SupportsIndex = 0,
) -> NDArray[np.int64]: ...
def _permutation_u32(
    values: NDArray[np.uint32], seed: int, kind: int, split: int, epoch: int, window: int
) -> None: ...
def _exp(x: float) -> float: ...
def _log(x: float) -> float: ...
