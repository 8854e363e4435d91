import numpy as np
from numpy.typing import ArrayLike, NDArray

def check_blocks(counts: ArrayLike) -> NDArray[np.int32]: ...
def epoch_order(
    block_counts: ArrayLike,
    *,
    order: str = "window",
    window: int = 32,
    seed: int = 0,
    epoch: int = 0,
    split: str = "train",
) -> NDArray[np.int64]: ...
