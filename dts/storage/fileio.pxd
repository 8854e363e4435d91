from libc.stdint cimport int32_t, int64_t, uint8_t


cdef extern from "dts/storage/fileio.h" nogil:
    const int64_t DTS_READ_PIECE
    int dts_file_read(int fd, int direct, uint8_t *to, int64_t length, int64_t offset, int fresh,
                      int64_t *stop, int64_t *got, int32_t *os_errno) noexcept
    int dts_file_open_wait(const char *path, int64_t *size, int64_t *stop,
                           int32_t *os_errno) noexcept
    void dts_file_close(int fd) noexcept
