"""JPEG decoding, of regions too. Below Python it works without the GIL: see jpeg.pxd."""

from dts.decode._select import library_info, use_backend
from dts.decode.jpeg import pixel_limit, set_pixel_limit, set_splicing, splicing
from dts.decode.picture import Decoder, JpegHeader, check, decode, header, orientation

__all__ = [
    "Decoder",
    "JpegHeader",
    "check",
    "decode",
    "header",
    "library_info",
    "orientation",
    "pixel_limit",
    "set_pixel_limit",
    "set_splicing",
    "splicing",
    "use_backend",
]
