"""BlockReader: one split of an open .dts file, served sample by sample."""

cimport cython
from cpython.exc cimport PyErr_CheckSignals
from libc.stdint cimport int64_t, uint8_t, uint32_t, uintptr_t
from libc.stdlib cimport calloc, free

from dts.loaders.order cimport (ORDER_GLOBAL, order_kind, plan_alloc, plan_bytes, plan_free,
                                seed_word, split_number)
from dts.loaders.serve cimport (MUST_WAIT, core_begin, core_finish, core_replacement, core_rest,
                                core_resume, core_sample_at, prepare, take, worker_state)
from dts.sample cimport dts_sample
from dts.status cimport (DTS_CLOSED, DTS_END, DTS_INTERNAL, DTS_OK, dts_error,
                         dts_error_clear)
from dts.storage.reader cimport BlockFeed
from dts.threads cimport dts_line_start, dts_process_id

import atexit
import weakref

import numpy as np

from dts.errors import ClosedError, ConfigError, DtsError, from_status
from dts.loaders.order import check_blocks

cdef enum:
    SIGNAL_MS = 100  # how long a wait may keep Ctrl-C waiting

_live = weakref.WeakSet()


@atexit.register
def _stop_all():
    # Threads end before the interpreter goes; memory stays, since somebody may still look at it.
    for reader in list(_live):
        (<BlockReader>reader).closed = True
        with nogil:
            (<BlockReader>reader).feed.stop_threads()


@cython.no_gc_clear  # workers below Python use these tables until close()
cdef class BlockReader:
    """The samples of a .dts file or set of volumes, epoch after epoch.

    `load_workers` IO threads read blocks of 16 MiB, in the order of need, into an arena; samples
    are handed out from there without a copy. FULLY keeps every block: the first epoch reads while
    it serves, later ones read nothing. PARTIAL keeps two windows of the order: the next one is
    read while this one is consumed.

    Parameters
    ----------
    file : dts.format.DtsFile
    split : {"train", "val"}
        Which streams of random numbers the order comes from.
    mode : {"FULLY", "PARTIAL"}
    order : {"window", "global", "sequential"}
        See dts.loaders.order. "global" needs FULLY.
    window : int
        Blocks in a window, at most. "sequential" takes small windows, e.g. 4.
    load_workers : int
        IO threads.
    num_workers : int
        Consumers, numbered from 0. Each has to go on asking, or to finish: in PARTIAL, blocks are
        reused only when all have left their window.
    seed : int
        Taken mod 2^64.
    bad : array_like of uint8, shape (samples,), optional
        1 where a CRC check found damage: an error when that sample's turn comes.

    Attributes
    ----------
    memory_bytes : int
        What arena and tables take, known before any of it is taken.
    address : int
        Of the `dts_loader` of dts/loaders/loader.h, for C and ctypes; valid while this object
        lives. Close only when no worker is using it or a sample from it.

    Raises
    ------
    ConfigError
        Settings that cannot work.
    OSError
        A file that cannot be opened.
    """

    def __init__(self, file, *, str split="train", str mode="PARTIAL", str order="window",
                 int64_t window=32, int64_t load_workers=1, int64_t num_workers=1, seed=0,
                 bad=None):
        if self.feed is not None:
            raise TypeError("a reader is made once")
        if mode not in ("FULLY", "PARTIAL"):
            raise ConfigError(f"mode is FULLY or PARTIAL, not {mode!r}")
        for name, value in (("window", window), ("load_workers", load_workers),
                            ("num_workers", num_workers)):
            if value < 1:
                raise ConfigError(f"{name} is at least 1, not {value}")
        if file.level is None:
            raise ConfigError(f"{file.paths[0]}: a file of plain arrays has no blocks of pictures")
        counts = check_blocks(file.block_counts)
        self.core.plan.kind = order_kind(order)
        self.core.plan.split = split_number(split)
        if self.core.plan.kind == ORDER_GLOBAL and mode == "PARTIAL":
            raise ConfigError("global order needs all blocks in memory: FULLY, or window order")
        self.split = split
        self.mode = mode
        self.order = order
        self.file = file
        self.core.plan.seed = seed_word(seed)
        self.core.plan.n_blocks = len(counts)
        self.core.plan.n_samples = int(counts.sum(dtype=np.int64))
        if bad is not None:
            self.bad = np.array(bad, dtype=np.uint8)
            if self.bad.shape[0] != self.core.plan.n_samples:
                raise ConfigError(f"bad has {self.bad.shape[0]} entries for "
                                  f"{self.core.plan.n_samples} samples")
            if self.bad.shape[0]:
                self.core.bad = &self.bad[0]
        self.core.n_workers = num_workers
        self.worker_memory = calloc(num_workers + 1, sizeof(worker_state))
        if self.worker_memory == NULL or plan_alloc(&self.core.plan, window) != 0:
            raise MemoryError(f"no memory for the order of {self.core.plan.n_samples} samples")
        self.core.workers = <worker_state *>dts_line_start(self.worker_memory)
        slots = max(1, self.core.plan.n_blocks)
        if mode == "PARTIAL":
            if self.core.plan.n_windows == 2:
                self.core.half = slots // 2  # the larger window is the second
            else:
                self.core.half = -(-slots // self.core.plan.n_windows)
                slots = min(slots, 2 * self.core.half)
        self.feed = self.make_feed(slots, load_workers)
        self.core.half_bytes = self.feed.half_bytes
        self.core.feed = &self.feed.feed
        self.memory_bytes = (
            self.feed.arena_bytes + self.feed.memory_bytes + plan_bytes(&self.core.plan)
            + (num_workers + 1) * sizeof(worker_state) + (0 if bad is None else len(self.bad)))
        self.interface.self = &self.core
        self.interface.sample_at = core_sample_at
        self.interface.replacement = core_replacement
        self.interface.finish = core_finish
        self.interface.rest = core_rest
        self.interface.resume = core_resume
        _live.add(self)

    def __len__(self):
        return self.core.plan.n_samples

    @property
    def address(self):
        return <uintptr_t>&self.interface

    cdef BlockFeed make_feed(self, int64_t slots, int64_t threads):
        return BlockFeed(self.file, slots, threads, self.core.half)

    def read_directly(self):
        """Read around the page cache: see BlockFeed.read_directly."""
        return self.feed.read_directly()

    def bind_io(self, masks):
        """Say on which CPUs each IO thread runs: see BlockFeed.bind."""
        self.feed.bind(masks)

    cdef int alive(self) except -1:
        if self.feed is None or self.closed:
            raise ClosedError("the reader is closed")
        if self.feed.pid != dts_process_id():
            raise ClosedError("the reader was made before a fork; make one in the child")
        return 0

    cdef rest(self):
        """End the epoch and wait until the IO threads have seen it."""
        cdef int status
        self.running = False
        while True:
            with nogil:
                status = self.feed.end(SIGNAL_MS)
            if status == DTS_OK:
                return
            PyErr_CheckSignals()

    def begin_epoch(self, int64_t epoch):
        """Start an epoch; one that is running ends. No worker may be inside `sample_at`.

        Parameters
        ----------
        epoch : int
            0 to 2^32 - 1. Any order of epochs will do: nothing depends on what ran before.

        Returns
        -------
        int
            Samples in the epoch.

        Raises
        ------
        MemoryError
            When the system refuses the arena (first epoch only).
        """
        cdef int64_t limit = 0, length
        cdef uint8_t *arena
        self.alive()
        if not 0 <= epoch <= 0xFFFFFFFF:
            raise ConfigError(f"epoch is 0 to 2^32 - 1, not {epoch}")
        if self.changing:
            raise DtsError("begin_epoch and end_epoch belong to one thread")
        self.changing = True
        try:
            self.rest()
            self.feed.start()
            if self.view is None:
                self.view = memoryview(self.feed.arena)
            arena = self.feed.arena.base
            with nogil:
                length = core_begin(&self.core, arena, <uint32_t>epoch, &limit)
            self.alive()
            self.feed.begin(length, limit)
            self.running = self.begun = True
        finally:
            self.changing = False
        return self.core.plan.n_samples

    def end_epoch(self):
        """End the epoch, wherever it is. Workers that wait get None; IO threads stop at once."""
        self.alive()
        if self.changing:
            raise DtsError("begin_epoch and end_epoch belong to one thread")
        self.changing = True
        try:
            self.rest()
        finally:
            self.changing = False

    def get_next_sample(self, int64_t worker=0):
        """The next sample of one worker: worker w gets positions w, w + num_workers, and so on.

        Returns
        -------
        tuple of (int, memoryview, int) or None
            Label, bytes as packed, sample id. The bytes lie in the arena and stay until the same
            worker's next call. None when the epoch is over.

        Raises
        ------
        CorruptError, OSError
            A sample that is damaged or cannot be read. The next call goes on with the next one.
        """
        cdef int64_t serial, position, start
        cdef int status
        cdef dts_sample sample
        cdef dts_error error
        self.alive()
        if not 0 <= worker < self.core.n_workers:
            raise IndexError(f"worker {worker} of {self.core.n_workers}")
        if not self.running:
            if not self.begun:
                raise DtsError("begin_epoch comes first")
            return None
        serial = self.core.feed.serial
        position = self.core.workers[worker].next
        dts_error_clear(&error)
        while True:
            # The GIL is held here, and close() needs it: the arena cannot go away meanwhile.
            status = take(&self.core, <int>worker, position, &sample, &error)
            if status != MUST_WAIT:
                break
            with nogil:
                status = prepare(&self.core, <int>worker, position, serial, SIGNAL_MS, &error)
            PyErr_CheckSignals()
            self.alive()
            if status == DTS_INTERNAL:
                break
            if not self.running or self.core.feed.serial != serial:
                return None
        if status == DTS_END:
            with nogil:
                core_finish(&self.core, <int>worker)
            return None
        if status == DTS_CLOSED:
            return None
        self.core.workers[worker].next = position + self.core.n_workers
        if status != DTS_OK:
            raise self.exception(&error)
        start = sample.data - self.feed.arena.base
        return sample.label, self.view[start:start + sample.size], sample.id

    cdef exception(self, dts_error *error):
        cdef int64_t id = error.id
        name = None
        if id >= 0:
            try:
                names = self.file.names
                name = None if names is None else names[id]
            except DtsError:
                pass  # damaged names, or the file was closed: the place is enough
        return from_status(
            error.status, error.reason.decode("utf-8", "replace"), os_errno=error.os_errno,
            path=self.file.paths[error.volume] if error.volume >= 0 else None,
            block=error.block, sample=error.sample, id=id, name=name)

    def close(self):
        """End everything: threads are joined, waits wake, memory goes once no view is left."""
        if self.closed or self.feed is None:
            return
        self.closed = True
        self.running = False
        self.feed.close()
        self.view = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _layout(self):
        """As SplitPipeline._layout."""
        cdef int64_t k
        spans = self.feed._layout()
        for k in range(self.core.n_workers):
            start = <uintptr_t>&self.core.workers[k]
            spans[f"place of worker {k}"] = (start, start + sizeof(worker_state))
        return spans

    def stats(self):
        """Counters since the reader was made: see BlockFeed.stats."""
        return self.feed.stats()

    def __dealloc__(self):
        if self.feed is not None:
            self.feed.close()  # joins the threads before the tables go
        plan_free(&self.core.plan)
        free(self.worker_memory)
