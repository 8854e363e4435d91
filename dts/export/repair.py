"""A new, sound file from a damaged one: what is lost is left out, or taken from a folder."""

from __future__ import annotations

import contextlib
import io
import os
import warnings
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from PIL import Image

from dts.datasets.places import Place
from dts.datasets.report import printable
from dts.errors import CorruptError, ExportError, FormatError
from dts.export.blocks import pack_pictures
from dts.export.errors import PictureError
from dts.export.jpeg_head import NeedMore, read_head
from dts.export.output import OutputFile
from dts.export.packing import Filler
from dts.export.pictures import Encoded, check_file, reencode
from dts.export.roi import has_roi_layout
from dts.export.sources import Filled, capacity
from dts.export.volumes import Target
from dts.export.writer import Writer
from dts.format.block import parse_table
from dts.format.crc import crc32
from dts.format.layout import BLOCK_BYTES, BLOCK_HEADER_SIZE, TABLE_CAPACITY, up64
from dts.format.reading import opened, read_at
from dts.format.verify import Damage

if TYPE_CHECKING:
    from collections.abc import Callable

    from dts.format.file import DtsFile
    from dts.format.header import Header


class Picture(NamedTuple):
    """A picture that goes into the new file; `id` is that in the old one."""

    id: int
    data: bytes
    label: int
    source_size: int


@dataclass
class RepairResult:
    """What a repair did. `str()` of it says it line by line.

    Attributes
    ----------
    path : str
        The new file.
    header : Header
    dropped, replaced, mended : list of Damage
        Samples that are not in the new file; such as were taken from the folder; blocks or samples
        whose damage was in what can be made anew (table, label, padding).
    notes : list of str
        What else is not as it was.
    """

    path: str
    header: Header
    dropped: list[Damage] = field(default_factory=list)
    replaced: list[Damage] = field(default_factory=list)
    mended: list[Damage] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        lines = [f"{printable(self.path)}: {self.header.num_samples:,} pictures"]
        for what in ("dropped", "replaced", "mended"):
            found = getattr(self, what)
            lines += [f"  {what}: {len(found):,}"] * bool(found)
            lines += [f"    {printable(str(damage))}" for damage in found]
        lines += [f"  note: {printable(text)}" for text in self.notes]
        return "\n".join(lines)


def repair(
    file: DtsFile,
    out: str | os.PathLike[str],
    *,
    replace: str | os.PathLike[str] | None = None,
    overwrite: bool = False,
    progress: Callable[[int], object] = lambda _: None,
) -> RepairResult:
    """Write all sound samples of a set into a new file; labels, names and classes are kept.

    A sample is sound if its CRC-32 is that of the packed picture; where the file has no checksums,
    if Pillow can decode it. Samples stay in their blocks as far as those have room.

    Parameters
    ----------
    file : DtsFile
        One file or a set of volumes, of any level. One whose extension is damaged is opened with
        ``extension="ignore"``.
    out : path
        The new file. It appears complete or not at all.
    replace : path, optional
        Folder that was exported: damaged samples are taken from it by their names, and encoded
        anew at levels 1-3, in the file's layout.
    overwrite : bool
        Replace `out`.
    progress : callable
        Called with 1 after each block.

    Returns
    -------
    RepairResult

    Raises
    ------
    NotImplementedError
        A file of arrays: its samples have no checksums.
    ExportError
        Nothing is left, or the target exists, or the disk is full.
    """
    if file.level is None:
        kind = file.header.dataset_type.strip()
        raise NotImplementedError(f"repair: a {kind} file has no checksums of samples")
    with Target(os.fspath(out), overwrite=overwrite) as target:
        (output,) = target.open(1)
        return _Repair(file, output, replace).run(target, progress)


class _Repair:
    """One repair at work."""

    def __init__(
        self, file: DtsFile, output: OutputFile, replace: str | os.PathLike[str] | None
    ) -> None:
        assert file.level is not None
        self.file = file
        self.level: int = file.level
        self.roi = has_roi_layout(file)
        self.replace = None if replace is None else os.fsencode(replace)
        self.writer = Writer(output, self.level)
        self.dropped: list[Damage] = []
        self.replaced: list[Damage] = []
        self.mended: list[Damage] = []
        self.notes: list[str] = []
        self.names = self._part("names")
        self.classes = self._part("class_names")
        self.crcs = self._part("sample_crcs")
        self.block_crcs = self._part("block_crcs")
        self.sizes = self._part("source_sizes")
        self.label_of = {name: k for k, name in enumerate(self.classes or ())}
        self.late: list[Picture] = []  # what had no room in its block

    def _part(self, name: str) -> Any:
        """Part of the extension; a damaged one counts as missing."""
        try:
            return getattr(self.file, name)
        except FormatError as error:
            self.notes.append(str(error))
            return None

    def run(self, target: Target, progress: Callable[[int], object]) -> RepairResult:
        for b in range(len(self.file.block_counts)):
            self._add(self._fitting(self._block(b)))
            progress(1)
        self._add_late()
        if not self.writer.num_blocks:
            raise ExportError(f"{self.file.paths[0]}: no sample is left")
        header, sidecar = self.writer.finish(
            None if self.classes is None else [os.fsencode(name) for name in self.classes],
            None if self.names is None else self.names.raw,
            num_classes=self.file.num_classes,
            is_training=self.file.is_training,
            plain=self.crcs is None and self.names is None and self.classes is None,
        )
        target.commit([sidecar])
        return RepairResult(
            self.writer.output.path, header, self.dropped, self.replaced, self.mended, self.notes
        )

    def _block(self, b: int) -> list[Picture]:
        """Read a block; give what is sound in it, and what there is in place of the rest."""
        first, number = int(self.file.block_starts[b]), int(self.file.block_number[b])
        count = int(self.file.block_counts[b])
        raw = self._read(b)
        try:
            offsets, sizes, labels = parse_table(
                raw[: BLOCK_HEADER_SIZE[self.level]],
                level=self.level,
                block_id=number,
                count=count,
                num_classes=self.file.num_classes,
            )
        except CorruptError as error:
            rebuilt = self._table_from_names(first, count)
            if rebuilt is None:
                return self._all_lost(b, error.reason)
            self.mended.append(self._damage(b, error.reason))
            offsets, sizes, labels = rebuilt
        found: list[Picture] = []
        damages = []
        for i, (offset, size, label) in enumerate(
            zip(offsets.tolist(), sizes.tolist(), labels.tolist(), strict=True)
        ):
            data = bytes(raw[offset : offset + size])
            reason = self._why_unsound(first + i, data, size)
            if reason is None:
                found.append(Picture(first + i, data, label, self._source_size(first + i, data)))
            else:
                damages.append(self._damage(b, reason, i))
                found += self._replacement(damages[-1], label)
        if not damages and self.block_crcs is not None:
            found = self._with_sound_labels(b, raw, found)
        else:
            found = [self._relabelled(b, picture) for picture in found]
        return found

    def _read(self, b: int) -> bytes:
        """Bytes of a block, as many as there are; none where the disk cannot read them."""
        path = self.file.paths[self.file.block_volume[b]]
        with contextlib.suppress(OSError), opened(path) as fd:
            return read_at(fd, int(self.file.block_offset[b]), BLOCK_BYTES)
        return b""

    def _table_from_names(self, first: int, count: int) -> tuple[Any, Any, Any] | None:
        """Make a level 0 table anew: sizes are those of the sources, labels follow the names."""
        ids = range(first, first + count)
        labels = [self._label_by_name(id) for id in ids]
        if self.level or self.sizes is None or self.crcs is None or None in labels:
            return None
        sizes = self.sizes[first : first + count].astype(np.int64)
        space = up64(sizes)
        return BLOCK_HEADER_SIZE[0] + np.cumsum(space) - space, sizes, np.array(labels)

    def _label_by_name(self, id: int) -> int | None:
        """Class of a sample by its name: the first folder, or with ImageNet's rules the last."""
        if self.names is None or not self.label_of:
            return None
        folders = self.names[id].split("/")[:-1] or [""]
        return self.label_of.get(folders[0], self.label_of.get(folders[-1]))

    def _why_unsound(self, id: int, data: bytes, size: int) -> str | None:
        if len(data) < size:
            return "is cut off: the file ends before"
        if self.crcs is not None:
            crc, packed = crc32(data), int(self.crcs[id])
            return None if crc == packed else f"CRC-32 is {crc:08x}, {packed:08x} was packed"
        try:
            with warnings.catch_warnings(), Image.open(io.BytesIO(data)) as image:
                warnings.simplefilter("ignore")
                image.load()
        except Exception as error:  # Pillow's decoders raise whatever they come across
            return f"cannot be decoded: {error}"
        return None

    def _source_size(self, id: int, data: bytes) -> int:
        return len(data) if self.sizes is None else int(self.sizes[id])

    def _all_lost(self, b: int, reason: str) -> list[Picture]:
        found: list[Picture] = []
        for i in range(int(self.file.block_counts[b])):
            found += self._replacement(self._damage(b, reason, i), None)
        return found

    def _with_sound_labels(self, b: int, raw: bytes, found: list[Picture]) -> list[Picture]:
        """Look at a block without damaged pictures: its table or its padding may be damaged."""
        packed = int(self.block_crcs[b])
        if crc32(raw) == packed:
            return found
        reason = "table or padding is damaged, no picture is"
        named = [self._relabelled(b, picture) for picture in found]
        number = int(self.file.block_number[b])
        labels = [picture.label for picture in named]
        again = pack_pictures(self.level, number, [_encoded(p) for p in named], labels)
        if again.crc == packed or self.names is not None:
            self.mended.append(self._damage(b, reason))
            return named
        return self._all_lost(b, "table is damaged, so the labels may be wrong")

    def _relabelled(self, b: int, picture: Picture) -> Picture:
        """Give a picture the label that its name says."""
        if self.names is None:
            return picture
        folders = self.names[picture.id].split("/")[:-1]
        said = {self.label_of[name] for name in folders if name in self.label_of}
        label = self._label_by_name(picture.id)
        if label is None or picture.label in said:
            return picture
        i = picture.id - int(self.file.block_starts[b])
        self.mended.append(self._damage(b, f"label is {picture.label}, its name says {label}", i))
        return picture._replace(label=label)

    def _replacement(self, damage: Damage, label: int | None) -> list[Picture]:
        """Find a file in place of a damaged sample: a list of one, or of none."""
        assert damage.id is not None
        by_name = self._label_by_name(damage.id)
        label = label if by_name is None else by_name
        if self.replace is None or self.names is None or label is None:
            self.dropped.append(damage)
            return []
        try:
            data, source_size = self._from_folder(self.names.raw(damage.id))
        except (PictureError, NeedMore, OSError) as error:
            why = error.strerror if isinstance(error, OSError) else str(error)
            self.dropped.append(_because(damage, f"no replacement: {why}"))
            return []
        same = self.crcs is not None and crc32(data) == self.crcs[damage.id]
        how = "byte for byte as packed" if same else "not the packed bytes"
        self.replaced.append(_because(damage, f"replaced, {how}"))
        return [Picture(damage.id, data, label, source_size)]

    def _from_folder(self, name: bytes) -> tuple[bytes, int]:
        """Read a picture of the folder as it would be packed, and say how large its file is."""
        assert self.replace is not None
        if b".." in name.split(b"/") or os.path.isabs(name):
            raise PictureError("its name leads out of the folder")
        path = os.path.join(self.replace, name)
        with open(path, "rb") as source:
            data = source.read()
        if self.level:
            encoded = reencode(data, self.level, roi=self.roi).data
        else:
            check_file(Place(path))
            encoded = data
        if up64(len(encoded)) > capacity(self.level):
            raise PictureError("is larger than a block")
        return encoded, len(data)

    def _fitting(self, pictures: list[Picture]) -> list[Picture]:
        """Take as many as a block holds; the others come late."""
        filler = Filler(capacity(self.level), TABLE_CAPACITY[self.level])
        for i, picture in enumerate(pictures):
            if filler.add(len(picture.data)) and i:
                self.late += pictures[i:]
                return pictures[:i]
        return pictures

    def _add_late(self) -> None:
        while self.late:
            waiting, self.late = self.late, []
            self._add(self._fitting(waiting))

    def _add(self, pictures: list[Picture]) -> None:
        if not pictures:
            return
        block = pack_pictures(
            self.level,
            self.writer.num_blocks,
            [_encoded(picture) for picture in pictures],
            [picture.label for picture in pictures],
        )
        ids = np.array([picture.id for picture in pictures], np.int64)
        sizes = np.array([picture.source_size for picture in pictures], np.int64)
        self.writer.add(Filled(block, ids, sizes))

    def _damage(self, b: int, reason: str, i: int | None = None) -> Damage:
        id = None if i is None else int(self.file.block_starts[b]) + i
        name = None if id is None or self.names is None else self.names[id]
        path = self.file.paths[self.file.block_volume[b]]
        return Damage(reason, path, int(self.file.block_number[b]), i, id, name)


def _because(damage: Damage, more: str) -> Damage:
    return Damage(
        f"{damage.reason}; {more}",
        damage.path,
        damage.block,
        damage.sample,
        damage.id,
        damage.name,
    )


def _encoded(picture: Picture) -> Encoded:
    """Add the size in pixels, 0 where level 0 holds what is no JPEG."""
    try:
        head = read_head(picture.data)
    except (PictureError, NeedMore):
        return Encoded(picture.data, 0, 0)
    return Encoded(picture.data, head.width, head.height)
