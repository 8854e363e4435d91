from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

def warp_image(
    image: NDArray[np.uint8],
    matrix: Sequence[float],
    *,
    interpolation: str = "nearest",
    fill: float | Sequence[float] | None = 0,
) -> NDArray[np.uint8]: ...
def warp_matrix(kind: str, *numbers: float) -> list[float]: ...
