from typing import Any, final

from dts.storage.arena import Arena

@final
class BlockFeed:
    arena: Arena | None
    slots: int
    memory_bytes: int
    def __init__(self, file: Any, slots: int, threads: int) -> None: ...
    def close(self) -> None: ...
    def stats(self) -> dict[str, int | float]: ...
