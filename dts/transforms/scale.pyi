from typing import Any

from dts.transforms.op import Op, Transform

class RandomScale(Transform):
    min_ratio: float
    max_ratio: float
    antialias: bool
    def __init__(self, min_ratio: float, max_ratio: float, antialias: bool = True) -> None: ...
    def drawn(self, values: tuple[float, ...], choices: tuple[int, ...]) -> dict[str, Any]: ...
    def compile(self, position: int) -> Op: ...
