from typing import Any

from dts.transforms.op import Op, Transform

class CFunction(Transform):
    function: Any
    size: tuple[int, int] | None
    random: bool
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
    @property
    def is_random(self) -> bool: ...  # type: ignore[override]
    def output_size(self, size: tuple[int, int] | None) -> tuple[int, int] | None: ...
    def at_size(self, old: tuple[int, int], new: tuple[int, int]) -> tuple[Transform, bool]: ...
    def drawn(self, values: tuple[float, ...], choices: tuple[int, ...]) -> dict[str, Any]: ...
    def compile(self, position: int) -> Op: ...
    def __eq__(self, other: object) -> bool: ...
    def __hash__(self) -> int: ...
