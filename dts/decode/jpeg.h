/* JPEG decoder of one worker: what jpeg.pxd promises, over a table of operations that is either a
 * libjpeg (libjpeg62.c, libjpeg80.c) or the simplejpeg fallback (jpeg.pyx). */
#ifndef DTS_DECODE_JPEG_H
#define DTS_DECODE_JPEG_H

#include <stddef.h>
#include <stdint.h>

#include "dts/decode/restart.h"
#include "dts/status.h"

#if defined(__GNUC__) || defined(__clang__)
#define DTS_PRINTF(text, rest) __attribute__((format(printf, text, rest)))
#else
#define DTS_PRINTF(text, rest)
#endif

/* A file may hold this many scans. Real progressive files have about ten; each one costs a pass over
 * the whole picture, so hundreds of repeated scans would hold a worker for seconds. */
#define DTS_JPEG_MAX_SCANS 100

/* What libjpeg accepts as a side. */
#define DTS_JPEG_MAX_SIDE 65500

typedef struct dts_jpeg_info {
    int32_t width;
    int32_t height;
    int32_t components; /* 1 grey, 3 colour, 4 CMYK or YCCK */
    int32_t mcu_width;  /* pixels */
    int32_t mcu_height;
    int32_t progressive;
    int32_t restart_interval; /* MCUs between restart markers, 0: there are none */
} dts_jpeg_info;

typedef struct dts_jpeg dts_jpeg;

/* One way to decode. Each operation returns a status, and leaves the reason in the decoder. */
typedef struct dts_jpeg_ops {
    int (*make)(dts_jpeg *j);
    void (*drop)(dts_jpeg *j);
    int (*header)(dts_jpeg *j); /* dts_jpeg_parse has filled j->info already */
    int (*start)(dts_jpeg *j, int x, int y, int w, int h); /* sets row_x and row_w */
    int (*rows)(dts_jpeg *j, uint8_t *const *rows, int n);
    void (*stop)(dts_jpeg *j);
    int scales; /* obeys j->scale */
} dts_jpeg_ops;

enum { DTS_JPEG_IDLE, DTS_JPEG_HEADER, DTS_JPEG_ROWS };

struct dts_jpeg {
    const dts_jpeg_ops *ops;
    const void *library; /* dts_libjpeg; unused by the fallback */
    void *codec;         /* what ops->make made */
    const uint8_t *data; /* the picture, borrowed between header and stop */
    int64_t size;
    dts_jpeg_info info;
    int stage;
    int status; /* of this picture: the first failure stays */
    int channels;
    int scale;          /* 1, 2, 4 or 8: decode at one over this */
    int width, height;  /* of the picture at that scale */
    int row_x, row_w;   /* columns that rows hold */
    int row, row_end;   /* next row, and one past the last that was asked for */
    dts_splice splice;
    uint8_t *line;      /* one row of CMYK, kept from picture to picture */
    size_t line_size;
    const uint8_t *pixels; /* the fallback's picture */
    int64_t warnings;
    int own_entropy; /* this picture's codes are read by entropy.c */
    char reason[224];
};

dts_jpeg *dts_jpeg_new(const dts_jpeg_ops *ops, const void *library);
void dts_jpeg_free(dts_jpeg *j);
int dts_jpeg_header(dts_jpeg *j, const uint8_t *data, int64_t size, dts_jpeg_info *info);
/* Decode at one over `denominator`: 1, 2, 4 or 8. Returns the denominator in effect: always 1 where
 * the backend cannot. A picture's sides are then divided and rounded up, and the region of
 * dts_jpeg_start is in those pixels. */
int dts_jpeg_scale(dts_jpeg *j, int denominator);
int dts_jpeg_start(dts_jpeg *j, int x, int y, int w, int h, int channels, int *row_x, int *row_w);
int dts_jpeg_rows(dts_jpeg *j, uint8_t *const *rows, int n);
int dts_jpeg_stop(dts_jpeg *j);

/* Record why; the first failure of a picture wins. Returns the status that now holds. */
int dts_jpeg_fail(dts_jpeg *j, int status, const char *format, ...) DTS_PRINTF(3, 4);

/* Make j->line hold at least this many bytes. */
int dts_jpeg_line(dts_jpeg *j, size_t size);

/* header.c: walk the markers up to the first scan, fill j->info, apply every limit. */
int dts_jpeg_parse(dts_jpeg *j);
/* Apply DTS_JPEG_MAX_SCANS without decoding, by the scan headers that the bytes seem to hold. */
int dts_jpeg_check_scans(dts_jpeg *j);
void dts_jpeg_set_pixel_limit(int64_t pixels);
int64_t dts_jpeg_pixel_limit(void);

/* Whether files that entropy.c can read are read by it (the default), or by libjpeg. Nothing but the
 * time is different. */
void dts_jpeg_set_own_entropy(int on);
int dts_jpeg_own_entropy(void);

/* orientation.c. Between header and rows: the picture's EXIF orientation, 1 to 8; 1 where there is
 * none, and 1 and a warning where the EXIF data makes no sense. */
int dts_jpeg_orientation(dts_jpeg *j);
/* The size of a picture as stored, to that of it upright (or the other way round). */
void dts_upright_size(int orientation, int *width, int *height);
/* A box of the upright picture, to where it lies in the stored one of width x height. */
void dts_stored_box(int orientation, int width, int height, int *x, int *y, int *w, int *h);
/* Put n stored rows of a box of width x height, from row first of it on, where they belong in the
 * upright picture of the box. Rows are stride bytes apart, those of the result touch. */
void dts_upright_rows(uint8_t *out, int orientation, const uint8_t *rows, int64_t stride, int first,
                      int n, int width, int height, int channels);

/* cmyk.c: a row of n pixels to 3 channels RGB or 1 channel grey. */
void dts_jpeg_cmyk_row(uint8_t *out, const uint8_t *cmyk, int n, int channels);

#endif
