from collections.abc import Sequence
from typing import Any, Self

from typing_extensions import disjoint_base

from dts.transforms.op import Transform

@disjoint_base
class Chain:
    n: int
    transforms: tuple[Transform, ...]
    def __new__(cls, transforms: Sequence[Transform]) -> Self: ...
    def cause(self, number: int) -> BaseException | None: ...
    def describe(
        self, seed: int, epoch: int, split: int, id: int, width: int, height: int, view: int = 0
    ) -> list[dict[str, Any]]: ...
