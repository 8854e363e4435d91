/* Normalisation, the loop of every instruction set. A file that includes this has defined:
 *   ISA(name)     name of a function of this instruction set
 *   TARGET        attribute of such functions
 *   NARROWER(k)   kernel k of the next smaller instruction set, for rows that fill no vector
 *   LANES         floats in a vector, 8 or 16
 *   vec, picks    types: a vector; which bytes go to its lanes
 *   load_picks    from LANES indices; Z makes 0, or any byte where a lane is multiplied by 0
 *   spread        of four floats, those that LANES indices name
 *   pick_floats   bytes of up to 2 * LANES from an address on, converted
 *   mul_sub       v * scale - bias, two roundings
 *   store_f32, store_f16
 *
 * A unit is what fills whole vectors: three of them where pixels come out with three channels, else one. Each vector
 * is one load, and one byte shuffle that puts each output's byte at the bottom of its 32-bit lane: so a flip and a
 * padding channel cost nothing. The last pixels of a row are done as a unit that begins earlier, over what is there. */
#include <string.h>

#define Z 0x80
#define PIXELS(oc) ((oc) == 3 ? LANES : LANES / (oc)) /* in a unit */
#define VECTORS(oc) ((oc) == 3 ? 3 : 1)

/* Output j of a unit: its pixel, the first byte that its vector loads, and its byte from there on. */
#define PIXEL(oc, flip, j) ((flip) ? PIXELS(oc) - 1 - (j) / (oc) : (j) / (oc))
#define FIRST(c, oc, flip, k) (PIXEL(oc, flip, (flip) ? ((k) + 1) * LANES - 1 : (k) * LANES) * (c))
#define PICK(c, oc, flip, j) \
    ((j) % (oc) < (c) ? PIXEL(oc, flip, j) * (c) + (j) % (oc) - FIRST(c, oc, flip, (j) / LANES) : Z)
#define PICK4(c, oc, flip, j)                                                                \
    PICK(c, oc, flip, j), PICK(c, oc, flip, (j) + 1), PICK(c, oc, flip, (j) + 2),             \
        PICK(c, oc, flip, (j) + 3)
#define PICK8(c, oc, flip, j) PICK4(c, oc, flip, j), PICK4(c, oc, flip, (j) + 4)
#if LANES == 8
#define PICKS(c, oc, flip, k) {PICK8(c, oc, flip, 8 * (k))}
#else
#define PICKS(c, oc, flip, k) {PICK8(c, oc, flip, 16 * (k)), PICK8(c, oc, flip, 16 * (k) + 8)}
#endif

typedef uint8_t layout[3][LANES];

#define ONE_VECTOR(c, oc, flip) {PICKS(c, oc, flip, 0)}
#define THREE_VECTORS(c, flip) {PICKS(c, 3, flip, 0), PICKS(c, 3, flip, 1), PICKS(c, 3, flip, 2)}

/* Index: flip. */
static const layout from_1_to_1[2] = {ONE_VECTOR(1, 1, 0), ONE_VECTOR(1, 1, 1)};
static const layout from_2_to_2[2] = {ONE_VECTOR(2, 2, 0), ONE_VECTOR(2, 2, 1)};
static const layout from_3_to_3[2] = {THREE_VECTORS(3, 0), THREE_VECTORS(3, 1)};
static const layout from_4_to_4[2] = {ONE_VECTOR(4, 4, 0), ONE_VECTOR(4, 4, 1)};
static const layout from_1_to_4[2] = {ONE_VECTOR(1, 4, 0), ONE_VECTOR(1, 4, 1)};
static const layout from_2_to_4[2] = {ONE_VECTOR(2, 4, 0), ONE_VECTOR(2, 4, 1)};
static const layout from_3_to_4[2] = {ONE_VECTOR(3, 4, 0), ONE_VECTOR(3, 4, 1)};

/* Channel of each output of a vector: of one and two channels, the three vectors of three, and four. */
#define CHANNEL4(oc, j) (j) % (oc), ((j) + 1) % (oc), ((j) + 2) % (oc), ((j) + 3) % (oc)
#define CHANNEL8(oc, j) CHANNEL4(oc, j), CHANNEL4(oc, (j) + 4)
#if LANES == 8
#define CHANNELS(oc, k) {CHANNEL8(oc, 8 * (k))}
#else
#define CHANNELS(oc, k) {CHANNEL8(oc, 16 * (k)), CHANNEL8(oc, 16 * (k) + 8)}
#endif
static const int32_t channel[6][LANES] = {CHANNELS(1, 0), CHANNELS(2, 0), CHANNELS(3, 0),
                                          CHANNELS(3, 1), CHANNELS(3, 2), CHANNELS(4, 0)};

typedef struct plan {
    picks pick[3];
    vec scale[3], bias[3];
} plan;

TARGET DTS_INLINE void set_up(plan *p, int k, const dts_norm *norm, const layout l, int oc) {
    const int32_t *const lanes = channel[oc == 4 ? 5 : oc - 1 + k];
    p->scale[k] = spread(norm->scale, lanes);
    p->bias[k] = spread(norm->bias, lanes);
    p->pick[k] = load_picks(l[k]);
}

/* c, oc, flip and half are constants here, and below. */
TARGET DTS_INLINE void unit(char *out, const uint8_t *in, const plan *p, int c, int oc, int flip, int half) {
    for (int k = 0; k < VECTORS(oc); ++k) {
        const vec v = mul_sub(pick_floats(in + FIRST(c, oc, flip, k), p->pick[k]), p->scale[k], p->bias[k]);
        if (half)
            store_f16((uint16_t *)out + LANES * k, v);
        else
            store_f32((float *)out + LANES * k, v);
    }
}

/* Rows of at least a unit. */
TARGET DTS_INLINE void run(char *out, const uint8_t *in, const dts_shape *s, const dts_norm *norm, const layout l,
                           int c, int oc, int flip, int half) {
    const size_t width = s->width, pixels = PIXELS(oc), size = (size_t)oc * (half ? sizeof(uint16_t) : sizeof(float));
    const size_t turn = oc == 3 ? 1 : 4; /* units */
    const ptrdiff_t step = flip ? -(ptrdiff_t)pixels * c : (ptrdiff_t)pixels * c;
    plan p;
    set_up(&p, 0, norm, l, oc);
    if (VECTORS(oc) == 3) {
        set_up(&p, 1, norm, l, oc);
        set_up(&p, 2, norm, l, oc);
    }
    for (size_t y = 0; y < s->height; ++y, in += s->in_stride, out += s->out_stride) {
        const uint8_t *from = flip ? in + (width - pixels) * (size_t)c : in;
        size_t i = 0;
        for (; i + turn * pixels <= width; i += turn * pixels, from += (ptrdiff_t)turn * step)
            for (int k = 0; k < (int)turn; ++k)
                unit(out + (i + (size_t)k * pixels) * size, from + k * step, &p, c, oc, flip, half);
        for (; i + pixels <= width; i += pixels, from += step) unit(out + i * size, from, &p, c, oc, flip, half);
        if (i < width)
            unit(out + (width - pixels) * size, flip ? in : in + (width - pixels) * (size_t)c, &p, c, oc, flip, half);
    }
}

#define RUN(c, oc)                                                                        \
    case 8 * (c) + (oc):                                                                  \
        if (s->flip)                                                                      \
            run(out, in, s, norm, from_##c##_to_##oc[1], c, oc, 1, half);                \
        else                                                                              \
            run(out, in, s, norm, from_##c##_to_##oc[0], c, oc, 0, half);                    \
        break

TARGET DTS_INLINE void run_any(char *out, const uint8_t *in, const dts_shape *s, const dts_norm *norm, int half) {
    switch (8 * s->c + s->oc) {
        RUN(1, 1);
        RUN(2, 2);
        RUN(3, 3);
        RUN(4, 4);
        RUN(1, 4);
        RUN(2, 4);
        RUN(3, 4);
    }
}

/* False: rows are too short for a unit. Rows that lie one after the other are one. */
DTS_INLINE int fits(dts_shape *s, size_t size) {
    if (!s->flip && (size_t)s->in_stride == s->width * (size_t)s->c &&
        (size_t)s->out_stride == s->width * (size_t)s->oc * size) {
        s->width *= s->height;
        s->height = s->height > 0;
    }
    return s->width >= (size_t)PIXELS(s->oc);
}

TARGET void ISA(dts_normalize_f32)(float *out, const uint8_t *in, const dts_shape *shape, const dts_norm *norm) {
    dts_shape s = *shape;
    if (fits(&s, sizeof *out))
        run_any((char *)out, in, &s, norm, 0);
    else
        NARROWER(dts_normalize_f32)(out, in, &s, norm);
}

TARGET void ISA(dts_normalize_f16)(uint16_t *out, const uint8_t *in, const dts_shape *shape, const dts_norm *norm) {
    dts_shape s = *shape;
    if (fits(&s, sizeof *out))
        run_any((char *)out, in, &s, norm, 1);
    else
        NARROWER(dts_normalize_f16)(out, in, &s, norm);
}
