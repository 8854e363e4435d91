/* Huffman decoding of baseline JPEG, in place of libjpeg's: one lookup gives a code together with
 * its value, and blocks that nobody wants are passed over several codes at a time. Knows nothing of
 * libjpeg. At anything odd in the data it gives up, and the picture is decoded by libjpeg, which
 * knows what to make of it: so pixels, errors and warnings are libjpeg's in every case. */
#ifndef DTS_DECODE_ENTROPY_H
#define DTS_DECODE_ENTROPY_H

#include <stddef.h>
#include <stdint.h>

enum {
    DTS_HUFF_LOOK = 11, /* bits looked at for one code and its value */
    DTS_HUFF_PASS = 12, /* for as many codes as fit, where none is kept */
    DTS_HUFF_BLOCKS = 10,
};

typedef struct dts_huff_table {
    uint32_t one[1 << DTS_HUFF_LOOK];   /* entropy.c says what entries hold */
    _Atomic uint16_t many[1 << DTS_HUFF_PASS]; /* AC: 0 where not yet found out */
    int32_t limit[18];                  /* codes of a length are below this, in 16 bits; then 2^16 */
    int32_t first[18];                  /* a code minus this is its place in `symbols` */
    uint8_t counts[17], symbols[256];   /* the table as in the file */
    int known;                          /* all of this is set */
    int met;                            /* pictures in a row that had it */
} dts_huff_table;

typedef struct dts_huff_block {
    const dts_huff_table *dc;
    dts_huff_table *ac;
    int component;
    int needed; /* 0: of a component that is not wanted */
} dts_huff_block;

typedef struct dts_huff dts_huff;

struct dts_huff {
    const uint8_t *at, *end; /* bytes not yet in `bits` */
    uint64_t bits;           /* the next ones, from the top */
    int count;               /* how many */
    int past;                /* how many of them lie beyond the data, and are zeros */
    int32_t dc[4];           /* last DC value of each component */
    int64_t mcus_left;       /* in the picture */
    int interval, until_restart, next_restart;
    int (*mcu)(dts_huff *h, int16_t *const *blocks); /* below */
    int n_blocks;                                    /* in an MCU */
    dts_huff_block block[DTS_HUFF_BLOCKS];
    dts_huff_table table[2][4]; /* DC and AC; kept as long as files have the same */
    dts_huff_table *common[2][4]; /* those that all threads share, or NULL */
};

/* Make ready to use a table: counts[1..16] codes of each length, symbols in order of code. It has
 * to be valid. */
dts_huff_table *dts_huff_use(dts_huff *h, int ac, int number, const uint8_t *counts,
                             const uint8_t *symbols);
/* Begin a scan, when all fields from `mcus_left` to `block` are set. */
void dts_huff_begin(dts_huff *h, const uint8_t *data, size_t size);
/* Decode an MCU into cleared blocks, or pass over it (NULL). 0: the data are odd, and so are the
 * blocks. After the last MCU h->at is the end marker. */
static inline int dts_huff_mcu(dts_huff *h, int16_t *const *blocks) { return h->mcu(h, blocks); }

#endif
