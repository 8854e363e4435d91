/* See restart.h. Everything here that looks unusual is left to the whole picture: fill bytes, stray
 * bytes, segments of an unknown kind, markers out of order. So damage is judged in one place. */
#include "dts/decode/restart.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "dts/decode/jpeg.h"

#ifdef __SSE2__
#include <emmintrin.h>
#elif defined(__aarch64__) && defined(__ARM_NEON)
#include <arm_neon.h>
#endif

enum {
    SOF0 = 0xC0,
    SOF1 = 0xC1,
    DHT = 0xC4,
    RST0 = 0xD0,
    SOI = 0xD8,
    EOI = 0xD9,
    SOS = 0xDA,
    DQT = 0xDB,
    DRI = 0xDD,
    APP0 = 0xE0,
    APP14 = 0xEE,
    APP15 = 0xEF,
    COM = 0xFE,
};

static _Atomic int splice_mode = DTS_SPLICE_AUTO;

void dts_splice_set_mode(int mode) {
    atomic_store_explicit(&splice_mode, mode, memory_order_relaxed);
}

int dts_splice_mode(void) { return atomic_load_explicit(&splice_mode, memory_order_relaxed); }

void dts_splice_free(dts_splice *s) { free(s->bytes); }

/* A rectangle of intervals. */
typedef struct cells {
    int across;         /* intervals in a row of them */
    int left, right;    /* columns [left, right) of intervals are wanted */
    int top, bottom;    /* and rows [top, bottom) */
    int width, height;  /* pixels of one */
    int last;           /* rows of intervals in the picture */
} cells;

/* Which intervals hold the region, with a pixel more on each side where chroma is upsampled from
 * its neighbours, and at least as wide as an MCU, as in libjpeg_impl.h. Returns whether intervals
 * form columns or whole rows. */
static int find_cells(const dts_jpeg *j, int x, int y, int w, int h, cells *c) {
    const dts_jpeg_info *f = &j->info;
    const int64_t mcus = (f->width + f->mcu_width - 1) / f->mcu_width;
    const int64_t mcu_rows = (f->height + f->mcu_height - 1) / f->mcu_height;
    const int64_t interval = f->restart_interval;
    if (interval < 1 || (interval < mcus ? mcus % interval : interval % mcus) != 0)
        return 0;
    const int64_t wide = interval < mcus ? interval : mcus, high = interval / wide;
    if (high >= mcu_rows && wide == mcus)
        return 0; /* a single one */
    c->across = (int)(mcus / wide);
    c->width = (int)wide * f->mcu_width;
    c->height = (int)high * f->mcu_height;
    c->last = (int)((mcu_rows + high - 1) / high);
    int left = x > 0 ? x - 1 : 0;
    const int right = x + w < f->width ? x + w + 1 : f->width;
    left -= left % f->mcu_width;
    if (f->width - left < f->mcu_width && left > 0)
        left -= f->mcu_width;
    c->left = left / c->width;
    c->right = (right + c->width - 1) / c->width;
    const int margin = f->mcu_height > 8;
    const int top = y > margin ? y - margin : 0;
    const int bottom = y + h < f->height - margin ? y + h + margin : f->height;
    c->top = top / c->height;
    c->bottom = (bottom + c->height - 1) / c->height;
    return 1;
}

/* Copy the header without what does not bear on pixels, and change the size in it. Returns where
 * it ends in the picture, 0 when it is not the plain one of a baseline picture with one scan. */
static int64_t copy_header(const dts_jpeg *j, uint8_t *out, size_t *out_size, int width,
                           int height) {
    const uint8_t *data = j->data;
    uint8_t *to = out, *frame = NULL;
    int64_t at = 2;
    *to++ = 0xFF;
    *to++ = SOI;
    for (;;) {
        /* dts_jpeg_parse came as far as the scan: all lengths up to there are right. */
        if (data[at] != 0xFF)
            return 0;
        const int marker = data[at + 1];
        const int64_t length = 2 + (data[at + 2] << 8 | data[at + 3]);
        if (marker == SOF0 || marker == SOF1)
            frame = to;
        else if (marker == SOS) {
            const int n = j->info.components;
            if (!frame || length != 8 + 2 * n || data[at + 4] != n)
                return 0;
            for (int i = 0; i < n; i++) /* each component, in order: then they are interleaved */
                if (data[at + 5 + 2 * i] != frame[10 + 3 * i])
                    return 0;
            if (data[at + length - 3] != 0 || data[at + length - 2] != 63 ||
                data[at + length - 1] != 0)
                return 0;
        } else if (marker != DQT && marker != DHT && marker != DRI && marker != COM &&
                   (marker < APP0 || marker > APP15))
            return 0;
        if (marker != COM && (marker < APP0 || marker == APP0 || marker == APP14)) {
            memcpy(to, data + at, (size_t)length);
            to += length;
        }
        at += length;
        if (marker == SOS)
            break;
    }
    frame[5] = (uint8_t)(height >> 8);
    frame[6] = (uint8_t)height;
    frame[7] = (uint8_t)(width >> 8);
    frame[8] = (uint8_t)width;
    *out_size = (size_t)(to - out);
    return at;
}

/* The next FF that is not followed by 00, with a byte behind it, or NULL. */
static const uint8_t *next_marker(const uint8_t *p, const uint8_t *end) {
#ifdef __SSE2__
    const __m128i ff = _mm_set1_epi8(-1), zero = _mm_setzero_si128();
    for (; end - p > 32; p += 32) {
        const __m128i *v = (const __m128i *)p, *w = (const __m128i *)(p + 1);
        const __m128i a = _mm_andnot_si128(_mm_cmpeq_epi8(_mm_loadu_si128(w), zero),
                                           _mm_cmpeq_epi8(_mm_loadu_si128(v), ff));
        const __m128i b = _mm_andnot_si128(_mm_cmpeq_epi8(_mm_loadu_si128(w + 1), zero),
                                           _mm_cmpeq_epi8(_mm_loadu_si128(v + 1), ff));
        const unsigned found =
            (unsigned)_mm_movemask_epi8(a) | (unsigned)_mm_movemask_epi8(b) << 16;
        if (found)
            return p + __builtin_ctz(found);
    }
#elif defined(__aarch64__) && defined(__ARM_NEON)
    for (; end - p > 16; p += 16) {
        const uint8x16_t found = vbicq_u8(vceqq_u8(vld1q_u8(p), vdupq_n_u8(0xFF)),
                                          vceqzq_u8(vld1q_u8(p + 1)));
        const uint64_t bits =
            vget_lane_u64(vreinterpret_u64_u8(vshrn_n_u16(vreinterpretq_u16_u8(found), 4)), 0);
        if (bits)
            return p + (__builtin_ctzll(bits) >> 2);
    }
#endif
    while (end - p > 1 && (p = memchr(p, 0xFF, (size_t)(end - p - 1))) != NULL) {
        if (p[1] != 0)
            return p;
        p += 2;
    }
    return NULL;
}

/* Copy the wanted intervals of the scan in [p, end), then an end marker. Returns where that ends,
 * NULL when a marker before there is not the one that must come. */
static uint8_t *copy_intervals(const uint8_t *p, const uint8_t *end, const cells *c, uint8_t *to) {
    const int last_row = c->bottom - 1, last_column = c->right - 1;
    unsigned number = 0, copied = 0;
    for (int row = 0;; row++) {
        const int wanted_row = row >= c->top;
        for (int column = 0; column < c->across; column++) {
            const uint8_t *q = next_marker(p, end);
            if (!q)
                return NULL;
            const int final = row == c->last - 1 && column == c->across - 1;
            if (q[1] != (final ? EOI : RST0 + (number++ & 7)))
                return NULL;
            q += 2;
            if (wanted_row && column >= c->left && column <= last_column) {
                memcpy(to, p, (size_t)(q - p));
                to += q - p;
                if (row == last_row && column == last_column) {
                    to[-1] = EOI;
                    return to;
                }
                to[-1] = (uint8_t)(RST0 + (copied++ & 7));
            }
            p = q;
        }
    }
}

/* Can anything be left out? One row or column of intervals less is already quicker by 2 to 8 % than
 * the whole picture down to the same row (docs/performance.md). */
static int pays(const cells *c) { return c->top > 0 || c->right - c->left < c->across; }

static int reserve(dts_splice *s, size_t size) {
    if (size <= s->capacity)
        return 1;
    const size_t more = size + size / 2;
    free(s->bytes);
    s->bytes = malloc(more);
    s->capacity = s->bytes ? more : 0;
    return s->bytes != NULL;
}

/* Make the small picture. Returns its size in bytes, 0 when there is to be none. */
static size_t splice(dts_jpeg *j, int x, int y, int w, int h, int *width, int *height) {
    dts_splice *s = &j->splice;
    const int mode = dts_splice_mode();
    cells c;
    if (mode == DTS_SPLICE_NEVER || !j->library || j->info.progressive || j->scale != 1 ||
        !find_cells(j, x, y, w, h, &c) || (mode == DTS_SPLICE_AUTO && !pays(&c)) ||
        !reserve(s, (size_t)j->size))
        return 0;
    const int64_t right = (int64_t)c.right * c.width, bottom = (int64_t)c.bottom * c.height;
    s->x = c.left * c.width;
    s->y = c.top * c.height;
    *width = (right < j->info.width ? (int)right : j->info.width) - s->x;
    *height = (bottom < j->info.height ? (int)bottom : j->info.height) - s->y;
    size_t head;
    const int64_t scan = copy_header(j, s->bytes, &head, *width, *height);
    if (scan == 0)
        return 0;
    const uint8_t *end = copy_intervals(j->data + scan, j->data + j->size, &c, s->bytes + head);
    return end ? (size_t)(end - s->bytes) : 0;
}

/* From now on the decoder works on the small picture: all of its fields are about that one. */
static void enter_part(dts_jpeg *j, size_t bytes, int width, int height) {
    dts_splice *s = &j->splice;
    s->active = 1;
    s->count++;
    s->data = j->data;
    s->size = j->size;
    s->width = j->info.width;
    s->height = j->info.height;
    s->warnings = j->warnings;
    j->data = s->bytes;
    j->size = (int64_t)bytes;
    j->info.width = width;
    j->info.height = height;
    j->row -= s->y;
    j->row_end -= s->y;
    s->to_end = j->row_end > (height - 1) / j->info.mcu_height * j->info.mcu_height;
}

/* Back to the whole picture, from the same row on or the one before. */
static int start_whole(dts_jpeg *j, int back) {
    dts_splice *s = &j->splice;
    s->active = 0;
    s->count--;
    j->data = s->data;
    j->size = s->size;
    j->info.width = s->width;
    j->info.height = s->height;
    j->row += s->y - back;
    j->row_end += s->y;
    s->x = s->y = 0;
    j->status = DTS_OK;
    j->reason[0] = 0;
    const int status = j->ops->header(j);
    j->warnings = s->warnings;
    if (status == DTS_OK)
        j->ops->start(j, s->box_x, j->row, s->box_w, j->row_end - j->row);
    return j->status;
}

int dts_splice_start(dts_jpeg *j, int x, int y, int w, int h) {
    dts_splice *s = &j->splice;
    int width, height;
    const size_t bytes = splice(j, x, y, w, h, &width, &height);
    if (bytes == 0) {
        s->x = s->y = 0;
        return j->ops->start(j, x, y, w, h);
    }
    s->box_x = x;
    s->box_w = w;
    s->first = y;
    enter_part(j, bytes, width, height);
    const int status = j->ops->header(j);
    j->warnings = s->warnings;
    if (status == DTS_OK)
        j->ops->start(j, x - s->x, y - s->y, w, h);
    return j->status == DTS_OK ? DTS_OK : start_whole(j, 0);
}

int dts_splice_rows(dts_jpeg *j, uint8_t *const *rows, int n) {
    const int status = j->ops->rows(j, rows, n);
    if (status == DTS_OK || !j->splice.active)
        return status;
    const int row_x = j->row_x + j->splice.x, row_w = j->row_w;
    if (start_whole(j, 0) != DTS_OK)
        return j->status;
    if (j->row_x != row_x || j->row_w != row_w)
        return dts_jpeg_fail(j, DTS_INTERNAL, "columns %d + %d of a part, %d + %d of the whole",
                             row_x, row_w, j->row_x, j->row_w);
    return j->ops->rows(j, rows, n);
}

/* Ask the whole picture about the rows that were read, by the last of them. */
static void ask_whole(dts_jpeg *j) {
    const int any = j->row > j->splice.first - j->splice.y;
    if (start_whole(j, any) != DTS_OK || !any)
        return;
    const size_t bytes = (size_t)j->row_w * 3;
    if (reserve(&j->splice, bytes))
        j->ops->rows(j, &j->splice.bytes, 1);
    else
        dts_jpeg_fail(j, DTS_NO_MEMORY, "no memory for a row of %zu bytes", bytes);
    j->row++;
}

void dts_splice_stop(dts_jpeg *j) {
    j->ops->stop(j);
    if (j->splice.active && j->status == DTS_OK && j->warnings != j->splice.warnings) {
        ask_whole(j);
        j->ops->stop(j);
    }
    j->splice.active = 0;
}
