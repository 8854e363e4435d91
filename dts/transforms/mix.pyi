from collections.abc import Sequence
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray
from typing_extensions import disjoint_base

MAX_CLASSES: Final[int]

class BatchTransform:
    alpha: float
    num_classes: int | None
    def __init__(self, alpha: float = 1.0, num_classes: int | None = None) -> None: ...
    def __eq__(self, other: object) -> bool: ...
    def __hash__(self) -> int: ...

class MixUp(BatchTransform): ...
class CutMix(BatchTransform): ...

@disjoint_base
class Mixing:
    ops: tuple[BatchTransform, ...]
    shares: tuple[float, ...]
    def __new__(
        cls,
        ops: Sequence[BatchTransform] = (),
        shares: Sequence[float] = (),
        classes: int = 0,
    ) -> Self: ...
    @property
    def classes(self) -> int: ...
    def describe(
        self, seed: int, epoch: int, batch: int, height: int, width: int, view: int = 0
    ) -> tuple[BatchTransform | None, float, tuple[int, int, int, int] | None]: ...

def shares_of(ops: Sequence[BatchTransform], p: Any) -> tuple[float, ...]: ...
def beta_numbers(alpha: float, seed: int, n: int) -> NDArray[np.float64]: ...
def mix_rows(a: NDArray[Any], b: NDArray[Any], lam: float) -> None: ...
