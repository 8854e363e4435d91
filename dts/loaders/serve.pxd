from libc.stdint cimport int64_t, uint8_t, uint32_t

from dts.loaders.order cimport epoch_plan
from dts.sample cimport dts_sample
from dts.status cimport dts_error
from dts.storage.reader cimport block_feed


cdef enum:
    MUST_WAIT = -1          # of take(): call prepare(), then ask again
    RESTING = -1            # in place of a worker's window

# One worker: cache lines of its own.
ctypedef struct worker_state:
    int64_t low             # positions [low, high) can be served without a look at the windows
    int64_t high
    int64_t window          # the window it is in; under feed.lock
    int64_t next            # its next position when samples are dealt out in turn
    int64_t unused[12]

ctypedef struct reader_core:
    block_feed *feed
    epoch_plan plan
    worker_state *workers
    int64_t n_workers
    int64_t floor           # the lowest window that a worker is in; under feed.lock
    int64_t ahead           # the second window may be loaded too; under feed.lock
    int64_t half            # PARTIAL: blocks that fit one half of the arena; FULLY: 0
    int64_t half_bytes      # where the second half starts
    const uint8_t *bad      # by id: 1 where a CRC check found damage; NULL: none is known
    uint32_t epoch


# All of this works without the GIL. `core_begin` fills the plan, the sequence of blocks to load
# and their places; it returns the length of the sequence, and the first limit in *limit.
cdef int64_t core_begin(reader_core *core, uint8_t *arena, uint32_t epoch,
                        int64_t *limit) noexcept nogil
cdef int take(reader_core *core, int worker, int64_t position, dts_sample *out,
              dts_error *error) noexcept nogil
cdef int prepare(reader_core *core, int worker, int64_t position, int64_t serial, int ms,
                 dts_error *error) noexcept nogil

# The functions of dts_loader; self is a reader_core.
cdef int core_sample_at(void *self, int worker, int64_t position, dts_sample *out,
                        dts_error *error) noexcept nogil
cdef int core_replacement(void *self, int worker, int64_t position, const dts_sample *bad,
                          int attempt, dts_sample *out, dts_error *error) noexcept nogil
cdef void core_finish(void *self, int worker) noexcept nogil
cdef void core_rest(void *self, int worker) noexcept nogil
cdef void core_resume(void *self, int worker) noexcept nogil
