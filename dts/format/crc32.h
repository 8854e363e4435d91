/* CRC-32 as zlib computes it, by carry-less multiplication. */
#ifndef DTS_FORMAT_CRC32_H
#define DTS_FORMAT_CRC32_H

#include <stddef.h>
#include <stdint.h>

/* Whether this processor has what dts_crc32 needs. To be asked once before it is called. */
int dts_crc32_begin(void);

/* Continue a checksum over n bytes; 0 begins one. */
uint32_t dts_crc32(uint32_t crc, const uint8_t *data, size_t n);

#endif
