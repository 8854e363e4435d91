/* Holds every instruction set of this CPU to the bits of the scalar kernels, and to their manners: nothing written
 * beside the rows, nothing read more than 64 bytes past them. Compiled with dts/kernels/ *.c, on its own, so that it
 * also runs where there is no Python, as under qemu (tools/neon.sh). Exit code 0: all the same. */
#include "dts/kernels/half.h"
#include "dts/kernels/kernels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { GUARD = 96, ROOM = 1 << 16, SLACK = 64, MOST_TAPS = 64 };

static uint32_t state = 1;
static uint32_t any(void) { /* xorshift */
    state ^= state << 13;
    state ^= state >> 17;
    return state ^= state << 5;
}
static int below(int n) { return (int)(any() % (uint32_t)n); }

static const dts_kernels *table(const char *isa) {
    if (dts_kernels_select(isa) != 0) exit(2);
    return dts_kernels_get();
}

/* Random bytes that end SLACK bytes before a page that cannot be read. */
typedef struct fenced {
    uint8_t *end;
} fenced;

static fenced fence(void) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), bytes = (ROOM + page - 1) / page * page;
    uint8_t *memory = mmap(NULL, bytes + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED || mprotect(memory + bytes, page, PROT_NONE) != 0) exit(2);
    return (fenced){memory + bytes};
}

/* mode 0: noise; 1: 0 and 255 only; what lies in the slack is noise. */
static uint8_t *fill(fenced f, size_t size, int mode) {
    uint8_t *start = f.end - SLACK - size;
    if (size + SLACK > ROOM) exit(2);
    for (uint8_t *p = start - 16; p < f.end; ++p) {
        const uint8_t v = (uint8_t)any();
        *p = mode && p >= start && p < f.end - SLACK ? (v & 1 ? 255 : 0) : v;
    }
    return start;
}

static uint8_t *outs[2];
static long cases;

static void same(const char *isa, const char *what, const int *numbers, int count) {
    ++cases;
    if (memcmp(outs[0], outs[1], ROOM) == 0) return;
    fprintf(stderr, "%s differs from scalar: %s", isa, what);
    for (int i = 0; i < count; ++i) fprintf(stderr, " %d", numbers[i]);
    fprintf(stderr, "\n");
    exit(1);
}

static void *fresh(int which, int misaligned) {
    memset(outs[which], 0xA5, ROOM);
    return outs[which] + GUARD + misaligned;
}

/* Usual ones; results of every size of float16, subnormal, infinite; signs mixed. */
static dts_norm norm_of(int kind, int c) {
    static const float scales[6] = {0.0171f, 1.0f, 3.1e-8f, 7.7e-10f, 700.0f, 0.004f};
    static const float biases[6] = {2.1f, 123.68f, 5.0e-7f, 3.0e-8f, 9000.0f, 0.0f};
    dts_norm norm;
    memset(&norm, 0, sizeof norm);
    for (int k = 0; k < c; ++k) {
        norm.scale[k] = scales[kind] * (1.0f + 0.01f * (float)k);
        norm.bias[k] = biases[kind] * (1.0f - 0.03f * (float)k);
    }
    return norm;
}

static void normalize(const dts_kernels *k, void *out, const uint8_t *in, const dts_shape *s, const dts_norm *norm,
                      int size) {
    if (size == 4) k->normalize_f32(out, in, s, norm);
    if (size == 2) k->normalize_f16(out, in, s, norm);
    if (size == 1) k->copy_u8(out, in, s);
}

static void try_normalize(const char *isa, fenced f, int width, int height, int c, int oc, int flip, int size) {
    const int apart = below(3) * below(20), misaligned = size * below(17), kind = below(6);
    const dts_norm norm = norm_of(kind, c);
    const size_t pixel = (size_t)(oc * size);
    dts_shape s = {(size_t)width, (size_t)height, width * c + apart, 0, c, oc, flip};
    const uint8_t *in = fill(f, (size_t)((height - 1) * (width * c + apart) + width * c), below(2));
    const int numbers[] = {width, height, c, oc, flip, size, apart, misaligned, kind};
    s.out_stride = (ptrdiff_t)((size_t)width * pixel) + size * below(3) * below(9);
    normalize(table("scalar"), fresh(0, misaligned), in, &s, &norm, size);
    normalize(table(isa), fresh(1, misaligned), in, &s, &norm, size);
    same(isa, "normalise or copy: width height c oc flip size apart misaligned kind", numbers, 9);
}

static void all_normalize(const char *isa, fenced f) {
    for (int width = 1; width <= 70; ++width)
        for (int c = 1; c <= 4; ++c)
            for (int oc = c; oc <= 4; oc += c == 4 ? 1 : 4 - c)
                for (int flip = 0; flip < 2; ++flip)
                    for (int size = 1; size <= 4; size *= 2) {
                        try_normalize(isa, f, width, 1, c, oc, flip, size);
                        try_normalize(isa, f, width, 2 + below(5), c, oc, flip, size);
                    }
    for (int i = 0; i < 100; ++i) {
        const int c = 1 + below(4);
        try_normalize(isa, f, 71 + below(500), 1 + below(3), c, below(2) ? c : 4, below(2), 1 << below(3));
    }
}

/* A filter of some axis; *source: positions it has. */
static void some_filter(dts_filter *f, int *source, int most_out) {
    const int in = 1 + below(below(2) ? 40 : 300), virtual_out = 1 + below(most_out), first = below(virtual_out);
    const int out = 1 + below(virtual_out - first), whole = below(2), antialias = below(4) != 0;
    const double at = whole ? 0.0 : in * 0.01 * below(60), length = whole ? in : (in - at) * 0.01 * (20 + below(80));
    if (dts_filter_make(f, at, length, 0, in, virtual_out, first, out, antialias) != 0) exit(2);
    *source = in;
}

static void try_vertical(const char *isa, fenced *f, int n) {
    static dts_filter filter;
    const uint8_t *rows[MOST_TAPS];
    int source, y, misaligned = 2 * below(9);
    do some_filter(&filter, &source, 90);
    while (filter.taps > MOST_TAPS);
    for (int j = 0; j < filter.taps; ++j) rows[j] = j < 8 ? fill(f[j], (size_t)n, below(2)) : rows[below(8)];
    y = below(filter.out);
    for (int t = 0; t < 2; ++t)
        table(t ? isa : "scalar")
            ->resize_v(fresh(t, misaligned), rows, filter.weight + y * filter.taps, filter.taps, (size_t)n);
    same(isa, "vertical: n taps misaligned", (int[]){n, filter.taps, misaligned}, 3);
}

static void horizontal(const dts_kernels *k, void *out, const int16_t *in, const dts_filter *f, int c, int oc,
                       const dts_norm *norm, int flip, int size) {
    if (size == 4) k->resize_h_f32(out, in, f->first, f, c, oc, norm, flip);
    if (size == 2) k->resize_h_f16(out, in, f->first, f, c, oc, norm, flip);
    if (size == 1) k->resize_h_u8(out, in, f->first, f, c, oc, flip);
}

static void try_horizontal(const char *isa, fenced f, int c, int oc, int flip, int size) {
    static dts_filter filter;
    int source, n, kind = below(6), mode = below(2), misaligned = size * below(17);
    const dts_norm norm = norm_of(kind, c);
    int16_t *in;
    some_filter(&filter, &source, below(2) ? 20 : 300);
    n = (filter.last - filter.first) * c;
    in = (int16_t *)fill(f, (size_t)n * sizeof *in, 0);
    for (int i = 0; i < n; ++i) in[i] = (int16_t)(mode ? 32640 * (int)(any() & 1) : (int)(any() % 32641));
    for (int t = 0; t < 2; ++t)
        horizontal(table(t ? isa : "scalar"), fresh(t, misaligned), in, &filter, c, oc, &norm, flip, size);
    same(isa, "horizontal: source out taps c oc flip size misaligned kind",
         (int[]){source, filter.out, filter.taps, c, oc, flip, size, misaligned, kind}, 9);
}

#ifdef __aarch64__
#include <arm_neon.h>
static uint16_t converted(float v) {
    uint16_t four[4];
    vst1_u16(four, vreinterpret_u16_f16(vcvt_f16_f32(vdupq_n_f32(v))));
    return four[0];
}

/* All float16, what lies between two, their neighbours, and noise. */
static void all_halves(void) {
    for (uint32_t i = 0; i < 3000000; ++i) {
        const uint32_t near = ((i >> 1) << 12) + (i & 1 ? 1 : 0) - (any() & 1), bits = i < 2097152 ? near : any();
        float v;
        memcpy(&v, &bits, sizeof v);
        ++cases;
        if (dts_half(v) == converted(v)) continue;
        fprintf(stderr, "float16 of %08X: %04X, by NEON %04X\n", bits, dts_half(v), converted(v));
        exit(1);
    }
}
#else
static void all_halves(void) {}
#endif

int main(int argc, char **argv) {
    const char *isa;
    fenced rows[8];
    for (int j = 0; j < 8; ++j) rows[j] = fence();
    for (int j = 0; j < 2; ++j)
        if (!(outs[j] = malloc(ROOM))) return 2;
    for (int i = 0; (isa = dts_kernels_available(i)); ++i) {
        if (strcmp(isa, "scalar") == 0 || (argc > 1 && strcmp(isa, argv[1]) != 0)) continue;
        cases = 0;
        all_normalize(isa, rows[0]);
        for (int n = 1; n <= 300; ++n)
            for (int j = 0; j < 8; ++j) try_vertical(isa, rows, n);
        for (int c = 1; c <= 4; ++c)
            for (int j = 0; j < 2400; ++j) try_horizontal(isa, rows[0], c, j & 1 ? c : 4, j >> 1 & 1, 1 << j % 3);
        all_halves();
        printf("%s: %ld cases, the same bits as scalar\n", isa, cases);
    }
    return 0;
}
