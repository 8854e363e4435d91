"""SplitPipeline: loader, threads and batch slots of one split, as one object.

Threads live as long as the object and sleep between epochs; what they do is in crew.pyx.
"""

cimport cython
from cpython.exc cimport PyErr_CheckSignals
from libc.stdint cimport int64_t, uint8_t, uint32_t, uintptr_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy

from dts.loaders.loader cimport dts_loader
from dts.pipeline.crew cimport (
    LOG, ON_ERROR_RAISE, ON_ERROR_REPLACE, ON_ERROR_SKIP, dts_crew, dts_worker, worker_main,
)
from dts.pipeline.plan cimport dts_plan
from dts.pipeline.render cimport (
    FORMAT_FLOAT16, FORMAT_FLOAT32, FORMAT_UINT8, scratch_bytes, scratch_free, scratch_init,
)
from dts.pipeline.station cimport SLOT_FREE, Slot, TransferStation, dts_batch, station_close
from dts.pipeline.tickets cimport (
    sleeper_init, tickets_count, tickets_stop, tickets_wait_idle,
)
from dts.status cimport DTS_OK, dts_error
from dts.threads cimport (
    dts_line_start, dts_line_up, dts_mutex_init, dts_mutex_lock, dts_mutex_unlock, dts_process_id,
    dts_store_rel, dts_thread_create, dts_thread_join,
)
from dts.transforms.chain cimport Chain
from dts.transforms.mix cimport Mixing

import numpy as np

from dts.errors import ClosedError, DtsError, from_status
from dts.loaders.topology import allowed_cpus
from dts.pipeline.mixing import mix_records

cdef int64_t ARRAY_CLAIM = 8    # positions for a ticket where a sample takes microseconds

_POLICIES = {"raise": ON_ERROR_RAISE, "skip": ON_ERROR_SKIP, "replace": ON_ERROR_REPLACE}
_FORMATS = {"uint8": FORMAT_UINT8, "float16": FORMAT_FLOAT16, "float32": FORMAT_FLOAT32}


@cython.no_gc_clear  # the reader must still be there when the threads are stopped
cdef class SplitPipeline:
    """Loader, workers and batch slots of one split.

    Parameters
    ----------
    reader : dts.loaders reader
        Gives samples; owned from here on, closed with this object.
    stages : sequence of (int, Chain, tuple of int)
        First epoch, compiled transforms, and (h, w, c) of a finished sample, by rising epoch from
        0 on.
    config : SplitConfig
        Everything else, checked before.
    paths : sequence of str
        The files of the set, for messages.
    names : callable, optional
        Gives the names of the samples by id, for messages, or None: called when there is an error.

    Raises
    ------
    MemoryError
        No memory for the workers' state.
    """

    cdef dts_crew *crew
    cdef char *workers          # one after the other, each at the start of a cache line
    cdef void *crew_memory
    cdef void *worker_memory
    cdef int64_t started
    cdef readonly object reader
    cdef readonly object config
    cdef Chain chain            # of the running epoch
    cdef tuple stages
    cdef Mixing mixing
    cdef object paths
    cdef object names
    cdef bytes masks            # CPUs of the workers, one after the other
    cdef TransferStation station
    cdef readonly bint closed
    cdef readonly bint running
    cdef int64_t n_batches
    cdef int64_t taken
    cdef int64_t finished       # token of the epoch that last ran to its end

    def __cinit__(self, reader, stages, config, paths, names=None):
        cdef dts_crew *s
        cdef int k
        cdef size_t line = dts_line_up(1)
        self.reader = reader
        self.config = config
        self.stages = tuple(stages)
        self.mixing = Mixing(config.batch_ops, config.batch_shares, config.classes)
        self.finished = -1
        self.paths = paths
        self.names = names
        self.station = TransferStation(
            config.batch_size, config.sample_shape, config.dtype, config.label_dtype,
            config.prefetch, config.max_held, config.views, config.classes,
        )
        self.station.keep = config.keep
        self.crew_memory = calloc(1, sizeof(dts_crew) + line)
        self.worker_memory = calloc(config.workers + 1, dts_line_up(sizeof(dts_worker)))
        if self.crew_memory == NULL or self.worker_memory == NULL:
            raise MemoryError("no memory for the preprocessing threads")
        s = self.crew = <dts_crew *> dts_line_start(self.crew_memory)
        self.workers = <char *> dts_line_start(self.worker_memory)
        s.loader = (<dts_loader *> <uintptr_t> reader.address)[0]
        s.station = &self.station.c
        s.mixing = &self.mixing.c
        s.workers = config.workers
        s.batch_size = config.batch_size
        if config.worker_masks:
            self.masks = b"".join(config.worker_masks)
            s.mask_bytes = len(config.worker_masks[0])
        s.on_error = _POLICIES[config.on_error]
        s.wide_labels = self.station.label_dtype.itemsize == 8
        s.process = dts_process_id()
        dts_mutex_init(&s.lock)
        s.plan.seed = config.seed
        s.plan.split = config.split
        s.plan.views = config.views
        s.plan.format = _FORMATS[config.dtype]
        s.plan.channels = config.channels
        if config.array_size is not None:
            s.plan.array_height, s.plan.array_width = config.array_size
        s.plan.exif = config.exif_orientation
        s.plan.fast_decode = config.fast_decode
        for k in range(config.channels):
            s.plan.norm.scale[k] = config.scale[k]
            s.plan.norm.bias[k] = config.bias[k]
        self._enter_stage(0)

    cdef _enter_stage(self, epoch):
        """Take the chain and shape of an epoch. No worker may be inside."""
        cdef dts_plan *p = &self.crew.plan
        for first, chain, shape in self.stages:
            if first <= epoch:
                self.chain, found = chain, shape
        self.station.set_shape(found)
        p.height, p.width, p.out_channels = found
        p.sample_bytes = self.station.sample_bytes
        p.n_ops = self.chain.n
        p.ops = self.chain.ops
        self._fill_pixels()

    cdef _fill_pixels(self):
        """What each operation erases with, as one pixel in the output's format."""
        cdef dts_plan *p = &self.crew.plan
        cdef const uint8_t[::1] view
        cdef int i
        for i in range(self.chain.n):
            pixel = np.zeros(p.out_channels, np.float32)
            for k in range(p.channels):
                pixel[k] = self.chain.ops[i].value[k]
            if p.format == FORMAT_UINT8:
                raw = np.clip(np.rint(pixel), 0, 255).astype(np.uint8).tobytes()
            else:
                raw = pixel.astype(self.config.dtype).tobytes()
            view = raw
            memcpy(p.fill[i], &view[0], len(raw))

    def __dealloc__(self):
        if self.crew == NULL:
            free(self.crew_memory)
            free(self.worker_memory)
            return
        if self.crew.process == dts_process_id():
            if self.running:
                station_close(self.crew.station)
                self.reader.end_epoch()
            self._stop_threads()
            free(self.worker_memory)
            free(self.crew_memory)
        # In a forked child the threads are gone and their locks may be held for ever: leave them.

    cdef void _stop_threads(self):
        cdef dts_crew *s = self.crew
        cdef int64_t k
        with nogil:
            station_close(s.station)
            tickets_stop(&s.station.tickets)
            for k in range(self.started):
                dts_thread_join(self._worker(k).thread)
                scratch_free(&self._worker(k).scratch)
        self.started = 0

    cdef dts_worker *_worker(self, int64_t k) noexcept nogil:
        return <dts_worker *> (self.workers + k * <int64_t> dts_line_up(sizeof(dts_worker)))

    cdef int _check(self) except -1:
        if self.crew.process != dts_process_id():
            raise ClosedError("made before a fork: build a Preprocessor in the child")
        if self.closed:
            raise ClosedError("the Preprocessor was closed")
        return 0

    cdef int _start_threads(self) except -1:
        cdef dts_worker *w
        cdef dts_crew *s = self.crew
        while self.started < s.workers:
            w = self._worker(self.started)
            w.crew = s
            w.index = self.started
            sleeper_init(&w.sleeper)
            if self.masks is not None:
                w.mask = <const uint8_t *> <const char *> self.masks + w.index * s.mask_bytes
            if scratch_init(&w.scratch) != DTS_OK:
                scratch_free(&w.scratch)
                raise MemoryError("no memory for a preprocessing thread")
            name = f"dts-{'val' if s.plan.split else 'train'}-{w.index}".encode()
            tickets_count(&s.station.tickets, 1)
            if dts_thread_create(&w.thread, worker_main, w, name) != 0:
                tickets_count(&s.station.tickets, -1)
                scratch_free(&w.scratch)
                raise OSError(f"preprocessing thread {w.index} could not be started")
            self.started += 1
        return 0

    def n_batches_of(self, int64_t n_samples):
        """Batches of an epoch of `n_samples` samples."""
        n = n_samples // self.config.batch_size
        if not self.config.drop_last and n_samples % self.config.batch_size:
            n += 1
        return n

    def begin(self, epoch):
        """Start an epoch; one that is still running ends. Returns the token that `next` takes."""
        cdef dts_crew *s = self.crew
        cdef int64_t n
        cdef int k
        self._check()
        self.end()
        self._start_threads()
        self._enter_stage(epoch)
        n = self.reader.begin_epoch(epoch)
        for k in range(s.workers):
            s.loader.rest(s.loader.self, k)  # until it wakes
        self.n_batches = self.n_batches_of(n)
        self.taken = 0
        n = min(n, self.n_batches * self.config.batch_size)
        s.epoch = <uint32_t> (epoch & 0xFFFFFFFF)
        most = self._most_at_once()
        claim = 1
        if self.config.array_size is not None:
            claim = max(1, min(ARRAY_CLAIM, s.batch_size // most))
        self.running = True  # first: what opens has to be ended, whatever comes in between
        self.station.begin(n, self.n_batches, claim, most)
        return self.station.token

    cdef int64_t _most_at_once(self):
        """Workers that it is worth while to have awake: more than there are CPUs only take the
        caches from each other, unless they may wait for something else."""
        if self.masks is not None or any(t.may_block for t in self.chain.transforms):
            return self.crew.workers
        return min(self.crew.workers, len(allowed_cpus()) or self.crew.workers)

    def next(self, int64_t token):
        """Return (images, labels, ids, soft labels or None, records of `mix_records` or None,
        index) of the next batch, None at the end of the epoch.

        Parameters
        ----------
        token : int
            What `begin` returned.

        Raises
        ------
        DtsError, OSError
            What befell a sample of this batch; the next call gives the next batch.
        ClosedError
            The epoch was ended meanwhile.
        """
        cdef TransferStation t = self.station
        cdef dts_batch *b = NULL
        cdef dts_error error
        cdef Slot slot
        cdef Slot spare = None
        cdef bint bad
        cdef int64_t rows, index
        try:
            while True:
                self._check()
                if token == self.finished:
                    return None
                if not self.running or token != t.token:
                    raise ClosedError("this epoch was ended")
                if self.taken == self.n_batches:
                    self.finished = token  # who called ends the epoch
                    return None
                t.check_held()
                index = self.taken
                b = &t.c.ring[index % t.c.depth]
                if not t.wait(b, token):
                    if token == self.finished:
                        return None
                    raise ClosedError("this epoch was ended")
                # What may lack memory, be interrupted, or collect garbage whose end lets other
                # threads in, comes first: from the test on nothing can come in between.
                if spare is None and t.c.opened < self.n_batches:
                    spare = t.free_slot()
                mixes = self._mixes(index, b.expected)
                PyErr_CheckSignals()
                if index == self.taken and token == t.token and self.running:
                    break  # else the checks above say what became of the epoch
            error = b.error
            rows = b.expected
            bad = b.n_bad > 0
            if t.c.opened < self.n_batches:
                t.open_next(spare)  # reuses *b
                spare = None
            slot = t.open_slots.pop(0)
            self.taken += 1
        finally:
            if spare is not None:
                dts_store_rel(&spare.c.state, SLOT_FREE)
        if bad and self.crew.on_error != ON_ERROR_SKIP:
            dts_store_rel(&slot.c.state, SLOT_FREE)
            raise self.exception(&error)
        if bad:
            rows = t.drop_bad_rows(slot, rows)
        return (*t.arrays(slot, rows), mixes, index)

    cdef object _mixes(self, int64_t index, int64_t rows):
        """What was mixed in the batch that is next; None where nothing is mixed."""
        cdef Slot slot
        if not self.mixing.c.n or not self.station.open_slots:
            return None
        slot = self.station.open_slots[0]
        return mix_records(
            self.mixing, self.config.seed, self.crew.epoch, index, self.crew.plan.height,
            self.crew.plan.width, self.station.views, np.asarray(<uint8_t[:rows]> slot.c.bad) != 0,
        )

    cdef object exception(self, const dts_error *e):
        name = None
        if self.names is not None and e.id >= 0:
            try:
                names = self.names()
                name = None if names is None else names[e.id]
            except DtsError:
                pass  # damaged names, or closed: the place is enough
        error = from_status(
            e.status,
            (<const char *> e.reason).decode("utf-8", "replace"),
            os_errno=e.os_errno,
            path=self.paths[e.volume] if e.volume >= 0 else None,
            block=e.block,
            sample=e.sample,
            id=e.id,
            name=name,
        )
        error.__cause__ = self.chain.cause(e.reserved)
        return error

    def end(self, token=None):
        """End the running epoch, wherever it is; returns when no thread works for it any more.

        `begin`, `end` and `close` belong to one thread at a time.

        Parameters
        ----------
        token : int, optional
            What `begin` returned: only that epoch is ended, not one that was begun since.
        """
        if not self.running or self.crew.process != dts_process_id():
            return
        if token is not None and token != self.station.token:
            return
        self.running = False
        try:
            if self.taken < self.n_batches:
                station_close(self.crew.station)
                self.reader.end_epoch()
        finally:  # Ctrl-C may come in between, and the next epoch needs idle workers
            with nogil:
                tickets_wait_idle(&self.crew.station.tickets)
            self.station.reset()
        self.reader.end_epoch()

    def close(self):
        """Stop and join all threads, give all memory back. Batches that are still held stay
        valid."""
        self.closed = True
        if self.crew.process != dts_process_id():
            return
        try:
            self.end()
        finally:  # Ctrl-C may have come in between
            self._stop_threads()
            self.reader.close()

    def interrupt(self):
        """End the running epoch without waiting: whoever waits for a batch gets ClosedError."""
        if self.running and self.crew.process == dts_process_id():
            station_close(self.crew.station)

    @property
    def slot_bytes(self):
        """Memory of one batch slot, in bytes."""
        return self.station.slot_bytes

    def abandon(self):
        """In a forked child: the threads are not there, touch nothing."""
        self.closed = True

    def _layout(self):
        """For tests: (first byte, byte after the last) in memory of all that one writer, or all
        workers, write while an epoch runs, and of what all only read."""
        cdef dts_crew *s = self.crew
        cdef dts_worker *w
        spans = {
            "settings": (<uintptr_t> s, <uintptr_t> &s.pad_lock),
            "pool's lock": (<uintptr_t> &s.lock, <uintptr_t> &s.logged),
            **self.station._layout(),
        }
        for k in range(s.workers):
            w = self._worker(k)
            spans[f"worker {k}"] = (<uintptr_t> w, <uintptr_t> w + sizeof(dts_worker))
        return spans

    def stats(self):
        """Return counts since the start: samples, errors, waits, CPU time, memory."""
        cdef dts_worker *w
        cdef int64_t k, logged
        cdef dts_error log[LOG]
        total = {"samples": 0, "skipped": 0, "replaced": 0, "decode_warnings": 0,
                 "decode_spliced": 0}
        cpu, scratch, bound = 0, 0, 0
        for k in range(self.crew.workers):  # counts stay when the threads are gone
            w = self._worker(k)
            total["samples"] += w.samples
            total["skipped"] += w.skipped
            total["replaced"] += w.replaced
            total["decode_warnings"] += w.warnings
            total["decode_spliced"] += w.spliced
            cpu += w.cpu_ns
            bound += w.bound
            scratch += scratch_bytes(&w.scratch)
        dts_mutex_lock(&self.crew.lock)
        logged = min(self.crew.logged, <int64_t> LOG)
        memcpy(log, self.crew.log, logged * sizeof(dts_error))
        dts_mutex_unlock(&self.crew.lock)
        return {
            **total,
            "errors": [str(self.exception(&log[k])) for k in range(logged)],
            "worker_cpu_seconds": cpu * 1e-9,
            "workers_bound": bound,
            "scratch_bytes": scratch,
            **self.station.counters(),
            **self.reader.stats(),
        }
