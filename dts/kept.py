"""A validation set that stays in memory, preprocessed: what ``Setup.using_cpvs`` asks for."""

import logging
import threading
from typing import Any

from dts.errors import ClosedError
from dts.pipeline import SplitPipeline

_log = logging.getLogger("dts")


class KeptPipeline:
    """Stands for a SplitPipeline, and keeps the batches of its first whole epoch.

    Later epochs hand out the same memory and run nothing. All its arrays are read-only, those of
    the first epoch too: no user can change what another epoch gets.

    Parameters
    ----------
    pipeline : SplitPipeline
        Of a split whose epochs are all the same, and whose SplitConfig says ``keep``.
    n_batches : int
        Of an epoch.
    """

    def __init__(self, pipeline: SplitPipeline, n_batches: int) -> None:
        self._pipeline = pipeline
        self._n = n_batches
        self._lock = threading.Lock()
        self._kept: list[tuple[Any, ...]] | None = None
        self._fresh: dict[int, tuple[Any, ...]] = {}
        self._failed = 0
        self._serial = 0  # changes whenever an epoch begins or ends
        self._source = -1  # the token of the pipeline's epoch
        self._replays = False
        self._at = 0
        self._closed = False

    def begin(self, epoch: int) -> int:
        """Start an epoch; one that is still running ends. Returns the token that `next` takes."""
        self.end()
        with self._lock:
            if self._closed:
                raise ClosedError("the Preprocessor was closed")
            self._replays = self._kept is not None
            self._at = 0
        if not self._replays:
            self._source = self._pipeline.begin(epoch)
        with self._lock:
            self._serial += 1
            return self._serial

    def next(self, token: int) -> tuple[Any, ...] | None:
        """As ``SplitPipeline.next``."""
        with self._lock:
            source = self._source
            if self._closed or token != self._serial:
                raise ClosedError("this epoch was ended")
            if self._replays and self._kept is not None:
                if self._at == self._n:
                    return None
                self._at += 1
                return _views(self._kept[self._at - 1])
        return self._run(token, source)

    def _run(self, token: int, source: int) -> tuple[Any, ...] | None:
        try:
            got = self._pipeline.next(source)
        except ClosedError:
            raise
        except Exception:
            with self._lock:
                self._failed += token == self._serial
            raise
        if got is None:
            return None
        for array in got[:4]:
            if array is not None:
                array.flags.writeable = False
        with self._lock:
            if token == self._serial:
                self._fresh[got[-1]] = got
                if len(self._fresh) == self._n:
                    self._kept = [self._fresh[k] for k in range(self._n)]
                    _log.info("the preprocessed validation set is complete, and kept")
        return _views(got)

    def end(self, token: int | None = None) -> None:
        """End the running epoch, as ``SplitPipeline.end``."""
        with self._lock:
            if token is not None and token != self._serial:
                return
            if self._failed and self._kept is None:
                _log.warning(
                    "using_cpvs: %d of %d batches raised an error, so the set is not kept; the "
                    "next epoch preprocesses it again",
                    self._failed,
                    self._n,
                )
            self._failed = 0
            self._serial += 1
            self._fresh = {}
        self._pipeline.end()

    def interrupt(self) -> None:
        """End the running epoch without waiting."""
        self._pipeline.interrupt()

    def close(self) -> None:
        """Stop all threads, give all memory back. Batches that are still held stay valid."""
        with self._lock:
            self._closed = True
            self._kept, self._fresh = None, {}
        self._pipeline.close()

    def abandon(self) -> None:
        """In a forked child: the threads are not there, touch nothing."""
        self._closed = True
        self._pipeline.abandon()

    @property
    def slot_bytes(self) -> int:
        """Memory of one batch, in bytes."""
        return self._pipeline.slot_bytes

    def stats(self) -> dict[str, Any]:
        """As ``SplitPipeline.stats``, and ``kept_batches``."""
        kept = self._kept
        return {**self._pipeline.stats(), "kept_batches": 0 if kept is None else len(kept)}


def _views(batch: tuple[Any, ...]) -> tuple[Any, ...]:
    """Arrays of the user's own over the same memory, whose shape he may change."""
    arrays = (None if array is None else array.view() for array in batch[:4])
    return (*arrays, *batch[4:])
