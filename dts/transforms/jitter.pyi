from typing import Any

from dts.transforms.op import Op, Transform

_Factor = float | tuple[float, float] | None

class ColorJitter(Transform):
    brightness: tuple[float, float] | None
    contrast: tuple[float, float] | None
    saturation: tuple[float, float] | None
    hue: tuple[float, float] | None
    def __init__(
        self,
        brightness: _Factor = None,
        contrast: _Factor = None,
        saturation: _Factor = None,
        hue: _Factor = None,
    ) -> None: ...
    def drawn(self, values: tuple[float, ...], choices: tuple[int, ...]) -> dict[str, Any]: ...
    def compile(self, position: int) -> Op: ...
