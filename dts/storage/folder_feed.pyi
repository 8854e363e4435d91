from typing import Any, final

from dts.storage.reader import BlockFeed

@final
class FolderFeed(BlockFeed):
    def __init__(self, blocks: Any, slots: int, threads: int, half: int = 0) -> None: ...
