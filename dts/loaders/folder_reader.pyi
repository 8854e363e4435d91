from typing import final

from numpy.typing import ArrayLike

from dts.datasets.listing import Listing
from dts.loaders.dts_reader import BlockReader

@final
class FolderReader(BlockReader):
    def __init__(
        self,
        listing: Listing,
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
