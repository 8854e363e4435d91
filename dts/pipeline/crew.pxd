"""What the threads of one split share, and what each has for itself."""

from libc.stdint cimport int64_t, uint8_t, uint32_t

from dts.loaders.loader cimport dts_loader
from dts.pipeline.plan cimport dts_plan
from dts.pipeline.render cimport dts_scratch
from dts.pipeline.station cimport dts_batch, dts_station
from dts.pipeline.tickets cimport dts_sleeper
from dts.status cimport dts_error
from dts.threads cimport dts_mutex, dts_thread
from dts.transforms.mix cimport dts_mixing


cdef enum:
    ON_ERROR_RAISE = 0
    ON_ERROR_SKIP = 1
    ON_ERROR_REPLACE = 2
    LOG = 32                # errors kept in full


ctypedef struct dts_crew:
    dts_loader loader
    dts_plan plan
    const dts_mixing *mixing
    dts_station *station
    int64_t workers
    int64_t mask_bytes
    int64_t batch_size
    int64_t process         # that the threads belong to
    uint32_t epoch
    int on_error
    int wide_labels         # int64 labels
    # All above stays as it is while an epoch runs; the rest is written under the lock.
    int64_t pad_lock[16]
    dts_mutex lock
    int64_t logged
    dts_error log[LOG]


ctypedef struct dts_worker:
    dts_crew *crew
    int64_t index
    dts_thread thread
    const uint8_t *mask     # CPUs to run on; NULL: all
    int64_t bound           # it does
    dts_batch *batch        # that this worker is in
    int64_t number          # of that batch; -1: in none
    int64_t rows            # finished in it and not told yet
    int64_t samples
    int64_t skipped
    int64_t replaced
    int64_t warnings
    int64_t spliced
    int64_t cpu_ns
    dts_sleeper sleeper
    dts_scratch scratch


# What a thread runs, given its dts_worker: epoch after epoch until tickets_stop.
cdef void worker_main(void *arg) noexcept nogil
