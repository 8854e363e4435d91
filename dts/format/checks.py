"""What must hold in a header. What is let pass, and why, is listed in docs/format.md."""

import math
from typing import TYPE_CHECKING, Any

from dts.errors import FormatError
from dts.format.layout import (
    ALIGNMENT,
    ARRAY_CLASSES,
    ARRAY_HEADER_BYTES,
    ARRAY_SHAPES,
    BLOCK_BYTES,
    BLOCK_HEADER_SIZE,
    HEADER_AREA,
    LEVELS,
    MAGIC,
    PICTURES,
    TABLE_CAPACITY,
    VERSION,
)

if TYPE_CHECKING:
    from dts.format.header import Header

JPEG_MAX_AREA = 65535 * 65535
MAX_CLASSES = 2**31 - 1  # labels are int32 in memory


def check_header(header: "Header") -> None:
    """Check every field on its own and against the others; FormatError names the first wrong one.

    All arithmetic is on Python integers: nothing wraps.
    """
    _require(header, "magic", MAGIC.decode())
    if header.version[0] != VERSION[0]:
        raise FormatError(f"version is {header.version}, this library reads {VERSION[0]}.x")
    if header.dataset_type != PICTURES and header.dataset_type not in ARRAY_SHAPES:
        known = ", ".join(map(repr, (PICTURES, *ARRAY_SHAPES)))
        raise FormatError(f"dataset_type is {header.dataset_type!r}, must be one of {known}")
    _within(header, "is_training", 0, 1)
    _within(header, "compress_level", LEVELS[0], LEVELS[-1])
    _within(header, "val_set_prep", 0, 1)
    _require(header, "tensor_layout", "NHWC")
    _within(header, "num_samples", 1)
    _within(header, "num_blocks", 1)
    if not (math.isfinite(header.compression_ratio) and header.compression_ratio > 0):
        raise FormatError(f"compression_ratio is {header.compression_ratio}, must be positive")
    for name in ("normalize_mean", "normalize_std"):
        if not all(map(math.isfinite, getattr(header, name))):
            raise FormatError(f"{name} is {getattr(header, name)}, must be finite")
    if header.dataset_type == PICTURES:
        _check_pictures(header)
    else:
        _check_arrays(header)


def _require(header: "Header", name: str, *allowed: Any) -> None:
    value = getattr(header, name)
    if value not in allowed:
        raise FormatError(f"{name} is {value!r}, must be {' or '.join(map(repr, allowed))}")


def _within(header: "Header", name: str, low: int, high: int | None = None) -> None:
    value = getattr(header, name)
    if value < low or (high is not None and value > high):
        wanted = f"at least {low}" if high is None else f"in {low}..{high}"
        raise FormatError(f"{name} is {value}, must be {wanted}")


def _check_pictures(header: "Header") -> None:
    level = header.compress_level
    capacity = TABLE_CAPACITY[level]
    _within(header, "num_classes", 1, MAX_CLASSES)
    _require(header, "image_width", 0)
    _require(header, "image_height", 0)
    _require(header, "num_channels", 3)
    _require(header, "color_channel_type", " RGB")
    _require(header, "header_bytes", HEADER_AREA)
    _require(header, "bytes_per_block", BLOCK_BYTES)
    _require(header, "block_header_size", BLOCK_HEADER_SIZE[level])
    _require(header, "pic_alignment", ALIGNMENT)
    _require(header, "block_bytes", header.num_blocks * BLOCK_BYTES)
    _require(header, "total_bytes", HEADER_AREA + header.num_blocks * BLOCK_BYTES)
    _within(header, "total_blocks", header.num_blocks)
    _within(header, "num_volumes", 1, header.total_blocks - header.num_blocks + 1)
    _within(header, "volume_id", 0, header.num_volumes - 1)
    if header.num_volumes == 1:
        _require(header, "total_blocks", header.num_blocks)
    _within(header, "num_samples", 1, header.num_blocks * capacity)
    _within(header, "max_pic_area", 0, JPEG_MAX_AREA)
    # The reference leaves out the last block at levels 1 to 3, and so writes 0 for a single one.
    least = 0 if level else -(-header.num_samples // header.num_blocks)
    _within(header, "max_pic_per_block", least, min(capacity, header.num_samples))


def _check_arrays(header: "Header") -> None:
    kind = header.dataset_type
    height, width, channels = ARRAY_SHAPES[kind]
    _require(header, "num_classes", ARRAY_CLASSES[kind])
    _require(header, "image_width", width)
    _require(header, "image_height", height)
    _require(header, "num_channels", channels)
    _require(header, "color_channel_type", "GRAY" if channels == 1 else " RGB")
    for name in ("num_volumes", "total_blocks", "num_blocks"):
        _require(header, name, 1)
    _require(header, "volume_id", 0)
    _require(header, "header_bytes", ARRAY_HEADER_BYTES)
    # The reference counts three bytes for each pixel of MNIST, which has one.
    sizes = [header.num_samples * (height * width * c + 1) for c in sorted({channels, 3})]
    _require(header, "block_bytes", *sizes)
    _require(header, "bytes_per_block", header.block_bytes & 0xFFFFFFFF)
    _require(header, "total_bytes", ARRAY_HEADER_BYTES + header.block_bytes)
    _require(header, "block_header_size", 0)
    _require(header, "pic_alignment", 0)
    _require(header, "max_pic_area", height * width)
    _require(header, "max_pic_per_block", header.num_samples)
