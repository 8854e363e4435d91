"""Blocks in, a complete .dts file out: header, extension and sidecar follow from what came in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dts.errors import ExportError, FormatError
from dts.format.checksum import crc32_combine
from dts.format.crc import crc32
from dts.format.extension import Extension
from dts.format.header import Header
from dts.format.layout import BLOCK_BYTES, EXTENSION_OFFSET, HEADER_AREA, renumber

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from dts.export.output import OutputFile
    from dts.export.sources import Filled


@dataclass(frozen=True)
class Record:
    """What is remembered of a block once it is written.

    Attributes
    ----------
    crc, max_area : int
        CRC-32 of the block; largest width x height in it.
    samples : int64 array of shape (n,)
        Sample numbers of the listing.
    source_sizes : int64 array of shape (n,)
        Bytes of their source files.
    sample_crcs : uint32 array of shape (n,)
        CRC-32 of each picture.
    """

    crc: int
    max_area: int
    samples: NDArray[np.int64]
    source_sizes: NDArray[np.int64]
    sample_crcs: NDArray[np.uint32]


class Writer:
    """Collects what header and extension need while blocks are written one after the other.

    Parameters
    ----------
    output : OutputFile
        Takes the bytes.
    level : int
        0..3.
    records : sequence of Record
        Of blocks that are in the file already.
    """

    def __init__(self, output: OutputFile, level: int, records: Sequence[Record] = ()):
        self.output = output
        self.level = level
        self.records = list(records)

    @property
    def num_blocks(self) -> int:
        return len(self.records)

    def add(self, filled: Filled) -> Record:
        """Write the next block."""
        block = filled.block
        self._write(block.data)
        record = Record(
            block.crc, block.max_area, filled.samples, filled.source_sizes, block.sample_crcs
        )
        self.records.append(record)
        return record

    def _write(self, data: bytearray) -> None:
        self.output.write(HEADER_AREA + self.num_blocks * BLOCK_BYTES, data)

    def move_to(self, others: Sequence[Writer], parts: Sequence[range]) -> None:
        """Leave the first part of the blocks here, and move each further one to its own file.

        The last part goes first, and is cut off here when it is there: at no time does the disk
        hold more than one part twice.
        """
        for other, part in reversed(list(zip(others, parts[1:], strict=True))):
            for number, k in enumerate(part):
                block = bytearray(self.output.read(HEADER_AREA + k * BLOCK_BYTES, BLOCK_BYTES))
                renumber(block, number)
                other._write(block)
                old = self.records[k]
                other.records.append(
                    Record(
                        crc32(block),
                        old.max_area,
                        old.samples,
                        old.source_sizes,
                        old.sample_crcs,
                    )
                )
            self.output.cut(HEADER_AREA + part.start * BLOCK_BYTES)
            del self.records[part.start :]

    def finish(
        self,
        classes: Sequence[bytes] | None,
        name: Callable[[int], bytes] | None,
        *,
        num_classes: int,
        is_training: bool,
        plain: bool,
        volume_id: int = 0,
        num_volumes: int = 1,
        total_blocks: int | None = None,
    ) -> tuple[Header, bytes | None]:
        """Write what stands before the blocks.

        Parameters
        ----------
        classes : sequence of bytes or None
            Their names by label, if they are known.
        name : callable or None
            Gives the name of a sample by its number in the records.
        num_classes : int
        is_training : bool
        plain : bool
            Write no extension.
        volume_id, num_volumes, total_blocks : int
            Which of how many files, with how many blocks in all.

        Returns
        -------
        header : Header
        sidecar : bytes or None
            Content of the sidecar, if one is needed.

        Raises
        ------
        ExportError
            Names are too long for the extension; or see `OutputFile.write`.
        """
        source_sizes = np.concatenate([record.source_sizes for record in self.records])
        crc = 0
        for record in self.records:
            crc = crc32_combine(crc, record.crc, BLOCK_BYTES)
        header = Header.for_pictures(
            level=self.level,
            is_training=is_training,
            num_classes=num_classes,
            num_samples=len(source_sizes),
            num_blocks=self.num_blocks,
            source_bytes=int(source_sizes.sum()),
            max_pic_area=max(record.max_area for record in self.records),
            max_pic_per_block=max(len(record.samples) for record in self.records),
            crc=crc,
            volume_id=volume_id,
            num_volumes=num_volumes,
            total_blocks=total_blocks,
        )
        inside, sidecar = b"", None
        if not plain:
            inside, sidecar = self._extension(classes, name, source_sizes)
        area = bytearray(HEADER_AREA)
        head = header.to_bytes()
        area[: len(head)] = head
        area[EXTENSION_OFFSET : EXTENSION_OFFSET + len(inside)] = inside
        self.output.write(0, area)
        return header, sidecar

    def _extension(
        self,
        classes: Sequence[bytes] | None,
        name: Callable[[int], bytes] | None,
        source_sizes: np.ndarray,
    ) -> tuple[bytes, bytes | None]:
        order = np.concatenate([record.samples for record in self.records])
        try:
            return Extension(
                class_names=classes,
                sample_names=None if name is None else list(map(name, order)),
                block_counts=[len(record.samples) for record in self.records],
                block_crcs=[record.crc for record in self.records],
                sample_crcs=np.concatenate([record.sample_crcs for record in self.records]),
                source_sizes=source_sizes,
            ).pack()
        except FormatError as error:
            raise ExportError(f"{self.output.path}: {error} (plain stores no names)") from None
