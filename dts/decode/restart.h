/* Splicing of restart intervals: of a JPEG with restart markers, read only the intervals that a
 * region needs.
 *
 * A restart interval can be decoded by itself. Where intervals divide a row of MCUs, or are whole
 * rows, those that a region touches form a rectangle. Copied one after the other, with the markers
 * numbered anew and the size in the frame header changed, they are a small picture whose pixels
 * are those of the large one wherever upsampling does not look past its border. */
#ifndef DTS_DECODE_RESTART_H
#define DTS_DECODE_RESTART_H

#include <stddef.h>
#include <stdint.h>

struct dts_jpeg;

enum { DTS_SPLICE_AUTO, DTS_SPLICE_NEVER, DTS_SPLICE_ALWAYS };

/* What a decoder keeps for it. */
typedef struct dts_splice {
    uint8_t *bytes; /* the small picture, kept from picture to picture */
    size_t capacity;
    int active;          /* the decoder reads the small picture: its fields are about that */
    int x, y;            /* where that lies in the whole one; 0 when that itself is read */
    int to_end;          /* its last row of MCUs is read, whatever the upsampling */
    const uint8_t *data; /* the whole one */
    int64_t size;
    int width, height;
    int box_x, box_w, first; /* columns that were asked for, and the first row */
    int64_t warnings;        /* those of the header */
    int64_t count;           /* pictures so far that were read this way */
} dts_splice;

/* When splicing is done: where it saves work, never, or wherever it can be done. */
void dts_splice_set_mode(int mode);
int dts_splice_mode(void);

/* In place of the operations start, rows and stop: with splicing where that is possible. Any
 * complaint about the small picture is none; the whole one is read instead, and judged. */
int dts_splice_start(struct dts_jpeg *j, int x, int y, int w, int h);
int dts_splice_rows(struct dts_jpeg *j, uint8_t *const *rows, int n);
void dts_splice_stop(struct dts_jpeg *j);
void dts_splice_free(dts_splice *s);

#endif
