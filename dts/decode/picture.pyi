"""Decoding from Python, over the contract of jpeg.pxd."""

from typing import Literal, NamedTuple, final

import numpy as np
from numpy.typing import NDArray
from typing_extensions import Buffer

_Data = Buffer | NDArray[np.uint8]

class JpegHeader(NamedTuple):
    width: int
    height: int
    components: int
    mcu_width: int
    mcu_height: int
    progressive: bool
    restart_interval: int

@final
class Decoder:
    def __init__(self) -> None: ...
    @property
    def own_entropy(self) -> bool: ...
    @property
    def spliced(self) -> int: ...
    @property
    def warnings(self) -> int: ...
    def header(self, data: _Data) -> JpegHeader: ...
    def orientation(self, data: _Data) -> int: ...
    def check(self, data: _Data) -> int: ...
    def decode(
        self,
        data: _Data,
        region: tuple[int, int, int, int] | None = None,
        channels: Literal[1, 3] = 3,
        out: NDArray[np.uint8] | None = None,
        scale: Literal[1, 2, 4, 8] = 1,
    ) -> NDArray[np.uint8]: ...

def decode(
    data: _Data,
    region: tuple[int, int, int, int] | None = None,
    channels: Literal[1, 3] = 3,
    scale: Literal[1, 2, 4, 8] = 1,
) -> NDArray[np.uint8]: ...
def header(data: _Data) -> JpegHeader: ...
def orientation(data: _Data) -> int: ...
def check(data: _Data) -> int: ...
