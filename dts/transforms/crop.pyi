from typing import Any

from dts.transforms.op import Op, Transform

class RandomResizedCrop(Transform):
    size: tuple[int, int]
    scale: tuple[float, float]
    ratio: tuple[float, float]
    antialias: bool
    def __init__(
        self,
        size: int | tuple[int, int],
        scale: tuple[float, float] | float = (0.08, 1.0),
        ratio: tuple[float, float] | float = ...,
        *rest: Any,
        antialias: bool = True,
    ) -> None: ...
    def output_size(self, size: tuple[int, int] | None) -> tuple[int, int]: ...
    def compile(self, position: int) -> Op: ...

class FastRandomResizedCrop(RandomResizedCrop): ...

class CenterCrop(Transform):
    size: tuple[int, int]
    def __init__(self, size: int | tuple[int, int]) -> None: ...
    def output_size(self, size: tuple[int, int] | None) -> tuple[int, int]: ...
    def compile(self, position: int) -> Op: ...
