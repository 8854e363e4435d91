"""The 144-byte header: reading, writing and checking it."""

import os

import numpy as np

from libc.string cimport memcmp, memcpy

from dts.errors import FormatError
from dts.format.checks import check_header
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

__all__ = ["HEADER_DTYPE", "Header", "read_header"]

HEADER_DTYPE = np.dtype(
    [
        ("magic", "S4"),
        ("version", "u1", 4),
        ("dataset_type", "S8"),
        ("is_training", "<u4"),
        ("compress_level", "<u4"),
        ("val_set_prep", "<u4"),
        ("num_classes", "<u4"),
        ("tensor_layout", "S4"),
        ("image_width", "<u4"),
        ("image_height", "<u4"),
        ("num_channels", "<u4"),
        ("color_channel_type", "S4"),
        ("num_samples", "<u4"),
        ("num_volumes", "<u4"),
        ("volume_id", "<u4"),
        ("total_blocks", "<u4"),
        ("num_blocks", "<u4"),
        ("total_bytes", "<u8"),
        ("header_bytes", "<u4"),
        ("block_bytes", "<u8"),
        ("bytes_per_block", "<u4"),
        ("block_header_size", "<u4"),
        ("pic_alignment", "<u4"),
        ("max_pic_area", "<u4"),
        ("max_pic_per_block", "<u4"),
        ("compression_ratio", "<f4"),
        ("normalize_mean", "<f4", 3),
        ("normalize_std", "<f4", 3),
        ("crc_code", "<u4"),
    ]
)


cdef class Header:
    """Header of a .dts file: 29 fields, all of them attributes under the names of `HEADER_DTYPE`.

    A header does not change; `replace` makes a new one. Text fields are str as stored, padded with
    spaces on the left (``"IMAGENET"``, ``"   MNIST"``, ``" RGB"``); `version` is a tuple of 4 int,
    `normalize_mean` and `normalize_std` are tuples of 3 float, `compression_ratio` is a float; all
    others are int. docs/format.md says what each one means.

    Parameters
    ----------
    **fields
        Any of the 29 fields. What is left out gets the value that fits the others: without any, a
        valid header of a training file of JPEG pictures at level 0 with one block. Shorter text is
        padded.

    Raises
    ------
    TypeError
        An unknown field.
    FormatError
        A value that its field cannot hold. Values are not checked against each other: that is
        `validate`.
    """

    def __init__(self, **fields):
        unknown = fields.keys() - HEADER_DTYPE.names
        if unknown:
            raise TypeError(f"Header has no field {sorted(unknown)[0]!r}")
        record = np.zeros((), HEADER_DTYPE)
        for name, value in _with_defaults(fields).items():
            record[name] = _fit(name, value)
        cdef bytes data = record.tobytes()
        memcpy(&self.raw, <const char *>data, sizeof(dts_header))

    @classmethod
    def from_bytes(cls, data):
        """Take a header out of bytes, as it is: nothing is checked but the length.

        Parameters
        ----------
        data : bytes-like
            At least 144 bytes; what follows is not looked at.

        Raises
        ------
        FormatError
            Fewer than 144 bytes.
        """
        cdef bytes head = bytes(memoryview(data).cast("B")[: sizeof(dts_header)])
        if len(head) < <Py_ssize_t>sizeof(dts_header):
            raise FormatError(f"a header has {sizeof(dts_header)} bytes, got {len(head)}")
        cdef Header header = cls.__new__(cls)
        memcpy(&header.raw, <const char *>head, sizeof(dts_header))
        return header

    @classmethod
    def for_pictures(
        cls,
        *,
        level,
        is_training,
        num_classes,
        num_samples,
        num_blocks,
        source_bytes,
        max_pic_area,
        max_pic_per_block,
        crc=0,
        volume_id=0,
        num_volumes=1,
        total_blocks=None,
        val_set_prep=False,
    ):
        """Make the header of a file of JPEG blocks; what follows from the arguments is filled in.

        Parameters
        ----------
        level : int
            0..3.
        is_training : bool
        num_classes, num_samples, num_blocks : int
            Of this file; `num_classes` of the set.
        source_bytes : int
            Sum of the sizes of the source pictures, for `compression_ratio`.
        max_pic_area : int
            Largest width x height as packed, 0 if unknown.
        max_pic_per_block : int
        crc : int
            CRC-32 of all bytes after the header area.
        volume_id, num_volumes : int
        total_blocks : int, optional
            Blocks of all volumes; by default those of this file.
        val_set_prep : bool

        Raises
        ------
        FormatError
            The result would not be a valid header.
        """
        if source_bytes < 1:
            raise FormatError(f"source_bytes is {source_bytes}, must be at least 1")
        header = cls(
            dataset_type=PICTURES,
            compress_level=level,
            is_training=int(is_training),
            val_set_prep=int(val_set_prep),
            num_classes=num_classes,
            num_samples=num_samples,
            num_blocks=num_blocks,
            total_blocks=num_blocks if total_blocks is None else total_blocks,
            volume_id=volume_id,
            num_volumes=num_volumes,
            max_pic_area=max_pic_area,
            max_pic_per_block=max_pic_per_block,
            compression_ratio=(HEADER_AREA + num_blocks * BLOCK_BYTES) / source_bytes,
            crc_code=crc,
        )
        header.validate()
        return header

    def to_bytes(self):
        """Give the 144 bytes as they stand in a file."""
        return (<const char *>&self.raw)[: sizeof(dts_header)]

    def as_dict(self):
        """Give all fields, in file order, as values that JSON can hold (version is a list)."""
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in ((name, getattr(self, name)) for name in HEADER_DTYPE.names)
        }

    def replace(self, **fields):
        """Make a copy with some fields changed; nothing else is derived anew."""
        return type(self)(**{name: getattr(self, name) for name in HEADER_DTYPE.names} | fields)

    def validate(self):
        """Check every field on its own and against the others.

        What the reference exporter is known to write wrongly passes: see docs/format.md.

        Raises
        ------
        FormatError
            Names the first wrong field and its value.
        """
        check_header(self)

    def __eq__(self, other):
        if not isinstance(other, Header):
            return NotImplemented
        return memcmp(&self.raw, &(<Header>other).raw, sizeof(dts_header)) == 0

    def __hash__(self):
        return hash(self.to_bytes())

    def __repr__(self):
        fields = ", ".join(f"{name}={getattr(self, name)!r}" for name in HEADER_DTYPE.names)
        return f"Header({fields})"

    def __reduce__(self):
        return Header.from_bytes, (self.to_bytes(),)

    @property
    def magic(self):
        return self.raw.magic[:4].decode("latin-1")

    @property
    def version(self):
        return tuple([self.raw.version[i] for i in range(4)])

    @property
    def dataset_type(self):
        return self.raw.dataset_type[:8].decode("latin-1")

    @property
    def is_training(self):
        return self.raw.is_training

    @property
    def compress_level(self):
        return self.raw.compress_level

    @property
    def val_set_prep(self):
        return self.raw.val_set_prep

    @property
    def num_classes(self):
        return self.raw.num_classes

    @property
    def tensor_layout(self):
        return self.raw.tensor_layout[:4].decode("latin-1")

    @property
    def image_width(self):
        return self.raw.image_width

    @property
    def image_height(self):
        return self.raw.image_height

    @property
    def num_channels(self):
        return self.raw.num_channels

    @property
    def color_channel_type(self):
        return self.raw.color_channel_type[:4].decode("latin-1")

    @property
    def num_samples(self):
        return self.raw.num_samples

    @property
    def num_volumes(self):
        return self.raw.num_volumes

    @property
    def volume_id(self):
        return self.raw.volume_id

    @property
    def total_blocks(self):
        return self.raw.total_blocks

    @property
    def num_blocks(self):
        return self.raw.num_blocks

    @property
    def total_bytes(self):
        return self.raw.total_bytes

    @property
    def header_bytes(self):
        return self.raw.header_bytes

    @property
    def block_bytes(self):
        return self.raw.block_bytes

    @property
    def bytes_per_block(self):
        return self.raw.bytes_per_block

    @property
    def block_header_size(self):
        return self.raw.block_header_size

    @property
    def pic_alignment(self):
        return self.raw.pic_alignment

    @property
    def max_pic_area(self):
        return self.raw.max_pic_area

    @property
    def max_pic_per_block(self):
        return self.raw.max_pic_per_block

    @property
    def compression_ratio(self):
        return self.raw.compression_ratio

    @property
    def normalize_mean(self):
        return (self.raw.normalize_mean[0], self.raw.normalize_mean[1], self.raw.normalize_mean[2])

    @property
    def normalize_std(self):
        return (self.raw.normalize_std[0], self.raw.normalize_std[1], self.raw.normalize_std[2])

    @property
    def crc_code(self):
        return self.raw.crc_code


def read_header(path):
    """Read and check the header of a .dts file.

    Parameters
    ----------
    path : str or path-like

    Returns
    -------
    Header

    Raises
    ------
    FileNotFoundError
        No such file.
    FormatError
        Not a .dts file, too short for a header, or a header that cannot be true; names the path.
    """
    with open(path, "rb", buffering=0) as file:
        data = file.read(sizeof(dts_header))
    try:
        if len(data) < <Py_ssize_t>sizeof(dts_header):
            raise FormatError(f"file has {len(data)} bytes, too short for a .dts header")
        header = Header.from_bytes(data)
        header.validate()
    except FormatError as error:
        raise FormatError(f"{os.fspath(path)}: {error}") from None
    return header


def _with_defaults(fields):
    """Add what was not given, derived from what was given."""
    given = dict(fields)
    kind = given.get("dataset_type", PICTURES)
    kind = (kind.decode("latin-1") if isinstance(kind, bytes) else str(kind)).rjust(8)
    height, width, channels = ARRAY_SHAPES.get(kind, (0, 0, 3))
    arrays = kind in ARRAY_SHAPES
    level = given.get("compress_level", 0)
    samples = given.get("num_samples", 1)
    blocks = given.get("num_blocks", 1)
    header_bytes = given.get("header_bytes", ARRAY_HEADER_BYTES if arrays else HEADER_AREA)
    per_block = samples * (height * width * channels + 1) if arrays else BLOCK_BYTES
    block_bytes = given.get("block_bytes", blocks * per_block)
    by_level = level if level in LEVELS else 0
    return {
        "magic": MAGIC,
        "version": VERSION,
        "dataset_type": kind,
        "num_classes": ARRAY_CLASSES.get(kind, 1),
        "is_training": 1,
        "tensor_layout": "NHWC",
        "image_width": width,
        "image_height": height,
        "num_channels": channels,
        "color_channel_type": "GRAY" if channels == 1 else "RGB",
        "num_samples": samples,
        "num_volumes": 1,
        "num_blocks": blocks,
        "total_blocks": blocks,
        "header_bytes": header_bytes,
        "block_bytes": block_bytes,
        "total_bytes": header_bytes + block_bytes,
        "bytes_per_block": per_block & 0xFFFFFFFF,
        "block_header_size": 0 if arrays else BLOCK_HEADER_SIZE[by_level],
        "pic_alignment": 0 if arrays else ALIGNMENT,
        "max_pic_area": height * width,
        "max_pic_per_block": samples if arrays else min(samples, TABLE_CAPACITY[by_level]),
        "compression_ratio": 1.0,
    } | given


def _fit(name, value):
    """Turn a value into one that numpy stores unchanged, or say that it does not fit."""
    dtype = HEADER_DTYPE[name]
    if dtype.kind == "S":
        text = value if isinstance(value, bytes) else str(value).encode("latin-1", "replace")
        if len(text) > dtype.itemsize:
            raise FormatError(f"{name} is {value!r}, longer than {dtype.itemsize} bytes")
        return text.rjust(dtype.itemsize)
    if dtype.base.kind == "f":
        numbers = np.asarray(value, np.float64).astype(np.float32)
    else:
        numbers = np.asarray(value, object)
        top = int(np.iinfo(dtype.base).max)
        if not all(isinstance(v, (int, np.integer, np.bool_)) for v in numbers.flat):
            raise FormatError(f"{name} is {value!r}, must be an integer")
        if not all(0 <= v <= top for v in numbers.flat):
            raise FormatError(f"{name} is {value!r}, must lie in 0..{top}")
    if numbers.shape != dtype.shape:
        raise FormatError(f"{name} is {value!r}, must have shape {dtype.shape}")
    return numbers.astype(dtype.base)
