from collections.abc import Sequence

from dts.transforms.op import Op, Transform

class RandomErasing(Transform):
    p: float
    scale: tuple[float, float]
    ratio: tuple[float, float]
    value: float | tuple[float, ...] | str
    def __init__(
        self,
        p: float = 0.5,
        scale: tuple[float, float] = (0.02, 0.33),
        ratio: tuple[float, float] = (0.3, 3.3),
        value: float | Sequence[float] | str = 0,
    ) -> None: ...
    def compile(self, position: int) -> Op: ...
