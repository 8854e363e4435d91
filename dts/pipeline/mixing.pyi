import numpy as np
from numpy.typing import NDArray

from dts.transforms.mix import BatchTransform, Mixing

def mix_records(
    mixing: Mixing,
    seed: int,
    epoch: int,
    index: int,
    height: int,
    width: int,
    views: int,
    bad: NDArray[np.bool_],
) -> list[
    tuple[
        BatchTransform | None,
        NDArray[np.float32],
        NDArray[np.int64],
        tuple[int, int, int, int] | None,
    ]
]: ...
