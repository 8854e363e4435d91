"""A class list from outside, so that one set's labels follow another's."""

from __future__ import annotations

import os
from collections import Counter
from typing import TYPE_CHECKING

from dts.datasets.report import printable
from dts.errors import ExportError
from dts.format.file import DtsFile
from dts.format.layout import MAGIC

if TYPE_CHECKING:
    from collections.abc import Iterable


def read_classes(source: str | os.PathLike[str] | Iterable[str | bytes]) -> list[bytes]:
    """Read class names in the order of their labels.

    Parameters
    ----------
    source : path or iterable of str or bytes
        A text file with one name per line, or a .dts file whose class names are taken, or the
        names themselves.

    Raises
    ------
    ExportError
        There are no names, or one comes twice.
    FileNotFoundError
        There is no such file.
    FormatError
        A damaged .dts file.
    """
    if isinstance(source, (str, os.PathLike)):
        where = printable(os.fspath(source))
        names = _names_of_file(source, where)
    else:
        where = "classes"
        names = [os.fsencode(name) for name in source]
    if not names:
        raise ExportError(f"{where}: no class names")
    twice = sorted(name for name, count in Counter(names).items() if count > 1)
    if twice:
        raise ExportError(f"{where}: named twice: {', '.join(map(printable, twice))}")
    return names


def _names_of_file(path: str | os.PathLike[str], where: str) -> list[bytes]:
    with open(path, "rb") as file:
        start = file.read(len(MAGIC))
        if start != MAGIC:
            text = (start + file.read()).removeprefix(b"\xef\xbb\xbf")
            return [name for name in text.replace(b"\r\n", b"\n").split(b"\n") if name]
    with DtsFile(path) as packed:
        if packed.class_names is None:
            raise ExportError(f"{where}: a plain file, it holds no class names")
        return [os.fsencode(name) for name in packed.class_names]
