"""The ROI layout of levels 1-3: restart markers that let a loader read a region only.

A JPEG may have markers at which decoding can begin anew. Where they divide each row of MCUs (the
units of coding, 16 x 16 pixels in colour pictures) into equal parts, a loader copies the parts
that a crop touches into a small picture and decodes that (dts/decode/restart.c). Pixels are those
of the plain layout, and any decoder reads the files.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dts.decode import header
from dts.errors import CorruptError, DecodeError

if TYPE_CHECKING:
    from PIL import Image

    from dts.format.file import DtsFile

PARTS = 8  # wanted of a row
COLOUR_MODES = frozenset(("RGB", "RGBX", "YCbCr"))  # Pillow halves the chroma of these


def restart_interval(mcus: int) -> int:
    """Choose after how many MCUs of a row a restart marker stands.

    Parameters
    ----------
    mcus : int
        MCUs in a row.

    Returns
    -------
    int
        The divisor of `mcus` that is nearest to an eighth of it, as a ratio; the smaller one of
        two that are as near. So a prime number of MCUs gets a marker after each MCU up to 61, and
        one a row from 67 on.

    Notes
    -----
    Smaller intervals fit a crop better and take more room, as each one costs about four bytes.
    At level 3 decoding random crops took 0.56 of a full decode with fifths of a row, 0.52 with
    eighths, 0.50 with single MCUs, and 0.63 with whole rows; the files were 0.989, 0.996, 1.034
    and 0.980 of the plain ones. Eighths are the smallest that do not make files larger than
    those of the plain layout. More is in docs/performance.md.
    """
    divisors = [n for n in range(1, mcus + 1) if mcus % n == 0]
    return min(divisors, key=lambda n: Fraction(max(PARTS * n, mcus), min(PARTS * n, mcus)))


def save_options(picture: Image.Image) -> dict[str, Any]:
    """Give what Pillow's JPEG encoder is to be told for a picture.

    The optimised Huffman tables, which are a fixed function of the picture, make good for the
    room that the markers take.
    """
    mcu = 16 if picture.mode in COLOUR_MODES else 8
    return {
        "optimize": True,
        "restart_marker_blocks": restart_interval(-(-picture.width // mcu)),
    }


def has_roi_layout(file: DtsFile) -> bool:
    """Tell whether a file was exported with ``roi=True``, by the first block that can be read.

    Always False at level 0, whose pictures are as they came, and for arrays.
    """
    if not file.level:
        return False
    for first in file.block_starts[:-1].tolist():
        try:
            return header(file[first][0]).restart_interval > 0
        except (CorruptError, DecodeError):
            continue
    return False
