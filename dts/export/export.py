"""Export: from a folder of pictures to a .dts file."""

from __future__ import annotations

import inspect
import os
from typing import TYPE_CHECKING, Any

from dts.datasets.archives import read_map
from dts.datasets.catalog import ARRAY_SETS, SPLITS, canonical
from dts.datasets.listing import ListingError, list_archive, list_pictures
from dts.errors import ConfigError, ExportError
from dts.export.arrays import export_arrays
from dts.export.classlist import read_classes
from dts.export.journal import partial_path
from dts.export.run import ExportResult, Run
from dts.export.target import target as destination
from dts.export.volumes import Earlier, Target
from dts.format.layout import LEVELS
from dts.format.reading import allowed_cpus

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from concurrent.futures import Executor

    from dts.datasets.listing import Listing
    from dts.datasets.report import ScanReport


def export_dataset(
    name: str, src: str | os.PathLike[str], dst: str | os.PathLike[str], **settings: Any
) -> ExportResult:
    """Export a data set by its name.

    Parameters
    ----------
    name : {"folder", "imagenet", "mnist", "cifar10", "cifar100"}
        In any case.
    src, dst : path
        See `export_folder`, and `export_arrays` for MNIST and CIFAR.
    **settings
        All other parameters of those. What has a meaning for pictures only may be given for MNIST
        and CIFAR at its default: there is level 0, and it is always plain.

    Returns
    -------
    ExportResult

    Raises
    ------
    ConfigError
        There is no such data set, or a setting that has no meaning for it.
    """
    dataset = canonical(name)
    if dataset in ARRAY_SETS:
        return export_arrays(dataset, src, dst, **_for_arrays(dataset, settings))
    return export_folder(src, dst, dataset=dataset, **settings)


def _for_arrays(dataset: str, settings: dict[str, Any]) -> dict[str, Any]:
    """Drop what has no effect on small arrays; refuse what would have to have one."""
    taken = {"split", "overwrite", "report"}
    without_effect = {"jobs", "executor", "progress", "plain", "on_error"}
    known = inspect.signature(export_folder).parameters
    for key, value in settings.items():
        if key not in known:
            raise TypeError(f"export_dataset has no parameter {key!r}")
        changed = value and value != known[key].default
        if changed and key not in taken | without_effect:
            raise ConfigError(f"{key} has no meaning for {dataset}: it is packed as it is")
    return {key: value for key, value in settings.items() if key in taken}


def export_folder(
    src: str | os.PathLike[str],
    dst: str | os.PathLike[str],
    *,
    level: int = 0,
    roi: bool = False,
    split: str = "train",
    classes: str | os.PathLike[str] | Iterable[str | bytes] | None = None,
    jobs: int = 1,
    min_blocks: int | None = None,
    plain: bool = False,
    overwrite: bool = False,
    on_error: str = "raise",
    check: bool = False,
    strict: bool = False,
    executor: Executor | None = None,
    volumes: int | None = None,
    volume_size: int | None = None,
    append: bool = False,
    resume: bool = False,
    val_map: str | os.PathLike[str] | None = None,
    progress: bool | None = None,
    dataset: str = "folder",
    report: Callable[[ScanReport], object] | None = None,
) -> ExportResult:
    """Pack a tree of class folders into a .dts file.

    The file is written without its name and gets it when it is complete; whatever goes wrong
    before leaves nothing behind. The bytes depend on the source alone, not on `jobs` or the file
    system. Reads nothing but `src` and `classes`, writes nothing but `dst`.

    Parameters
    ----------
    src : path
        Folder of class folders; see `dts.datasets.listing.list_pictures` for what is taken. With
        ``dataset="imagenet"`` also one of its archives, ``ILSVRC2012_img_train.tar`` or
        ``ILSVRC2012_img_val.tar``, which is not unpacked; the bytes come out the same.
    dst : path
        The .dts file, or a folder, in which it is called ``folder_train_lv0.dts`` and the like.
        Volumes are called ``folder_train_lv0_vol000.dts`` and so on.
    level : {0, 1, 2, 3}
        0 stores the files as they are. 1 scales short sides above 400 down to 400 (quality 90);
        2 scales from 440 on and crops to 600x400 or 400x600 (quality 90); 3 is 2 with quality 80.
    roi : bool
        Levels 1-3: the ROI layout. Restart markers in each JPEG let this library's loader read the
        part of a picture that a crop needs. Same pixels, about the same size, and any decoder
        reads it; see `dts.export.roi`.
    split : {"train", "val"}
    classes : path or iterable of str or bytes, optional
        A text file with one class name per line, or the .dts file of the training set, or the
        names: labels follow this list. By default they follow the class folders in `src`.
    jobs : int
        Processes that encode (levels 1-3), or threads that read (level 0, 4 to 16). 0: as many as
        there are CPUs. A script that asks for more than one must guard its main part by
        ``if __name__ == "__main__":``, as always with `multiprocessing`.
    min_blocks : int, optional
        Level 0: blocks to begin with; by default chosen from the sizes.
    plain : bool
        Leave out the extension: names, and checksums of blocks and samples.
    overwrite : bool
        Replace an existing file.
    on_error : {"raise", "skip"}
        What a picture does that cannot be packed. With "skip" it is in `ExportResult.skipped`.
    check : bool
        Level 0: decode every picture once, in `jobs` threads, and treat damaged ones by
        `on_error`. Off by default, because level 0 copies and never decodes; without it a file
        that is cut short is found when it is loaded. Levels 1-3 decode, so they always check.
    strict : bool
        Take the scan's warnings for errors: a class without pictures, classes that look alike.
    executor : concurrent.futures.Executor, optional
        Encodes instead of processes of this machine (levels 1-3). Its workers must see `src`
        under the same path. Any one will do, that of `dask.distributed` too; the bytes are the
        same if its workers have the same Pillow.
    volumes : int, optional
        Cut the set into that many files, of equal numbers of blocks, give or take one. Ids are
        those of a single file.
    volume_size : int, optional
        Cut it into as few files of equal size as have this many bytes each at most.
    append : bool
        Add volumes to the set that is at `dst`. Its files stay as they are, but for the name of a
        single file, which becomes volume 0. Its class list is kept to; level and layout must be
        those of the set.
    resume : bool
        Levels 1-3: keep what is done in two hidden files beside `dst`, and go on with it if an
        export of the same source was stopped. Level 0 needs no more time than to check this.
    val_map : path, optional
        Text file with the class of each picture of the validation archive, one a line:
        ``ILSVRC2012_val_00000001.JPEG n01751748``.
    progress : bool, optional
        Show a progress bar; by default on a terminal only.
    dataset : {"folder", "imagenet"}
        By which rules `src` is read, and what is packed: at level 0 `folder` refuses what no
        loader could decode, `imagenet` stores any file, and the result counts them.
    report : callable, optional
        Called with the ScanReport before any work begins.

    Returns
    -------
    ExportResult

    Raises
    ------
    ExportError
        The set cannot be packed: says which pictures and why, or that the target exists, or that
        the disk is full, or that what there is to append to or to resume does not fit.
    ArchiveError
        The archive or the map of classes is damaged.
    ConfigError
        A parameter has a wrong value.
    OSError
        The source cannot be listed, or the target not be written.
    """
    _check_settings(level, roi, split, min_blocks, jobs, on_error, dataset)
    _check_files(level, volumes, volume_size, append, overwrite, resume)
    is_training = split == "train"
    names = None if classes is None else read_classes(classes)
    with destination(os.fspath(dst), dataset, split, level) as path:
        earlier = None
        if append:
            path, earlier = Earlier.read(path, level=level, roi=roi, is_training=is_training)
            if names is None and earlier.classes is not None:
                names = list(earlier.classes)
        with Target(
            path,
            overwrite=overwrite,
            volumes=volumes,
            volume_size=volume_size,
            earlier=earlier,
            kept=partial_path(path) if resume else None,
        ) as target:
            listing = _list(src, dataset, split, names, val_map)
            if earlier is not None:
                earlier.check(listing)
            if report is not None:
                report(listing.report)
            if strict and listing.report.warnings:
                raise ExportError("; ".join(listing.report.warnings))
            run = Run(
                listing,
                target,
                level=level,
                roi=roi,
                jobs=jobs or allowed_cpus(),
                min_blocks=min_blocks,
                skip=on_error == "skip",
                check=check,
                executor=executor,
                progress=progress,
            )
            return run.export(is_training=is_training, plain=plain)


def _list(
    src: str | os.PathLike[str],
    dataset: str,
    split: str,
    classes: list[bytes] | None,
    val_map: str | os.PathLike[str] | None,
) -> Listing:
    """List the source, be it a folder or an archive."""
    try:
        if os.path.isfile(src) and dataset == "imagenet":
            found = None if val_map is None else read_map(val_map)
            return list_archive(src, val_map=found, classes=classes)
        if val_map is not None:
            raise ConfigError("val_map is for an archive of ImageNet, and src is none")
        return list_pictures(src, dataset=dataset, split=split, classes=classes)
    except ListingError as error:
        raise ExportError(str(error)) from None


def _check_files(
    level: int,
    volumes: int | None,
    volume_size: int | None,
    append: bool,
    overwrite: bool,
    resume: bool,
) -> None:
    if volumes is not None and volumes < 1:
        raise ConfigError(f"volumes is {volumes!r}, must be at least 1")
    if volumes is not None and volume_size is not None:
        raise ConfigError("volumes and volume_size cannot both be given")
    if append and overwrite:
        raise ConfigError("append adds to what is there, overwrite replaces it: give one of them")
    if resume and level == 0:
        raise ConfigError(
            "resume is for levels 1 to 3: level 0 copies files, and checking what is there takes "
            "as long as copying it"
        )


def _check_settings(
    level: int,
    roi: bool,
    split: str,
    min_blocks: int | None,
    jobs: int,
    on_error: str,
    dataset: str,
) -> None:
    if level not in LEVELS:
        raise ConfigError(f"level is {level!r}, must be 0, 1, 2 or 3")
    if roi and level == 0:
        raise ConfigError("roi is for levels 1 to 3: level 0 stores the files as they are")
    if split not in SPLITS:
        raise ConfigError(f"split is {split!r}, must be 'train' or 'val'")
    if min_blocks is not None and min_blocks < 1:
        raise ConfigError(f"min_blocks is {min_blocks!r}, must be at least 1")
    if jobs < 0:
        raise ConfigError(f"jobs is {jobs!r}, must be at least 0")
    if on_error not in ("raise", "skip"):
        raise ConfigError(f"on_error is {on_error!r}, must be 'raise' or 'skip'")
    if dataset not in ("folder", "imagenet"):
        raise ConfigError(f"dataset is {dataset!r}, must be 'folder' or 'imagenet'")
