/* Rules of the code are in ITU-T T.81, annex F.2.2.
 *
 * An entry of `one`, for the DTS_HUFF_LOOK bits that come next:
 *     bits 0-7    bits of the code and its value together; 0: they are more, or no code is known
 *     bits 8-15   AC: zeros before the value (END: it is the last code of the block)
 *     bits 16-31  the value, signed; or where bits 0-7 are 0
 *     bits 16-23  bits of the value
 *     bits 24-31  bits of the code; 0: it is longer
 * An entry of `many`: bits of all codes in bits 0-4 and by how much they move on among the block's
 * coefficients above that, LAST more when the block ends with them. SINGLE: not even one fits. */
#include "dts/decode/entropy.h"

#include <stdatomic.h>
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

enum {
    MOST = 18, /* bits that a step takes at most: a filled reader lasts for three */
    END = 100,
    MISSING = 1 << 20, /* bits, far more than there can be */
    LAST = 192,
    SINGLE = 1 << 15,
    LONGEST = 16,
    DC_LIMIT = 1 << 24,
    COMMON = 16,
    OFTEN = 8,
};

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

/* Slow ways take a reader by value and return it: one whose address is taken would have to live in
 * memory on the quick ways too. */
static reader fill_bytewise(reader reader_before) {
    reader *r = &reader_before;
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
    return *r;
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
    *r = fill_bytewise(*r);
}

INLINE void drop(reader *r, uint32_t n) {
    r->bits <<= n & 63;
    r->count -= (int)(n & 63);
}

INLINE int size_of_symbol(int symbol, int is_dc) { return is_dc ? symbol : symbol & 15; }

INLINE int run_of_symbol(int symbol, int is_dc) {
    return is_dc ? 0 : (symbol & 15) == 0 && symbol != 0xF0 ? END : symbol >> 4;
}

INLINE int run_of(uint32_t entry) { return (entry >> 8) & 0xFF; }

/* The value of the `size` bits that come after a code of `length` bits. */
INLINE int value_of(uint64_t bits, uint32_t length, uint32_t size) {
    const uint64_t next = bits << length;
    const int64_t negative = ~((int64_t)next >> 63); /* all ones when its first bit is 0 */
    return (int)((int64_t)(next >> 1 >> (63 - size)) + (negative & (1 - (1 << size))));
}

typedef struct step {
    reader r;
    int run, value;
} step;

/* A code whose entry does not tell enough. One that does not exist ends the block, and counts as
 * data that are missing. */
static step decode_long(reader r, const dts_huff_table *t, int is_dc, uint32_t entry) {
    uint32_t length = entry >> 24, size = (entry >> 16) & 0xFF;
    int run = run_of(entry);
    if (r.count < 2 * LONGEST)
        fill(&r);
    if (length == 0) {
        const int32_t code = (int32_t)(r.bits >> 48);
        for (length = DTS_HUFF_LOOK + 1; code >= t->limit[length]; length++)
            ;
        if (length > LONGEST) {
            r.past = MISSING;
            return (step){r, END, 0};
        }
        const int symbol = t->symbols[((code >> (LONGEST - length)) - t->first[length]) & 0xFF];
        run = run_of_symbol(symbol, is_dc);
        size = (uint32_t)size_of_symbol(symbol, is_dc);
    }
    const int value = value_of(r.bits, length, size);
    drop(&r, length + size);
    fill(&r);
    return (step){r, run, value};
}

/* Returns the run. */
INLINE int decode(reader *r, const dts_huff_table *t, int is_dc, int *value) {
    const uint32_t entry = t->one[r->bits >> (64 - DTS_HUFF_LOOK)];
    if (UNLIKELY((entry & 0xFF) == 0)) {
        const uint32_t length = entry >> 24, size = (entry >> 16) & 0xFF;
        if (UNLIKELY(length == 0 || length + size > MOST)) {
            const step s = decode_long(*r, t, is_dc, entry);
            *r = s.r;
            *value = s.value;
            return s.run;
        }
        *value = value_of(r->bits, length, size);
        drop(r, length + size);
    } else {
        *value = (int32_t)entry >> 16;
        drop(r, entry);
    }
    return run_of(entry);
}

/* Where a block's last code has led: behind the last coefficient, or to an END. */
INLINE int ends_well(int k) { return k == 64 || k > END; }

/* After a code that was not in the table the reader is filled, so it lasts for the DC code and two
 * more. */
INLINE int decode_ac(reader *r, const dts_huff_table *t, int16_t *block) {
    int k = 1;
#define STEP                                                                                       \
    {                                                                                              \
        int value;                                                                                 \
        k += decode(r, t, 0, &value);                                                              \
        block[natural[k]] = (int16_t)value;                                                        \
        if (++k >= 64)                                                                             \
            break;                                                                                 \
    }
    for (;;) {
        STEP STEP
        fill(r);
        STEP
    }
#undef STEP
    return ends_well(k);
}

/* Find out how far the next bits lead. */
static uint32_t look_far(dts_huff_table *t, uint32_t index) {
    uint64_t bits = (uint64_t)index << (64 - DTS_HUFF_PASS);
    uint32_t total = 0, moved = 0;
    while (total < DTS_HUFF_PASS) {
        const uint32_t entry = t->one[bits >> (64 - DTS_HUFF_LOOK)], all_seen = entry & 0xFF;
        const uint32_t seen = all_seen ? all_seen : entry >> 24;
        const uint32_t n = all_seen ? all_seen : seen + ((entry >> 16) & 0xFF);
        const uint32_t run = (uint32_t)run_of(entry);
        if (seen == 0 || total + seen > DTS_HUFF_PASS || total + n > MOST ||
            (run < END && moved + run + 1 > 64))
            break;
        total += n;
        bits <<= n;
        if (run == END) {
            moved += LAST;
            break;
        }
        moved += run + 1;
    }
    const uint16_t entry = (uint16_t)(total ? total | moved << 5 : SINGLE);
    atomic_store_explicit(&t->many[index], entry, memory_order_relaxed);
    return entry;
}

/* Codes may be taken together only when the block does not end between two of them: each moves on,
 * so it is enough that it does not end before the last. */
INLINE int pass_ac(reader *r, dts_huff_table *t) {
    int k = 1;
#define STEP                                                                                       \
    {                                                                                              \
        const uint32_t index = (uint32_t)(r->bits >> (64 - DTS_HUFF_PASS));                        \
        uint32_t entry = atomic_load_explicit(&t->many[index], memory_order_relaxed);              \
        if (UNLIKELY(entry == 0))                                                                  \
            entry = look_far(t, index);                                                            \
        const int to = k + (int)(entry >> 5);                                                      \
        if (LIKELY(to <= 64 || (to > LAST && to < LAST + 64))) {                                   \
            drop(r, entry & 31);                                                                   \
            k = to;                                                                                \
        } else {                                                                                   \
            int value;                                                                             \
            k += decode(r, t, 0, &value) + 1;                                                      \
        }                                                                                          \
        if (k >= 64)                                                                               \
            break;                                                                                 \
    }
    for (;;) {
        STEP STEP
        fill(r);
        STEP
    }
#undef STEP
    return ends_well(k);
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

INLINE int mcu(dts_huff *h, int16_t *const *blocks) {
    if (h->interval) {
        if (h->until_restart == 0 && !restart(h))
            return 0;
        h->until_restart--;
    }
    reader r = {h->at, h->end, h->bits, h->count, h->past};
    for (int i = 0; i < h->n_blocks; i++) {
        const dts_huff_block *b = &h->block[i];
        int change;
        fill(&r);
        decode(&r, b->dc, 1, &change);
        const int32_t dc = h->dc[b->component] += change;
        int well = dc < DC_LIMIT && dc > -DC_LIMIT;
        if (blocks && b->needed) {
            blocks[i][0] = (int16_t)dc;
            well &= decode_ac(&r, b->ac, blocks[i]);
        } else {
            well &= pass_ac(&r, b->ac);
        }
        if (UNLIKELY(!well))
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

static int mcu_plain(dts_huff *h, int16_t *const *blocks) { return mcu(h, blocks); }

/* Shifts by a number in any register take a tenth off. */
#if defined(__x86_64__) && defined(__GNUC__)
__attribute__((target("bmi2"))) static int mcu_bmi2(dts_huff *h, int16_t *const *blocks) {
    return mcu(h, blocks);
}
#define BEST_MCU (__builtin_cpu_supports("bmi2") ? mcu_bmi2 : mcu_plain)
#else
#define BEST_MCU mcu_plain
#endif

void dts_huff_begin(dts_huff *h, const uint8_t *data, size_t size) {
    h->mcu = BEST_MCU;
    h->at = data;
    h->end = data + size;
    h->bits = 0;
    h->count = h->past = 0;
    memset(h->dc, 0, sizeof h->dc);
    h->until_restart = h->interval;
    h->next_restart = 0;
}

/* All entries that begin with a code: with each of its values, where these are seen. */
static void enter(dts_huff_table *t, int is_dc, int code, int length, int symbol) {
    const int size = size_of_symbol(symbol, is_dc), room = DTS_HUFF_LOOK - length;
    const uint32_t run = (uint32_t)run_of_symbol(symbol, is_dc) << 8;
    uint32_t *to = t->one + ((size_t)code << room);
    if (size > room) {
        for (int i = 0; i < 1 << room; i++)
            to[i] = run | (uint32_t)size << 16 | (uint32_t)length << 24;
        return;
    }
    for (int bits = 0; bits < 1 << size; bits++) {
        const int value = value_of((uint64_t)bits << (63 - size) << 1, 0, (uint32_t)size);
        for (int i = 0; i < 1 << (room - size); i++)
            *to++ = run | (uint32_t)(length + size) | (uint32_t)value << 16;
    }
}

/* Tables that come again and again, mostly the standard ones, are held once for all threads: with many threads on a
 * CPU, each with tables of its own, they push one another out of the caches. Never freed. */
static dts_huff_table common[COMMON];
static _Atomic int n_common;
static atomic_flag adding = ATOMIC_FLAG_INIT;

static int same(const dts_huff_table *t, const uint8_t *counts, const uint8_t *symbols) {
    return memcmp(t->counts + 1, counts + 1, sizeof t->counts - 1) == 0 &&
           memcmp(t->symbols, symbols, sizeof t->symbols) == 0;
}

/* DC and AC tables of the same codes have other entries. */
static dts_huff_table *find_common(int ac, const uint8_t *counts, const uint8_t *symbols) {
    const int n = atomic_load_explicit(&n_common, memory_order_acquire);
    for (int i = 0; i < n; i++)
        if (common[i].known == 1 + ac && same(&common[i], counts, symbols))
            return &common[i];
    return NULL;
}

static dts_huff_table *add_common(int ac, const dts_huff_table *t) {
    dts_huff_table *found = find_common(ac, t->counts, t->symbols);
    if (found || atomic_flag_test_and_set_explicit(&adding, memory_order_acquire))
        return found; /* somebody adds one: the next picture asks again */
    const int n = atomic_load_explicit(&n_common, memory_order_relaxed);
    found = find_common(ac, t->counts, t->symbols);
    if (!found && n < COMMON) {
        found = &common[n];
        memcpy(found, t, sizeof *t);
        atomic_store_explicit(&n_common, n + 1, memory_order_release);
    }
    atomic_flag_clear_explicit(&adding, memory_order_release);
    return found;
}

dts_huff_table *dts_huff_use(dts_huff *h, int ac, int number, const uint8_t *counts,
                             const uint8_t *symbols) {
    dts_huff_table *t = &h->table[ac][number];
    int code = 0, place = 0;
    if (h->common[ac][number] && same(h->common[ac][number], counts, symbols))
        return h->common[ac][number];
    if (t->known && same(t, counts, symbols)) {
        if (t->met < OFTEN) {
            t->met++;
            return t;
        }
        return (h->common[ac][number] = add_common(ac, t)) ? h->common[ac][number] : t;
    }
    t->known = 1 + ac;
    t->met = 0;
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
