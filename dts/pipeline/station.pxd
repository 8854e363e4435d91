"""TransferStation: batch slots between the workers and the user."""

from libc.stdint cimport int32_t, int64_t, uint8_t

from dts.pipeline.tickets cimport dts_tickets
from dts.status cimport dts_error
from dts.threads cimport dts_cond, dts_mutex


cdef enum:
    SLOT_FREE = 0
    SLOT_OPEN = 1       # workers fill it
    SLOT_HELD = 2       # the user has arrays of it


ctypedef struct dts_slot:
    int64_t state       # SLOT_*; the one thing that the end of a user's array writes
    uint8_t *images
    void *labels        # int32_t or int64_t
    int64_t *ids
    uint8_t *bad        # per sample
    # Of mixed batches, else empty: see mixing.pyx
    float *soft         # (rows, classes)
    int64_t *pair       # per two samples: what became of the first that was finished
    int32_t *own        # label of each sample


ctypedef struct dts_batch:
    int64_t done        # rows finished; counts up to expected
    int64_t pad[16]     # what workers write has cache lines of its own: see dts.threads
    int64_t expected
    int64_t n_bad
    dts_slot *slot
    dts_error error     # of the lowest bad row
    int64_t pad_end[16]


ctypedef struct dts_station:
    # Workers read these once a batch; they change as often.
    int64_t pad_start[16]
    int64_t opened      # batches opened so far in this epoch
    int64_t closing     # the epoch ends early: everybody out
    dts_batch *ring
    int64_t depth
    int64_t pad[16]
    dts_mutex lock
    dts_cond batch_ready
    # Times the user's side went to sleep until a batch is full, and times it woke; under the lock.
    int64_t reader_waits
    int64_t reader_wakes
    int64_t pad_end[16]
    dts_tickets tickets     # for the positions of open batches


# Workers. A batch that is open: one of whose positions somebody has a ticket for.
cdef dts_batch *station_batch(dts_station *s, int64_t batch) noexcept nogil
# So many rows of the batch are finished; the last one wakes the user's side.
cdef void station_leave(dts_station *s, dts_batch *b, int64_t rows) noexcept nogil
# The epoch ends: wake everybody who waits.
cdef void station_close(dts_station *s) noexcept nogil
# A row of the batch could not be filled.
cdef void station_bad(dts_station *s, dts_batch *b, int64_t row, const dts_error *e) noexcept nogil


cdef class Slot:
    cdef dts_slot c
    cdef object memory
    cdef int64_t pair_bytes


cdef class TransferStation:
    cdef dts_station c
    cdef readonly int64_t batch_size        # samples of a batch
    cdef readonly int64_t views             # rows of each sample
    cdef readonly int64_t classes           # of soft labels; 0: there are none
    cdef readonly int64_t sample_bytes      # of the running epoch
    cdef int64_t slot_sample_bytes          # that slots have room for
    cdef readonly int64_t base_slots
    cdef readonly int64_t extra_slots       # allocated beyond the plan, in all
    cdef readonly object max_held
    cdef public bint keep                   # slots handed out are not counted, nor used again
    cdef tuple sample_shape
    cdef object dtype
    cdef object label_dtype
    cdef list slots
    cdef list open_slots                    # Slot of each open batch, oldest first
    cdef int64_t n_samples
    cdef int64_t n_batches
    cdef readonly int64_t token             # changes with every epoch

    cdef Slot free_slot(self)
    cdef int open_next(self, Slot slot) except -1
    cdef bint wait(self, dts_batch *b, int64_t token) except -1
    cdef int64_t drop_bad_rows(self, Slot slot, int64_t rows)
    cdef tuple arrays(self, Slot slot, int64_t samples)
