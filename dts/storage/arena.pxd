from libc.stdint cimport int64_t, uint8_t


cdef extern from "dts/storage/pages.h" nogil:
    ctypedef struct dts_pages:
        uint8_t *base
        int64_t size
        int64_t mapped
    int dts_pages_get(dts_pages *p, int64_t size) noexcept
    void dts_pages_free(dts_pages *p) noexcept


# Block number i lies at base + i * DTS_BLOCK_BYTES; SLACK bytes after the last one may be read.
cdef class Arena:
    cdef dts_pages pages
    cdef uint8_t *base
    cdef readonly int64_t blocks
    cdef readonly int64_t nbytes
    cdef Py_ssize_t exports
    cdef bint closed
    cpdef close(self)
