/* The copy that flips and pads but does not compute, the loop of every instruction set. A file that includes this has
 * defined ISA(name) and TARGET, and of 16 bytes: the type bytes, load_bytes, store_bytes, store_15_bytes, and
 * shuffle_bytes, where an index of 0x80 makes 0. */

/* Bytes of a 16-byte load for each byte of a 16-byte store. Five pixels of RGB leave the last one unused. */
typedef struct copy_layout {
    size_t pixels;
    uint8_t pick[16];
} copy_layout;

#define N 0x80
static const copy_layout copy_1_flip = {16, {15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0}};
static const copy_layout copy_2_flip = {8, {14, 15, 12, 13, 10, 11, 8, 9, 6, 7, 4, 5, 2, 3, 0, 1}};
static const copy_layout copy_3_flip = {5, {12, 13, 14, 9, 10, 11, 6, 7, 8, 3, 4, 5, 0, 1, 2, N}};
static const copy_layout copy_4_flip = {4, {12, 13, 14, 15, 8, 9, 10, 11, 4, 5, 6, 7, 0, 1, 2, 3}};
/* To four channels; index: flip. */
static const copy_layout copy_1_to_4[2] = {
    {4, {0, N, N, N, 1, N, N, N, 2, N, N, N, 3, N, N, N}},
    {4, {3, N, N, N, 2, N, N, N, 1, N, N, N, 0, N, N, N}},
};
static const copy_layout copy_2_to_4[2] = {
    {4, {0, 1, N, N, 2, 3, N, N, 4, 5, N, N, 6, 7, N, N}},
    {4, {6, 7, N, N, 4, 5, N, N, 2, 3, N, N, 0, 1, N, N}},
};
static const copy_layout copy_3_to_4[2] = {
    {4, {0, 1, 2, N, 3, 4, 5, N, 6, 7, 8, N, 9, 10, 11, N}},
    {4, {9, 10, 11, N, 6, 7, 8, N, 3, 4, 5, N, 0, 1, 2, N}},
};
#undef N

/* What is not here is a plain copy, row by row. */
static const copy_layout *copy_layout_of(const dts_shape *s) {
    static const copy_layout *const same[] = {NULL, &copy_1_flip, &copy_2_flip, &copy_3_flip, &copy_4_flip};
    static const copy_layout *const padded[] = {NULL, copy_1_to_4, copy_2_to_4, copy_3_to_4};
    return s->c != s->oc ? padded[s->c] + (s->flip != 0) : s->flip ? same[s->c] : NULL;
}

/* c and oc are constants here. */
TARGET DTS_INLINE void copy_rows(uint8_t *out, const uint8_t *in, const dts_shape *s, const copy_layout *l, size_t c,
                                 size_t oc) {
    const bytes pick = load_bytes(l->pick);
    const size_t pixels = oc == 3 ? 5 : 16 / oc, width = s->width;
    const int flip = s->flip;
    for (size_t y = 0; y < s->height; ++y, in += s->in_stride, out += s->out_stride) {
        size_t i = 0;
        for (; i + pixels < width; i += pixels) {
            const uint8_t *from = in + (flip ? width - i - pixels : i) * c;
            store_bytes(out + i * oc, shuffle_bytes(load_bytes(from), pick)); /* of RGB one byte too many, for now */
        }
        i = width - pixels; /* the last: over what is there */
        if (oc == 3)
            store_15_bytes(out + i * oc, shuffle_bytes(load_bytes(in + (flip ? 0 : i) * c), pick));
        else
            store_bytes(out + i * oc, shuffle_bytes(load_bytes(in + (flip ? 0 : i) * c), pick));
    }
}

TARGET void ISA(dts_copy_u8)(uint8_t *out, const uint8_t *in, const dts_shape *s) {
    const copy_layout *l = copy_layout_of(s);
    if (!l || s->width < l->pixels) {
        dts_copy_u8_scalar(out, in, s);
        return;
    }
    switch (8 * s->c + s->oc) {
    case 8 * 1 + 1: copy_rows(out, in, s, l, 1, 1); break;
    case 8 * 2 + 2: copy_rows(out, in, s, l, 2, 2); break;
    case 8 * 3 + 3: copy_rows(out, in, s, l, 3, 3); break;
    case 8 * 4 + 4: copy_rows(out, in, s, l, 4, 4); break;
    case 8 * 1 + 4: copy_rows(out, in, s, l, 1, 4); break;
    case 8 * 2 + 4: copy_rows(out, in, s, l, 2, 4); break;
    case 8 * 3 + 4: copy_rows(out, in, s, l, 3, 4); break;
    }
}
