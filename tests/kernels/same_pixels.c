/* Holds the kernels on colours of every instruction set of this CPU to the bits of the scalar ones, and to their
 * manners, as same_bits.c does. Prints a checksum of what the scalar ones made: the same on every kind of processor. */
#include "dts/kernels/isa.h"
#include "dts/kernels/pixels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { ROOM = 1 << 14, SLACK = 64, GUARD = 128, KERNELS = 10 };

static const char *const names[KERNELS] = {"lut",      "gray",  "gray_sum", "saturate", "hue",
                                           "extremes", "count", "sharpen",  "blur_h",   "noise"};
static uint32_t state;
static uint32_t any(void) { /* xorshift */
    state ^= state << 13;
    state ^= state >> 17;
    return state ^= state << 5;
}
static int below(int n) { return (int)(any() % (uint32_t)n); }

/* ROOM bytes before a page that cannot be read. */
static uint8_t *fence(void) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    uint8_t *memory = mmap(NULL, ROOM + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED || mprotect(memory + ROOM, page, PROT_NONE) != 0) exit(2);
    return memory;
}

static uint8_t table[768], *input, *rows[3], made[2][ROOM];
static int16_t weight[64];

/* Noise, gray levels, or black and white, that end SLACK bytes before the page; what follows is noise. */
static uint8_t *fill(uint8_t *memory, size_t size, int mode) {
    uint8_t *start = memory + ROOM - SLACK - size;
    for (size_t i = 0; i < size + SLACK; ++i) start[i] = (uint8_t)any();
    for (size_t i = 0; i < size; ++i) {
        if (mode == 1) start[i] = start[i - i % 3];
        if (mode == 2) start[i] = start[i] & 1 ? 255 : 0;
    }
    return start;
}

/* One call with numbers that follow from the seed alone; the output lies between bytes that must not change. */
static void one(const dts_pixels *p, int which, uint32_t seed, uint8_t *out) {
    int n, c, mode, taps;
    size_t bytes;
    float f;
    uint8_t *in, *to = out + GUARD;
    state = seed * 2654435761u + 1u;
    n = 1 + below(below(4) ? 200 : 1000);
    c = below(2) ? 3 : 1;
    mode = below(3);
    f = (float)below(1000) / 250.0f;
    memset(out, 0xA5, ROOM);
    if (which == 1 || which == 2 || which == 3 || which == 4) c = 3;
    if (which == 7 && n < 3) n = 3;
    bytes = (size_t)(n * c);
    for (int i = 0; i < 768; ++i) table[i] = (uint8_t)any();
    if (which == 8) {
        int16_t *line;
        taps = 2 * (1 + below(20));
        for (int i = 0; i < taps; ++i) weight[i] = (int16_t)(16384 / taps);
        line = (int16_t *)(void *)(input + ROOM) - 32 - (n + (taps - 1) * c);
        for (int16_t *v = line; v < (int16_t *)(void *)(input + ROOM); ++v) *v = (int16_t)below(32641);
        p->blur_h(to, line, weight, taps, c, (size_t)n);
        return;
    }
    in = fill(input, bytes, mode);
    if (which == 0) p->lut(to, in, (size_t)n, c, table);
    if (which == 1) p->gray(to, in, (size_t)n);
    if (which == 2) {
        const uint64_t sum = p->gray_sum(in, (size_t)n);
        memcpy(to, &sum, 8);
    }
    if (which == 3) p->saturate(to, in, (size_t)n, f, 1.0f - f);
    if (which == 4) p->hue(to, in, (size_t)n, f / 4.0f - 0.5f);
    if (which == 5) {
        memset(to, 100, 6);
        p->extremes(in, (size_t)n, c, to, to + 3);
    }
    if (which == 6) p->count(in, (size_t)n, c, (uint32_t *)(void *)to);
    if (which == 7) {
        for (int j = 0; j < 3; ++j) fill(rows[j], bytes, mode);
        p->sharpen(to, rows[0] + ROOM - SLACK - bytes, rows[1] + ROOM - SLACK - bytes, rows[2] + ROOM - SLACK - bytes,
                   (size_t)n, c, 1.0f - f);
    }
    if (which == 9) {
        const dts_noise noise = {any(), any(), any(), any(), any(), f - 2.0f, 30.0f * f, below(2)};
        p->noise(to, in, bytes, &noise);
    }
    if ((which == 0 || which == 1 || which == 3 || which == 4 || which == 9) && below(2)) { /* in place */
        uint8_t *same = out + ROOM / 2;
        memcpy(same, in, bytes + SLACK);
        if (which == 0) p->lut(same, same, (size_t)n, c, table);
        if (which == 1) p->gray(same, same, (size_t)n);
        if (which == 3) p->saturate(same, same, (size_t)n, f, 1.0f - f);
        if (which == 4) p->hue(same, same, (size_t)n, 0.1f);
        if (which == 9) {
            const dts_noise noise = {7, 1, 2, 3, 4, 0.0f, 25.0f, 1};
            p->noise(same, same, bytes, &noise);
        }
        if (memcmp(same + bytes, in + bytes, SLACK) != 0) {
            fprintf(stderr, "%s wrote past its end: %d pixels of %d channels\n", names[which], n, c);
            exit(1);
        }
    }
}

/* Stands for dispatch.c, which would want all other kernels too. */
static dts_kernels chosen;
const dts_kernels *dts_kernels_get(void) { return &chosen; }

static const dts_pixels *pixels_of(const char *isa) {
    chosen.isa = isa;
    return dts_pixels_get();
}

int main(void) {
    static const struct {
        const char *isa;
        unsigned needs;
    } all[] = {{"avx512", DTS_CPU_AVX512}, {"avx2", DTS_CPU_AVX2}};
    const int turns = 1500;
    uint32_t sum = 0;
    input = fence();
    for (int j = 0; j < 3; ++j) rows[j] = fence();
    for (int i = 0; i < 2; ++i) {
        const char *isa = all[i].isa;
        const dts_pixels *p = pixels_of(isa), *scalar = pixels_of("scalar");
        if ((all[i].needs & ~dts_cpu_probe()) != 0) continue;
        for (int which = 0; which < KERNELS; ++which)
            for (int turn = 0; turn < turns; ++turn) {
                one(scalar, which, (uint32_t)(which * turns + turn), made[0]);
                one(p, which, (uint32_t)(which * turns + turn), made[1]);
                if (memcmp(made[0], made[1], ROOM) == 0) continue;
                fprintf(stderr, "%s differs from scalar: %s, turn %d\n", isa, names[which], turn);
                return 1;
            }
        printf("%s: the same bits as scalar\n", isa);
    }
    for (int which = 0; which < KERNELS; ++which)
        for (int turn = 0; turn < turns; ++turn) {
            one(pixels_of("scalar"), which, (uint32_t)(which * turns + turn), made[0]);
            for (int i = 0; i < ROOM; ++i) sum = sum * 31u + made[0][i];
        }
    printf("scalar: %08X\n", sum);
    return 0;
}
