"""FolderLoader: the DataLoader contract over class folders as they are."""

import os
from typing import Any, Literal, Self

from dts.datasets.folders import list_splits
from dts.datasets.listing import Listing
from dts.errors import ConfigError
from dts.loaders.folder_blocks import FolderBlocks
from dts.loaders.folder_reader import FolderReader
from dts.loaders.loader import Loader


class FolderLoader(Loader):
    """The loader of folders of class folders (RAW): see Loader for the contract.

    Sample id = position among all files sorted by class, then name.
    """

    def __init__(self) -> None:
        super().__init__()
        self._listings: dict[str, Listing] = {}

    def configure(
        self,
        train_path: str | os.PathLike[str] | Listing | None = None,
        val_path: str | os.PathLike[str] | Listing | None = None,
        *,
        dataset: Literal["folder", "imagenet"] = "folder",
        load_workers: int | None = None,
        preprocess_workers: int = 1,
        mode: Literal["FULLY", "PARTIAL", "AUTO"] = "AUTO",
        order: Literal["global", "window"] | None = None,
        shuffle_train: bool = True,
        shuffle_val: bool = False,
        window: int = 32,
        seed: int = 0,
    ) -> Self:
        """List the files and check all settings. No thread runs and no file is read yet.

        Parameters
        ----------
        train_path, val_path : path or Listing, optional
            Folders of class folders, at least one; or what `list_pictures` or `read_summary` made
            of one. The classes of the training set hold for both.
        dataset : {"folder", "imagenet"}
            Which rules of `list_pictures` hold.
        load_workers, preprocess_workers, mode, order, shuffle_train, shuffle_val, window, seed
            As in DtsLoader.configure.

        Raises
        ------
        ConfigError
            Settings that cannot work, a folder without pictures, or a class of val that train
            does not have.
        OSError
            A folder that cannot be read.
        """
        self._check_new(train_path, val_path, mode)
        folders = {"train": train_path, "val": val_path}
        try:
            self._listings = list_splits(
                {split: folder for split, folder in folders.items() if folder is not None},
                dataset=dataset,
            )
            self._configure(
                self._listings,
                sum(
                    int(FolderBlocks(x, spread=False).rooms.sum()) for x in self._listings.values()
                ),
                mode=mode,
                order=order,
                shuffle_train=shuffle_train,
                shuffle_val=shuffle_val,
                window=window,
                load_workers=load_workers,
                preprocess_workers=preprocess_workers,
                seed=seed,
            )
        except BaseException:
            self.close()
            raise
        return self

    def _reader(self, opened: Listing, **settings: Any) -> FolderReader:
        return FolderReader(opened, **settings)

    @property
    def class_names(self) -> list[str]:
        """Names of the classes, by label. Bytes that are not UTF-8 come as surrogate escapes."""
        if not self._listings:
            raise ConfigError("configure() comes first")
        return [os.fsdecode(name) for name in next(iter(self._listings.values())).classes]

    @property
    def label_to_folder(self) -> dict[int, str]:
        """Name of the class folder of each label."""
        return dict(enumerate(self.class_names))

    @property
    def folder_to_label(self) -> dict[str, int]:
        """Label of each class folder."""
        return {name: label for label, name in enumerate(self.class_names)}
