/* The one place, next to header.h, that reads block tables. Everything is checked once, in 64 bits. */
#ifndef DTS_BLOCK_H
#define DTS_BLOCK_H

#include <stdint.h>

#include "dts/status.h"

#define DTS_BLOCK_BYTES ((int64_t)16 << 20)
#define DTS_BLOCK_MAX_PICTURES 1364 /* what the larger of the two tables can hold */

/* n at byte 8; n offsets, n sizes, n labels from byte 12 on: read them in place, little-endian. */
static inline uint32_t dts_block_u32(const uint8_t *block, int64_t byte) {
    uint32_t v;
    memcpy(&v, block + byte, 4);
    return v;
}
static inline uint32_t dts_block_count(const uint8_t *b) { return dts_block_u32(b, 8); }
static inline uint32_t dts_block_offset(const uint8_t *b, uint32_t n, uint32_t i) { return dts_block_u32(b, 12 + 4 * (int64_t)i); }
static inline uint32_t dts_block_size(const uint8_t *b, uint32_t n, uint32_t i) { return dts_block_u32(b, 12 + 4 * ((int64_t)n + i)); }
static inline uint32_t dts_block_label(const uint8_t *b, uint32_t n, uint32_t i) { return dts_block_u32(b, 12 + 4 * (2 * (int64_t)n + i)); }

/* Checks head and table of a block of `length` readable bytes against what is expected.
 * level: 0..3, or -1 for any. expected_id, expected_count: -1 for any. num_classes: labels must be below it.
 * Fills *error (status, sample, reason) and returns DTS_OK or DTS_BAD_BLOCK. */
static inline int dts_block_check(const uint8_t *block, int64_t length, int level, int64_t expected_id,
                                  int64_t expected_count, int64_t header_size, int64_t num_classes, dts_error *error) {
    int64_t n, i, table_end;
    if (length < 12) return dts_error_set(error, DTS_BAD_BLOCK, "block is shorter than its own head");
    if (block[0] != 'L' || block[1] != 'V' || block[2] < '0' || block[2] > '3' || block[3] != 'B')
        return dts_error_set(error, DTS_BAD_BLOCK, "block magic is not LV0B..LV3B");
    if (level >= 0 && block[2] != '0' + level) {
        snprintf(error->reason, sizeof error->reason, "block magic says level %c, the header level %d", block[2], level);
        return error->status = DTS_BAD_BLOCK;
    }
    if (expected_id >= 0 && (int64_t)dts_block_u32(block, 4) != expected_id) {
        snprintf(error->reason, sizeof error->reason, "block says it is number %u, but stands at place %lld",
                 dts_block_u32(block, 4), (long long)expected_id);
        return error->status = DTS_BAD_BLOCK;
    }
    n = dts_block_count(block);
    table_end = 12 + 12 * n;
    if (table_end > length || table_end > header_size) {
        snprintf(error->reason, sizeof error->reason, "block claims %lld pictures, its table holds %lld", (long long)n,
                 (long long)((header_size - 12) / 12));
        return error->status = DTS_BAD_BLOCK;
    }
    if (expected_count >= 0 && n != expected_count) {
        snprintf(error->reason, sizeof error->reason, "block holds %lld pictures, %lld were packed", (long long)n,
                 (long long)expected_count);
        return error->status = DTS_BAD_BLOCK;
    }
    for (i = 0; i < n; ++i) {
        const int64_t offset = dts_block_offset(block, (uint32_t)n, (uint32_t)i);
        const int64_t size = dts_block_size(block, (uint32_t)n, (uint32_t)i);
        if (offset < table_end || offset + size > length) {
            error->sample = (int32_t)i;
            snprintf(error->reason, sizeof error->reason, "picture at bytes %lld..%lld lies outside its block of %lld",
                     (long long)offset, (long long)(offset + size), (long long)length);
            return error->status = DTS_BAD_BLOCK;
        }
        if ((int64_t)dts_block_label(block, (uint32_t)n, (uint32_t)i) >= num_classes) {
            error->sample = (int32_t)i;
            snprintf(error->reason, sizeof error->reason, "label %u is not below the %lld classes of the header",
                     dts_block_label(block, (uint32_t)n, (uint32_t)i), (long long)num_classes);
            return error->status = DTS_BAD_BLOCK;
        }
    }
    return DTS_OK;
}

#endif
