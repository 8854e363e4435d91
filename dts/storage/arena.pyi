import sys
from typing import final

SLACK: int

def arena_bytes(blocks: int) -> int: ...

@final
class Arena:
    blocks: int
    nbytes: int
    def __init__(self, blocks: int, nbytes: int = 0) -> None: ...
    def close(self) -> None: ...
    if sys.version_info >= (3, 12):
        def __buffer__(self, flags: int, /) -> memoryview: ...
