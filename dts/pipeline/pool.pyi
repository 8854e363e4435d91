from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from typing_extensions import disjoint_base

from dts.config import SplitConfig
from dts.transforms.chain import Chain

@disjoint_base
class SplitPipeline:
    reader: Any
    config: SplitConfig
    closed: bool
    running: bool
    def __new__(
        cls,
        reader: Any,
        stages: Sequence[tuple[int, Chain, tuple[int, int, int]]],
        config: SplitConfig,
        paths: Sequence[str],
        names: Callable[[], Sequence[str] | None] | None = None,
    ) -> Self: ...
    @property
    def slot_bytes(self) -> int: ...
    def n_batches_of(self, n_samples: int) -> int: ...
    def begin(self, epoch: int) -> int: ...
    def next(
        self, token: int
    ) -> (
        tuple[
            NDArray[Any],
            NDArray[Any],
            NDArray[np.int64],
            NDArray[np.float32] | None,
            list[tuple[Any, ...]] | None,
            int,
        ]
        | None
    ): ...
    def end(self, token: int | None = None) -> None: ...
    def interrupt(self) -> None: ...
    def close(self) -> None: ...
    def abandon(self) -> None: ...
    def stats(self) -> dict[str, Any]: ...
