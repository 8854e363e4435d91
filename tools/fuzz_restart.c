/* Mutated JPEGs with restart markers, decoded with splicing and without, under sanitizers.
 *
 *     gcc -g -O1 -fsanitize=address,undefined -fno-sanitize-recover -I. -o fuzz_restart \
 *         tools/fuzz_restart.c $(ls -d dts/decode/?*.c) -ldl
 *     ./fuzz_restart LIBJPEG.so ROUNDS FILE.jpg...
 *
 * Each round takes a file, changes some bytes (or none), cuts it or moves a piece of it, and decodes
 * one region both ways, from memory of exactly its size. Where splicing is done to the end, a clean
 * read of everything must give the same pixels; where it gives up, the same status, reason and
 * warnings. Damage that only the read of everything meets is counted. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dts/decode/library.h"

static uint64_t state = 88172645463325252u;

static unsigned draw(unsigned n) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return n ? (unsigned)(state >> 20) % n : 0;
}

typedef struct result {
    int status, spliced;
    int64_t warnings;
    char reason[224];
    uint8_t *pixels;
    size_t size;
} result;

static dts_libjpeg *library; /* never closed, and not lost */
static dts_jpeg *decoder;

/* box: four numbers that are brought into the picture. */
static void decode(const uint8_t *data, size_t size, const unsigned *box, int channels, int mode,
                   result *out) {
    dts_jpeg_info info;
    int row_x, row_w;
    const int64_t before = decoder->splice.count;
    dts_splice_set_mode(mode);
    memset(out, 0, sizeof *out);
    out->status = dts_jpeg_header(decoder, data, (int64_t)size, &info);
    if (out->status == DTS_OK) {
        const int x = (int)(box[0] % (unsigned)info.width), y = (int)(box[1] % (unsigned)info.height);
        const int w = 1 + (int)(box[2] % (unsigned)(info.width - x));
        const int h = 1 + (int)(box[3] % (unsigned)(info.height - y));
        out->status = dts_jpeg_start(decoder, x, y, w, h, channels, &row_x, &row_w);
        if (out->status == DTS_OK) {
            const size_t stride = (size_t)row_w * (size_t)channels, wide = (size_t)(w * channels);
            uint8_t *row = malloc(stride);
            out->size = wide * (size_t)h;
            out->pixels = malloc(out->size);
            for (int r = 0; r < h && out->status == DTS_OK; r++) {
                out->status = dts_jpeg_rows(decoder, &row, 1);
                memcpy(out->pixels + (size_t)r * wide, row + (x - row_x) * channels, wide);
            }
            free(row);
        }
    }
    const int end = dts_jpeg_stop(decoder);
    if (out->status == DTS_OK)
        out->status = end;
    out->spliced = decoder->splice.count > before;
    out->warnings = decoder->warnings;
    memcpy(out->reason, decoder->reason, sizeof out->reason);
}

static size_t mutate(uint8_t *data, size_t size) {
    const unsigned kind = draw(8);
    if (kind == 0)
        return size;
    if (kind == 1)
        return 1 + draw((unsigned)size);
    if (kind == 2) { /* move a piece over another one */
        const unsigned n = 1 + draw(64);
        if (size > n)
            memmove(data + draw((unsigned)size - n), data + draw((unsigned)size - n), n);
        return size;
    }
    const unsigned most = kind < 5 ? (unsigned)size : 700; /* the header more often */
    for (unsigned n = 1 + draw(4); n > 0; n--) {
        uint8_t *p = data + draw(most < size ? most : (unsigned)size);
        *p = draw(3) ? (uint8_t)draw(256) : (uint8_t)(0xC0 + draw(64));
        if (draw(4) == 0 && p > data)
            p[-1] = 0xFF;
    }
    return size;
}

static uint8_t *load(const char *path, size_t *size) {
    FILE *file = fopen(path, "rb");
    if (!file || fseek(file, 0, SEEK_END) != 0) {
        perror(path);
        exit(1);
    }
    *size = (size_t)ftell(file);
    rewind(file);
    uint8_t *data = malloc(*size);
    if (fread(data, 1, *size, file) != *size)
        exit(1);
    fclose(file);
    return data;
}

int main(int argc, char **argv) {
    char why[256];
    long failed = 0, spliced = 0, unseen = 0, wrong = 0;
    if (argc < 4)
        return 2;
    library = dts_libjpeg_open(argv[1], why, sizeof why);
    if (!library) {
        fprintf(stderr, "%s\n", why);
        return 1;
    }
    dts_jpeg_set_pixel_limit(1 << 20);
    decoder = dts_jpeg_new(library->ops, library);
    const long rounds = atol(argv[2]);
    const int files = argc - 3;
    uint8_t **originals = malloc((size_t)files * sizeof *originals);
    size_t *sizes = malloc((size_t)files * sizeof *sizes);
    for (int i = 0; i < files; i++)
        originals[i] = load(argv[3 + i], &sizes[i]);
    for (long round = 0; round < rounds; round++) {
        const int i = (int)draw((unsigned)files);
        uint8_t *big = malloc(sizes[i]);
        memcpy(big, originals[i], sizes[i]);
        const size_t size = mutate(big, sizes[i]);
        uint8_t *data = malloc(size);
        memcpy(data, big, size);
        free(big);
        const unsigned box[4] = {draw(4000), draw(4000), draw(4000), draw(4000)};
        const int channels = draw(2) ? 3 : 1;
        result never, always;
        decode(data, size, box, channels, DTS_SPLICE_NEVER, &never);
        decode(data, size, box, channels, DTS_SPLICE_ALWAYS, &always);
        spliced += always.spliced;
        failed += never.status != DTS_OK;
        int same = always.status == never.status && always.warnings == never.warnings &&
                   strcmp(always.reason, never.reason) == 0;
        if (same && always.status == DTS_OK)
            same = always.size == never.size && !memcmp(always.pixels, never.pixels, always.size);
        if (!same && always.spliced && always.status == DTS_OK &&
            (never.status != DTS_OK || never.warnings > always.warnings))
            unseen++;
        else if (!same) {
            wrong++;
            printf("round %ld, %s: %d %s / %d %s\n", round, argv[3 + i], never.status, never.reason,
                   always.status, always.reason);
        }
        free(never.pixels);
        free(always.pixels);
        free(data);
    }
    dts_jpeg_free(decoder);
    for (int i = 0; i < files; i++)
        free(originals[i]);
    free(originals);
    free(sizes);
    printf("%ld rounds: %ld refused by a read of everything, %ld spliced, %ld of them passed over "
           "damage elsewhere, %ld wrong\n",
           rounds, failed, spliced, unseen, wrong);
    return wrong != 0;
}
