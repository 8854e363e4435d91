"""Who works on which positions, and who sleeps meanwhile."""

from libc.stdint cimport int64_t

from dts.threads cimport dts_cond, dts_mutex


ctypedef struct dts_sleeper:
    # One worker's place to sleep.
    dts_cond bell
    int64_t rung
    dts_sleeper *below      # who went to sleep before, and is woken later


ctypedef struct dts_tickets:
    # Workers read these for every ticket; they change once a batch.
    int64_t pad_start[16]
    int64_t open            # positions below it may be taken: those of batches that have a slot
    int64_t closing         # the epoch ends early
    int64_t claim           # positions of a ticket, at most
    int64_t most            # workers that may be awake
    int64_t pad_next[16]
    int64_t next            # the first position that nobody has taken; all workers write it
    int64_t pad_lock[16]
    dts_mutex lock
    dts_cond idle           # nobody is awake
    dts_sleeper *top        # the last who went to sleep
    int64_t awake           # workers that are not asleep
    int64_t stop            # for good
    int64_t waits           # times that somebody went to sleep, and that he woke
    int64_t wakes
    int64_t pad_end[16]


cdef void tickets_init(dts_tickets *t) noexcept nogil
cdef void sleeper_init(dts_sleeper *me) noexcept nogil

# The user's side. So many workers more will call tickets_wait; less than 0: will not, after all.
cdef void tickets_count(dts_tickets *t, int64_t workers) noexcept nogil
# An epoch begins, with nothing open. No worker may be between two calls of tickets_wait.
cdef void tickets_begin(dts_tickets *t, int64_t claim, int64_t most) noexcept nogil
# Positions below `open` may be taken from now on: wakes as many as may be awake.
cdef void tickets_open(dts_tickets *t, int64_t open) noexcept nogil
# The epoch ends: nobody gets a ticket any more.
cdef void tickets_close(dts_tickets *t) noexcept nogil
# Nobody shall work any more: tickets_wait returns.
cdef void tickets_stop(dts_tickets *t) noexcept nogil
# Returns when all workers sleep.
cdef void tickets_wait_idle(dts_tickets *t) noexcept nogil

# Workers. Positions [what is returned, *last), without a lock; -1: none are open.
cdef int64_t tickets_take(dts_tickets *t, int64_t *last) noexcept nogil
# Sleeps until it is this worker's turn to take tickets. False: never again.
cdef bint tickets_wait(dts_tickets *t, dts_sleeper *me) noexcept nogil
