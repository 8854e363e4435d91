/* A libjpeg that was opened at run time: its functions, and what its message numbers mean. */
#ifndef DTS_DECODE_LIBRARY_H
#define DTS_DECODE_LIBRARY_H

#include <stddef.h>

#include "dts/decode/jpeg.h"

/* What a warning or an error of the library means to us. Numbers differ from version to version and
 * between ABIs, so they are looked up by their text. Warnings that we do not know count as damage. */
enum {
    DTS_MSG_DAMAGE,
    DTS_MSG_HARMLESS,
    DTS_MSG_STRAY_BYTES, /* parameters: how many, before which marker */
    DTS_MSG_EARLY_END,   /* pixels are missing in the scan */
    DTS_MSG_LOST_RESTART, /* parameters: marker found, number wanted */
    DTS_MSG_NO_MEMORY,
};
#define DTS_MSG_MAX 256

typedef struct dts_libjpeg {
    void *handle;
    const dts_jpeg_ops *ops;
    int abi;
    uint8_t meaning[DTS_MSG_MAX]; /* of a message number */
    void *(*std_error)(void *err);
    void (*create_decompress)(void *cinfo, int version, size_t size);
    void (*destroy_decompress)(void *cinfo);
    int (*read_header)(void *cinfo, int require_image);
    int (*start_decompress)(void *cinfo);
    void (*crop_scanline)(void *cinfo, unsigned *x, unsigned *width);
    unsigned (*skip_scanlines)(void *cinfo, unsigned n);
    unsigned (*read_scanlines)(void *cinfo, uint8_t **rows, unsigned n);
    void (*abort_decompress)(void *cinfo);
    int (*resync_to_restart)(void *cinfo, int desired);
} dts_libjpeg;

/* Open the library at path (or of that soname). NULL: why it cannot be used stands in why[0:size].
 * A library is never closed: decoders may use it until the process ends. */
dts_libjpeg *dts_libjpeg_open(const char *path, char *why, size_t size);

/* The file that the library was loaded from, or NULL. */
const char *dts_libjpeg_path(const dts_libjpeg *library);

/* Is it a function of the library? */
int dts_libjpeg_owns(const dts_libjpeg *library, void *function);

/* One for each ABI, from libjpeg_impl.h: does the library take our structures? */
int dts_libjpeg62_accepts(const dts_libjpeg *library, char *why, size_t size);
int dts_libjpeg80_accepts(const dts_libjpeg *library, char *why, size_t size);
extern const dts_jpeg_ops dts_libjpeg62_ops, dts_libjpeg80_ops;

#endif
