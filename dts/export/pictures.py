"""One picture: what is checked before it is packed, and how levels 1-3 encode it anew.

The bytes that come out are fixed by older files: double arithmetic, truncation, which
mode is converted when, and Pillow's own defaults decide them. Nothing here may be tidied up.
"""

from __future__ import annotations

import contextlib
import io
import threading
import warnings
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from PIL import Image, UnidentifiedImageError

from dts.datasets.places import open_place
from dts.decode import Decoder, pixel_limit
from dts.errors import DecodeError
from dts.export.errors import PictureError
from dts.export.jpeg_head import JpegHead, NeedMore, kind_of, read_head, why_not_jpeg
from dts.export.roi import save_options

if TYPE_CHECKING:
    from dts.datasets.places import Place

SHORT_SIDE = 400
THRESHOLD = {1: 400, 2: 440, 3: 440}  # a short side above it is scaled down to SHORT_SIDE
LONG_SIDE = 600  # levels 2 and 3 crop to SHORT_SIDE x LONG_SIDE
QUALITY = {1: 90, 2: 90, 3: 80}
FORMATS = ("JPEG", "PNG", "WEBP", "BMP", "GIF", "TIFF")
END = b"\xff\xd9"
HEAD_BYTES = 16384  # read first; a frame header is rarely further in


class Encoded(NamedTuple):
    """A picture ready to be stored.

    Attributes
    ----------
    data : bytes
        A JPEG file.
    width, height : int
        In pixels.
    kind : str
        What the source was: "JPEG", "PNG" and so on.
    odd : bool
        The source had a harmless oddity: end marker missing, stray bytes.
    """

    data: bytes
    width: int
    height: int
    kind: str = "JPEG"
    odd: bool = False


def check_file(place: Place | bytes) -> JpegHead:
    """Read the head of a JPEG file that is to be stored as it is.

    Raises
    ------
    PictureError
        It is empty, not a JPEG file, or one that no loader could decode.
    OSError
        It cannot be read.
    """
    with open_place(place) as file:
        data = file.read(HEAD_BYTES)
        try:
            return _checked(read_head(data))
        except NeedMore:
            return _check(data + file.read())


def _check(data: bytes) -> JpegHead:
    try:
        return _checked(read_head(data))
    except NeedMore:
        raise PictureError("is a JPEG file that ends in its header") from None


def _checked(head: JpegHead) -> JpegHead:
    if head.bits != 8:
        raise PictureError(f"has {head.bits} bits per channel, only 8 can be decoded")
    if head.width == 0 or head.height == 0:
        raise PictureError(f"says it is {head.width}x{head.height} pixels")
    if head.width * head.height > pixel_limit():
        raise PictureError(
            f"says it is {head.width}x{head.height} pixels, over the limit of {pixel_limit():,}"
        )
    return head


class _Quiet:
    """No warnings while any thread is inside: the filters are those of the whole process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._filters = contextlib.ExitStack()

    def __enter__(self) -> None:
        with self._lock:
            if self._inside == 0:
                self._filters.enter_context(warnings.catch_warnings())
                warnings.simplefilter("ignore")
            self._inside += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                self._filters.close()


_quiet = _Quiet()


def check_pixels(place: Place | bytes) -> bool:
    """Decode a JPEG file that is to be stored as it is, to see whether it is whole.

    Returns
    -------
    bool
        Whether it has a harmless oddity: end marker missing, stray bytes.

    Raises
    ------
    PictureError
        It is not a JPEG file, or damaged, or one that no loader could decode.
    OSError
        It cannot be read.
    """
    with open_place(place) as file:
        data = file.read()
    _check(data)
    return _judge(data)


def _judge(data: bytes) -> bool:
    """Decide whether a JPEG is whole, by the loader's own rules.

    Pillow reads a file that lacks pixels and fills them with grey: it does not look at the
    warnings of its decoder.
    """
    try:
        return Decoder().check(data) > 0
    except DecodeError as error:
        if _only_end_missing(data, error.reason):
            return True
        _check(data)  # what the header tells is said in the words of level 0
        raise PictureError(f"is a JPEG file that cannot be decoded: {error.reason}") from None


def _only_end_missing(data: bytes, reason: str) -> bool:
    """Tell whether simplejpeg, where it has to do, refused a file for want of its end marker.

    With a marker put behind it takes a file that has all pixels. It does not miss whole scans,
    so there may be only one.
    """
    if not reason.startswith("simplejpeg: Premature end") or data.count(b"\xff\xda") != 1:
        return False
    try:
        Decoder().check(data + END)
    except DecodeError:
        return False
    return True


def reencode(data: bytes, level: int, *, roi: bool = False) -> Encoded:
    """Scale, crop and encode a picture as levels 1-3 store it.

    Parameters
    ----------
    data : bytes
        A JPEG, PNG, WebP, BMP, GIF or TIFF file; of several frames the first is taken.
    level : {1, 2, 3}
    roi : bool
        In the ROI layout; see `dts.export.roi`.

    Returns
    -------
    Encoded

    Raises
    ------
    PictureError
        The picture cannot be decoded, or not be stored as JPEG.
    """
    if not data:
        raise PictureError("has 0 bytes")
    kind = kind_of(data)
    odd = kind == "JPEG" and _judge(data)
    with _quiet:  # broken EXIF and the like says nothing of the pixels
        try:
            try:
                picture = _reencode(data, level, roi)
            except OSError:
                if not odd:
                    raise
                picture = _reencode(
                    data + END, level, roi
                )  # Pillow wants it, though nothing is lost
        except Exception as error:  # Pillow's decoders raise whatever they come across
            raise PictureError(_reason(error, kind, data)) from None
    return Encoded(*picture, kind or "JPEG", odd)


def _reencode(data: bytes, level: int, roi: bool) -> tuple[bytes, int, int]:
    with Image.open(io.BytesIO(data), formats=FORMATS) as image:
        width, height = image.size
        picture: Image.Image = _eight_bits(image) if image.mode.startswith("I;16") else image
        short = min(width, height)
        if short > THRESHOLD[level]:
            scale = SHORT_SIDE * 1.0 / short
            size = int(width * scale), int(height * scale)
            picture = picture.resize(size, Image.Resampling.LANCZOS)
        if level >= 2:
            picture = _crop(picture, landscape=width > height)
        if picture.mode in ("RGBA", "LA", "P"):
            picture = picture.convert("RGB")
        out = io.BytesIO()
        layout = save_options(picture) if roi else {}
        picture.save(out, "JPEG", quality=QUALITY[level], **layout)
        return out.getvalue(), *picture.size


def _crop(picture: Image.Image, *, landscape: bool) -> Image.Image:
    most = (LONG_SIDE, SHORT_SIDE) if landscape else (SHORT_SIDE, LONG_SIDE)
    width, height = min(picture.width, most[0]), min(picture.height, most[1])
    if (width, height) == picture.size:
        return picture
    left, top = (picture.width - width) // 2, (picture.height - height) // 2
    return picture.crop((left, top, left + width, top + height))


def _eight_bits(image: Image.Image) -> Image.Image:
    """Scale 16-bit grey to 8 bits: white stays white, where Pillow's convert would clip."""
    wide = np.asarray(image).astype(np.uint32)
    return Image.fromarray(((wide + 128) // 257).astype(np.uint8))


def _reason(error: Exception, kind: str | None, data: bytes) -> str:
    """Say why Pillow could not make anything of a picture."""
    if kind is None:
        return why_not_jpeg(data)
    if isinstance(error, UnidentifiedImageError):
        return f"is a damaged {kind} file"
    return f"is a {kind} file that cannot be packed: {error or type(error).__name__}"
