"""IO threads that bring blocks of .dts files into an arena, in a sequence that the caller gives.

Whichever thread is free takes the next position of the sequence, none at or past `limit`. The
caller raises the limit as memory comes free. A block is checked once, when it arrives, and then
its `state` is set: readers who find it set take no lock. No thread calls Python.
"""

cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t, uintptr_t
from libc.stdio cimport snprintf
from libc.stdlib cimport calloc, free

from dts.format.block cimport DTS_BLOCK_BYTES, dts_block_check
from dts.status cimport (DTS_CLOSED, DTS_END, DTS_IO, DTS_OK, DTS_TRUNCATED,
                         dts_error, dts_error_clear, dts_error_set)
from dts.storage.arena cimport Arena
from dts.storage.fileio cimport dts_file_close, dts_file_read
from dts.threads cimport (dts_cond_broadcast, dts_cond_destroy, dts_cond_init, dts_cond_wait,
                          dts_cond_wait_ms, dts_load_acq, dts_mutex_destroy, dts_mutex_init,
                          dts_mutex_lock, dts_mutex_unlock, dts_now_ns, dts_process_id,
                          dts_store_rel, dts_thread_bind, dts_thread_create, dts_thread_join)

import os

import numpy as np

from dts.errors import ClosedError
from dts.storage import arena as _arena


cdef int check(block_feed *feed, block_entry *block, dts_error *error) noexcept nogil:
    cdef volume_entry *volume = &feed.volumes[block.volume]
    if block.got < volume.header_size:
        return dts_error_set(error, DTS_TRUNCATED, "the file ends within the table of this block")
    # Pictures past the end of a short file are found one by one, when their turn comes.
    return dts_block_check(block.data, DTS_BLOCK_BYTES, volume.level, block.number, block.count,
                           volume.header_size, volume.num_classes, error)


cdef int load(block_feed *feed, block_entry *block) noexcept nogil:
    """Read and check one block. DTS_CLOSED: told to stop, nothing is known of the block."""
    cdef dts_error error
    cdef int status
    cdef int64_t room = (block.data - feed.base) // DTS_BLOCK_BYTES
    block.os_errno = 0
    status = dts_file_read(
        feed.volumes[block.volume].fd, feed.volumes[block.volume].direct, block.data,
        DTS_BLOCK_BYTES, block.offset, not feed.touched[room], &feed.stop, &block.got,
        &block.os_errno)
    if block.got == DTS_BLOCK_BYTES:
        feed.touched[room] = 1
    if status == DTS_CLOSED:
        return DTS_CLOSED
    if status == DTS_IO:
        block.status = DTS_IO
    else:
        dts_error_clear(&error)
        block.status = check(feed, block, &error)
    return DTS_OK


cdef void run_epoch(block_feed *feed) noexcept nogil:
    cdef int64_t position, since
    cdef int32_t number
    cdef block_entry *block
    while True:
        dts_mutex_lock(&feed.lock)
        position = feed.next
        if position >= feed.n_sequence:
            dts_mutex_unlock(&feed.lock)
            return
        feed.next += 1
        if position >= feed.limit and not feed.stop:
            feed.counters.io_waits += 1
            since = dts_now_ns()
            while position >= feed.limit and not feed.stop:
                dts_cond_wait(&feed.room, &feed.lock)
            feed.counters.io_wait_ns += dts_now_ns() - since
        dts_mutex_unlock(&feed.lock)
        number = feed.sequence[position]
        block = &feed.blocks[number]
        if block.count == 0:
            continue
        if feed.load(feed, block) != DTS_OK:
            return
        dts_mutex_lock(&feed.lock)
        feed.counters.bytes_read += block.got
        feed.counters.blocks_read += 1
        dts_store_rel(&block.state, 1)
        dts_cond_broadcast(&feed.ready[number % GATES])
        dts_mutex_unlock(&feed.lock)


cdef void io_main(void *arg) noexcept nogil:
    cdef io_thread *me = <io_thread *>arg
    cdef block_feed *feed = me.feed
    cdef int64_t seen = 0
    cdef int bound = me.mask != NULL and dts_thread_bind(me.mask, feed.mask_bytes) == 0
    dts_mutex_lock(&feed.lock)
    feed.bound += bound
    while not feed.closing:
        if feed.serial == seen:
            dts_cond_wait(&feed.room, &feed.lock)
            continue
        seen = feed.serial
        dts_mutex_unlock(&feed.lock)
        run_epoch(feed)
        dts_mutex_lock(&feed.lock)
        feed.running -= 1
        if feed.running == 0:
            dts_cond_broadcast(&feed.idle)
    dts_mutex_unlock(&feed.lock)


cdef int feed_wait(block_feed *feed, int64_t block, int64_t serial, int ms) noexcept nogil:
    cdef int64_t *state = &feed.blocks[block].state
    cdef int64_t since
    cdef int status = DTS_OK
    dts_mutex_lock(&feed.lock)
    if not dts_load_acq(state):
        feed.counters.worker_waits += 1
        since = dts_now_ns()
        while True:
            if feed.stop or feed.serial != serial:
                status = DTS_CLOSED
                break
            if dts_load_acq(state):
                break
            if ms < 0:
                dts_cond_wait(&feed.ready[block % GATES], &feed.lock)
            elif dts_cond_wait_ms(&feed.ready[block % GATES], &feed.lock, ms):
                if not dts_load_acq(state):
                    status = DTS_END
                break
            feed.counters.worker_wakes += 1
        feed.counters.worker_wait_ns += dts_now_ns() - since
    dts_mutex_unlock(&feed.lock)
    return status


cdef void feed_allow(block_feed *feed, int64_t limit) noexcept nogil:
    feed.limit = limit
    dts_cond_broadcast(&feed.room)


cdef void wake_all(block_feed *feed) noexcept nogil:
    cdef int k
    for k in range(GATES):
        dts_cond_broadcast(&feed.ready[k])
    dts_cond_broadcast(&feed.room)


cdef int feed_explain(block_feed *feed, int64_t block, dts_error *error) noexcept nogil:
    # Only the status was kept: the bytes still lie in the arena, so the check can say it again.
    cdef block_entry *entry = &feed.blocks[block]
    cdef dts_error found
    if entry.status == DTS_IO:
        error.os_errno = entry.os_errno
        return dts_error_set(error, DTS_IO, "cannot read this block")
    dts_error_clear(&found)
    check(feed, entry, &found)
    error.status = entry.status
    if found.sample >= 0:
        snprintf(error.reason, sizeof(error.reason), "block lost, its sample %d: %.180s",
                 found.sample, found.reason)
    else:
        snprintf(error.reason, sizeof(error.reason), "%s", found.reason)
    return entry.status


@cython.no_gc_clear  # threads write to the arena until __dealloc__ has joined them
cdef class BlockFeed:
    """The blocks of an open .dts file or set of volumes, an arena for them, and its IO threads.

    Files are opened at once; the arena and the threads are made by the first epoch.

    Parameters
    ----------
    file : dts.format.DtsFile
        Or anything with its `paths`, `headers`, `level`, `num_classes` and per-block arrays.
    slots : int
        Blocks that the arena holds.
    threads : int
        IO threads.
    half : int
        Blocks in the first half of the arena, where two windows take turns.

    Raises
    ------
    OSError
        When a file cannot be opened.
    """

    def __cinit__(self):
        cdef int k
        self.pid = dts_process_id()
        self.feed.stop = 1
        dts_mutex_init(&self.feed.lock)
        for k in range(GATES):
            dts_cond_init(&self.feed.ready[k])
        dts_cond_init(&self.feed.room)
        dts_cond_init(&self.feed.idle)

    cdef tables(self, starts, counts, int64_t slots, int64_t threads):
        cdef block_feed *feed = &self.feed
        if self.entries != NULL or threads < 1 or slots < 1:
            raise ValueError("a feed is made once, with at least one slot and one thread")
        cdef const int64_t[::1] first = np.ascontiguousarray(starts, dtype=np.int64)
        cdef const int64_t[::1] count = np.ascontiguousarray(counts, dtype=np.int64)
        cdef int64_t n = count.shape[0], i
        self.slots = slots
        feed.n_threads = threads
        self.entries = calloc(n + 1, sizeof(block_entry))
        feed.sequence = <int32_t *>calloc(n + 1, sizeof(int32_t))
        feed.threads = <io_thread *>calloc(threads, sizeof(io_thread))
        if self.entries == NULL or feed.sequence == NULL or feed.threads == NULL:
            raise MemoryError(f"no memory for the tables of {n} blocks")
        feed.blocks = <block_entry *>((<uintptr_t>self.entries + 63) & ~<uintptr_t>63)
        feed.n_blocks = n
        for i in range(n):
            feed.blocks[i].first_id = first[i]
            feed.blocks[i].count = count[i]

    def __init__(self, file, int64_t slots, int64_t threads, int64_t half=0):
        cdef block_feed *feed = &self.feed
        self.tables(file.block_starts, file.block_counts, slots, threads)
        self.arena_bytes = _arena.arena_bytes(slots)
        self.half_bytes = half * DTS_BLOCK_BYTES
        feed.load = load
        feed.touched = <uint8_t *>calloc(slots, 1)
        if feed.touched == NULL:
            raise MemoryError(f"no memory for the tables of {slots} blocks")
        cdef const int64_t[::1] volume = np.ascontiguousarray(file.block_volume, dtype=np.int64)
        cdef const int64_t[::1] number = np.ascontiguousarray(file.block_number, dtype=np.int64)
        cdef const int64_t[::1] offset = np.ascontiguousarray(file.block_offset, dtype=np.int64)
        cdef int64_t i
        feed.n_volumes = len(file.paths)
        feed.volumes = <volume_entry *>calloc(feed.n_volumes, sizeof(volume_entry))
        if feed.volumes == NULL:
            raise MemoryError(f"no memory for the tables of {feed.n_volumes} files")
        for i in range(feed.n_blocks):
            feed.blocks[i].volume = volume[i]
            feed.blocks[i].number = number[i]
            feed.blocks[i].offset = offset[i]
        for i in range(feed.n_volumes):
            feed.volumes[i].fd = feed.volumes[i].direct = -1
        self.file_paths = list(file.paths)
        for i in range(feed.n_volumes):
            feed.volumes[i].level = file.level
            feed.volumes[i].header_size = file.headers[i].block_header_size
            feed.volumes[i].num_classes = file.num_classes
            feed.volumes[i].fd = os.open(file.paths[i], os.O_RDONLY | getattr(os, "O_BINARY", 0))

    cdef start(self):
        """Make the arena and the threads, the first time."""
        cdef char name[16]
        if self.closed:
            raise ClosedError("the reader is closed")
        if self.arena is None:
            self.arena = Arena(self.slots, self.arena_bytes - _arena.SLACK)
            self.feed.base = self.arena.base
        while self.started < self.feed.n_threads:
            self.feed.threads[self.started].feed = &self.feed
            self.feed.threads[self.started].index = self.started
            if self.masks is not None:
                self.feed.threads[self.started].mask = (
                    <const uint8_t *><const char *>self.masks
                    + self.started * self.feed.mask_bytes)
            snprintf(name, sizeof(name), "dts-io-%d", <int>self.started)
            if dts_thread_create(&self.feed.threads[self.started].handle, io_main,
                                 &self.feed.threads[self.started], name) != 0:
                raise MemoryError(f"the system refuses IO thread {self.started + 1} "
                                  f"of {self.feed.n_threads}")
            self.started += 1

    def read_directly(self):
        """Read around the page cache, before the first epoch. Returns whether all files allow it.

        A file system that does not is read as before.
        """
        cdef int64_t i
        if self.started:
            raise ValueError("before the threads start")
        if self.feed.files != NULL or not hasattr(os, "O_DIRECT"):
            return False
        for i in range(self.feed.n_volumes):
            if self.feed.volumes[i].direct < 0:
                try:
                    self.feed.volumes[i].direct = os.open(
                        self.file_paths[i], os.O_RDONLY | os.O_DIRECT)
                except OSError:
                    return False
        return True

    def bind(self, masks):
        """Say on which CPUs the IO threads run: before the first epoch.

        Parameters
        ----------
        masks : sequence of bytes
            One for each thread; bit i % 8 of byte i / 8 is CPU i. Shorter ones end in zeros.
        """
        if self.started or len(masks) != self.feed.n_threads:
            raise ValueError("one set of CPUs for each thread, before the threads start")
        self.feed.mask_bytes = max(map(len, masks))
        self.masks = b"".join(mask.ljust(self.feed.mask_bytes, b"\0") for mask in masks)

    cdef void begin(self, int64_t n_sequence, int64_t limit) noexcept nogil:
        """Set the threads to work on feed.sequence[0:n_sequence]. No epoch may be running."""
        cdef block_feed *feed = &self.feed
        dts_mutex_lock(&feed.lock)
        feed.n_sequence = n_sequence
        feed.next = 0
        feed.limit = limit
        feed.running = feed.n_threads
        feed.serial += 1
        dts_store_rel(&feed.stop, 0)
        dts_cond_broadcast(&feed.room)
        dts_mutex_unlock(&feed.lock)

    cdef int end(self, int ms) noexcept nogil:
        """End the epoch. DTS_OK when all threads rest, DTS_END when `ms` did not suffice."""
        cdef block_feed *feed = &self.feed
        cdef int status = DTS_OK
        dts_mutex_lock(&feed.lock)
        dts_store_rel(&feed.stop, 1)
        wake_all(feed)
        if feed.running > 0 and not feed.closing:
            dts_cond_wait_ms(&feed.idle, &feed.lock, ms)
            if feed.running > 0 and not feed.closing:
                status = DTS_END
        dts_mutex_unlock(&feed.lock)
        return status

    cdef void stop_threads(self) noexcept nogil:
        cdef block_feed *feed = &self.feed
        cdef int64_t i
        if self.pid != dts_process_id():
            return  # a forked child has neither the threads nor a sane lock
        dts_mutex_lock(&feed.lock)
        feed.closing = 1
        dts_store_rel(&feed.stop, 1)
        wake_all(feed)
        dts_mutex_unlock(&feed.lock)
        for i in range(self.started):
            dts_thread_join(feed.threads[i].handle)
        self.started = 0

    cpdef close(self):
        """Join the threads, close the files, give the arena back. May be called again."""
        cdef int64_t i
        if self.closed:
            return
        self.closed = True
        with nogil:
            self.stop_threads()
        for i in range(self.feed.n_volumes):
            if self.feed.volumes != NULL and self.feed.volumes[i].fd >= 0:
                dts_file_close(self.feed.volumes[i].fd)
                self.feed.volumes[i].fd = -1
            if self.feed.volumes != NULL and self.feed.volumes[i].direct >= 0:
                dts_file_close(self.feed.volumes[i].direct)
                self.feed.volumes[i].direct = -1
        if self.arena is not None:
            self.arena.close()

    @property
    def memory_bytes(self):
        """What the tables take, in bytes; the arena is `arena_bytes`."""
        return ((self.feed.n_blocks + 1) * (sizeof(block_entry) + sizeof(int32_t))
                + self.extra_bytes)

    def _layout(self):
        """For tests: as SplitPipeline._layout."""
        cdef block_feed *feed = &self.feed
        return {
            "feed": (<uintptr_t>feed, <uintptr_t>&feed.pad),
            "feed's lock": (<uintptr_t>&feed.next, <uintptr_t>&feed.pad_end),
        }

    def stats(self):
        """Counters since the feed was made, as a dict.

        Bytes and blocks read; waits (and seconds) of workers for a block, times they woke from
        them, and waits of IO threads for room to load into; IO threads that are bound to CPUs.
        """
        cdef feed_counters now
        cdef int64_t bound
        cdef bint ours = self.pid == dts_process_id()
        with nogil:
            if ours:  # else: forked, and the lock may be held for ever
                dts_mutex_lock(&self.feed.lock)
            now = self.feed.counters
            bound = self.feed.bound
            if ours:
                dts_mutex_unlock(&self.feed.lock)
        return {
            "bytes_read": now.bytes_read,
            "blocks_read": now.blocks_read,
            "worker_waits": now.worker_waits,
            "worker_wakes": now.worker_wakes,
            "worker_wait_s": now.worker_wait_ns * 1e-9,
            "io_waits": now.io_waits,
            "io_wait_s": now.io_wait_ns * 1e-9,
            "io_bound": bound,
        }

    def __dealloc__(self):
        cdef int k
        self.close()
        if self.pid == dts_process_id():
            for k in range(GATES):
                dts_cond_destroy(&self.feed.ready[k])
            dts_cond_destroy(&self.feed.room)
            dts_cond_destroy(&self.feed.idle)
            dts_mutex_destroy(&self.feed.lock)
        free(self.entries)
        free(self.feed.sequence)
        free(self.feed.touched)
        free(self.feed.volumes)
        free(self.feed.threads)
