from libc.stdint cimport int64_t, uint8_t

from dts.loaders.loader cimport dts_loader
from dts.loaders.serve cimport reader_core
from dts.status cimport dts_error
from dts.storage.reader cimport BlockFeed


cdef class BlockReader:
    cdef dts_loader interface       # hold a reference to the reader while it is used
    cdef reader_core core
    cdef readonly BlockFeed feed
    cdef void *worker_memory
    cdef const uint8_t[::1] bad
    cdef object view                # of the whole arena
    cdef object file
    cdef readonly str split
    cdef readonly str mode
    cdef readonly str order
    cdef readonly int64_t memory_bytes
    cdef bint closed
    cdef bint changing              # begin_epoch is at work without the GIL
    cdef bint running
    cdef bint begun
    cdef object __weakref__
    cdef int alive(self) except -1
    cdef rest(self)
    cdef BlockFeed make_feed(self, int64_t slots, int64_t threads)
    cdef exception(self, dts_error *error)
