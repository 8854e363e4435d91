"""Export: from a folder of pictures to a .dts file."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING, Any

from dts.datasets.catalog import SPLITS, canonical
from dts.datasets.listing import ListingError, list_pictures
from dts.errors import ConfigError, ExportError
from dts.export.classlist import read_classes
from dts.export.output import OutputFile, refuse_existing
from dts.export.run import ExportResult, Run
from dts.format.layout import LEVELS, file_name
from dts.format.reading import allowed_cpus

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from concurrent.futures import Executor

    from dts.datasets.report import ScanReport


def export_dataset(
    name: str, src: str | os.PathLike[str], dst: str | os.PathLike[str], **settings: Any
) -> ExportResult:
    """Export a data set by its name.

    Parameters
    ----------
    name : {"folder", "imagenet"}
        In any case. ``mnist``, ``cifar10`` and ``cifar100`` are not there yet.
    src, dst : path
        See `export_folder`.
    **settings
        All other parameters of `export_folder`.

    Returns
    -------
    ExportResult

    Raises
    ------
    NotImplementedError
        A data set that cannot be exported yet.
    ConfigError
        There is no such data set.
    """
    dataset = canonical(name)
    if dataset not in ("folder", "imagenet"):
        raise NotImplementedError(f"export of {dataset} does not exist yet")
    return export_folder(src, dst, dataset=dataset, **settings)


def export_folder(
    src: str | os.PathLike[str],
    dst: str | os.PathLike[str],
    *,
    level: int = 0,
    split: str = "train",
    classes: str | os.PathLike[str] | Iterable[str | bytes] | None = None,
    jobs: int = 1,
    min_blocks: int | None = None,
    plain: bool = False,
    overwrite: bool = False,
    on_error: str = "raise",
    executor: Executor | None = None,
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
        Folder of class folders; see `dts.datasets.listing.list_pictures` for what is taken.
    dst : path
        The .dts file, or a folder, in which it is called ``folder_train_lv0.dts`` and the like.
    level : {0, 1, 2, 3}
        0 stores the files as they are. 1 scales short sides above 400 down to 400 (quality 90);
        2 scales from 440 on and crops to 600x400 or 400x600 (quality 90); 3 is 2 with quality 80.
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
    executor : concurrent.futures.Executor, optional
        Encodes instead of processes of this machine (levels 1-3). Its workers must see `src`.
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
        the disk is full.
    ConfigError
        A parameter has a wrong value.
    OSError
        The source cannot be listed, or the target not be written.
    """
    _check_settings(level, split, min_blocks, jobs, on_error, dataset)
    names = None if classes is None else read_classes(classes)
    with _target(os.fspath(dst), dataset, split, level) as path:
        refuse_existing(path, overwrite=overwrite)
        try:
            listing = list_pictures(src, dataset=dataset, split=split, classes=names)
        except ListingError as error:
            raise ExportError(str(error)) from None
        if report is not None:
            report(listing.report)
        with OutputFile(path, overwrite=overwrite) as output:
            run = Run(
                listing,
                output,
                level=level,
                jobs=jobs or allowed_cpus(),
                min_blocks=min_blocks,
                skip=on_error == "skip",
                executor=executor,
                progress=progress,
            )
            return run.export(is_training=split == "train", plain=plain)


def _check_settings(
    level: int, split: str, min_blocks: int | None, jobs: int, on_error: str, dataset: str
) -> None:
    if level not in LEVELS:
        raise ConfigError(f"level is {level!r}, must be 0, 1, 2 or 3")
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


@contextlib.contextmanager
def _target(dst: str, dataset: str, split: str, level: int) -> Iterator[str]:
    """Give the path of the file: `dst` itself, or the standard name in it.

    A folder that is made for it goes again if the export fails.
    """
    if dst.endswith(".dts") and not os.path.isdir(dst):
        yield dst
        return
    made = not os.path.isdir(dst)
    try:
        if made:
            os.makedirs(dst)
        yield os.path.join(dst, file_name(dataset, split == "train", level))
    except BaseException:
        if made:
            with contextlib.suppress(OSError):
                os.rmdir(dst)
        raise
