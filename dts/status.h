/* Status codes of everything below Python, and the record that carries one error upwards.
 * Workers never raise: they fill a dts_error, and dts/errors.py turns it into an exception in one place. */
#ifndef DTS_STATUS_H
#define DTS_STATUS_H

#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum {
    DTS_OK = 0,
    DTS_END = 1,        /* nothing left in this epoch: not an error */
    DTS_CLOSED = 2,     /* the object was closed, or belongs to another process */
    DTS_NO_MEMORY = 3,
    DTS_IO = 4,         /* errno says what the operating system said */
    DTS_TRUNCATED = 5,  /* the file ends before the bytes it promises */
    DTS_BAD_BLOCK = 6,  /* a block table that cannot be true */
    DTS_BAD_CRC = 7,    /* bytes that differ from those that were packed */
    DTS_BAD_IMAGE = 8,  /* a picture that cannot be decoded */
    DTS_TOO_LARGE = 9,  /* a picture over the pixel cap */
    DTS_INTERNAL = 10,
    DTS_TRANSFORM = 11, /* a user's own transform failed */
};

typedef struct dts_error {
    int32_t status;
    int32_t os_errno;
    int32_t volume;     /* index of the file in its set, -1 unknown */
    int32_t block;      /* block number within that file, -1 unknown */
    int32_t sample;     /* number of the picture within its block, -1 unknown */
    int32_t reserved;   /* DTS_TRANSFORM: number of the exception, see transforms/function.pyx; else 0 */
    int64_t id;         /* sample id, -1 unknown */
    int64_t position;   /* position in the epoch, -1 unknown */
    char reason[224];   /* what is wrong, for a person; NUL-terminated */
} dts_error;

static inline void dts_error_clear(dts_error *e) {
    memset(e, 0, sizeof *e);
    e->volume = e->block = e->sample = -1;
    e->id = e->position = -1;
}

static inline int dts_error_set(dts_error *e, int status, const char *reason) {
    e->status = status;
    snprintf(e->reason, sizeof e->reason, "%s", reason);
    return status;
}

#endif
