"""Chooses the JPEG library, once, when `dts.decode` is imported.

``DTS_JPEG_LIB`` names a library file, or ``none`` for simplejpeg. Otherwise the first of these
that decodes a small built-in picture to the right pixels is taken: the library inside Pillow's
wheel, the conda environment's, the system's; then simplejpeg.
"""

import base64
import importlib.util
import os
import re
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dts.decode.jpeg import Library, set_library
from dts.decode.picture import Decoder
from dts.errors import DecodeError

# 36 x 20 pixels, 4:2:0, with an edge: wrong rows, columns, colours or upsampling change the sum.
_PROBE = base64.b85decode(
    "|JeWF01!$>Nk#wx0RR9200961|JwjV02B@n5)Ta&5)cv>6%-gAG9exu93DL^E+jHZKuk+VKt@GST61DhRc%&9Mr4"
    "R(ZFhTtf`Lw8jhBplmUDiAeE-`3Lje^R7akfOJ0T%Ed{ahKe0+R-e0+R-e0+R-e0+R-e0+R-e0+R-e0+R-e0+R-e"
    "0+R-e0+R-e0+R-e0+R-e0=}F01*fP6aXXx0U`hb5di}c0sq7R7ytnQ0RaI30000000000000031O);A!~i4^00IF"
    "60|NyB000000000000IF61Q7)>Q4%3x6hT6PqW{DI7y$tR00RI30000000000000F90Rjg9!~h);00RI50s{a500"
    "00000000009F61Q9|L6hZ&m01N{G00I#M5dc2`;jO=dt3n{&w*C)&6tw57A3{4DdG%(Rc9U<&_%TH_g0#_Dp<*X8"
    "YK=Lk=lLx|PL!z+FPwW|KP{~Ov5YM)tj`wxwg*-%`)mpQvW0R=i@{|@-~$wF;bO}wF9lT>fCK2*yjfU9#=rtjSb}"
    "H&*#"
)
_PROBE_CRC32 = 0x6C7CB232

_library: Library | None = None
_rejected: list[tuple[str, str]] = []


def _fault(library: Library) -> str | None:
    """Find by decoding what is wrong with a library; None if nothing is."""
    set_library(library)
    try:
        decoder = Decoder()
        whole = decoder.decode(_PROBE)
        if zlib.crc32(whole.tobytes()) != _PROBE_CRC32:
            return "decodes a known picture to other pixels"
        for x, y, w, h in ((17, 5, 3, 9), (0, 0, 8, 1), (33, 19, 3, 1)):
            if (decoder.decode(_PROBE, (x, y, w, h)) != whole[y : y + h, x : x + w]).any():
                return "decodes a region to other pixels than the whole"
    except DecodeError as error:
        return f"fails on a known picture: {error}"
    try:
        decoder.decode(_PROBE[:-40])
    except DecodeError:
        return None
    return "does not notice that data is missing"


def _open(path: str) -> Library:
    library = Library(path)
    fault = _fault(library)
    if fault is not None:
        raise OSError(fault)
    return library


def _candidates() -> Iterator[str]:
    pillow = importlib.util.find_spec("PIL")
    if pillow is not None and pillow.origin is not None:
        inside = Path(pillow.origin).parent
        yield from sorted(map(str, inside.parent.glob("[Pp]illow.libs/libjpeg*.so*")))
        yield from sorted(map(str, inside.glob(".dylibs/libjpeg*.dylib")))
    prefix = Path(sys.prefix)
    if (prefix / "conda-meta").is_dir():
        names = ("libjpeg.so.8", "libjpeg.so.62", "libjpeg.8.dylib", "libjpeg.62.dylib")
        yield from (
            str(prefix / "lib" / name) for name in names if (prefix / "lib" / name).exists()
        )
    if sys.platform == "darwin":
        yield from ("libjpeg.62.dylib", "libjpeg.8.dylib")
        yield from (
            f"{brew}/opt/jpeg-turbo/lib/libjpeg.dylib" for brew in ("/opt/homebrew", "/usr/local")
        )
    elif sys.platform != "win32":
        yield from ("libjpeg.so.62", "libjpeg.so.8")


def use_backend(name: str) -> None:
    """Choose the library for decoders that are made from now on.

    For tests and benchmarks: not thread-safe, and decoders that exist keep their library.

    Parameters
    ----------
    name : str
        ``"simplejpeg"``; ``"libjpeg"``, the first usable one; or the path of a libjpeg.

    Raises
    ------
    OSError
        The library cannot be used; the message says why. The choice is unchanged.
    ImportError
        simplejpeg is not installed.
    """
    global _library
    library = None
    try:
        if name == "libjpeg":
            library = _first()
            if library is None:
                raise OSError("; ".join(f"{path}: {why}" for path, why in _rejected))
        elif name != "simplejpeg":
            library = _open(name)
    except OSError:
        set_library(_library)
        raise
    set_library(library)
    _library = library


def _first() -> Library | None:
    _rejected.clear()
    for path in _candidates():
        try:
            return _open(path)
        except OSError as error:
            _rejected.append((path, str(error)))
    return None


def _choose() -> None:
    wanted = os.environ.get("DTS_JPEG_LIB", "")
    try:
        if wanted not in ("", "none"):
            return use_backend(wanted)
        if wanted == "":
            return use_backend("libjpeg")
    except OSError as error:
        if wanted:
            raise ImportError(f"DTS_JPEG_LIB={wanted}: {error}") from error
    use_backend("simplejpeg")


def library_info() -> dict[str, Any]:
    """Tell which JPEG library decodes.

    Returns
    -------
    dict
        ``kind``: ``"libjpeg-turbo"``, ``"libjpeg"`` (another of its kind) or ``"simplejpeg"``;
        ``path``: its file; ``version``: str or None; ``abi``: 62, 80 or None; ``simd``: whether it
        was built with SIMD code, None if that cannot be told; ``rejected``: (path, reason) of each
        library that was tried before it.
    """
    if _library is None:
        import simplejpeg

        version = ".".join(map(str, simplejpeg.__version_info__))
        kind, path, abi, simd = "simplejpeg", simplejpeg.__file__, None, None
    else:
        path = os.path.realpath(_library.path)
        kind, abi, version, simd = "libjpeg", _library.abi, None, None
        with open(path, "rb") as file:
            code = file.read()
        if found := re.search(rb"libjpeg-turbo version ([0-9][0-9.]*)", code):
            kind, version, simd = "libjpeg-turbo", found[1].decode(), b"JSIMD_" in code
    return {
        "kind": kind,
        "path": path,
        "version": version,
        "abi": abi,
        "simd": simd,
        "rejected": list(_rejected),
    }


_choose()
