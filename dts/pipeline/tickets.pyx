"""Who works on which positions, and who sleeps meanwhile.

Whoever is free takes the next positions of the epoch from one counter. A position is taken only
when its batch has a slot, so whoever sleeps has taken nothing, and any other can go on in its
place. No more workers are awake than can run at once: with 64 of them on 2 CPUs the same two go
on, whose state is in the caches, and who slept last is woken first. Between epochs all sleep.
"""

from libc.stdint cimport int64_t
from libc.string cimport memset

from dts.threads cimport (
    dts_compare_swap, dts_cond_broadcast, dts_cond_init, dts_cond_signal, dts_cond_wait,
    dts_load_acq, dts_mutex_init, dts_mutex_lock, dts_mutex_unlock, dts_store_rel,
)


cdef void tickets_init(dts_tickets *t) noexcept nogil:
    memset(t, 0, sizeof(dts_tickets))
    dts_mutex_init(&t.lock)
    dts_cond_init(&t.idle)


cdef void sleeper_init(dts_sleeper *me) noexcept nogil:
    memset(me, 0, sizeof(dts_sleeper))
    dts_cond_init(&me.bell)


cdef void wake(dts_tickets *t, int64_t n) noexcept nogil:
    """Wake so many of those that sleep, the last first. Holds the lock."""
    cdef dts_sleeper *one
    while n > 0 and t.top != NULL:
        one = t.top
        t.top = one.below
        t.awake += 1
        one.rung = 1
        dts_cond_signal(&one.bell)
        n -= 1


cdef void tickets_count(dts_tickets *t, int64_t workers) noexcept nogil:
    dts_mutex_lock(&t.lock)
    t.awake += workers
    dts_mutex_unlock(&t.lock)


cdef void tickets_begin(dts_tickets *t, int64_t claim, int64_t most) noexcept nogil:
    dts_mutex_lock(&t.lock)
    t.claim = claim
    t.most = most
    dts_store_rel(&t.open, 0)
    dts_store_rel(&t.next, 0)
    dts_store_rel(&t.closing, 0)
    dts_mutex_unlock(&t.lock)


cdef void tickets_open(dts_tickets *t, int64_t open) noexcept nogil:
    dts_mutex_lock(&t.lock)
    dts_store_rel(&t.open, open)
    wake(t, t.most - t.awake)
    dts_mutex_unlock(&t.lock)


cdef void tickets_close(dts_tickets *t) noexcept nogil:
    dts_store_rel(&t.closing, 1)


cdef void tickets_stop(dts_tickets *t) noexcept nogil:
    dts_mutex_lock(&t.lock)
    dts_store_rel(&t.closing, 1)
    t.stop = 1
    while t.top != NULL:
        wake(t, 1)
    dts_mutex_unlock(&t.lock)


cdef void tickets_wait_idle(dts_tickets *t) noexcept nogil:
    dts_mutex_lock(&t.lock)
    while t.awake > 0:
        dts_cond_wait(&t.idle, &t.lock)
    dts_mutex_unlock(&t.lock)


cdef int64_t tickets_take(dts_tickets *t, int64_t *last) noexcept nogil:
    cdef int64_t first = dts_load_acq(&t.next), open
    while True:
        open = dts_load_acq(&t.open)
        if first >= open or dts_load_acq(&t.closing):
            return -1
        last[0] = min(first + t.claim, open)
        if dts_compare_swap(&t.next, &first, last[0]):
            return first


cdef bint tickets_wait(dts_tickets *t, dts_sleeper *me) noexcept nogil:
    dts_mutex_lock(&t.lock)
    while not t.stop and (dts_load_acq(&t.closing) or t.awake > t.most
                          or dts_load_acq(&t.next) >= dts_load_acq(&t.open)):
        me.rung = 0
        me.below = t.top
        t.top = me
        t.awake -= 1
        if t.awake == 0:
            dts_cond_broadcast(&t.idle)
        t.waits += 1
        while not me.rung:
            dts_cond_wait(&me.bell, &t.lock)
            t.wakes += 1
    dts_mutex_unlock(&t.lock)
    return not t.stop
