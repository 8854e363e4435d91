from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t


cdef extern from "dts/sample.h" nogil:
    ctypedef struct dts_sample:
        const uint8_t *data
        int64_t id
        uint32_t size
        int32_t label
        int32_t volume
        int32_t block
        int32_t index
