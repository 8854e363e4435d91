from collections.abc import Sequence
from types import TracebackType
from typing import Any, Self

from numpy.typing import ArrayLike
from typing_extensions import disjoint_base

from dts.storage.reader import BlockFeed

@disjoint_base
class BlockReader:
    feed: BlockFeed
    split: str
    mode: str
    order: str
    memory_bytes: int
    address: int
    def __init__(
        self,
        file: Any,
        *,
        split: str = "train",
        mode: str = "PARTIAL",
        order: str = "window",
        window: int = 32,
        load_workers: int = 1,
        num_workers: int = 1,
        seed: int = 0,
        bad: ArrayLike | None = None,
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
