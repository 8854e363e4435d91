"""What a .dts file knows beyond the format's own fields: names, counts, checksums, sizes."""

import os
import warnings
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dts.errors import FormatError
from dts.format import sections
from dts.format.header import Header, read_header
from dts.format.layout import EXTENSION_OFFSET, EXTENSION_ROOM, HEADER_AREA, PICTURES, sidecar_path
from dts.format.names import Names
from dts.format.reading import opened

# Field, tag and stored type, the dearest first: what has no room in the file is what comes last.
_FIELDS: dict[str, tuple[bytes, str | None]] = {
    "class_names": (b"CLAS", None),
    "block_counts": (b"BCNT", "<u4"),
    "block_crcs": (b"BCRC", "<u4"),
    "sample_crcs": (b"SCRC", "<u4"),
    "sample_names": (b"NAME", None),
    "source_sizes": (b"SIZE", "<u8"),
}
MOST_CLASS_NAME_BYTES = 256 << 20


def _most_name_bytes(n: int) -> int:
    """Bytes that a list of n names may have: no more than 1 KiB each on average."""
    return (1 << 16) + (1 << 10) * n


@dataclass
class Extension:
    """The extension of one file, to be packed. Every part may be missing.

    Attributes
    ----------
    class_names : sequence of str or bytes, optional
        By label.
    sample_names : sequence of str or bytes, optional
        ``class/file``, by id within this file: block by block, in the order of the tables.
    block_counts : array_like of int, shape (num_blocks,), optional
        Pictures in each block.
    block_crcs : array_like of uint32, shape (num_blocks,), optional
        CRC-32 of each block's 16 MiB.
    sample_crcs : array_like of uint32, shape (num_samples,), optional
        CRC-32 of each picture's bytes, without padding.
    source_sizes : array_like of int, shape (num_samples,), optional
        Bytes of the source file of each picture.
    """

    class_names: Sequence[str | bytes] | None = None
    sample_names: Sequence[str | bytes] | None = None
    block_counts: ArrayLike | None = None
    block_crcs: ArrayLike | None = None
    sample_crcs: ArrayLike | None = None
    source_sizes: ArrayLike | None = None

    def pack(self, room: int = EXTENSION_ROOM) -> tuple[bytes, bytes | None]:
        """Make the bytes that go into the header area from byte 4096, and those of the sidecar.

        Parameters
        ----------
        room : int
            Bytes there are in the header area.

        Returns
        -------
        inside : bytes
            At most `room`.
        sidecar : bytes or None
            Content of the file ``sidecar_path(path)``; None if everything fitted.

        Raises
        ------
        FormatError
            A name of more than 65,535 bytes, names of more than 1 KiB on average, or a number
            that does not fit.
        """
        self._check_lengths()
        inside: list[tuple[bytes, bytes, int]] = []
        outside: list[tuple[bytes, bytes, int]] = []
        left = room - sections.packed_bytes([])
        for field, (tag, dtype) in _FIELDS.items():
            value = getattr(self, field)
            if value is None:
                continue
            raw = (
                _names_bytes(field, value) if dtype is None else _array_bytes(field, value, dtype)
            )
            data = zlib.compress(raw, sections.COMPRESSION)
            need = sections.ENTRY_BYTES + len(data)
            fits = need <= left
            (inside if fits else outside).append((tag, data, len(raw)))
            left -= need if fits else 0
        if not outside:
            return sections.pack(inside), None
        sidecar = sections.pack(outside, flags=sections.IS_SIDECAR)
        checksum = sections.head_checksum(sidecar)
        return sections.pack(inside, flags=sections.HAS_SIDECAR, sidecar=checksum), sidecar

    def _check_lengths(self) -> None:
        fields = ("sample_names", "sample_crcs", "source_sizes")
        samples = {f: len(getattr(self, f)) for f in fields if getattr(self, f) is not None}
        if self.block_counts is not None:
            samples["block_counts"] = int(np.sum(self.block_counts))
        if len(set(samples.values())) > 1:
            raise FormatError(
                f"parts of the extension differ in their number of samples: {samples}"
            )

    @classmethod
    def from_file(cls, path: str | os.PathLike[str]) -> "Extension | None":
        """Read all of the extension of a file, its sidecar included; None where there is none.

        Raises
        ------
        FormatError
            Not a .dts file, or a damaged extension; names the section.
        """
        header = read_header(path)
        with opened(path) as fd:
            stored = StoredExtension.find(fd, os.fspath(path), header)
            if stored is None:
                return None
            return cls(**{field: getattr(stored, field) for field in _FIELDS})


class StoredExtension:
    """The extension of an open file. Each part is read and checked when first asked for.

    Attributes are those of `Extension`; None for a part that the file does not have.
    """

    def __init__(self, fd: int, path: str, header: Header, size: int) -> None:
        self._fd = fd
        self._header = header
        self._sidecar_path = sidecar_path(path)
        self._inside = sections.Container(fd, path, EXTENSION_OFFSET, min(size, HEADER_AREA))
        self._outside = None
        if self._inside.flags & sections.HAS_SIDECAR:
            self._outside = self._open_sidecar(path)

    @classmethod
    def find(cls, fd: int, path: str, header: Header) -> "StoredExtension | None":
        """Look for the extension; None for a plain file.

        Raises
        ------
        FormatError
            There is something, but it is damaged, or the sidecar is that of another file.
        """
        if header.dataset_type != PICTURES or sections.is_blank(fd, EXTENSION_OFFSET):
            return None
        return cls(fd, path, header, os.fstat(fd).st_size)

    def _open_sidecar(self, path: str) -> sections.Container | None:
        try:
            with opened(self._sidecar_path) as fd:
                size = os.fstat(fd).st_size
                sidecar = sections.Container(fd, self._sidecar_path, 0, size)
        except FileNotFoundError:
            warnings.warn(
                f"{path}: its sidecar {self._sidecar_path} is missing; what is in it (sample "
                "names, mostly) is not available",
                stacklevel=2,
            )
            return None
        if sidecar.checksum != self._inside.sidecar:
            raise sections.damaged(path, f"{self._sidecar_path} is the sidecar of another file")
        return sidecar

    def _load(self, field: str, most: int) -> bytes | None:
        tag = _FIELDS[field][0]
        if tag in self._inside.sections:
            return self._inside.load(self._fd, tag, most=most)
        if self._outside is not None and tag in self._outside.sections:
            with opened(self._sidecar_path) as fd:
                return self._outside.load(fd, tag, most=most)
        return None

    def _array(self, field: str, n: int) -> NDArray[Any] | None:
        tag, dtype = _FIELDS[field]
        itemsize = np.dtype(dtype).itemsize
        raw = self._load(field, itemsize * n)
        if raw is None:
            return None
        if len(raw) != itemsize * n:
            raise self._error(tag, f"has {len(raw) // itemsize} entries, the header says {n}")
        return np.frombuffer(raw, dtype)

    def _names(self, field: str, n: int, most: int | None = None) -> Names | None:
        tag = _FIELDS[field][0]
        raw = self._load(field, min(_most_name_bytes(n), most or _most_name_bytes(n)))
        if raw is None:
            return None
        try:
            names = Names.from_bytes(raw)
        except FormatError as error:
            raise self._error(tag, str(error)) from None
        if len(names) != n:
            raise self._error(tag, f"has {len(names)} entries, the header says {n}")
        return names

    def _error(self, tag: bytes, reason: str) -> FormatError:
        return sections.damaged(self._inside.path, f"section {tag.decode()!r} {reason}")

    @cached_property
    def class_names(self) -> Names | None:
        # Unlike the number of samples, that of classes is not bounded by the size of the file.
        return self._names("class_names", self._header.num_classes, most=MOST_CLASS_NAME_BYTES)

    @cached_property
    def sample_names(self) -> Names | None:
        return self._names("sample_names", self._header.num_samples)

    @cached_property
    def block_counts(self) -> NDArray[np.uint32] | None:
        return self._array("block_counts", self._header.num_blocks)

    @cached_property
    def block_crcs(self) -> NDArray[np.uint32] | None:
        return self._array("block_crcs", self._header.num_blocks)

    @cached_property
    def sample_crcs(self) -> NDArray[np.uint32] | None:
        return self._array("sample_crcs", self._header.num_samples)

    @cached_property
    def source_sizes(self) -> NDArray[np.uint64] | None:
        return self._array("source_sizes", self._header.num_samples)

    def problems(self) -> list[str]:
        """Read every part and say what is wrong, one line for each damaged one."""
        found = []
        for field in _FIELDS:
            try:
                getattr(self, field)
            except FormatError as error:
                found.append(str(error))
        return found


def _names_bytes(field: str, names: Sequence[str | bytes]) -> bytes:
    raw = Names.of(names).to_bytes()
    if len(raw) > _most_name_bytes(len(names)):
        raise FormatError(f"{field} have more than 1 KiB on average")
    return raw


def _array_bytes(field: str, values: ArrayLike, dtype: str) -> bytes:
    array = np.asarray(values)
    top = int(np.iinfo(dtype).max)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise FormatError(f"{field} must be a list of integers")
    if array.size and not (array.min() >= 0 and array.max() <= top):
        raise FormatError(f"{field} must lie in 0..{top}")
    return array.astype(dtype).tobytes()
