"""Export of MNIST and CIFAR: labels, then pictures, behind a header that says what is true."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np

from dts.datasets.catalog import ARRAY_SETS, SPLITS
from dts.datasets.report import ScanReport
from dts.errors import ConfigError, ExportError, FormatError
from dts.export.output import OutputFile, refuse_existing
from dts.export.run import ExportResult
from dts.export.target import target
from dts.format.arrays import array_head
from dts.format.header import Header

if TYPE_CHECKING:
    from collections.abc import Callable

    from dts.datasets.arrays import ArraySet, RawArrays


def export_arrays(
    name: str,
    src: str | os.PathLike[str],
    dst: str | os.PathLike[str],
    *,
    split: str = "train",
    overwrite: bool = False,
    report: Callable[[ScanReport], object] | None = None,
) -> ExportResult:
    """Pack a split of MNIST, CIFAR-10 or CIFAR-100.

    The file gets its name when it is complete; whatever goes wrong before leaves nothing behind.

    Parameters
    ----------
    name : {"mnist", "cifar10", "cifar100"}
    src : path
        Folder that holds the original files, or the folder with the usual name that holds them:
        the four idx files (plain or .gz); ``data_batch_1.bin`` to ``data_batch_5.bin`` and
        ``test_batch.bin``; ``train.bin`` and ``test.bin``.
    dst : path
        The .dts file, or a folder, in which it is called ``mnist_train.dts`` and the like.
    split : {"train", "val"}
    overwrite : bool
        Replace an existing file.
    report : callable, optional
        Called with the ScanReport before anything is written.

    Returns
    -------
    ExportResult

    Raises
    ------
    ExportError
        The set cannot be packed: says which file and why, or that the target exists, or that the
        disk is full.
    ConfigError
        A parameter has a wrong value.
    FileNotFoundError
        There is no such folder.
    """
    kind = ARRAY_SETS[name]
    if split not in SPLITS:
        raise ConfigError(f"split is {split!r}, must be 'train' or 'val'")
    with target(os.fspath(dst), name, split, None) as path:
        refuse_existing(path, overwrite=overwrite)
        try:
            raw = _found(kind, os.fspath(src), split)
            pixels, labels = raw.read()
        except FormatError as error:
            raise ExportError(str(error)) from None
        found = _report(raw, os.fspath(src), labels)
        if report is not None:
            report(found)
        body = pixels.data[: len(raw) * kind.sample_bytes]
        packed = labels.astype(np.uint8)
        head = array_head(name, is_training=split == "train", labels=packed, pixels=body)
        with OutputFile(path, overwrite=overwrite) as output:
            output.require(len(head) + len(packed) + len(body))
            output.write(0, head)
            output.write(len(head), packed.data)
            output.write(len(head) + len(packed), body)
            output.commit()
            return ExportResult(output.path, Header.from_bytes(head), found)


def _found(kind: ArraySet, src: str, split: str) -> RawArrays:
    if not os.path.isdir(src):
        os.stat(src)  # FileNotFoundError
        raise ExportError(f"{src}: must be the folder of the original files of {kind.title}")
    raw = kind.open(src, split)
    if raw is None:
        names = ", ".join(kind.files[split])
        folders = " or ".join(filter(None, kind.folders))
        raise ExportError(
            f"{src}: no {kind.title} {split} set there, nor in {folders} below it ({names})"
        )
    return raw


def _report(raw: RawArrays, root: str, labels: np.ndarray) -> ScanReport:
    classes = raw.set.num_classes
    names = raw.class_names or [str(label) for label in range(classes)]
    return ScanReport(
        root=root,
        dataset=raw.set.name,
        classes=tuple(names),
        counts=np.bincount(labels, minlength=classes).astype(np.int64),
        num_bytes=raw.file_bytes,
    )
