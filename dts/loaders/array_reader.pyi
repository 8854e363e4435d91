from collections.abc import Sequence
from types import TracebackType
from typing import Self, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

SLACK: int

@final
class ArrayReader:
    paths: list[str]
    split: str
    mode: str
    order: str
    memory_bytes: int
    address: int
    def __init__(
        self,
        pixels: bytes | bytearray | memoryview | NDArray[np.uint8],
        labels: ArrayLike,
        sample_bytes: int,
        *,
        split: str = "train",
        order: str = "global",
        num_workers: int = 1,
        seed: int = 0,
        bad: ArrayLike | None = None,
        paths: Sequence[str] = ("memory",),
        counts: Sequence[int] | None = None,
        bytes_read: int = 0,
    ) -> None: ...
    def __len__(self) -> int: ...
    def read_directly(self) -> bool: ...
    def bind_io(self, masks: Sequence[bytes]) -> None: ...
    def begin_epoch(self, epoch: int) -> int: ...
    def end_epoch(self) -> None: ...
    def get_next_sample(self, worker: int = 0) -> tuple[int, memoryview, int] | None: ...
    def close(self) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None: ...
    def stats(self) -> dict[str, int | float]: ...
