"""Which folders of class folders a path means, and their listings under one list of classes."""

import os
from collections.abc import Mapping

from dts.datasets.listing import SPLIT_FOLDERS, Listing, ListingError, list_pictures
from dts.datasets.report import printable
from dts.errors import ConfigError

_Path = str | os.PathLike[str]


def find_folders(
    path: _Path, val_path: _Path | None = None, *, dataset: str = "folder"
) -> dict[str, str]:
    """Say which folders hold the training and the validation set.

    A path that holds folders ``train`` or ``val`` (for "folder": and none that is not called like
    a part of a data set) names those. Any other one is itself the training set, and `val_path`
    itself the validation set.

    Parameters
    ----------
    path, val_path : path
    dataset : {"folder", "imagenet"}

    Returns
    -------
    dict of str to str
        "train" and "val", as far as they are there.

    Raises
    ------
    ConfigError
        A path that is no folder, or holds no train set where one was asked for.
    FileNotFoundError
        Nothing at that path.
    """
    found: dict[str, str] = {}
    for where, given, split in (("path", path, "train"), ("val_path", val_path, "val")):
        if given is None:
            continue
        given = os.fspath(given)
        if not os.path.exists(given):
            raise FileNotFoundError(f"dataset: there is nothing at {printable(given)}")
        if not os.path.isdir(given):
            raise ConfigError(f"dataset: {where} {printable(given)} is not a folder")
        halves = _halves(given, dataset)
        if not halves:
            found[split] = given
        elif where == "val_path" or val_path is not None:
            if split not in halves:
                raise ConfigError(f"dataset: {where} {printable(given)} holds no {split} folder")
            found[split] = halves[split]
        else:
            found.update(halves)
    return found


def _halves(path: str, dataset: str) -> dict[str, str]:
    with os.scandir(path) as entries:
        names = {e.name for e in entries if not e.name.startswith(".") and e.is_dir()}
    if dataset != "imagenet" and not all(os.fsencode(n) in SPLIT_FOLDERS for n in names):
        return {}  # classes, and one of them may well be called "train"
    return {split: os.path.join(path, split) for split in ("train", "val") if split in names}


def list_splits(
    folders: Mapping[str, _Path | Listing], *, dataset: str = "folder"
) -> dict[str, Listing]:
    """List the splits of a data set; the classes of the training set hold for all.

    Parameters
    ----------
    folders : mapping of str to path or Listing
        "train" and "val", as far as they are there. A Listing is taken as it is.
    dataset : {"folder", "imagenet"}

    Returns
    -------
    dict of str to Listing
        In the order of classes, then names. A class that is missing in one split keeps its number.

    Raises
    ------
    ConfigError
        No pictures; or a class of val that train does not have, by name.
    """
    found: dict[str, Listing] = {}
    for split in ("train", "val"):
        if split not in folders:
            continue
        folder = folders[split]
        classes = found["train"].classes if "train" in found else None
        if isinstance(folder, Listing):
            if classes is not None and folder.classes != classes:
                raise ConfigError("dataset: the two listings have different classes")
            found[split] = folder
            continue
        try:
            found[split] = list_pictures(folder, dataset=dataset, classes=classes).by_class()
        except ListingError as error:
            raise ConfigError(f"dataset: {split} set: {error}") from None
    return found
