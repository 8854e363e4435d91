"""The threads of one split: sample after sample, from the loader to a row of a batch.

Whoever is free takes the next positions of the epoch by a ticket (tickets.pyx). Position q belongs
to row q mod B of batch q div B, so what a batch holds depends neither on how many workers there
are nor on who took it. No lock is taken for a sample.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t

from dts.decode.jpeg cimport jpeg_spliced, jpeg_warnings
from dts.pipeline.mixing cimport mix_finish
from dts.pipeline.station cimport dts_batch, station_bad, station_batch, station_leave
from dts.pipeline.tickets cimport tickets_take, tickets_wait
from dts.pipeline.worker cimport process_sample
from dts.sample cimport dts_sample
from dts.status cimport DTS_CLOSED, DTS_END, DTS_OK, dts_error, dts_error_clear
from dts.threads cimport (
    dts_mutex_lock, dts_mutex_unlock, dts_thread_bind, dts_thread_cpu_ns,
)


cdef void put_label(const dts_crew *s, dts_batch *b, int64_t sample_row,
                    const dts_sample *sample) noexcept nogil:
    cdef int64_t row
    cdef int view
    for view in range(s.plan.views):
        row = view * b.expected + sample_row
        if s.wide_labels:
            (<int64_t *> b.slot.labels)[row] = sample.label
        else:
            (<int32_t *> b.slot.labels)[row] = sample.label
        b.slot.ids[row] = sample.id


cdef void note(dts_crew *s, const dts_error *e) noexcept nogil:
    dts_mutex_lock(&s.lock)
    if s.logged < LOG:
        s.log[s.logged] = e[0]
    s.logged += 1
    dts_mutex_unlock(&s.lock)


cdef int attempt(dts_worker *w, const dts_sample *sample, uint8_t *out, int64_t view_bytes,
                 dts_error *error) noexcept nogil:
    cdef const dts_crew *s = w.crew
    cdef int status = process_sample(&w.scratch, &s.plan, sample, s.epoch, out, view_bytes, error)
    w.warnings += jpeg_warnings(w.scratch.jpeg)
    w.spliced = jpeg_spliced(w.scratch.jpeg)
    if status != DTS_OK:
        error.volume = sample.volume
        error.block = sample.block
        error.sample = sample.index
        error.id = sample.id
    return status


cdef void tell(dts_worker *w) noexcept nogil:
    if w.rows:
        station_leave(w.crew.station, w.batch, w.rows)
        w.rows = 0
    w.number = -1  # the batch may be full now, and its place in the ring another's


cdef int one_sample(dts_worker *w, int64_t position) noexcept nogil:
    cdef dts_crew *s = w.crew
    cdef dts_sample sample
    cdef dts_sample other
    cdef dts_error error
    cdef dts_error second
    cdef dts_batch *b
    cdef uint8_t *out
    cdef int64_t row = position % s.batch_size, view_bytes
    cdef int k, got, status
    dts_error_clear(&error)
    status = s.loader.sample_at(s.loader.self, <int> w.index, position, &sample, &error)
    if status == DTS_CLOSED:
        return DTS_CLOSED
    if position // s.batch_size != w.number:
        tell(w)
        w.batch = station_batch(s.station, position // s.batch_size)
        w.number = position // s.batch_size
    b = w.batch
    out = b.slot.images + row * s.plan.sample_bytes
    view_bytes = b.expected * s.plan.sample_bytes
    if status == DTS_OK:
        status = attempt(w, &sample, out, view_bytes, &error)
    error.position = position
    k = 0
    while status != DTS_OK and s.on_error == ON_ERROR_REPLACE:
        dts_error_clear(&second)
        got = s.loader.replacement(s.loader.self, <int> w.index, position, &sample, k, &other,
                                   &second)
        if got == DTS_CLOSED:
            return DTS_CLOSED
        if got == DTS_END:
            break
        k += 1
        if got == DTS_OK and attempt(w, &other, out, view_bytes, &second) == DTS_OK:
            note(s, &error)
            w.replaced += 1
            sample = other
            status = DTS_OK
    if status == DTS_OK:
        w.samples += 1
        put_label(s, b, row, &sample)
    else:
        if s.on_error != ON_ERROR_RAISE:
            note(s, &error)
        if s.on_error == ON_ERROR_SKIP:
            w.skipped += 1
        station_bad(s.station, b, row, &error)
    if s.mixing.n:
        mix_finish(&s.plan, s.mixing, b.slot, s.epoch, w.number, b.expected, row, sample.label,
                   status == DTS_OK)
    w.rows += 1
    return DTS_OK


cdef void take_samples(dts_worker *w) noexcept nogil:
    """As long as there are any to take."""
    cdef int64_t last = 0, position = tickets_take(&w.crew.station.tickets, &last)
    while position >= 0:
        while position < last:
            if one_sample(w, position) != DTS_OK:
                return  # the epoch ended, nobody counts these rows
            position += 1
        tell(w)
        position = tickets_take(&w.crew.station.tickets, &last)


cdef void worker_main(void *arg) noexcept nogil:
    cdef dts_worker *w = <dts_worker *> arg
    cdef dts_crew *s = w.crew
    w.bound = w.mask != NULL and dts_thread_bind(w.mask, s.mask_bytes) == 0
    while tickets_wait(&s.station.tickets, &w.sleeper):
        w.rows = 0
        w.number = -1
        s.loader.resume(s.loader.self, <int> w.index)
        take_samples(w)
        s.loader.rest(s.loader.self, <int> w.index)  # nobody waits for one who sleeps
        w.cpu_ns = dts_thread_cpu_ns()
