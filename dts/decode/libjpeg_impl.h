/* Region decoding over the libjpeg interface, compiled once for each ABI by libjpeg62.c and
 * libjpeg80.c, which set DTS_JPEG_ABI and DTS_JPEG_NAME.
 *
 * libjpeg reports a failure by calling error_exit, which must not return: it jumps back to the one
 * setjmp of the operation that runs. No jump leaves this file. Nothing is ever printed. */
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dts/decode/entropy.h"
#include "dts/decode/libjpeg.h"
#include "dts/decode/library.h"

typedef struct codec {
    ljpeg_decompress c; /* first: libjpeg hands a pointer to it back to the functions below */
    ljpeg_error err;
    ljpeg_source src;
    ljpeg_progress progress;
    jmp_buf jump;
    dts_jpeg *owner;
    int made;   /* c holds a live decompressor */
    int at_end; /* the data ran out, and an end marker was made up */
    int x, w;   /* wanted columns */
    int done;   /* rows that the running call has delivered */
    int odd;    /* our entropy decoder gave up in this call */
    int plain;  /* this picture is left to libjpeg's */
    void *known; /* a function of the library: see is_known */
    int column, columns;            /* next MCU of a row, and how many there are */
    int first_column, last_column;  /* MCUs that are wanted */
    dts_huff huff;
} codec;

/* _setjmp does not save the signal mask: a system call less on some systems. */
#define CATCH(k) (_setjmp((k)->jump) != 0)

static const dts_libjpeg *library_of(const codec *k) { return k->owner->library; }

/* "after row 16 of 48", or "in scan 3": how far the data was good. */
static const char *place(const codec *k, char *text, size_t size) {
    const unsigned rows = k->c.input_iMCU_row * 8 * (unsigned)k->c.max_v_samp_factor;
    if (k->c.progressive_mode || k->c.input_scan_number > 1)
        snprintf(text, size, "in scan %d", k->c.input_scan_number);
    else
        snprintf(text, size, "after row %u of %u",
                 rows < k->c.image_height ? rows : k->c.image_height, k->c.image_height);
    return text;
}

static const char *message(codec *k, char *text) {
    static const char prefix[] = "Corrupt JPEG data: ";
    k->err.format_message(&k->c, text);
    return strncmp(text, prefix, sizeof prefix - 1) == 0 ? text + sizeof prefix - 1 : text;
}

static int meaning(const codec *k) {
    const int code = k->err.msg_code;
    return code >= 0 && code < DTS_MSG_MAX ? library_of(k)->meaning[code] : DTS_MSG_DAMAGE;
}

static void on_error(void *cinfo) {
    codec *k = cinfo;
    char text[LJPEG_MESSAGE];
    if (k->owner) {
        const int memory = meaning(k) == DTS_MSG_NO_MEMORY;
        dts_jpeg_fail(k->owner, memory ? DTS_NO_MEMORY : DTS_BAD_IMAGE, "%s", message(k, text));
    }
    _longjmp(k->jump, 1);
}

static void on_message(void *cinfo, int level) {
    codec *k = cinfo;
    dts_jpeg *j = k->owner;
    char where[64], text[LJPEG_MESSAGE];
    if (level >= 0)
        return;
    const int *param = k->err.msg_parm.i, what = meaning(k);
    if (what == DTS_MSG_HARMLESS) {
        j->warnings++;
    } else if (what == DTS_MSG_STRAY_BYTES) {
        if (param[1] >= 0xD0 && param[1] <= 0xD7) /* the interval ended before its bytes did */
            dts_jpeg_fail(j, DTS_BAD_IMAGE,
                          "corrupt data or lost restart marker %s: %d stray bytes before RST%d",
                          place(k, where, sizeof where), param[0], param[1] - 0xD0);
        else
            j->warnings++;
    } else if ((what == DTS_MSG_EARLY_END || what == DTS_MSG_LOST_RESTART) && k->at_end) {
        dts_jpeg_fail(j, DTS_BAD_IMAGE, "data ends %s", place(k, where, sizeof where));
    } else if (what == DTS_MSG_EARLY_END) {
        dts_jpeg_fail(j, DTS_BAD_IMAGE, "%s marker FF %02X %s, pixels are missing",
                      k->c.unread_marker == 0xD9 ? "end" : "unexpected", k->c.unread_marker,
                      place(k, where, sizeof where));
    } else if (what == DTS_MSG_LOST_RESTART) {
        dts_jpeg_fail(j, DTS_BAD_IMAGE, "lost restart marker %s: found FF %02X instead of RST%d",
                      place(k, where, sizeof where), param[0], param[1]);
    } else {
        dts_jpeg_fail(j, DTS_BAD_IMAGE, "corrupt data %s: %s", place(k, where, sizeof where),
                      message(k, text));
    }
}

static void on_output(void *cinfo) { (void)cinfo; }

/* Called for each row of MCUs while a file of several scans is read in whole. */
static void on_progress(void *cinfo) {
    codec *k = cinfo;
    if (k->c.input_scan_number > DTS_JPEG_MAX_SCANS)
        dts_jpeg_fail(k->owner, DTS_BAD_IMAGE, "more than %d scans", DTS_JPEG_MAX_SCANS);
    if (k->owner->status != DTS_OK)
        k->err.error_exit(cinfo);
}

static void source_begin_or_end(void *cinfo) { (void)cinfo; }

static int source_fill(void *cinfo) {
    static const uint8_t end_marker[2] = {0xFF, 0xD9};
    codec *k = cinfo;
    k->at_end = 1;
    k->src.next_input_byte = end_marker;
    k->src.bytes_in_buffer = sizeof end_marker;
    return 1;
}

static void source_skip(void *cinfo, long n) {
    codec *k = cinfo;
    if (n <= 0)
        return;
    if ((size_t)n > k->src.bytes_in_buffer)
        n = (long)k->src.bytes_in_buffer;
    k->src.next_input_byte += n;
    k->src.bytes_in_buffer -= (size_t)n;
}

static void set_managers(codec *k, const dts_libjpeg *lib) {
    lib->std_error(&k->err);
    k->err.error_exit = on_error;
    k->err.emit_message = on_message;
    k->err.output_message = on_output;
    k->src.init_source = source_begin_or_end;
    k->src.fill_input_buffer = source_fill;
    k->src.skip_input_data = source_skip;
    k->src.resync_to_restart = lib->resync_to_restart;
    k->src.term_source = source_begin_or_end;
    k->progress.progress_monitor = on_progress;
}

#include "dts/decode/libjpeg_entropy.h"

int DTS_JPEG_NAME(accepts)(const dts_libjpeg *lib, char *why, size_t size) {
    codec *k = calloc(1, sizeof *k);
    if (!k) {
        snprintf(why, size, "no memory");
        return 0;
    }
    set_managers(k, lib);
    k->c.err = &k->err;
    int accepted = 0;
    if (CATCH(k)) {
        char text[LJPEG_MESSAGE];
        k->err.format_message(&k->c, text);
        snprintf(why, size, "%s", text);
    } else {
        lib->create_decompress(&k->c, DTS_JPEG_ABI, sizeof k->c);
        lib->destroy_decompress(&k->c);
        accepted = 1;
    }
    free(k);
    return accepted;
}

static int make(dts_jpeg *j) {
    codec *k = j->codec = calloc(1, sizeof *k);
    if (!k)
        return DTS_NO_MEMORY;
    k->owner = j;
    set_managers(k, j->library);
    return DTS_OK;
}

static void destroy(codec *k) {
    if (k->made)
        library_of(k)->destroy_decompress(&k->c);
    k->made = 0;
}

static void drop(dts_jpeg *j) {
    destroy(j->codec);
    free(j->codec);
}

static int read_header(dts_jpeg *j) {
    codec *k = j->codec;
    const dts_libjpeg *lib = j->library;
    if (CATCH(k))
        return j->status;
    /* A decompressor keeps the tables of one picture for the next one. A file without its own must
     * not depend on what this worker decoded before, so each picture gets a new one (0.2 us). */
    destroy(k);
    k->c.err = &k->err;
    lib->create_decompress(&k->c, DTS_JPEG_ABI, sizeof k->c);
    k->made = 1;
    k->at_end = 0;
    k->src.next_input_byte = j->data;
    k->src.bytes_in_buffer = (size_t)j->size;
    k->c.src = &k->src;
    lib->read_header(&k->c, 1);
    if (k->c.image_width != (unsigned)j->info.width ||
        k->c.image_height != (unsigned)j->info.height || k->c.num_components != j->info.components)
        return dts_jpeg_fail(j, DTS_BAD_IMAGE, "ambiguous header");
    return j->status;
}

static int header(dts_jpeg *j) {
    ((codec *)j->codec)->plain = 0;
    return read_header(j);
}

/* Does every component have data? When the file lacks its end marker: does every coefficient? */
static int check_scans(codec *k) {
    const int partial = k->at_end && k->c.coef_bits;
    for (int i = 0; i < k->c.num_components; i++) {
        if (!k->c.comp_info[i].quant_table)
            return dts_jpeg_fail(k->owner, DTS_BAD_IMAGE, "no scan has component %d", i);
        for (int bit = 0; partial && bit < 64; bit++)
            if (k->c.coef_bits[i][bit] != 0)
                return dts_jpeg_fail(k->owner, DTS_BAD_IMAGE, "data ends after scan %d",
                                     k->c.input_scan_number);
    }
    return DTS_OK;
}

/* libjpeg smooths block edges of a progressive picture whose coefficients are not all there, from
 * neighbours that a crop would leave out. */
static int smoothed(const codec *k) {
    if (k->c.coef_bits)
        for (int i = 0; i < k->c.num_components; i++)
            for (int bit = 0; bit < 64; bit++)
                if (k->c.coef_bits[i][bit] != 0)
                    return 1;
    return 0;
}

/* Of j->info, which may be that of a spliced part: j->width and j->height are the whole picture's. */
static int at_scale(const dts_jpeg *j, int pixels) { return (pixels + j->scale - 1) / j->scale; }

/* Decode fewer columns, but each pixel of [x, x + w) as in a full decode: one column more on each
 * side, since fancy upsampling looks at the neighbour, and never less than a whole MCU, since narrow
 * components are upsampled in another way. libjpeg moves the left side to an MCU. */
static void crop(codec *k, int x, int w) {
    dts_jpeg *j = k->owner;
    const int width = at_scale(j, j->info.width), least = j->info.mcu_width, mcu = least / j->scale;
    int left = x > 0 ? x - 1 : 0, right = x + w < width ? x + w + 1 : width;
    left -= left % mcu;
    while (width - left < least && left > 0)
        left -= mcu;
    if (right - left < least)
        right = left + least < width ? left + least : width;
    unsigned crop_x = (unsigned)left, crop_w = (unsigned)(right - left);
    library_of(k)->crop_scanline(&k->c, &crop_x, &crop_w);
    j->row_x = (int)crop_x;
    j->row_w = (int)crop_w;
}

/* Begin with row y. */
static int begin(dts_jpeg *j, int y, int64_t warnings) {
    codec *k = j->codec;
    const dts_libjpeg *lib = j->library;
    if (CATCH(k))
        return j->status;
    k->c.out_color_space = j->info.components == 4 ? LJPEG_CMYK
                           : j->channels == 3      ? LJPEG_RGB
                                                   : LJPEG_GRAYSCALE;
    k->c.scale_num = 1;
    k->c.scale_denom = (unsigned)j->scale;
    k->c.dct_method = LJPEG_ISLOW;
    k->c.do_fancy_upsampling = 1;
    k->c.progress = &k->progress;
    lib->start_decompress(&k->c);
    k->c.progress = NULL;
    if (warnings >= 0)
        j->warnings = warnings;
    if (j->status != DTS_OK || check_scans(k) != DTS_OK)
        return j->status;
    take_over(k);
    j->row_x = 0;
    j->row_w = at_scale(j, j->info.width);
    if (!smoothed(k)) {
        crop(k, k->x, k->w);
        pass_columns(k);
    }
    if (y > 0)
        lib->skip_scanlines(&k->c, (unsigned)y);
    if (j->info.components == 4)
        return dts_jpeg_line(j, (size_t)j->row_w * 4);
    return j->status;
}

/* Our entropy decoder gave up: decode the picture anew without it, from row y on; of a part that was
 * spliced, that part, so that what is told of the rest does not depend on who met the oddity. What
 * it met before was all right, so no warning was counted since start_decompress. */
static int begin_again(dts_jpeg *j, int y) {
    codec *k = j->codec;
    const int64_t warnings = j->warnings;
    k->odd = 0;
    k->plain = 1;
    j->own_entropy = 0;
    return read_header(j) == DTS_OK ? begin(j, y, warnings) : j->status;
}

static int start(dts_jpeg *j, int x, int y, int w, int h) {
    (void)h;
    codec *k = j->codec;
    k->x = x;
    k->w = w;
    k->odd = 0;
    const int status = begin(j, y, -1);
    return k->odd ? begin_again(j, y) : status;
}

static int read_rows(dts_jpeg *j, uint8_t *const *out, int n) {
    codec *k = j->codec;
    const dts_libjpeg *lib = j->library;
    if (CATCH(k))
        return j->status;
    while (k->done < n && j->status == DTS_OK) {
        if (j->info.components == 4) {
            lib->read_scanlines(&k->c, &j->line, 1);
            dts_jpeg_cmyk_row(out[k->done++], j->line, j->row_w, j->channels);
        } else {
            uint8_t **to = (uint8_t **)out + k->done;
            k->done += (int)lib->read_scanlines(&k->c, to, (unsigned)(n - k->done));
        }
    }
    return j->status;
}

static int rows(dts_jpeg *j, uint8_t *const *out, int n) {
    codec *k = j->codec;
    k->done = 0;
    const int status = read_rows(j, out, n);
    if (!k->odd)
        return status;
    return begin_again(j, j->row + k->done) == DTS_OK ? read_rows(j, out, n) : j->status;
}

/* After the last row of the picture: is the end marker where it should be? */
static int ends_oddly(const codec *k) {
    const uint8_t *p = k->src.next_input_byte;
    const uint8_t *end = p + k->src.bytes_in_buffer;
    if (k->at_end)
        return 1;
    if (p[-2] == 0xFF && p[-1] == 0xD9) /* read already; a scan lies before it, so p[-2] exists */
        return 0;
    return k->c.unread_marker != 0 || end - p < 2 || p[0] != 0xFF || p[1] != 0xD9;
}

static void stop(dts_jpeg *j) {
    codec *k = j->codec;
    const int to_end = j->splice.active ? j->splice.to_end && j->row == j->row_end
                                        : j->row == at_scale(j, j->info.height);
    if (j->stage == DTS_JPEG_ROWS && j->status == DTS_OK && to_end)
        j->warnings += ends_oddly(k);
    /* libjpeg tells of stray bytes at some later marker; that may be one that was left out. */
    if (j->splice.active && k->c.marker->discarded_bytes != 0)
        j->warnings++;
    if (k->made && !CATCH(k))
        library_of(k)->abort_decompress(&k->c);
}

const dts_jpeg_ops DTS_JPEG_NAME(ops) = {make, drop, header, start, rows, stop, 1};
