"""The .dts file format: the only room that knows where a byte lies. See docs/format.md."""

from dts.format.file import DtsFile
from dts.format.header import HEADER_DTYPE, Header, read_header

__all__ = ["HEADER_DTYPE", "DtsFile", "Header", "read_header"]
