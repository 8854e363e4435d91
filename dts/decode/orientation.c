/* Which way up a picture is: the orientation tag of EXIF, and how stored rows become upright ones.
 *
 * Values are those of the EXIF and TIFF tag 0x0112. An upright pixel (x, y) lies in the file at
 * (x, y), with x and y exchanged for values 5 to 8, then mirrored for some:
 *
 *     value      1  2  3  4  5  6  7  8
 *     exchanged              x  x  x  x
 *     column        x  x           x  x   counted from the right
 *     row              x  x     x  x      counted from the bottom */
#include <string.h>

#include "dts/decode/jpeg.h"

enum { APP1 = 0xE1, SOS = 0xDA, TEM = 0x01, RST0 = 0xD0, SOI = 0xD8 };
enum { TAG_ORIENTATION = 0x0112, TYPE_BYTE = 1, TYPE_SHORT = 3, TYPE_LONG = 4, ENTRY = 12 };

static int exchanged(int orientation) { return orientation >= 5; }
static int from_right(int orientation) {
    return orientation == 2 || orientation == 3 || orientation >= 7;
}
static int from_bottom(int orientation) {
    return orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
}

static uint32_t number(const uint8_t *p, int bytes, int big) {
    uint32_t value = 0;
    for (int i = 0; i < bytes; i++)
        value = value << 8 | p[big ? i : bytes - 1 - i];
    return value;
}

/* The tag in a TIFF structure of n bytes: 1 to 8, or 0 when the structure makes no sense. */
static int tiff_orientation(const uint8_t *t, uint32_t n) {
    if (n < 8 || (memcmp(t, "II", 2) != 0 && memcmp(t, "MM", 2) != 0))
        return 0;
    const int big = t[0] == 'M';
    const uint32_t at = number(t + 4, 4, big);
    if (number(t + 2, 2, big) != 42 || at > n - 2)
        return 0;
    const uint32_t entries = number(t + at, 2, big), fit = (n - at - 2) / ENTRY;
    for (uint32_t i = 0; i < entries && i < fit; i++) {
        const uint8_t *e = t + at + 2 + i * ENTRY;
        if (number(e, 2, big) != TAG_ORIENTATION)
            continue;
        const uint32_t type = number(e + 2, 2, big);
        const int bytes = type == TYPE_BYTE ? 1 : type == TYPE_SHORT ? 2 : 4;
        const uint32_t value = number(e + 8, bytes, big);
        if ((bytes == 4 && type != TYPE_LONG) || number(e + 4, 4, big) != 1 || value > 8)
            return 0;
        return (int)value;
    }
    return entries > fit ? 0 : 1;
}

int dts_jpeg_orientation(dts_jpeg *j) {
    /* dts_jpeg_parse went the same way: up to the scan, all lengths are within the data. */
    const uint8_t *data = j->data;
    for (int64_t at = 2; at + 4 <= j->size;) {
        if (data[at] != 0xFF || data[at + 1] == 0xFF) {
            at++;
            continue;
        }
        const int marker = data[at + 1];
        if (marker == SOS)
            return 1;
        if (marker == 0 || marker == TEM || (marker >= RST0 && marker <= SOI)) {
            at += 2;
            continue;
        }
        const int length = data[at + 2] << 8 | data[at + 3];
        if (marker == APP1 && length >= 8 && memcmp(data + at + 4, "Exif\0\0", 6) == 0) {
            const int found = tiff_orientation(data + at + 10, (uint32_t)length - 8);
            j->warnings += found == 0;
            return found ? found : 1;
        }
        at += 2 + length;
    }
    return 1;
}

void dts_upright_size(int orientation, int *width, int *height) {
    if (exchanged(orientation)) {
        const int width_before = *width;
        *width = *height;
        *height = width_before;
    }
}

void dts_stored_box(int orientation, int width, int height, int *x, int *y, int *w, int *h) {
    const int upright[4] = {*x, *y, *w, *h}, k = exchanged(orientation);
    *x = upright[k];
    *y = upright[1 - k];
    *w = upright[2 + k];
    *h = upright[3 - k];
    if (from_right(orientation))
        *x = width - *x - *w;
    if (from_bottom(orientation))
        *y = height - *y - *h;
}

void dts_upright_rows(uint8_t *out, int orientation, const uint8_t *rows, int64_t stride, int first,
                      int n, int width, int height, int channels) {
    /* Where pixel (0, 0) of the box goes, and how far apart its neighbours are there. */
    const int64_t row_bytes = (int64_t)(exchanged(orientation) ? height : width) * channels;
    int64_t right = exchanged(orientation) ? row_bytes : channels;
    int64_t down = exchanged(orientation) ? channels : row_bytes;
    if (from_right(orientation)) {
        out += (width - 1) * right;
        right = -right;
    }
    if (from_bottom(orientation)) {
        out += (height - 1) * down;
        down = -down;
    }
    out += first * down;
    /* Columns outside: where axes are exchanged, the pixels of n rows go side by side. */
    for (int x = 0; x < width; x++) {
        const uint8_t *in = rows + (int64_t)x * channels;
        uint8_t *to = out + x * right;
        for (int y = 0; y < n; y++, in += stride, to += down)
            for (int c = 0; c < channels; c++)
                to[c] = in[c];
    }
}
