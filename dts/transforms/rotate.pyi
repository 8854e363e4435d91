from collections.abc import Sequence
from typing import Any

from dts.transforms.op import Op, Transform

LIMIT: float

class RandomRotation(Transform):
    degrees: tuple[float, float]
    interpolation: str
    center: tuple[float, float] | None
    fill: float | tuple[float, ...] | None
    def __init__(
        self,
        degrees: float | tuple[float, float],
        interpolation: str = "nearest",
        *,
        center: tuple[float, float] | None = None,
        fill: float | Sequence[float] | None = 0,
    ) -> None: ...
    def check_channels(self, channels: int) -> None: ...
    def drawn(self, values: tuple[float, ...], choices: tuple[int, ...]) -> dict[str, Any]: ...
    def compile(self, position: int) -> Op: ...
