"""Which .dts files a Setup means."""

import os
import re
from pathlib import Path

from dts.errors import ConfigError
from dts.format import read_header

_SPLITS: tuple[str, ...] = ("train", "val")


def find_files(
    name: str,
    path: str | os.PathLike[str],
    val_path: str | os.PathLike[str] | None = None,
    level: int | None = None,
) -> tuple[Path | None, Path | None]:
    """Find the train and the val file of a picture data set.

    Parameters
    ----------
    name : str
        "imagenet" or "folder": the first part of the standard file names.
    path : path
        A directory that holds standard names such as ``folder_train_lv3.dts``, or one .dts file.
    val_path : path, optional
        The other file, or the directory that holds it.
    level : int, optional
        Which level; None takes the only one there.

    Returns
    -------
    train, val : Path or None

    Raises
    ------
    ConfigError
        Two levels to choose from, a train file given as val file, or a level that a file does not
        have.
    FileNotFoundError
        Nothing at that path.
    """
    found: dict[str, Path] = {}
    for where, given in (("path", path), ("val_path", val_path)):
        if given is None:
            continue
        place = Path(given)
        if place.is_dir():
            first = 1 if where == "val_path" else 0
            last = 1 if where == "path" and val_path is not None else 2
            splits = _SPLITS[first:last]
            found.update(_in_directory(name, place, splits, level))
        elif place.exists():
            split = _split_of(place, level)
            if where == "val_path" and split == "train":
                raise ConfigError(f"dataset: val_path {place} holds a training set")
            if split in found:
                raise ConfigError(f"dataset: both {found[split]} and {place} hold the {split} set")
            found[split] = place
        else:
            raise FileNotFoundError(f"dataset: there is nothing at {place}")
    return found.get("train"), found.get("val")


def is_folder(
    name: str,
    path: str | os.PathLike[str],
    val_path: str | os.PathLike[str] | None,
    dts_format: bool | None,
) -> bool:
    """Whether class folders are meant rather than .dts files.

    Parameters
    ----------
    name, path, val_path
        As in `find_files`.
    dts_format : bool or None
        What was asked for; None: what is there, .dts files first.
    """
    if dts_format is not None:
        return not dts_format
    places = [Path(p) for p in (path, val_path) if p is not None]
    if not all(place.is_dir() for place in places):
        return False
    pattern = _pattern(name)
    return not any(
        pattern.fullmatch(entry.name) for place in places for entry in place.iterdir()
    ) and any(entry.is_dir() and not entry.name.startswith(".") for entry in places[0].iterdir())


def _pattern(name: str) -> re.Pattern[str]:
    return re.compile(rf"{re.escape(name)}_(train|val)_lv([0-3])(_vol000)?\.dts")


def _split_of(path: Path, level: int | None) -> str:
    header = read_header(path)
    if level is not None and header.compress_level != level:
        raise ConfigError(
            f"using_dts_format: level {level} was asked for, "
            f"{path} is level {header.compress_level}"
        )
    return "train" if header.is_training else "val"


def _in_directory(
    name: str, directory: Path, splits: tuple[str, ...], level: int | None
) -> dict[str, Path]:
    pattern = _pattern(name)
    there: dict[str, dict[int, Path]] = {split: {} for split in _SPLITS}
    for entry in sorted(directory.iterdir()):
        match = pattern.fullmatch(entry.name)
        if match:
            levels = there[match[1]]
            if int(match[2]) in levels:
                raise ConfigError(
                    f"dataset: both {levels[int(match[2])].name} and {entry.name} are there"
                )
            levels[int(match[2])] = entry
    found: dict[str, int] = {}
    for split in splits:
        levels = there[split]
        wanted = level
        if wanted is None and split == "val" and "train" in found:
            wanted = found["train"] if found["train"] in levels else None
        if wanted is None and len(levels) > 1:
            names = ", ".join(p.name for p in levels.values())
            raise ConfigError(f"using_dts_format: name a level, {directory} holds {names}")
        if wanted is None and levels:
            (wanted,) = levels
        if wanted in levels:
            found[split] = wanted
    if not found:
        asked = "" if level is None else f" of level {level}"
        seen = (
            ", ".join(p.name for s in there.values() for p in s.values())
            or "no .dts file of that set"
        )
        raise ConfigError(
            f"dataset: no {name} file{asked} in {directory} ({seen} there); "
            f"`dts export` writes {name}_train_lv0.dts and the like from class folders "
            f"(train/CLASS/PICTURE.jpg), which can also be read as they are"
        )
    return {split: there[split][wanted] for split, wanted in found.items()}
