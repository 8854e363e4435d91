"""TransferStation: batch slots between the workers and the user.

A batch is open (workers fill its rows, in any order), then ready (its row counter is full), then
held: numpy arrays over the slot were handed out. When the last of those arrays dies, one atomic
store makes the slot free again; nothing else happens there, so arrays may die in any thread, after
close(), or in a forked child.
"""

cimport cython
cimport numpy as cnp
from cpython.exc cimport PyErr_CheckSignals
from libc.stdint cimport int32_t, int64_t, uint8_t, uintptr_t
from libc.stdlib cimport calloc, free
from libc.string cimport memmove, memset

from dts.pipeline.tickets cimport tickets_begin, tickets_close, tickets_init, tickets_open
from dts.status cimport dts_error, dts_error_clear
from dts.threads cimport (
    dts_cond_broadcast, dts_cond_init, dts_cond_wait_ms, dts_fetch_add, dts_load_acq,
    dts_mutex_init, dts_mutex_lock, dts_mutex_unlock, dts_store_rel,
)

import math

import numpy as np

from dts.errors import DtsError

cnp.import_array()

ALIGNMENT = 256


cdef dts_batch *station_batch(dts_station *s, int64_t batch) noexcept nogil:
    return &s.ring[batch % s.depth]


cdef void station_leave(dts_station *s, dts_batch *b, int64_t rows) noexcept nogil:
    cdef int64_t last = b.expected - rows  # after the addition, *b may be another batch
    if dts_fetch_add(&b.done, rows) == last:
        dts_mutex_lock(&s.lock)
        dts_cond_broadcast(&s.batch_ready)
        dts_mutex_unlock(&s.lock)


cdef void station_close(dts_station *s) noexcept nogil:
    dts_mutex_lock(&s.lock)
    dts_store_rel(&s.closing, 1)
    dts_cond_broadcast(&s.batch_ready)
    dts_mutex_unlock(&s.lock)
    tickets_close(&s.tickets)


cdef void station_bad(dts_station *s, dts_batch *b, int64_t row,
                      const dts_error *e) noexcept nogil:
    dts_mutex_lock(&s.lock)
    b.slot.bad[row] = 1
    if b.n_bad == 0 or e.position < b.error.position:
        b.error = e[0]
    b.n_bad += 1
    dts_mutex_unlock(&s.lock)


cdef class Slot:
    """Memory of one batch of so many samples, each in `views` rows."""

    def __cinit__(self, int64_t samples, int64_t sample_bytes, int64_t label_bytes,
                  int64_t views=1, int64_t classes=0):
        cdef int64_t rows = samples * views
        cdef int64_t images = _up(rows * sample_bytes)
        cdef int64_t labels = _up(rows * label_bytes)
        cdef int64_t ids = _up(rows * 8)
        cdef int64_t soft = _up(rows * classes * 4)
        cdef int64_t pairs = _up((samples + 1) // 2 * 8) if classes else 0
        cdef int64_t own = _up(samples * 4) if classes else 0
        cdef uintptr_t start
        # Fresh pages are zero; numpy asks for huge ones where it can.
        self.memory = np.empty(images + labels + ids + soft + pairs + own + samples + ALIGNMENT,
                               np.uint8)
        start = _up(<uintptr_t> cnp.PyArray_DATA(<cnp.ndarray> self.memory))
        self.c.state = SLOT_FREE
        self.c.images = <uint8_t *> start
        self.c.labels = <void *> (start + images)
        self.c.ids = <int64_t *> (start + images + labels)
        start += images + labels + ids
        self.c.soft = <float *> start
        self.c.pair = <int64_t *> (start + soft)
        self.pair_bytes = pairs
        self.c.own = <int32_t *> (start + soft + pairs)
        self.c.bad = <uint8_t *> (start + soft + pairs + own)


cdef uintptr_t _up(uintptr_t n) noexcept nogil:
    return (n + 255) & ~<uintptr_t> 255


cdef void _move(void *rows, int64_t dst, int64_t src, int64_t row_bytes) noexcept nogil:
    memmove(<uint8_t *> rows + dst * row_bytes, <uint8_t *> rows + src * row_bytes,
            <size_t> row_bytes)


@cython.no_gc
cdef class Lease:
    """What the arrays of a batch hang on. It cannot be part of a cycle."""

    cdef Slot slot

    def __dealloc__(self):
        dts_store_rel(&self.slot.c.state, SLOT_FREE)


cdef object _array(Lease lease, tuple shape, cnp.dtype dtype, void *data):
    cdef cnp.npy_intp dims[4]
    cdef int k, n = len(shape)
    for k in range(n):
        dims[k] = shape[k]
    array = cnp.PyArray_SimpleNewFromData(n, dims, dtype.num, data)
    cnp.set_array_base(array, lease)
    return array


cdef class TransferStation:
    """Batch slots of one split.

    Parameters
    ----------
    batch_size : int
        Samples of a batch.
    sample_shape : tuple of int
        (h, w, c) of one row, the largest that there will be.
    dtype, label_dtype : dtype
        Of images and labels.
    prefetch : int
        Batches that may be ready ahead, at least 1.
    max_held : int or None
        Most batches that the user may hold at once.
    views : int
        Rows of each sample: row v * n + i is view v of sample i of n.
    classes : int
        Columns of the soft labels; 0: there are none.
    """

    def __cinit__(self, int64_t batch_size, tuple sample_shape, dtype, label_dtype,
                  int64_t prefetch, max_held, int64_t views=1, int64_t classes=0):
        self.batch_size = batch_size
        self.views = views
        self.classes = classes
        self.dtype = np.dtype(dtype)
        self.label_dtype = np.dtype(label_dtype)
        self.set_shape(sample_shape)
        self.slot_sample_bytes = self.sample_bytes
        self.max_held = max_held
        # Those ready or being filled, and two for the user: in `for batch in ...` the old one is
        # still held when the new one comes.
        self.base_slots = prefetch + 2
        self.slots = []
        self.open_slots = []
        memset(&self.c, 0, sizeof(dts_station))
        dts_mutex_init(&self.c.lock)
        dts_cond_init(&self.c.batch_ready)
        tickets_init(&self.c.tickets)
        self.c.depth = prefetch
        self.c.ring = <dts_batch *> calloc(<size_t> prefetch, sizeof(dts_batch))
        if self.c.ring == NULL:
            raise MemoryError("no memory for the ring of batches")

    def __dealloc__(self):
        # No lock is destroyed: a forked child may come here while a thread of its parent held one.
        free(self.c.ring)

    @property
    def slot_bytes(self):
        """Memory of one slot, in bytes."""
        row = self.slot_sample_bytes + self.label_dtype.itemsize + 8 + 4 * self.classes
        sample = self.views * row + (9 if self.classes else 1)
        return self.batch_size * sample + 7 * ALIGNMENT

    def set_shape(self, tuple sample_shape):
        """Give the rows of the next epochs another shape, no larger than the first. No worker may
        be inside."""
        self.sample_shape = sample_shape
        self.sample_bytes = math.prod(sample_shape) * self.dtype.itemsize

    def begin(self, int64_t n_samples, int64_t n_batches, int64_t claim, int64_t most):
        """Open the first batches of an epoch of `n_samples` samples in `n_batches` batches, for
        up to `most` workers at once that take up to `claim` samples at a time."""
        self.n_samples = n_samples
        self.n_batches = n_batches
        self.token += 1
        self.open_slots = []
        dts_store_rel(&self.c.opened, 0)
        dts_store_rel(&self.c.closing, 0)
        tickets_begin(&self.c.tickets, claim, most)
        while self.c.opened < min(n_batches, self.c.depth):
            self.open_next(self.free_slot())

    def held(self):
        """Count the batches whose arrays are alive."""
        return sum(dts_load_acq(&(<Slot> s).c.state) == SLOT_HELD for s in self.slots)

    cdef Slot free_slot(self):
        cdef Slot slot, found = None
        cdef list keep = []
        for slot in self.slots:
            if dts_load_acq(&slot.c.state) == SLOT_FREE:
                if found is None:
                    found = slot
                    dts_store_rel(&slot.c.state, SLOT_OPEN)  # nobody else's
                elif len(self.slots) > self.base_slots:
                    continue  # an extra one that came back: let it go
            keep.append(slot)
        if len(keep) < len(self.slots):
            self.slots = keep
        if found is None:
            found = Slot(self.batch_size, self.slot_sample_bytes, self.label_dtype.itemsize,
                         self.views, self.classes)
            if len(self.slots) >= self.base_slots:
                self.extra_slots += 1
            found.c.state = SLOT_OPEN
            self.slots.append(found)
        return found

    cdef int open_next(self, Slot slot) except -1:
        cdef int64_t number = self.c.opened
        cdef dts_batch *b = &self.c.ring[number % self.c.depth]
        self.open_slots.append(slot)
        memset(slot.c.bad, 0, <size_t> self.batch_size)
        memset(slot.c.pair, 0, <size_t> slot.pair_bytes)
        dts_mutex_lock(&self.c.lock)  # another user's thread may be waiting for the one before
        b.done = 0
        b.expected = min(self.batch_size, self.n_samples - number * self.batch_size)
        b.n_bad = 0
        b.slot = &slot.c
        dts_error_clear(&b.error)
        dts_store_rel(&self.c.opened, number + 1)
        dts_mutex_unlock(&self.c.lock)
        tickets_open(&self.c.tickets, number * self.batch_size + b.expected)
        return 0

    cdef bint wait(self, dts_batch *b, int64_t token) except -1:
        """Wait for a batch of the epoch `token` to be full; sees Ctrl-C within 100 ms. False: the
        epoch ended."""
        cdef bint slept = False
        while dts_load_acq(&b.done) != b.expected:
            with nogil:
                dts_mutex_lock(&self.c.lock)
                if dts_load_acq(&b.done) != b.expected and not dts_load_acq(&self.c.closing):
                    if not slept:
                        self.c.reader_waits += 1
                        slept = True
                    dts_cond_wait_ms(&self.c.batch_ready, &self.c.lock, 100)
                    self.c.reader_wakes += 1
                dts_mutex_unlock(&self.c.lock)
            PyErr_CheckSignals()
            if token != self.token or dts_load_acq(&self.c.closing):
                return False
        return token == self.token

    cdef tuple arrays(self, Slot slot, int64_t samples):
        """Images, labels, ids, and soft labels or None, over a slot that is the user's then."""
        cdef Lease lease = Lease.__new__(Lease)
        cdef int64_t rows = samples * self.views
        lease.slot = slot
        dts_store_rel(&slot.c.state, SLOT_HELD)
        if self.keep:
            self.slots.remove(slot)
        soft = None
        if self.classes:
            soft = _array(lease, (rows, self.classes), np.dtype(np.float32), slot.c.soft)
        return (
            _array(lease, (rows, *self.sample_shape), self.dtype, slot.c.images),
            _array(lease, (rows,), self.label_dtype, slot.c.labels),
            _array(lease, (rows,), np.dtype(np.int64), slot.c.ids),
            soft,
        )

    cdef int64_t drop_bad_rows(self, Slot slot, int64_t samples):
        """Close the gaps of bad samples, in all views; returns how many samples are left."""
        cdef int64_t view, k, src, dst = 0
        for view in range(self.views):
            for k in range(samples):
                src = view * samples + k
                if slot.c.bad[k]:
                    continue
                if dst != src:
                    _move(slot.c.images, dst, src, self.sample_bytes)
                    _move(slot.c.labels, dst, src, self.label_dtype.itemsize)
                    _move(slot.c.ids, dst, src, 8)
                    _move(slot.c.soft, dst, src, 4 * self.classes)
                dst += 1
        return dst // self.views

    def check_held(self):
        """Refuse to hand out more batches than the user allowed to be held at once."""
        if self.max_held is not None and self.held() >= self.max_held:
            raise DtsError(
                f"max_held_batches({self.max_held}): {self.held()} batches are still held; drop "
                "their arrays (and views of them), copy what must be kept, or allow more"
            )

    def reset(self):
        """Free the slots of open batches. No worker may be inside."""
        cdef Slot slot
        for slot in self.open_slots:
            dts_store_rel(&slot.c.state, SLOT_FREE)
        self.open_slots = []
        self.token += 1

    def _layout(self):
        """As SplitPipeline._layout."""
        cdef dts_station *s = &self.c
        cdef dts_batch *b
        spans = {
            "ring": (<uintptr_t> &s.opened, <uintptr_t> &s.pad),
            "station's lock": (<uintptr_t> &s.lock, <uintptr_t> &s.pad_end),
            "open tickets": (<uintptr_t> &s.tickets.open, <uintptr_t> &s.tickets.pad_next),
            "ticket": (<uintptr_t> &s.tickets.next, <uintptr_t> &s.tickets.pad_lock),
            "tickets' lock": (<uintptr_t> &s.tickets.lock, <uintptr_t> &s.tickets.pad_end),
        }
        for k in range(s.depth):
            b = &s.ring[k]
            spans[f"rows done {k}"] = (<uintptr_t> &b.done, <uintptr_t> &b.pad)
            spans[f"batch {k}"] = (<uintptr_t> &b.expected, <uintptr_t> &b.pad_end)
        return spans

    def counters(self):
        """Return waits, wake-ups and extra slots so far."""
        return {
            "slot_waits": self.c.tickets.waits,
            "slot_wakes": self.c.tickets.wakes,
            "consumer_waits": self.c.reader_waits,
            "consumer_wakes": self.c.reader_wakes,
            "extra_slots": self.extra_slots,
            "slots": len(self.slots),
        }
