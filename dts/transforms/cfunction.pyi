from typing import Any

from dts.transforms.op import Op
from dts.transforms.user import UserTransform

class CFunction(UserTransform):
    function: Any
    user_data: Any
    name: str
    def __init__(
        self,
        function: Any,
        size: int | tuple[int, int] | None = None,
        random: bool = False,
        user_data: Any = None,
        name: str | None = None,
    ) -> None: ...
    def drawn(self, values: tuple[float, ...], choices: tuple[int, ...]) -> dict[str, Any]: ...
    def compile(self, position: int) -> Op: ...
    def __eq__(self, other: object) -> bool: ...
    def __hash__(self) -> int: ...
