from collections.abc import Sequence
from typing import Any

from typing_extensions import disjoint_base

from dts.storage.arena import Arena

@disjoint_base
class BlockFeed:
    arena: Arena | None
    slots: int
    arena_bytes: int
    half_bytes: int
    memory_bytes: int
    def __init__(self, file: Any, slots: int, threads: int, half: int = 0) -> None: ...
    def read_directly(self) -> bool: ...
    def bind(self, masks: Sequence[bytes]) -> None: ...
    def close(self) -> None: ...
    def stats(self) -> dict[str, int | float]: ...
