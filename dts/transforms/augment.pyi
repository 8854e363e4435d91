from collections.abc import Sequence
from typing import Any

from dts.transforms.op import Op, Transform

class _Augment(Transform):
    num_magnitude_bins: int
    interpolation: str
    fill: float | tuple[float, ...]
    def __init__(
        self, num_magnitude_bins: int, interpolation: str, fill: float | Sequence[float] | None
    ) -> None: ...
    def check_channels(self, channels: int) -> None: ...

class TrivialAugmentWide(_Augment):
    def __init__(
        self,
        num_magnitude_bins: int = 31,
        interpolation: str = "nearest",
        fill: float | Sequence[float] | None = None,
    ) -> None: ...
    def drawn(self, values: tuple[float, ...], choices: tuple[int, ...]) -> dict[str, Any]: ...
    def compile(self, position: int) -> Op: ...

class RandAugment(_Augment):
    num_ops: int
    magnitude: int
    def __init__(
        self,
        num_ops: int = 2,
        magnitude: int = 9,
        num_magnitude_bins: int = 31,
        interpolation: str = "nearest",
        fill: float | Sequence[float] | None = None,
    ) -> None: ...
    def temp_bytes(self, size: tuple[int, int], channels: int) -> int: ...
    def drawn(self, values: tuple[float, ...], choices: tuple[int, ...]) -> dict[str, Any]: ...
    def compile(self, position: int) -> Op: ...
