from libc.stdint cimport int32_t, int64_t


cdef extern from "dts/status.h" nogil:
    enum:
        DTS_OK
        DTS_END
        DTS_CLOSED
        DTS_NO_MEMORY
        DTS_IO
        DTS_TRUNCATED
        DTS_BAD_BLOCK
        DTS_BAD_CRC
        DTS_BAD_IMAGE
        DTS_TOO_LARGE
        DTS_INTERNAL
        DTS_TRANSFORM

    ctypedef struct dts_error:
        int32_t status
        int32_t os_errno
        int32_t volume
        int32_t block
        int32_t sample
        int32_t reserved
        int64_t id
        int64_t position
        char reason[224]

    void dts_error_clear(dts_error *e) noexcept
    int dts_error_set(dts_error *e, int status, const char *reason) noexcept
