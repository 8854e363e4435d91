"""The contract of jpeg.pxd, the simplejpeg fallback, and decoding from Python."""

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from typing_extensions import Buffer

class JpegHeader(NamedTuple):
    width: int
    height: int
    components: int
    mcu_width: int
    mcu_height: int
    progressive: bool

class Library:
    def __init__(self, path: str) -> None: ...
    @property
    def path(self) -> str: ...
    @property
    def abi(self) -> int: ...

class Decoder:
    def __init__(self) -> None: ...
    @property
    def warnings(self) -> int: ...
    def header(self, data: Buffer) -> JpegHeader: ...
    def decode(
        self,
        data: Buffer,
        region: tuple[int, int, int, int] | None = None,
        channels: Literal[1, 3] = 3,
        out: NDArray[np.uint8] | None = None,
    ) -> NDArray[np.uint8]: ...

def set_library(library: Library | None) -> None: ...
def set_pixel_limit(pixels: int) -> int: ...
def decode(
    data: Buffer,
    region: tuple[int, int, int, int] | None = None,
    channels: Literal[1, 3] = 3,
) -> NDArray[np.uint8]: ...
def header(data: Buffer) -> JpegHeader: ...
