/* Reads a JPEG's markers up to the first scan, so that every backend and every version of a library
 * gives the same answer, in words, to files that are no JPEG or of a kind that we do not decode. */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "dts/decode/jpeg.h"

enum {
    TEM = 0x01,
    SOF0 = 0xC0,
    SOF2 = 0xC2,
    DHT = 0xC4,
    JPG = 0xC8,
    SOF10 = 0xCA,
    DAC = 0xCC,
    SOF15 = 0xCF,
    RST0 = 0xD0,
    RST7 = 0xD7,
    SOI = 0xD8,
    EOI = 0xD9,
    SOS = 0xDA,
    DRI = 0xDD,
};

static _Atomic int64_t pixel_limit = (int64_t)1 << 28;

void dts_jpeg_set_pixel_limit(int64_t pixels) {
    atomic_store_explicit(&pixel_limit, pixels, memory_order_relaxed);
}

int64_t dts_jpeg_pixel_limit(void) {
    return atomic_load_explicit(&pixel_limit, memory_order_relaxed);
}

static const struct {
    const char *magic;
    int at, size;
    const char *name;
} formats[] = {
    {"\x89PNG", 0, 4, "PNG"},
    {"GIF8", 0, 4, "GIF"},
    {"WEBP", 8, 4, "WebP"},
    {"BM", 0, 2, "BMP"},
    {"II*\0", 0, 4, "TIFF"},
    {"MM\0*", 0, 4, "TIFF"},
    {"ftyp", 4, 4, "HEIF or AVIF"},
    {"\xFF\x4F\xFF\x51", 0, 4, "JPEG 2000"},
    {"jP  ", 4, 4, "JPEG 2000"},
    {"\xFF\x0A", 0, 2, "JPEG XL"},
    {"%PDF", 0, 4, "PDF"},
    {"\x1F\x8B", 0, 2, "gzip"},
    {"PK\x03\x04", 0, 4, "zip"},
};

static const char *format_name(const uint8_t *data, int64_t size) {
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (size >= formats[i].at + formats[i].size &&
            memcmp(data + formats[i].at, formats[i].magic, (size_t)formats[i].size) == 0)
            return formats[i].name;
    int64_t i = 0;
    while (i < size && (data[i] == ' ' || (data[i] >= '\t' && data[i] <= '\r')))
        i++;
    if (i < size && data[i] == '<')
        return "HTML or XML";
    for (i = 0; i < size && i < 32; i++)
        if (data[i] >= 0x7F || (data[i] < ' ' && !(data[i] >= '\t' && data[i] <= '\r')))
            return NULL;
    return "text";
}

static int not_a_jpeg(dts_jpeg *j) {
    const uint8_t *data = j->data;
    const int64_t size = j->size, searched = size < 65536 ? size : 65536;
    char start[16] = "";
    for (int i = 0; i < 4 && i < size; i++)
        snprintf(start + 3 * i, sizeof start - 3 * (size_t)i, " %02X", data[i]);
    for (int64_t at = 1; at + 3 <= searched; at++)
        if (data[at] == 0xFF && data[at + 1] == SOI && data[at + 2] == 0xFF)
            return dts_jpeg_fail(j, DTS_BAD_IMAGE,
                                 "not a JPEG: starts with%s, the start marker FF D8 is at byte %lld",
                                 start, (long long)at);
    const char *name = format_name(data, size);
    return dts_jpeg_fail(j, DTS_BAD_IMAGE, "not a JPEG: starts with%s%s%s%s", start,
                         name ? " (" : "", name ? name : "", name ? ")" : "");
}

static int cut_off(dts_jpeg *j) {
    return dts_jpeg_fail(j, DTS_BAD_IMAGE, "data ends inside the header, at byte %lld",
                         (long long)j->size);
}

/* The kinds that every libjpeg decodes; arithmetic coding (SOF9, SOF10) is left to the library. */
static int decodable(int sof) { return sof <= SOF2 || sof == 0xC9 || sof == SOF10; }

static const char *process_name(int sof) {
    if (sof == 0xC3 || sof == 0xCB)
        return "lossless";
    return sof == 0xC7 || sof == SOF15 ? "lossless hierarchical" : "hierarchical";
}

/* A frame header. p: after the marker, size: its length word, known to be within the data. */
static int parse_frame(dts_jpeg *j, int sof, const uint8_t *p, int size) {
    if (!decodable(sof))
        return dts_jpeg_fail(j, DTS_BAD_IMAGE, "%s JPEG (SOF%d) is not supported",
                             process_name(sof), sof - SOF0);
    if (size < 8)
        return dts_jpeg_fail(j, DTS_BAD_IMAGE, "frame header of %d bytes", size);
    const int precision = p[2], height = p[3] << 8 | p[4], width = p[5] << 8 | p[6], n = p[7];
    if (precision != 8)
        return dts_jpeg_fail(j, DTS_BAD_IMAGE, "%d-bit precision (8 bits are supported)", precision);
    if (width == 0 || height == 0)
        return dts_jpeg_fail(j, DTS_BAD_IMAGE, "%s 0", height == 0 ? "height" : "width");
    if (n != 1 && n != 3 && n != 4)
        return dts_jpeg_fail(j, DTS_BAD_IMAGE, "%d components (1, 3 and 4 are supported)", n);
    if (size != 8 + 3 * n)
        return dts_jpeg_fail(j, DTS_BAD_IMAGE, "frame header of %d bytes for %d components", size, n);
    int h_max = 1, v_max = 1;
    for (int i = 0; i < n; i++) {
        const int h = p[9 + 3 * i] >> 4, v = p[9 + 3 * i] & 15;
        if (h < 1 || h > 4 || v < 1 || v > 4)
            return dts_jpeg_fail(j, DTS_BAD_IMAGE, "sampling factors %d x %d of component %d", h, v, i);
        h_max = h > h_max ? h : h_max;
        v_max = v > v_max ? v : v_max;
    }
    const int64_t pixels = (int64_t)width * height, limit = dts_jpeg_pixel_limit();
    if (pixels > limit)
        return dts_jpeg_fail(j, DTS_TOO_LARGE, "%d x %d = %lld pixels, over the limit of %lld", width,
                             height, (long long)pixels, (long long)limit);
    if (width > DTS_JPEG_MAX_SIDE || height > DTS_JPEG_MAX_SIDE)
        return dts_jpeg_fail(j, DTS_TOO_LARGE, "%d x %d: a side is over %d pixels", width, height,
                             DTS_JPEG_MAX_SIDE);
    j->info = (dts_jpeg_info){
        .width = width,
        .height = height,
        .components = n,
        .mcu_width = n == 1 ? 8 : 8 * h_max,
        .mcu_height = n == 1 ? 8 : 8 * v_max,
        .progressive = sof == SOF2 || sof == SOF10,
    };
    return DTS_OK;
}

int dts_jpeg_parse(dts_jpeg *j) {
    const uint8_t *data = j->data;
    const int64_t size = j->size;
    if (size < 3)
        return dts_jpeg_fail(j, DTS_BAD_IMAGE, "not a JPEG: %s (%lld bytes)",
                             size == 0 ? "empty" : "too short", (long long)size);
    if (data[0] != 0xFF || data[1] != SOI)
        return not_a_jpeg(j);
    int frame = 0, interval = 0;
    for (int64_t at = 2;;) {
        while (at < size && data[at] != 0xFF) /* stray bytes between segments: libjpeg skips them */
            at++;
        while (at < size && data[at] == 0xFF) /* fill bytes */
            at++;
        if (at >= size)
            return cut_off(j);
        const int marker = data[at++];
        if (marker == 0 || marker == TEM || (marker >= RST0 && marker <= RST7))
            continue;
        if (marker == SOI)
            return dts_jpeg_fail(j, DTS_BAD_IMAGE, "second start marker at byte %lld",
                                 (long long)at - 2);
        if (marker == EOI)
            return dts_jpeg_fail(j, DTS_BAD_IMAGE, "no picture before the end marker");
        if (at + 2 > size)
            return cut_off(j);
        const int length = data[at] << 8 | data[at + 1];
        if (length < 2)
            return dts_jpeg_fail(j, DTS_BAD_IMAGE, "segment FF %02X at byte %lld has length %d", marker,
                                 (long long)at - 2, length);
        if (at + length > size)
            return cut_off(j);
        if (marker == SOS) {
            if (!frame)
                return dts_jpeg_fail(j, DTS_BAD_IMAGE, "scan before the frame header");
            j->info.restart_interval = interval;
            return DTS_OK;
        }
        if (marker == DRI && length == 4)
            interval = data[at + 2] << 8 | data[at + 3];
        if (marker >= SOF0 && marker <= SOF15 && marker != DHT && marker != JPG && marker != DAC) {
            if (frame++)
                return dts_jpeg_fail(j, DTS_BAD_IMAGE, "two frame headers");
            const int status = parse_frame(j, marker, data + at, length);
            if (status != DTS_OK)
                return status;
        }
        at += length;
    }
}

int dts_jpeg_check_scans(dts_jpeg *j) {
    const uint8_t *p = j->data, *end = j->data + j->size;
    int scans = 0;
    while ((p = memchr(p, 0xFF, (size_t)(end - p))) != NULL && ++p < end)
        scans += *p == SOS;
    if (scans > DTS_JPEG_MAX_SCANS)
        return dts_jpeg_fail(j, DTS_BAD_IMAGE, "more than %d scans", DTS_JPEG_MAX_SCANS);
    return DTS_OK;
}
