"""Blocks in, a complete .dts file out: header, extension and sidecar follow from what came in."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

import numpy as np

from dts.errors import ExportError, FormatError
from dts.export.output import OutputFile
from dts.format.checksum import crc32_combine
from dts.format.extension import Extension
from dts.format.header import Header
from dts.format.layout import BLOCK_BYTES, EXTENSION_OFFSET, HEADER_AREA, sidecar_path

if TYPE_CHECKING:
    from dts.datasets.listing import Listing
    from dts.export.sources import Filled


class Writer:
    """Collects what header and extension need while blocks are written one after the other.

    Parameters
    ----------
    output : OutputFile
        Takes the bytes.
    level : int
        0..3.
    """

    def __init__(self, output: OutputFile, level: int):
        self.output = output
        self.level = level
        self._samples: list[np.ndarray] = []
        self._source_sizes: list[np.ndarray] = []
        self._sample_crcs: list[np.ndarray] = []
        self._block_crcs: list[int] = []
        self._crc = 0
        self._max_area = 0

    @property
    def num_blocks(self) -> int:
        return len(self._block_crcs)

    @property
    def counts(self) -> list[int]:
        """Pictures in each block so far."""
        return [len(samples) for samples in self._samples]

    def add(self, filled: Filled) -> None:
        """Write the next block."""
        block = filled.block
        self.output.write(HEADER_AREA + self.num_blocks * BLOCK_BYTES, block.data)
        self._crc = crc32_combine(self._crc, block.crc, BLOCK_BYTES)
        self._block_crcs.append(block.crc)
        self._samples.append(filled.samples)
        self._source_sizes.append(filled.source_sizes)
        self._sample_crcs.append(block.sample_crcs)
        self._max_area = max(self._max_area, block.max_area)

    def finish(self, listing: Listing, *, is_training: bool, plain: bool) -> Header:
        """Write what stands before the blocks, and give the file its name.

        Parameters
        ----------
        listing : Listing
            What the sample numbers of the blocks count in.
        is_training : bool
        plain : bool
            Write no extension.

        Returns
        -------
        Header

        Raises
        ------
        ExportError
            Names are too long for the extension; or see `OutputFile.commit`.
        """
        source_sizes = np.concatenate(self._source_sizes)
        header = Header.for_pictures(
            level=self.level,
            is_training=is_training,
            num_classes=len(listing.classes),
            num_samples=len(source_sizes),
            num_blocks=self.num_blocks,
            source_bytes=int(source_sizes.sum()),
            max_pic_area=self._max_area,
            max_pic_per_block=max(self.counts),
            crc=self._crc,
        )
        inside, beside = b"", None
        if not plain:
            inside, beside = self._extension(listing, source_sizes)
        area = bytearray(HEADER_AREA)
        head = header.to_bytes()
        area[: len(head)] = head
        area[EXTENSION_OFFSET : EXTENSION_OFFSET + len(inside)] = inside
        self.output.write(0, area)
        self._commit(beside)
        return header

    def _extension(self, listing: Listing, source_sizes: np.ndarray) -> tuple[bytes, bytes | None]:
        order = np.concatenate(self._samples)
        try:
            return Extension(
                class_names=listing.classes,
                sample_names=[listing.name(i) for i in order],
                block_counts=self.counts,
                block_crcs=self._block_crcs,
                sample_crcs=np.concatenate(self._sample_crcs),
                source_sizes=source_sizes,
            ).pack()
        except FormatError as error:
            raise ExportError(f"{self.output.path}: {error} (plain stores no names)") from None

    def _commit(self, beside: bytes | None) -> None:
        """Name the file, then its sidecar: only who got the name may touch what belongs to it."""
        sidecar = sidecar_path(self.output.path)
        if beside is None:
            self.output.commit()
            if self.output.overwrite:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(sidecar)
            return
        with OutputFile(sidecar, overwrite=True) as extra:
            extra.write(0, beside)
            extra.sync()
            self.output.commit()
            extra.commit()
