"""Back from a .dts file to a folder of pictures, byte for byte as they were packed."""

import os
import re
from collections.abc import Callable
from pathlib import Path

from dts.errors import CorruptError, ExportError
from dts.format import DtsFile
from dts.format.crc import crc32


def extract(
    file: DtsFile,
    folder: str | os.PathLike[str],
    *,
    progress: Callable[[int], object] = lambda _: None,
) -> None:
    """Write every sample to a file of its own: a level 0 file gives back its source.

    Parameters
    ----------
    file : DtsFile
        One file, or a set of volumes.
    folder : path
        Made if need be; nothing in it is overwritten. Samples without names go to
        ``class_LABEL/ID.jpg``.
    progress : callable
        Called with 1 after each sample.

    Raises
    ------
    NotImplementedError
        A file of MNIST or CIFAR holds no picture files.
    ExportError
        A name leads out of the folder (then nothing is written), or is taken.
    CorruptError
        A damaged sample.
    """
    if file.level is None:
        kind = file.header.dataset_type.strip()
        raise NotImplementedError(f"extract: a {kind} file holds no picture files")
    root = Path(folder)
    for id, name in enumerate(file.names or ()):  # so that a bad one leaves nothing half done
        if not is_safe(name):
            raise ExportError(f"id {id}: the name {name!r} leads out of the folder; refused")
    for id in range(len(file)):
        data, label = checked_sample(file, id)
        name = file.names[id] if file.names else f"class_{label:05d}/{id:08d}.jpg"
        _write_new(root, name, data)
        progress(1)


def is_safe(name: str, *, windows: bool = os.name == "nt") -> bool:
    """Tell whether a sample's name, joined to a folder, stays in it.

    Parameters
    ----------
    name : str
        With forward slashes, as in a .dts file.
    windows : bool
        By the rules of Windows, where more leads elsewhere.
    """
    parts = name.split("/")
    if any(part in ("", ".", "..") or "\0" in part for part in parts):
        return False
    return not windows or not any(
        re.search(r'[\\:*?"<>|\x00-\x1f]|[. ]$|^(con|prn|aux|nul|com\d|lpt\d)(\.|$)', part, re.I)
        for part in parts
    )


def checked_sample(file: DtsFile, id: int) -> tuple[memoryview, int]:
    """Return data and label of a sample, if it is what was packed."""
    data, label = file[id]
    if file.sample_crcs is not None and crc32(data) != file.sample_crcs[id]:
        volume, block, sample = file.find(id)
        raise CorruptError(
            "CRC-32 differs from that of the packed picture",
            path=file.paths[volume],
            block=block,
            sample=sample,
            id=id,
            name=None if file.names is None else file.names[id],
        )
    return data, label


def _write_new(root: Path, name: str, data: memoryview) -> None:
    """Write a file that is not there yet, below `root` and nowhere else."""
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.parent.resolve().is_relative_to(root.resolve()):
        raise ExportError(f"{path}: a link leads out of {root}; refused")
    try:
        out = open(path, "xb")  # noqa: SIM115 - closed below, and removed if it is not complete
    except FileExistsError:
        raise ExportError(f"{path} exists already; nothing is overwritten") from None
    try:
        with out:
            out.write(data)
    except BaseException as error:
        path.unlink()
        if isinstance(error, OSError) and error.filename is None:
            error.filename = str(path)
        raise
