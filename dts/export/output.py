"""A file that appears under its name complete, or not at all."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import secrets
import shutil
from typing import TYPE_CHECKING

from dts.datasets.report import human_bytes, printable
from dts.errors import ExportError
from dts.format.reading import read_at

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

    from typing_extensions import Buffer

SYNC_FILE_RANGE_WRITE = 2


def _find_sync_file_range():
    """Linux: begin to write a range to the disk, without waiting. None elsewhere."""
    try:
        call = ctypes.CDLL(None).sync_file_range
    except (OSError, AttributeError, TypeError):
        return None
    call.argtypes = (ctypes.c_int, ctypes.c_int64, ctypes.c_int64, ctypes.c_uint)
    return call


_sync_file_range = _find_sync_file_range()

NO_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
NO_HARD_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK)


def refuse_existing(path: str, *, overwrite: bool) -> None:
    """Raise ExportError if the name is taken and may not be."""
    if os.path.lexists(path) and not overwrite:
        raise ExportError(f"{printable(path)} exists already (overwrite replaces it)")


def lock(fd: int) -> None:
    """Take a file for this process, until it closes it or ends; OSError if another has it."""
    if fcntl is not None:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)


class OutputFile:
    """A file being written, without a name where the system can do that, else with a hidden one.

    Used as a context manager; without `commit` everything written is gone at its end. An unnamed
    file is gone even if the process is killed.

    Parameters
    ----------
    path : str
        Final name. A link is followed.
    overwrite : bool
        Replace what has that name when the new file is complete.
    kept : str, optional
        A name to write under instead. What that file holds already is not thrown away, and
        without `commit` the file stays, so that a later run can go on with it.

    Raises
    ------
    ExportError
        The name is taken, now or when the file is complete, and `overwrite` is off; or another
        process writes to `kept`.
    OSError
        The folder is not there, or nothing may be written in it.
    """

    def __init__(self, path: str, *, overwrite: bool, kept: str | None = None):
        refuse_existing(path, overwrite=overwrite)
        self.path = os.path.realpath(path)
        self.overwrite = overwrite
        self.folder = os.path.dirname(self.path)
        self._temporary: str | None = None
        self._keep = kept is not None
        try:
            self._file = os.fdopen(self._open() if kept is None else self._reopen(kept), "wb")
        except OSError as error:
            raise OSError(error.errno, error.strerror, self.folder) from None
        self._end = 0

    def _reopen(self, kept: str) -> int:
        fd = os.open(kept, os.O_CREAT | os.O_RDWR | getattr(os, "O_BINARY", 0), 0o666)
        self._temporary = kept
        try:
            lock(fd)
        except OSError:
            os.close(fd)
            raise ExportError(f"{printable(kept)}: another export is at work on it") from None
        return fd

    def _open(self) -> int:
        if hasattr(os, "O_TMPFILE") and os.path.isdir("/proc/self/fd"):
            with contextlib.suppress(OSError):
                return os.open(self.folder, os.O_TMPFILE | os.O_RDWR, 0o666)
        flags = os.O_CREAT | os.O_EXCL | os.O_RDWR | getattr(os, "O_BINARY", 0)
        name = self._hidden_name()
        fd = os.open(name, flags, 0o666)
        self._temporary = name
        return fd

    def _hidden_name(self) -> str:
        return os.path.join(self.folder, f".dts-{secrets.token_hex(8)}.tmp")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        with contextlib.suppress(OSError):  # a full disk fails again when buffers are flushed
            self._file.close()
        if self._temporary is not None and not self._keep:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self._temporary)

    def aim(self, path: str) -> None:
        """Change the final name, within the folder.

        Raises
        ------
        ExportError
            It is taken, and `overwrite` is off.
        """
        refuse_existing(path, overwrite=self.overwrite)
        self.path = os.path.realpath(path)

    def require(self, total: int) -> None:
        """Raise ExportError if the disk has less room than `total` bytes."""
        usage = shutil.disk_usage(self.folder)
        if usage.total and usage.free < total:
            raise self._full(total, usage.free)

    def write(self, offset: int, data: Buffer) -> None:
        """Write at a position in bytes.

        Raises
        ------
        ExportError
            The disk is full.
        OSError
            Anything else, with the path.
        """
        self._end = max(self._end, offset + memoryview(data).nbytes)
        try:
            self._file.seek(offset)
            self._file.write(data)
            self._file.flush()
        except OSError as error:
            raise self._named(error) from None
        if _sync_file_range is not None:  # the disk works while the next block is made
            size = memoryview(data).nbytes
            _sync_file_range(self._file.fileno(), offset, size, SYNC_FILE_RANGE_WRITE)

    def read(self, offset: int, size: int) -> bytes:
        """Read what was written; fewer bytes only at the end of the file."""
        try:
            return read_at(self._file.fileno(), offset, size)
        except OSError as error:
            raise self._named(error) from None

    def cut(self, size: int) -> None:
        """Throw away what lies behind the first `size` bytes."""
        self._file.truncate(size)
        self._end = size

    def restart(self) -> None:
        """Throw away what was written so far."""
        self.cut(0)

    def sync(self) -> None:
        """Bring all bytes to the disk."""
        try:
            os.fsync(self._file.fileno())
        except OSError as error:
            raise self._named(error) from None

    def commit(self) -> None:
        """Bring all bytes to the disk and give the file its name."""
        self.sync()
        try:
            self._give_name()
            self._keep = False
            self._sync_folder()
        except FileExistsError:
            raise ExportError(
                f"{printable(self.path)} appeared while this export ran; it was left as it is"
            ) from None
        except OSError as error:
            raise self._named(error) from None

    def _give_name(self) -> None:
        if self._temporary is None:
            if not self.overwrite:
                self._link_unnamed(self.path)
                return
            name = self._hidden_name()
            self._link_unnamed(name)
            self._temporary = name  # from here on it has a name to clean up
        elif not self.overwrite:
            self._claim(self._temporary)
            return
        self._file.close()
        os.replace(self._temporary, self.path)

    def _link_unnamed(self, name: str) -> None:
        # Only linkat() follows /proc/self/fd, and Python calls it if a folder descriptor is given.
        folder = os.open(self.folder, os.O_RDONLY)
        try:
            os.link(f"/proc/self/fd/{self._file.fileno()}", name, dst_dir_fd=folder)
        finally:
            os.close(folder)

    def _claim(self, temporary: str) -> None:
        """Move to the final name unless it is taken, decided by the file system in one step."""
        self._file.close()
        try:
            os.link(temporary, self.path)
        except OSError as error:
            if error.errno not in NO_HARD_LINKS:
                raise
            os.close(os.open(self.path, os.O_CREAT | os.O_EXCL))
            os.replace(temporary, self.path)

    def _sync_folder(self) -> None:
        if os.name == "nt":
            return
        folder = os.open(self.folder, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    def _named(self, error: OSError) -> Exception:
        if error.errno in NO_SPACE:
            return self._full(self._end, shutil.disk_usage(self.folder).free)
        return OSError(error.errno, error.strerror, self.path)

    def _full(self, needed: int, free: int) -> ExportError:
        return ExportError(
            f"no room for {printable(self.path)}: it needs at least {needed:,} bytes "
            f"({human_bytes(needed)}), the disk has {human_bytes(free)} left"
        )
