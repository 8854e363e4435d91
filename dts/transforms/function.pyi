from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dts.transforms.op import Op
from dts.transforms.user import UserTransform

class Lambda(UserTransform):
    function: Callable[..., NDArray[np.uint8]]
    def __init__(
        self,
        function: Callable[..., NDArray[np.uint8]],
        size: int | tuple[int, int] | None = None,
        random: bool = False,
    ) -> None: ...
    def drawn(self, values: tuple[float, ...], choices: tuple[int, ...]) -> dict[str, Any]: ...
    def compile(self, position: int) -> Op: ...

def in_user_code() -> bool: ...
