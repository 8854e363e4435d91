/* What every backend shares: order of calls, argument checks, the reason of a failure. */
#include "dts/decode/jpeg.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

static _Atomic int own_entropy = 1;

void dts_jpeg_set_own_entropy(int on) { own_entropy = on; }
int dts_jpeg_own_entropy(void) { return own_entropy; }

int dts_jpeg_fail(dts_jpeg *j, int status, const char *format, ...) {
    if (j->status != DTS_OK)
        return j->status;
    va_list args;
    va_start(args, format);
    vsnprintf(j->reason, sizeof j->reason, format, args);
    va_end(args);
    return j->status = status;
}

int dts_jpeg_line(dts_jpeg *j, size_t size) {
    if (size <= j->line_size)
        return DTS_OK;
    uint8_t *line = realloc(j->line, size);
    if (!line)
        return dts_jpeg_fail(j, DTS_NO_MEMORY, "no memory for a row of %zu bytes", size);
    j->line = line;
    j->line_size = size;
    return DTS_OK;
}

dts_jpeg *dts_jpeg_new(const dts_jpeg_ops *ops, const void *library) {
    dts_jpeg *j = calloc(1, sizeof *j);
    if (!j)
        return NULL;
    j->ops = ops;
    j->library = library;
    if (ops->make(j) != DTS_OK) {
        free(j);
        return NULL;
    }
    return j;
}

void dts_jpeg_free(dts_jpeg *j) {
    if (!j)
        return;
    dts_jpeg_stop(j);
    j->ops->drop(j);
    dts_splice_free(&j->splice);
    free(j->line);
    free(j);
}

int dts_jpeg_header(dts_jpeg *j, const uint8_t *data, int64_t size, dts_jpeg_info *info) {
    dts_jpeg_stop(j);
    j->data = data;
    j->size = size;
    j->status = DTS_OK;
    j->warnings = 0;
    j->own_entropy = 0;
    j->reason[0] = 0;
    if (dts_jpeg_parse(j) != DTS_OK)
        return j->status;
    dts_jpeg_scale(j, 1);
    j->stage = DTS_JPEG_HEADER;
    if (j->ops->header(j) != DTS_OK)
        return dts_jpeg_stop(j);
    *info = j->info;
    return DTS_OK;
}

int dts_jpeg_scale(dts_jpeg *j, int denominator) {
    j->scale = j->ops->scales ? denominator : 1;
    j->width = (j->info.width + j->scale - 1) / j->scale;
    j->height = (j->info.height + j->scale - 1) / j->scale;
    return j->scale;
}

int dts_jpeg_start(dts_jpeg *j, int x, int y, int w, int h, int channels, int *row_x, int *row_w) {
    if (j->stage != DTS_JPEG_HEADER)
        return dts_jpeg_fail(j, DTS_INTERNAL, "jpeg_start without jpeg_header");
    if (x < 0 || y < 0 || w < 1 || h < 1 || x > j->width - w || y > j->height - h)
        return dts_jpeg_fail(j, DTS_INTERNAL, "region (%d, %d, %d, %d) of a picture of %d x %d", x, y,
                             w, h, j->width, j->height);
    if (channels != 1 && channels != 3)
        return dts_jpeg_fail(j, DTS_INTERNAL, "%d channels", channels);
    j->channels = channels;
    j->stage = DTS_JPEG_ROWS;
    j->row = y;
    j->row_end = y + h;
    const int status = dts_splice_start(j, x, y, w, h);
    *row_x = j->row_x + j->splice.x;
    *row_w = j->row_w;
    return status;
}

int dts_jpeg_rows(dts_jpeg *j, uint8_t *const *rows, int n) {
    if (j->status != DTS_OK)
        return j->status;
    if (j->stage != DTS_JPEG_ROWS || n < 0 || n > j->row_end - j->row)
        return dts_jpeg_fail(j, DTS_INTERNAL, "%d rows past the region", n);
    const int status = dts_splice_rows(j, rows, n);
    j->row += n;
    return status;
}

int dts_jpeg_stop(dts_jpeg *j) {
    if (j->stage != DTS_JPEG_IDLE)
        dts_splice_stop(j);
    j->stage = DTS_JPEG_IDLE;
    j->data = NULL;
    return j->status;
}
