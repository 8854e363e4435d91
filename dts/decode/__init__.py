"""JPEG decoding, of regions too. Below Python it works without the GIL: see jpeg.pxd."""

from dts.decode._select import library_info, use_backend
from dts.decode.jpeg import Decoder, JpegHeader, decode, header, set_pixel_limit

__all__ = [
    "Decoder",
    "JpegHeader",
    "decode",
    "header",
    "library_info",
    "set_pixel_limit",
    "use_backend",
]
