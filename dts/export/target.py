"""Where an export goes: a file, or a standard name in a folder."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

from dts.format.layout import file_name

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextlib.contextmanager
def target(dst: str, dataset: str, split: str, level: int | None) -> Iterator[str]:
    """Give the path of the file: `dst` itself, or the standard name in it.

    A folder that is made for it goes again if the export fails.
    """
    if dst.endswith(".dts") and not os.path.isdir(dst):
        yield dst
        return
    made = not os.path.isdir(dst)
    try:  # from before it is made: an interrupt may come in between
        if made:
            os.makedirs(dst)
        yield os.path.join(dst, file_name(dataset, split == "train", level))
    except BaseException:
        if made:
            with contextlib.suppress(OSError):
                os.rmdir(dst)
        raise
