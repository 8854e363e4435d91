/* Rules of the code are in ITU-T T.81, annex F.2.2.
 *
 * An entry of `one`, for the DTS_HUFF_LOOK bits that come next:
 *     bits 0-5    bits of the code and its value together; 0: not all of them were seen
 *     bits 8-15   AC: zeros before the value (END: it is the last code of the block)
 *     bits 16-31  the value, signed
 * or, where bits 0-5 are 0 and the code itself was seen: its length in bits 8-15, and above it the
 * symbol. All 0: a longer code.
 *
 * An entry of `many`: bits of all codes in bits 0-3 and by how much they move on among the block's
 * coefficients above that, LAST more when the block ends with them. SINGLE: not even one fits. */
#include "dts/decode/entropy.h"

#include <string.h>

#if defined(__GNUC__) || defined(__clang__)
#define LIKELY(x) __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)
#define INLINE static inline __attribute__((always_inline))
#define SWAP64(x) __builtin_bswap64(x)
#else
#include <stdlib.h>
#define LIKELY(x) (x)
#define UNLIKELY(x) (x)
#define INLINE static __forceinline
#define SWAP64(x) _byteswap_uint64(x)
#endif

enum { END = 100, LAST = 192, SINGLE = 1 << 15, LONGEST = 16, DC_LIMIT = 1 << 24 };

/* Where the coefficients of the zigzag lie. Those past the last are of an END, or of a damaged
 * block: they go to the last, which an END finds unset. */
static const uint8_t natural[64 + END + 1] = {
    0,  1,  8,  16, 9,  2,  3,  10, 17, 24, 32, 25, 18, 11, 4,  5,  12, 19, 26, 33, 40, 48,
    41, 34, 27, 20, 13, 6,  7,  14, 21, 28, 35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23,
    30, 37, 44, 51, 58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63,
#define TEN 63, 63, 63, 63, 63, 63, 63, 63, 63, 63
    TEN, TEN, TEN, TEN, TEN, TEN, TEN, TEN, TEN, TEN, 63,
#undef TEN
};

typedef struct reader {
    const uint8_t *at, *end;
    uint64_t bits;
    int count, past;
} reader;

/* The value that `size` bits mean. */
INLINE int extend(int bits, int size) {
    return bits - (((bits >> (size - 1)) - 1) & ((1 << size) - 1));
}

static void fill_bytewise(reader *r) {
    while (r->count < 56) {
        uint64_t byte = 0;
        if (r->at < r->end && *r->at != 0xFF) {
            byte = *r->at++;
        } else if (r->end - r->at >= 2 && r->at[1] == 0) {
            byte = 0xFF;
            r->at += 2;
        } else {
            r->past += 8;
        }
        r->bits |= byte << (56 - r->count);
        r->count += 8;
    }
}

/* Have at least 56 bits ready. Bits below the count are those that come, or 0. */
INLINE void fill(reader *r) {
    uint64_t next;
    if (LIKELY(r->end - r->at >= 8)) {
        memcpy(&next, r->at, 8);
        /* No byte of 0xFF, that is none of 0 in the complement? */
        if (LIKELY(((~next - 0x0101010101010101u) & next & 0x8080808080808080u) == 0)) {
            r->bits |= SWAP64(next) >> r->count;
            r->at += (63 - r->count) >> 3;
            r->count |= 56;
            return;
        }
    }
    fill_bytewise(r);
}

INLINE void drop(reader *r, uint32_t n) {
    r->bits <<= n & 63;
    r->count -= (int)(n & 63);
}

/* What `entry` stands for when it does not hold all. In the form of an entry, with bits dropped;
 * the value of an unknown code is told by *odd. */
static uint32_t decode_long(reader *r, const dts_huff_table *t, int is_dc, uint32_t entry,
                            int *odd) {
    int length = (entry >> 8) & 0xFF, symbol = (int)(entry >> 16), run, size, value = 0;
    if (r->count < 2 * LONGEST)
        fill(r);
    if (entry == 0) {
        const int32_t code = (int32_t)(r->bits >> 48);
        for (length = DTS_HUFF_LOOK + 1; code >= t->limit[length]; length++)
            ;
        if (length > LONGEST) {
            *odd = 1;
            return END << 8;
        }
        symbol = t->symbols[((code >> (LONGEST - length)) - t->first[length]) & 0xFF];
    }
    drop(r, (uint32_t)length);
    run = is_dc ? 0 : symbol >> 4;
    size = is_dc ? symbol : symbol & 15;
    if (size) {
        value = extend((int)(r->bits >> (64 - size)), size);
        drop(r, (uint32_t)size);
    } else if (!is_dc && run != 15) {
        run = END;
    }
    fill(r);
    return (uint32_t)run << 8 | (uint32_t)value << 16;
}

INLINE uint32_t decode(reader *r, const dts_huff_table *t, int is_dc, int *odd) {
    const uint32_t entry = t->one[r->bits >> (64 - DTS_HUFF_LOOK)];
    if (UNLIKELY((entry & 63) == 0))
        return decode_long(r, t, is_dc, entry, odd);
    drop(r, entry);
    return entry;
}

INLINE int value_of(uint32_t entry) { return (int32_t)entry >> 16; }

/* Where a block's last code has led: behind the last coefficient, or to an END. */
INLINE int ends_well(int k) { return k == 64 || k > END; }

/* A code that is looked up has at most DTS_HUFF_LOOK bits, and after a longer one the reader is
 * filled: it lasts for a DC value and four more. */
INLINE void decode_ac(reader *r, const dts_huff_table *t, int16_t *block, int *odd) {
    int k = 1;
#define STEP                                                                                       \
    {                                                                                              \
        const uint32_t entry = decode(r, t, 0, odd);                                               \
        k += (entry >> 8) & 0xFF;                                                                  \
        block[natural[k]] = (int16_t)value_of(entry);                                              \
        if (++k >= 64)                                                                             \
            break;                                                                                 \
    }
    for (;;) {
        STEP STEP STEP STEP
        fill(r);
    }
#undef STEP
    *odd |= !ends_well(k);
}

/* Find out how far the next bits lead. */
static uint32_t look_far(dts_huff_table *t, uint32_t index) {
    uint64_t bits = (uint64_t)index << (64 - DTS_HUFF_PASS);
    uint32_t length = 0, moved = 0;
    while (length < DTS_HUFF_PASS) {
        const uint32_t entry = t->one[bits >> (64 - DTS_HUFF_LOOK)], n = entry & 63;
        const uint32_t run = (entry >> 8) & 0xFF;
        if (n == 0 || length + n > DTS_HUFF_PASS || (run < END && moved + run + 1 > 64))
            break;
        length += n;
        bits <<= n;
        if (run == END) {
            moved += LAST;
            break;
        }
        moved += run + 1;
    }
    return t->many[index] = (uint16_t)(length ? length | moved << 4 : SINGLE);
}

/* Codes may be taken together only when the block does not end between two of them: each moves on,
 * so it is enough that it does not end before the last. */
INLINE void pass_ac(reader *r, dts_huff_table *t, int *odd) {
    int k = 1;
#define STEP                                                                                       \
    {                                                                                              \
        const uint32_t index = (uint32_t)(r->bits >> (64 - DTS_HUFF_PASS));                        \
        uint32_t entry = t->many[index];                                                           \
        if (UNLIKELY(entry == 0))                                                                  \
            entry = look_far(t, index);                                                            \
        const int to = k + (int)(entry >> 4);                                                      \
        if (LIKELY(to <= 64 || (to > LAST && to < LAST + 64))) {                                   \
            r->bits <<= entry & 15;                                                                \
            r->count -= (int)(entry & 15);                                                         \
            k = to;                                                                                \
        } else {                                                                                   \
            k += ((decode(r, t, 0, odd) >> 8) & 0xFF) + 1;                                         \
        }                                                                                          \
        if (k >= 64)                                                                               \
            break;                                                                                 \
    }
    for (;;) {
        STEP STEP STEP
        fill(r);
    }
#undef STEP
    *odd |= !ends_well(k);
}

static int restart(dts_huff *h) {
    if (h->count - h->past >= 8 || h->end - h->at < 2 || h->at[0] != 0xFF ||
        h->at[1] != 0xD0 + h->next_restart)
        return 0;
    h->at += 2;
    h->bits = 0;
    h->count = h->past = 0;
    memset(h->dc, 0, sizeof h->dc);
    h->next_restart = (h->next_restart + 1) & 7;
    h->until_restart = h->interval;
    return 1;
}

int dts_huff_mcu(dts_huff *h, int16_t *const *blocks) {
    int odd = 0;
    if (h->interval) {
        if (h->until_restart == 0 && !restart(h))
            return 0;
        h->until_restart--;
    }
    reader r = {h->at, h->end, h->bits, h->count, h->past};
    for (int i = 0; i < h->n_blocks; i++) {
        const dts_huff_block *b = &h->block[i];
        fill(&r);
        const int32_t dc = h->dc[b->component] += value_of(decode(&r, b->dc, 1, &odd));
        odd |= dc > DC_LIMIT || dc < -DC_LIMIT;
        if (blocks && b->needed) {
            blocks[i][0] = (int16_t)dc;
            decode_ac(&r, b->ac, blocks[i], &odd);
        } else {
            pass_ac(&r, b->ac, &odd);
        }
        if (UNLIKELY(odd))
            return 0;
    }
    h->at = r.at;
    h->bits = r.bits;
    h->count = r.count;
    h->past = r.past;
    if (r.count < r.past)
        return 0;
    if (--h->mcus_left > 0)
        return 1;
    return r.count - r.past < 8 && r.end - r.at >= 2 && r.at[0] == 0xFF && r.at[1] == 0xD9;
}

void dts_huff_begin(dts_huff *h, const uint8_t *data, size_t size) {
    h->at = data;
    h->end = data + size;
    h->bits = 0;
    h->count = h->past = 0;
    memset(h->dc, 0, sizeof h->dc);
    h->until_restart = h->interval;
    h->next_restart = 0;
}

/* All entries that begin with a code: those with its values, where all of these are seen. */
static void enter(dts_huff_table *t, int is_dc, int code, int length, int symbol) {
    const int size = is_dc ? symbol : symbol & 15, run = is_dc ? 0 : symbol >> 4;
    const int room = DTS_HUFF_LOOK - length;
    uint32_t *to = t->one + ((size_t)code << room);
    if (size > room) {
        for (int i = 0; i < 1 << room; i++)
            to[i] = (uint32_t)length << 8 | (uint32_t)symbol << 16;
        return;
    }
    for (int bits = 0; bits < 1 << size; bits++) {
        const int value = size ? extend(bits, size) : 0;
        const int zeros = is_dc || size || run == 15 ? run : END;
        const uint32_t entry =
            (uint32_t)(length + size) | (uint32_t)zeros << 8 | (uint32_t)value << 16;
        for (int i = 0; i < 1 << (room - size); i++)
            *to++ = entry;
    }
}

dts_huff_table *dts_huff_use(dts_huff *h, int ac, int number, const uint8_t *counts,
                             const uint8_t *symbols) {
    dts_huff_table *t = &h->table[ac][number];
    int code = 0, place = 0;
    if (t->known && memcmp(t->counts + 1, counts + 1, sizeof t->counts - 1) == 0 &&
        memcmp(t->symbols, symbols, sizeof t->symbols) == 0)
        return t;
    t->known = 1;
    memcpy(t->counts + 1, counts + 1, sizeof t->counts - 1);
    memcpy(t->symbols, symbols, sizeof t->symbols);
    memset(t->one, 0, sizeof t->one);
    memset(t->many, 0, sizeof t->many);
    for (int length = 1; length <= LONGEST; length++, code <<= 1) {
        t->first[length] = code - place;
        for (int i = 0; i < counts[length]; i++, code++, place++)
            if (length <= DTS_HUFF_LOOK)
                enter(t, !ac, code, length, symbols[place]);
        t->limit[length] = code << (LONGEST - length);
    }
    t->limit[LONGEST + 1] = 1 << LONGEST;
    return t;
}
