from typing import Any, final

from dts.storage.reader import BlockFeed

MAX_FILE: int

@final
class FolderFeed(BlockFeed):
    def __init__(self, blocks: Any, slots: int, threads: int, half: int = 0) -> None: ...
