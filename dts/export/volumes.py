"""Where an export goes: one file or several volumes, named all together or not at all."""

from __future__ import annotations

import contextlib
import os
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dts.datasets.report import EXAMPLES, printable
from dts.errors import ConfigError, ExportError
from dts.export.output import OutputFile, refuse_existing
from dts.export.roi import has_roi_layout
from dts.format.file import DtsFile
from dts.format.layout import (
    BLOCK_BYTES,
    HEADER_AREA,
    sidecar_path,
    split_volume_path,
    volume_path,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType
    from typing import Self

    from dts.datasets.listing import Listing

LEAST_VOLUME = HEADER_AREA + BLOCK_BYTES


def split_blocks(blocks: int, volumes: int) -> list[range]:
    """Cut blocks into volumes of equal numbers, give or take one."""
    return [range(v * blocks // volumes, (v + 1) * blocks // volumes) for v in range(volumes)]


@dataclass(frozen=True)
class Earlier:
    """The set that an export is appended to.

    Attributes
    ----------
    volumes, blocks : int
        What it has.
    single : str or None
        Its path if it is one file without a volume's name.
    classes : list of bytes or None
        Names of its classes by label.
    names : frozenset of bytes
        Names of its samples.
    """

    volumes: int = 0
    blocks: int = 0
    num_classes: int = 0
    single: str | None = None
    classes: tuple[bytes, ...] | None = None
    names: frozenset[bytes] = frozenset()

    @classmethod
    def read(cls, path: str, *, level: int, roi: bool, is_training: bool) -> tuple[str, Earlier]:
        """Look at a set; return its path as a single file, and what it is.

        Raises
        ------
        FileNotFoundError, FormatError
            There is none, or it is damaged.
        ExportError
            It is of another kind than what is to be appended.
        """
        with DtsFile(path) as file:
            where = printable(file.paths[0])
            for what, old, new in (
                ("level", file.level, level),
                ("layout", *("roi" if r else "plain" for r in (has_roi_layout(file), roi))),
                ("split", *("train" if t else "val" for t in (file.is_training, is_training))),
            ):
                if old != new:
                    raise ExportError(f"{where}: its {what} is {old}, not {new}: cannot append")
            split = split_volume_path(file.paths[0])
            named = split is not None and split[1] == file.header.volume_id
            classes = file.class_names
            return split[0] if split and named else file.paths[0], cls(
                volumes=len(file.paths),
                blocks=len(file.block_counts),
                num_classes=file.num_classes,
                single=None if named else file.paths[0],
                classes=None if classes is None else tuple(map(os.fsencode, classes)),
                names=frozenset(map(os.fsencode, file.names or ())),
            )

    def check(self, listing: Listing) -> None:
        """Raise ExportError if samples of a listing cannot follow those that are there."""
        if self.classes is None and len(listing.classes) != self.num_classes:
            raise ExportError(
                f"cannot append {len(listing.classes)} classes to a plain set of "
                f"{self.num_classes} (classes gives the list)"
            )
        if self.classes is not None and listing.classes != self.classes:
            raise ExportError("cannot append: the class list differs from that of the set")
        if not self.names:
            return
        same = [name for name in map(listing.name, range(len(listing))) if name in self.names]
        if same:
            shown = ", ".join(map(printable, same[:EXAMPLES]))
            more = ", ..." if len(same) > EXAMPLES else ""
            raise ExportError(
                f"cannot append: {len(same):,} names are in the set already: {shown}{more}"
            )


class Target:
    """The files of one export, until they have their names.

    Used as a context manager; without `commit` nothing is left of what was written.

    Parameters
    ----------
    path : str
        The file, or what the set would be called as a single file.
    overwrite : bool
        Replace what is there.
    volumes : int, optional
        Files to make.
    volume_size : int, optional
        Most bytes that a file may have; as many files as that takes.
    earlier : Earlier, optional
        The set to append to.
    kept : str, optional
        Name to write the first file under until it is complete; see `OutputFile`. Then there is
        a journal of what is in it, too.

    Raises
    ------
    ExportError
        The name is taken and `overwrite` is off.
    ConfigError
        `volume_size` is less than a file of one block has.
    """

    def __init__(
        self,
        path: str,
        *,
        overwrite: bool,
        volumes: int | None = None,
        volume_size: int | None = None,
        earlier: Earlier | None = None,
        kept: str | None = None,
    ):
        if volume_size is not None and volume_size < LEAST_VOLUME:
            raise ConfigError(
                f"volume_size is {volume_size:,}, a file of one block has {LEAST_VOLUME:,} bytes"
            )
        self.path = os.path.realpath(path)
        self.overwrite = overwrite
        self.volumes = volumes
        self.volume_size = volume_size
        self.appending = earlier is not None
        self.earlier = earlier or Earlier()
        self.kept = kept
        self.files: list[OutputFile] = []
        if earlier is None:
            for name in (path, *self._volumes_there()):
                refuse_existing(name, overwrite=overwrite)
        else:
            self._check_room_behind(earlier)

    def _volumes_there(self) -> list[str]:
        """Give all files that are called like volumes of this set, complete or not."""
        try:
            with os.scandir(os.path.dirname(self.path)) as entries:
                found = [entry.path for entry in entries]
        except FileNotFoundError:  # told when the file is opened
            return []
        splits = [(split_volume_path(path), path) for path in found]
        return sorted(path for split, path in splits if split and split[0] == self.path)

    def _check_room_behind(self, earlier: Earlier) -> None:
        """Raise ExportError if there are volumes behind the end of the set."""
        there = self._volumes_there()
        known = {volume_path(self.path, v) for v in range(earlier.volumes)}
        strays = there if earlier.single is not None else [n for n in there if n not in known]
        if strays:
            raise ExportError(
                f"cannot append: {printable(strays[0])} is there, and not part of the set; was an "
                "append stopped? Remove it first"
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for file in self.files:
            file.__exit__(kind, error, traceback)

    def cut(self, blocks: int) -> list[range]:
        """Say which blocks go into which file.

        Raises
        ------
        ExportError
            Fewer blocks than volumes.
        """
        volumes = self.volumes or 1
        if self.volume_size is not None:
            most = (self.volume_size - HEADER_AREA) // BLOCK_BYTES
            volumes = -(-blocks // most)
        if volumes > blocks:
            raise ExportError(
                f"{printable(self.path)}: {blocks} blocks cannot be cut into {volumes} volumes"
            )
        return split_blocks(blocks, volumes)

    def open(self, count: int) -> list[OutputFile]:
        """Open that many files, those that are open already included, and set their names."""
        first = self.earlier.volumes
        alone = count == 1 and not self.appending
        names = [self.path] if alone else [volume_path(self.path, first + v) for v in range(count)]
        for v, name in enumerate(names):
            if v < len(self.files):
                self.files[v].aim(name)
            else:
                kept = self.kept if v == 0 else None
                self.files.append(OutputFile(name, overwrite=self.overwrite, kept=kept))
        while len(self.files) > count:  # a level 0 set that shrank meanwhile
            self.files.pop().__exit__(None, None, None)
        return self.files

    def commit(self, sidecars: list[bytes | None]) -> None:
        """Bring all to the disk, then give all files their names, the first one last.

        A reader looks for the first one, so the others are no set before. If a name turns out to
        be taken, those that were given are taken back.

        Parameters
        ----------
        sidecars : list of bytes or None
            Content of each file's sidecar.
        """
        with contextlib.ExitStack() as stack:
            extras: list[OutputFile | None] = []
            for file, content in zip(self.files, sidecars, strict=True):
                extra = None
                if content is not None:
                    extra = stack.enter_context(
                        OutputFile(sidecar_path(file.path), overwrite=True)
                    )
                    extra.write(0, content)
                    extra.sync()
                file.sync()
                extras.append(extra)
            old = list(self._old_files()) if self.overwrite else []
            self._hide_old_set()
            if self.earlier.single is not None:
                self._make_first_volume(self.earlier.single)
            self._name_all(extras)
            new = {file.path for file in (*self.files, *extras) if file is not None}
            for name in old:
                if name not in new:
                    with contextlib.suppress(FileNotFoundError):
                        os.unlink(name)

    def _name_all(self, extras: list[OutputFile | None]) -> None:
        """Name each file, then its sidecar: only who got the name may touch what belongs to it."""
        named: list[str] = []
        try:
            for file, extra in reversed(list(zip(self.files, extras, strict=True))):
                file.commit()
                named.append(file.path)
                if extra is not None:
                    extra.commit()
                    named.append(extra.path)
        except BaseException:
            if not self.overwrite:
                for name in named:
                    os.unlink(name)
            raise

    def _old_files(self) -> Iterator[str]:
        """Give all files that this export replaces, sidecars included."""
        for name in (self.path, *self._volumes_there()):
            yield from filter(os.path.lexists, (name, sidecar_path(name)))

    def _hide_old_set(self) -> None:
        """Take away the first volume of an old set: nobody may read old and new ones together."""
        if self.overwrite:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(volume_path(self.path, 0))

    def _make_first_volume(self, single: str) -> None:
        """Rename a single file to volume 0; at every moment one of the names is complete."""
        first = volume_path(self.path, 0)
        sidecar = sidecar_path(single)
        if os.path.lexists(sidecar):
            shutil.copyfile(sidecar, sidecar_path(first))
        os.rename(single, first)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(sidecar)
