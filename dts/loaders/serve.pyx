"""Samples out of an arena that IO threads are filling: the part of BlockReader without Python.

PARTIAL keeps two windows of the epoch's order in the two halves of the arena. Windows w and w + 1
may be loaded once every worker has reached window w, so window w + 1 loads while w is consumed.
At the start of an epoch window 1 has to wait until an eighth of window 0 is consumed: the first
batches then do not share the processor with loading that nobody needs yet.
A worker takes the lock only when it enters a window or has to wait for a block.

Candidates to replace a bad sample, all by the stream of its id: first 8 drawn among the others of
its block, then all of those in turn; then 8 drawn in other blocks of its window of the order, then
all of those in turn. What is lost depends on the file alone, so candidates do not depend on time.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t
from libc.string cimport memset

from dts.format.block cimport dts_block_label, dts_block_offset, dts_block_size
from dts.loaders.order cimport (INDEX_BITS, INDEX_MASK, ORDER_GLOBAL, epoch_plan, find_window,
                                plan_epoch)
from dts.rng.philox cimport (DTS_KIND_REPLACE, dts_random_int, dts_stream, dts_stream_next,
                             dts_stream_open)
from dts.sample cimport dts_sample
from dts.status cimport (DTS_BAD_CRC, DTS_BAD_IMAGE, DTS_CLOSED, DTS_END, DTS_INTERNAL, DTS_OK,
                         DTS_TOO_LARGE, DTS_TRUNCATED, dts_error, dts_error_clear,
                         dts_error_set)
from dts.storage.reader cimport (block_entry, block_feed, block_room, feed_allow, feed_explain,
                                 feed_wait, picture_id)
from dts.threads cimport dts_load_acq, dts_mutex_lock, dts_mutex_unlock

cdef enum:
    DRAWS = 8  # replacements that are drawn before the walk over all others begins
    HEAD_START = 8  # this part of the first window is consumed before the second is loaded


# ---------------------------------------------------------------- begin

cdef int64_t order_of_need(reader_core *core) noexcept nogil:
    """Blocks that are not in memory yet into feed.sequence, in the order of first use."""
    cdef block_feed *feed = core.feed
    cdef epoch_plan *plan = &core.plan
    cdef int64_t i, n = 0, missing = 0
    cdef int32_t block
    for block in range(<int32_t>feed.n_blocks):
        if not feed.blocks[block].state and feed.blocks[block].count > 0:
            missing += 1
    if plan.kind != ORDER_GLOBAL:
        for i in range(plan.n_blocks):
            if not feed.blocks[plan.blocks[i]].state:
                feed.sequence[n] = plan.blocks[i]
                n += 1
        return n
    for i in range(plan.n_samples):
        if n == missing:
            break
        block = <int32_t>(plan.samples[i] >> INDEX_BITS)
        if not feed.blocks[block].state and not feed.blocks[block].queued:
            feed.blocks[block].queued = 1
            feed.sequence[n] = block
            n += 1
    for i in range(n):
        feed.blocks[feed.sequence[i]].queued = 0
    return n


cdef int64_t first_share(const reader_core *core) noexcept nogil:
    """Positions of the first window that are consumed before the second is loaded."""
    return core.plan.window_sample[1] // HEAD_START


cdef int64_t core_begin(reader_core *core, uint8_t *arena, uint32_t epoch,
                        int64_t *limit) noexcept nogil:
    cdef block_feed *feed = core.feed
    cdef epoch_plan *plan = &core.plan
    cdef block_entry *block
    cdef worker_state *worker
    cdef int64_t w, i, at = 0, length
    core.epoch = epoch
    core.floor = 0
    core.ahead = 0
    plan_epoch(plan, <const char *>&feed.blocks[0].count, sizeof(block_entry), epoch)
    for i in range(feed.n_blocks):
        block = &feed.blocks[i]
        if core.half:
            block.state = 0
            continue
        if not block.state or block.status != DTS_OK or block.os_errno:
            block.state = 0  # new, or lost in whole or part: tried again in every epoch
        block.data = arena + at
        at += block_room(feed, i)
    if core.half:
        for w in range(plan.n_windows):
            at = (w & 1) * core.half_bytes
            for i in range(plan.window_block[w], plan.window_block[w + 1]):
                feed.blocks[plan.blocks[i]].data = arena + at
                at += block_room(feed, plan.blocks[i])
    for i in range(core.n_workers):
        worker = &core.workers[i]
        worker.low = 0
        worker.high = first_share(core) if core.half else plan.n_samples
        worker.window = 0
        worker.next = i
    length = order_of_need(core)
    limit[0] = length
    if core.half:
        limit[0] = plan.window_block[1]
    return length


# ---------------------------------------------------------------- one sample

cdef int failed(dts_sample *sample, int64_t position, dts_error *error) noexcept nogil:
    error.volume = sample.volume
    error.block = sample.block
    error.sample = sample.index
    error.id = sample.id
    error.position = position
    return error.status


cdef int lost_file(int status, int os_errno, dts_error *error) noexcept nogil:
    """Say why a file is not in its block: see dts.storage.folder_feed."""
    cdef const char *reason = "cannot read this file"
    dts_error_clear(error)
    if status == DTS_TRUNCATED:
        reason = "the file is shorter than when it was listed"
    elif status == DTS_BAD_CRC:
        reason = "the file is longer than when it was listed"
    elif status == DTS_BAD_IMAGE:
        reason = "the file is empty"
    elif status == DTS_TOO_LARGE:
        reason = "files over 256 MiB are not read"
    error.os_errno = os_errno
    return dts_error_set(error, status, reason)


cdef int serve(reader_core *core, int64_t number, int32_t index, int64_t position,
               dts_sample *out, dts_error *error) noexcept nogil:
    """Picture `index` of a block that has arrived."""
    cdef block_entry *block = &core.feed.blocks[number]
    cdef int64_t offset
    cdef uint32_t n = <uint32_t>block.count
    out.data = NULL
    out.id = picture_id(core.feed, block, index)
    out.size = 0
    out.label = -1
    out.volume = block.volume
    out.block = block.number
    out.index = index
    if core.feed.files != NULL:  # a sample is a file: block and index would tell nobody anything
        out.volume = <int32_t>out.id
        out.block = out.index = -1
    if block.status != DTS_OK:
        dts_error_clear(error)
        feed_explain(core.feed, number, error)
        return failed(out, position, error)
    offset = dts_block_offset(block.data, n, <uint32_t>index)
    out.size = dts_block_size(block.data, n, <uint32_t>index)
    if offset == 0:
        lost_file(<int>out.size, <int>dts_block_label(block.data, n, <uint32_t>index), error)
        out.size = 0
        return failed(out, position, error)
    if core.feed.files == NULL and offset + <int64_t>out.size > block.got:
        dts_error_clear(error)
        dts_error_set(error, DTS_TRUNCATED, "the file ends within this sample or before it")
        return failed(out, position, error)
    if core.bad != NULL and core.bad[out.id]:
        dts_error_clear(error)
        dts_error_set(error, DTS_BAD_CRC, "bytes differ from those that were packed (CRC-32)")
        return failed(out, position, error)
    out.data = block.data + offset
    out.label = <int32_t>dts_block_label(block.data, n, <uint32_t>index)
    return DTS_OK


cdef int take(reader_core *core, int worker, int64_t position, dts_sample *out,
              dts_error *error) noexcept nogil:
    """The sample if it can be had at once, without a lock; else MUST_WAIT."""
    cdef worker_state *me = &core.workers[worker]
    cdef uint32_t code
    if dts_load_acq(&core.feed.stop):
        return DTS_CLOSED
    if position < me.low or position >= me.high:
        return DTS_END if position >= core.plan.n_samples else MUST_WAIT
    code = core.plan.samples[position]
    if not dts_load_acq(&core.feed.blocks[code >> INDEX_BITS].state):
        return MUST_WAIT
    return serve(core, code >> INDEX_BITS, code & INDEX_MASK, position, out, error)


# ---------------------------------------------------------------- windows and waits

cdef void raise_floor(reader_core *core, bint entered) noexcept nogil:
    """`entered`: since a worker has consumed what it may without a look at the windows."""
    cdef int64_t i, floor = core.plan.n_windows, ahead
    cdef bint resting = False
    for i in range(core.n_workers):
        if core.workers[i].window == RESTING:
            resting = True
        elif core.workers[i].window < floor:
            floor = core.workers[i].window
    if resting and floor == core.plan.n_windows:
        return  # nobody tells how far the epoch is; who rests will ask for nothing below the floor
    if floor > core.floor or (entered and not core.ahead):
        core.floor = floor
        core.ahead = 1
        ahead = floor + 2 if floor + 2 < core.plan.n_windows else core.plan.n_windows
        feed_allow(core.feed, core.plan.window_block[ahead])


cdef int enter_window(reader_core *core, worker_state *me, int64_t position,
                      int64_t serial) noexcept nogil:
    cdef int status = DTS_OK
    dts_mutex_lock(&core.feed.lock)
    if core.feed.stop or core.feed.serial != serial:
        status = DTS_CLOSED
    elif position < me.low:
        status = DTS_INTERNAL
    else:
        while position >= core.plan.window_sample[me.window + 1]:
            me.window += 1
        me.low = core.plan.window_sample[me.window]
        me.high = core.plan.window_sample[me.window + 1]
        raise_floor(core, True)
    dts_mutex_unlock(&core.feed.lock)
    return status


cdef int prepare(reader_core *core, int worker, int64_t position, int64_t serial, int ms,
                 dts_error *error) noexcept nogil:
    """Do what take() could not: enter a window, wait for a block.

    DTS_OK or DTS_END (`ms` passed): ask take() again. DTS_CLOSED, DTS_INTERNAL: give up.
    """
    cdef worker_state *me = &core.workers[worker]
    cdef int status
    if position < me.low or position >= me.high:
        status = enter_window(core, me, position, serial)
        if status == DTS_INTERNAL:
            dts_error_clear(error)
            error.position = position
            return dts_error_set(error, DTS_INTERNAL, "a worker's positions must grow")
        if status != DTS_OK:
            return status
    return feed_wait(core.feed, core.plan.samples[position] >> INDEX_BITS, serial, ms)


cdef int core_sample_at(void *self, int worker, int64_t position, dts_sample *out,
                        dts_error *error) noexcept nogil:
    cdef reader_core *core = <reader_core *>self
    cdef int status
    if worker < 0 or worker >= core.n_workers or position < 0:
        dts_error_clear(error)
        return dts_error_set(error, DTS_INTERNAL, "no such worker or position")
    while True:
        status = take(core, worker, position, out, error)
        if status != MUST_WAIT:
            return status
        status = prepare(core, worker, position, core.feed.serial, -1, error)
        if status != DTS_OK:
            return status


cdef void step_aside(reader_core *core, int worker, int64_t window) noexcept nogil:
    """Let no window wait for a worker: it is behind all of them, or RESTING."""
    if worker < 0 or worker >= core.n_workers or not core.half:
        return
    dts_mutex_lock(&core.feed.lock)
    if not core.feed.stop:
        core.workers[worker].window = window
        core.workers[worker].low = core.workers[worker].high = core.plan.n_samples
        raise_floor(core, window != RESTING)
    dts_mutex_unlock(&core.feed.lock)


cdef void core_finish(void *self, int worker) noexcept nogil:
    cdef reader_core *core = <reader_core *>self
    step_aside(core, worker, core.plan.n_windows)


cdef void core_rest(void *self, int worker) noexcept nogil:
    step_aside(<reader_core *>self, worker, RESTING)


cdef void core_resume(void *self, int worker) noexcept nogil:
    cdef reader_core *core = <reader_core *>self
    cdef worker_state *me = &core.workers[worker]
    if worker < 0 or worker >= core.n_workers or not core.half:
        return
    dts_mutex_lock(&core.feed.lock)
    if me.window == RESTING:
        # Others may have gone on since, but blocks are kept from the floor on.
        me.window = core.floor
        me.low = me.high = core.plan.window_sample[me.window]
        if me.window < core.plan.n_windows:
            me.high = core.plan.window_sample[me.window + 1] if core.ahead else first_share(core)
    dts_mutex_unlock(&core.feed.lock)


# ---------------------------------------------------------------- replacement

cdef uint32_t word_of(reader_core *core, int64_t id, int number) noexcept nogil:
    cdef dts_stream stream = dts_stream_open(core.plan.seed, DTS_KIND_REPLACE, core.plan.split,
                                             0, 0, core.epoch, id)
    cdef uint32_t word = 0
    cdef int _
    for _ in range(number + 1):
        word = dts_stream_next(&stream)
    return word


cdef int readable(reader_core *core, int64_t block) noexcept nogil:
    """1 when pictures can be had from it, 0 when it is lost; waits until that is known."""
    if core.feed.blocks[block].count == 0:
        return 0
    if feed_wait(core.feed, block, core.feed.serial, -1) != DTS_OK:
        return -1
    return core.feed.blocks[block].status == DTS_OK


cdef int from_same_block(reader_core *core, int64_t block, int64_t id, int64_t attempt,
                         int32_t *index) noexcept nogil:
    """Attempts 0..7: drawn among the others of the block; then all others in turn."""
    cdef block_entry *entry = &core.feed.blocks[block]
    cdef uint32_t others = <uint32_t>(entry.count - 1), k
    if attempt < DRAWS:
        k = dts_random_int(word_of(core, id, <int>attempt), others)
    else:
        k = dts_random_int(word_of(core, id, DRAWS), others)
        k = <uint32_t>((k + attempt - DRAWS) % others)
    index[0] = <int32_t>k + (picture_id(core.feed, entry, k) >= id)
    return DTS_OK


cdef int from_window(reader_core *core, int64_t position, int64_t lost, int64_t id,
                     int64_t attempt, int64_t *block, int32_t *index) noexcept nogil:
    """Attempts 0..7: a block of the window is drawn, the first readable one from there on is
    taken, and a picture drawn in it; then all pictures of all readable blocks in turn.
    """
    cdef epoch_plan *plan = &core.plan
    cdef int64_t window = find_window(plan, position)
    cdef int64_t first = plan.window_block[window]
    cdef int64_t n = plan.window_block[window + 1] - first, start, i, left
    cdef int number = DRAWS + 1 + 2 * <int>(attempt if attempt < DRAWS else DRAWS), usable
    start = dts_random_int(word_of(core, id, number), <uint32_t>n)
    left = attempt - DRAWS
    for i in range(n):
        block[0] = plan.blocks[first + (start + i) % n]
        if block[0] == lost:
            continue
        usable = readable(core, block[0])
        if usable < 0:
            return DTS_CLOSED
        if not usable:
            continue
        if attempt < DRAWS:
            index[0] = <int32_t>dts_random_int(word_of(core, id, number + 1),
                                               <uint32_t>core.feed.blocks[block[0]].count)
            return DTS_OK
        if left < core.feed.blocks[block[0]].count:
            index[0] = <int32_t>left
            return DTS_OK
        left -= core.feed.blocks[block[0]].count
    return DTS_END


cdef int core_replacement(void *self, int worker, int64_t position, const dts_sample *bad,
                          int attempt, dts_sample *out, dts_error *error) noexcept nogil:
    cdef reader_core *core = <reader_core *>self
    cdef int64_t block, id = bad.id, tried = 0
    cdef int32_t index = 0
    cdef int status
    memset(out, 0, sizeof(dts_sample))
    if dts_load_acq(&core.feed.stop):
        return DTS_CLOSED
    if attempt < 0 or position < 0 or position >= core.plan.n_samples:
        dts_error_clear(error)
        return dts_error_set(error, DTS_INTERNAL, "no such position or attempt")
    block = core.plan.samples[position] >> INDEX_BITS
    if core.feed.blocks[block].status == DTS_OK and core.feed.blocks[block].count > 1:
        tried = DRAWS + core.feed.blocks[block].count - 1
    if attempt < tried:
        status = from_same_block(core, block, id, attempt, &index)
    else:
        status = from_window(core, position, block, id, attempt - tried, &block, &index)
    if status != DTS_OK:
        return status
    return serve(core, block, index, position, out, error)
