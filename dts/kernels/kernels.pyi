import numpy as np
from numpy.typing import NDArray

def compiler() -> str: ...
def isa() -> str: ...
def available_isas() -> tuple[str, ...]: ...
def select_isa(name: str) -> None: ...
def filter_weights(
    box0: float,
    box: float,
    clip0: int,
    clip1: int,
    virtual_out: int,
    out0: int,
    out: int,
    antialias: bool = True,
) -> tuple[NDArray[np.int32], NDArray[np.int16], tuple[int, int]]: ...
def _choose() -> None: ...
def _normalize(
    out: NDArray[np.uint8],
    images: NDArray[np.uint8],
    itemsize: int,
    channels: int,
    scale: NDArray[np.float32],
    bias: NDArray[np.float32],
    flip: NDArray[np.uint8] | None,
    erase: NDArray[np.int32] | None,
) -> None: ...
def _resize(
    out: NDArray[np.uint8],
    images: NDArray[np.uint8],
    itemsize: int,
    channels: int,
    height: int,
    width: int,
    box: tuple[float, float, float, float],
    antialias: bool,
    scale: NDArray[np.float32],
    bias: NDArray[np.float32],
    flip: bool,
) -> None: ...
def _to_half(values: NDArray[np.float32], out: NDArray[np.uint16]) -> None: ...
