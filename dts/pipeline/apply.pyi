from collections.abc import Sequence

import numpy as np

from dts.transforms import Transform

def apply_transforms(
    image: np.ndarray,
    transforms: Transform | Sequence[Transform],
    *,
    seed: int = 0,
    epoch: int = 0,
    id: int = 0,
    split: str = "train",
    view: int = 0,
) -> np.ndarray: ...
def transforms_time(
    image: np.ndarray, transforms: Transform | Sequence[Transform], pictures: int
) -> float: ...
