"""SampleLoader: single pictures for a model in use, first in, first out."""

import errno
import os
import stat
import threading
from collections import deque
from types import TracebackType
from typing import Self

from dts.errors import ClosedError, ConfigError, CorruptError

POOL_BYTES = 256 << 20


class _Item:
    """One picture on its way: `data` or `error` is set once it is there."""

    __slots__ = ("data", "error", "id", "label", "size")

    def __init__(self, id: int, label: int, size: int) -> None:
        self.id = id
        self.label = label
        self.size = size
        self.data: bytes | None = None
        self.error: Exception | None = None


class SampleLoader:
    """JPEG files or bytes are pushed in, samples are pulled out in the same order.

    For deployment: there is no data set and no epoch. Any number of threads may push, and any
    number may pull; each of these is a worker with a number of its own. All pictures together,
    those handed out included, take no more than the pool: a push waits for room.

    Parameters
    ----------
    pool_bytes : int
        Size of the pool.
    num_workers : int
        Workers that pull, numbered from 0.

    Raises
    ------
    ConfigError
        A number below 1.

    Examples
    --------
    Decode, resize and normalise what comes, in one thread that pulls:

    >>> from dts import NormMode
    >>> from dts.decode import decode
    >>> from dts.kernels import fused_normalize, resize
    >>> from dts.loaders import SampleLoader
    >>> mean, std = NormMode.IMAGENET.mean, NormMode.IMAGENET.std
    >>> loader = SampleLoader()
    >>> id = loader.push_file("cat.jpg")
    >>> loader.finish()
    >>> while (sample := loader.get_next_sample()) is not None:
    ...     label, data, id = sample
    ...     pixels = resize(decode(data), (224, 224))
    ...     array = fused_normalize(pixels[None], mean, std, dtype="float32")
    """

    def __init__(self, pool_bytes: int = POOL_BYTES, *, num_workers: int = 1) -> None:
        if pool_bytes < 1 or num_workers < 1:
            raise ConfigError(f"a pool of {pool_bytes} bytes for {num_workers} workers")
        self.pool_bytes = pool_bytes
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._queue: deque[_Item] = deque()
        self._held: list[_Item | None] = [None] * num_workers
        self._waiting: deque[object] = deque()  # pushes, in their turn
        self._used = 0
        self._pushed = 0
        self._finished = False
        self._closed = False
        self._pid = os.getpid()

    # Push

    def push_file(
        self, path: str | os.PathLike[str], label: int = -1, *, timeout: float | None = None
    ) -> int:
        """Read a JPEG file into the pool; waits until there is room.

        A file that cannot be read is no error here: it is one in its turn, for whoever pulls.

        Parameters
        ----------
        path : path
        label : int
            Comes out with the sample; -1: none.
        timeout : float, optional
            Seconds to wait for room at most.

        Returns
        -------
        int
            Id of the sample: 0 for the first that was pushed, and so on.

        Raises
        ------
        ConfigError
            A file that is larger than the whole pool.
        TimeoutError
            There was no room in time.
        ClosedError
            `close` or `finish` was called.
        """
        where = os.fspath(path)
        lost: OSError | None = None
        size = 0
        try:
            status = os.stat(where)
            size = status.st_size
            if not stat.S_ISREG(status.st_mode):
                lost, size = OSError(errno.EINVAL, "not a file", where), 0
        except OSError as error:
            lost = error
        item = self._reserve(size, label, where, timeout)
        try:
            item.error = lost
            if lost is None:
                with open(where, "rb") as file:
                    item.data = file.read(size + 1)
                if size == 0 or len(item.data) != size:
                    reason = "the file is empty" if size == 0 else "the file changed meanwhile"
                    item.error = CorruptError(reason, path=where)
        except OSError as error:
            item.error = error
        finally:
            self._ready(item)
        return item.id

    def push_bytes(
        self,
        data: bytes | bytearray | memoryview,
        label: int = -1,
        *,
        timeout: float | None = None,
    ) -> int:
        """Put a JPEG that is in memory into the pool: `bytes` as they are, others as a copy.

        Parameters, results and errors are those of `push_file`.
        """
        size = memoryview(data).nbytes
        item = self._reserve(size, label, "the picture", timeout)
        try:
            item.data = bytes(data)
            if size == 0:
                item.error = CorruptError("no bytes")
        finally:
            self._ready(item)
        return item.id

    def _reserve(self, size: int, label: int, what: str, timeout: float | None) -> _Item:
        """Take room and a place in the queue."""
        if size > self.pool_bytes:
            raise ConfigError(f"{what}: {size} bytes, the pool has {self.pool_bytes} in all")
        me = object()
        with self._changed:
            self._check_push()
            self._waiting.append(me)
            try:
                if not self._changed.wait_for(lambda: self._may_enter(me, size), timeout):
                    raise TimeoutError(f"no room for {size} bytes within {timeout} s")
                self._check_push()
                item = _Item(self._pushed, label, size)
                self._pushed += 1
                self._used += size
                self._queue.append(item)
                return item
            finally:
                self._waiting.remove(me)
                self._changed.notify_all()

    def _may_enter(self, me: object, size: int) -> bool:
        if self._closed or self._finished:
            return True
        return self._waiting[0] is me and self._used + size <= self.pool_bytes

    def _ready(self, item: _Item) -> None:
        with self._changed:
            if item.error is not None:
                item.error.id = item.id  # type: ignore[attr-defined]
                item.data = None
            elif item.data is None:
                item.error = CorruptError("the push was interrupted", id=item.id)
            self._changed.notify_all()

    def _check_push(self) -> None:
        self._check_open()
        if self._finished:
            raise ClosedError("finish() was called: nothing can be pushed any more")

    # Pull

    def get_next_sample(
        self, worker: int = 0, *, timeout: float | None = None
    ) -> tuple[int, memoryview, int] | None:
        """Take the oldest sample; waits until there is one.

        Parameters
        ----------
        worker : int
            Number of the caller. Its last sample ends here: that room is free again.
        timeout : float, optional
            Seconds to wait at most; 0: do not wait.

        Returns
        -------
        tuple of (int, memoryview, int) or None
            Label, bytes, id. The bytes stay until the same worker's next call. None when
            `finish` was called and all is out.

        Raises
        ------
        OSError, CorruptError
            A file that could not be read, with its path; the next call goes on with the next one.
        TimeoutError
            Nothing came in time.
        ClosedError
            The loader was closed.
        """
        with self._changed:
            self._check_open()
            if not 0 <= worker < len(self._held):
                raise IndexError(f"worker {worker} of {len(self._held)}")
            self._free(self._held[worker])
            self._held[worker] = None
            if not self._changed.wait_for(self._may_leave, timeout):
                raise TimeoutError(f"no sample within {timeout} s")
            self._check_open()
            if not self._queue:
                return None
            item = self._queue.popleft()
            if item.error is not None:
                self._free(item)
                self._changed.notify_all()
                raise item.error
            self._held[worker] = item
            self._changed.notify_all()  # the next one may be ready too
            assert item.data is not None
            return item.label, memoryview(item.data), item.id

    def _may_leave(self) -> bool:
        if self._closed:
            return True
        if not self._queue:
            return self._finished
        return self._queue[0].data is not None or self._queue[0].error is not None

    def _free(self, item: _Item | None) -> None:
        if item is not None:
            self._used -= item.size
            self._changed.notify_all()

    # What is there, and the end

    def __len__(self) -> int:
        """Samples that wait to be pulled."""
        with self._lock:
            return len(self._queue)

    @property
    def used_bytes(self) -> int:
        """Bytes of the pool that are taken, those of samples handed out included."""
        with self._lock:
            return self._used

    def finish(self) -> None:
        """Say that nothing more will be pushed: who pulls gets the rest, then None."""
        with self._changed:
            self._finished = True
            self._changed.notify_all()

    def close(self) -> None:
        """End everything: all waits end with ClosedError. May be called again."""
        if self._pid != os.getpid():
            return
        with self._changed:
            self._closed = True
            self._queue.clear()
            self._held = [None] * len(self._held)
            self._used = 0
            self._changed.notify_all()

    def _check_open(self) -> None:
        if self._closed:
            raise ClosedError("the loader is closed")
        if self._pid != os.getpid():
            raise ClosedError("the loader was made before a fork; make one in the child")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def __reduce__(self) -> str:
        raise TypeError("a SampleLoader cannot be pickled: make one in the other process")
