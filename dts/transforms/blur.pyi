from typing import Any

from dts.transforms.op import Op, Transform

class GaussianBlur(Transform):
    kernel_size: tuple[int, int] | None
    sigma: tuple[float, float]
    def __init__(
        self,
        kernel_size: int | tuple[int, int] | float | None = None,
        sigma: float | tuple[float, float] = (0.1, 2.0),
    ) -> None: ...
    def temp_bytes(self, size: tuple[int, int], channels: int) -> int: ...
    def drawn(self, values: tuple[float, ...], choices: tuple[int, ...]) -> dict[str, Any]: ...
    def compile(self, position: int) -> Op: ...
