from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dts.transforms.op import Op, Transform

class Lambda(Transform):
    function: Callable[..., NDArray[np.uint8]]
    size: tuple[int, int] | None
    random: bool
    def __init__(
        self,
        function: Callable[..., NDArray[np.uint8]],
        size: int | tuple[int, int] | None = None,
        random: bool = False,
    ) -> None: ...
    @property
    def is_random(self) -> bool: ...  # type: ignore[override]
    def output_size(self, size: tuple[int, int] | None) -> tuple[int, int] | None: ...
    def at_size(self, old: tuple[int, int], new: tuple[int, int]) -> tuple[Transform, bool]: ...
    def drawn(self, values: tuple[float, ...], choices: tuple[int, ...]) -> dict[str, Any]: ...
    def compile(self, position: int) -> Op: ...

def in_user_code() -> bool: ...
def name_of(function: object) -> str: ...
def random_words(choices: Sequence[int]) -> tuple[int, ...]: ...
