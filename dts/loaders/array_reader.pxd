from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

from dts.loaders.loader cimport dts_loader


ctypedef struct array_core:
    const uint8_t *pixels
    int64_t sample_bytes
    const int32_t *labels
    const uint8_t *bad          # by id: 1 where damage is known; NULL: none is
    uint32_t *order             # ids, in the order of the epoch
    int64_t n
    const int64_t *starts       # n_files + 1: first id of each file
    int64_t n_files
    int64_t n_workers
    int64_t stop                # 1 while no epoch runs; atomic
    uint64_t seed
    uint32_t epoch
    int kind                    # ORDER_*
    int split


cdef class ArrayReader:
    cdef dts_loader interface   # hold a reference to the reader while it is used
    cdef array_core core
    cdef const uint8_t[::1] pixels
    cdef const int32_t[::1] labels
    cdef const uint8_t[::1] bad
    cdef int64_t[::1] starts
    cdef uint32_t[::1] sequence
    cdef int64_t[::1] next      # by worker: its next position when samples are dealt out in turn
    cdef object view            # of all pictures
    cdef readonly list paths
    cdef readonly str split
    cdef readonly str mode
    cdef readonly str order
    cdef readonly int64_t memory_bytes
    cdef int64_t bytes_read
    cdef int64_t pid
    cdef bint closed
    cdef bint begun
    cdef object __weakref__
    cdef int alive(self) except -1
