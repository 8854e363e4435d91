from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t

from dts.storage.reader cimport BlockFeed, file_table


cdef class FolderFeed(BlockFeed):
    cdef file_table table
    cdef bytes root
    # What the tables point to.
    cdef const uint8_t[::1] pool
    cdef const int64_t[::1] start
    cdef const uint16_t[::1] length
    cdef const int32_t[::1] folder
    cdef const uint8_t[::1] folder_pool
    cdef const int64_t[::1] folder_start
    cdef const int64_t[::1] sizes
    cdef const int32_t[::1] labels
    cdef const int64_t[::1] ids
    cdef const int64_t[::1] rooms
