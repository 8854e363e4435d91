"""What this build is made of."""

import platform
import sys
from pathlib import Path
from typing import Any

import numpy as np

from dts import decode, kernels
from dts.version import __version__

__all__ = ["__version__", "build_info", "get_include"]


def build_info() -> dict[str, Any]:
    """Say how dts was built and what it found at import.

    Returns
    -------
    dict
        ``version``, ``python``, ``numpy``, ``platform``, ``compiler``; ``isa`` (instruction set in
        use) and ``available_isas``; ``jpeg`` (library, version, path, and why others were not
        taken).
    """
    return {
        "version": __version__,
        "python": sys.version.split()[0],
        "numpy": np.__version__,
        "platform": platform.platform(),
        "compiler": kernels.compiler(),
        "isa": kernels.isa(),
        "available_isas": list(kernels.available_isas()),
        "jpeg": decode.library_info(),
    }


def get_include() -> str:
    """Return the folder that a C compiler needs to find dts's headers.

    Returns
    -------
    str
        With it ``#include "dts/transforms/user_transform.h"`` works: see `CFunction`.
    """
    return str(Path(__file__).parents[1])
