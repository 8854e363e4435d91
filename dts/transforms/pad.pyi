from collections.abc import Sequence

from dts.transforms.op import Op, Transform

class _Padding(Transform):
    fill: float | tuple[float, ...]
    padding_mode: str
    @property
    def is_pixels(self) -> bool: ...  # type: ignore[override]
    def check_channels(self, channels: int) -> None: ...

class Pad(_Padding):
    padding: tuple[int, int, int, int]
    def __init__(
        self,
        padding: int | Sequence[int],
        fill: float | Sequence[float] = 0,
        padding_mode: str = "constant",
    ) -> None: ...
    def output_size(self, size: tuple[int, int] | None) -> tuple[int, int] | None: ...
    def compile(self, position: int) -> Op: ...

class RandomCrop(_Padding):
    size: tuple[int, int]
    padding: tuple[int, int, int, int] | None
    pad_if_needed: bool
    def __init__(
        self,
        size: int | tuple[int, int],
        padding: int | Sequence[int] | None = None,
        pad_if_needed: bool = False,
        fill: float | Sequence[float] = 0,
        padding_mode: str = "constant",
    ) -> None: ...
    def output_size(self, size: tuple[int, int] | None) -> tuple[int, int]: ...
    def at_size(self, old: tuple[int, int], new: tuple[int, int]) -> tuple[Transform, bool]: ...
    def compile(self, position: int) -> Op: ...
