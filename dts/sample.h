/* One sample as the loaders hand it out. `data` points into the block arena: nothing is copied. */
#ifndef DTS_SAMPLE_H
#define DTS_SAMPLE_H

#include <stdint.h>

typedef struct dts_sample {
    const uint8_t *data; /* encoded picture, valid until the same worker's next request */
    int64_t id;          /* position in the file(s), block by block, or in a listing */
    uint32_t size;       /* bytes, unpadded */
    int32_t label;
    int32_t volume;      /* index of the file in its set; of a folder: the id */
    int32_t block;       /* block number within that file; of a folder: -1 */
    int32_t index;       /* number within the block; of a folder: -1 */
    int32_t reserved;
} dts_sample;

#endif
