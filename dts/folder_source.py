"""Folders of class folders as a source: RAW loading, without a .dts file."""

import os
from collections.abc import Mapping, Sequence
from typing import Any

from dts.datasets.folders import find_folders, list_splits
from dts.datasets.listing import Listing
from dts.errors import ConfigError
from dts.loaders import FolderReader
from dts.loaders.folder_blocks import FolderBlocks
from dts.sources import Source, displayed_size


class FolderSource(Source):
    """One folder of class folders; ids are positions in its listing, by class, then name."""

    def __init__(self, listing: Listing) -> None:
        self.listing = listing
        blocks = FolderBlocks(listing, spread=False)
        self.paths = blocks.paths
        self.place = os.fsdecode(blocks.root)
        self._names = blocks.names
        self.class_names = [os.fsdecode(name) for name in listing.classes]
        self.num_classes = len(listing.classes)
        self.file_bytes = int(listing.sizes.sum())
        self.memory_bytes = int(blocks.rooms.sum())
        self.max_area = 0

    def __len__(self) -> int:
        return len(self.listing)

    @property
    def names(self) -> Sequence[str]:
        return self._names

    def picture_size(self, id: int) -> tuple[int, int]:
        with open(self.paths[id], "rb") as file:
            return displayed_size(file.read(), self.exif_orientation)

    def reader(self, **settings: Any) -> FolderReader:
        return FolderReader(self.listing, **settings)

    def damaged(self) -> None:
        raise ConfigError(
            f"verify_crc: the files in {self.place} have no checksums; .dts files have them"
        )

    def close(self) -> None:
        pass


def open_folders(name: str, path: str, val_path: str | None) -> Mapping[str, Source]:
    """Open the training and the validation set of a folder, as far as they are there."""
    folders = find_folders(path, val_path, dataset=name)
    listings = list_splits(folders, dataset=name)
    return {split: FolderSource(listing) for split, listing in listings.items()}
