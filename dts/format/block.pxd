from libc.stdint cimport int64_t, uint8_t, uint32_t

from dts.status cimport dts_error


cdef extern from "dts/format/block.h" nogil:
    const int64_t DTS_BLOCK_BYTES
    const int DTS_BLOCK_MAX_PICTURES
    uint32_t dts_block_count(const uint8_t *b) noexcept
    uint32_t dts_block_offset(const uint8_t *b, uint32_t n, uint32_t i) noexcept
    uint32_t dts_block_size(const uint8_t *b, uint32_t n, uint32_t i) noexcept
    uint32_t dts_block_label(const uint8_t *b, uint32_t n, uint32_t i) noexcept
    int dts_block_check(const uint8_t *block, int64_t length, int level, int64_t expected_id,
                        int64_t expected_count, int64_t header_size, int64_t num_classes,
                        dts_error *error) noexcept
