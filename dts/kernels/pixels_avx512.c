/* The kernels on colours for AVX-512: the common source, and tables of 256 bytes held in four vectors. */
#include "isa.h"

#ifdef DTS_X86
#define PX(name) dts_##name##_avx512
#define PX_TARGET DTS_TARGET_AVX512
#define PX_SPLIT px_split_avx512
#define PX_MERGE px_merge_avx2
#define PX_WORDS px_words_avx512
#include "pixels_body.h"

#include "pixels_isa.h"

#include <immintrin.h>

typedef struct px_table {
    __m512i part[4];
} px_table;

DTS_TARGET_AVX512 DTS_INLINE px_table px_table_load(const uint8_t *table) {
    px_table t;
    for (int k = 0; k < 4; ++k) t.part[k] = _mm512_loadu_si512(table + 64 * k);
    return t;
}

/* The upper half: indices of 128 and more, of which the instruction takes the lower seven bits. */
DTS_TARGET_AVX512 DTS_INLINE __m512i px_entry(const px_table *t, __m512i v) {
    const __m512i low = _mm512_permutex2var_epi8(t->part[0], v, t->part[1]);
    const __m512i high = _mm512_permutex2var_epi8(t->part[2], v, t->part[3]);
    return _mm512_mask_blend_epi8(_mm512_movepi8_mask(v), low, high);
}

DTS_TARGET_AVX512 DTS_INLINE __mmask64 px_first(size_t n) {
    return n >= 64 ? ~(__mmask64)0 : ((__mmask64)1 << n) - 1;
}

DTS_TARGET_AVX512 void dts_lut_avx512(uint8_t *out, const uint8_t *in, size_t n, int c, const uint8_t *table) {
    const px_table red = px_table_load(table);
    if (c == 1) {
        for (size_t i = 0; i < n; i += 64) {
            const __mmask64 wanted = px_first(n - i);
            _mm512_mask_storeu_epi8(out + i, wanted, px_entry(&red, _mm512_maskz_loadu_epi8(wanted, in + i)));
        }
        return;
    }
    /* Every third byte is green, and blue, from the second or third on; a vector later the pattern moves by one. */
    const px_table green = px_table_load(table + 256), blue = px_table_load(table + 512);
    const __mmask64 third = 0x9249249249249249u;
    for (size_t i = 0; i < 3 * n; i += 192) {
        __mmask64 is_red = third, is_green = third << 1, is_blue = third << 2;
        for (size_t at = i; at < i + 192 && at < 3 * n; at += 64) {
            const __mmask64 wanted = px_first(3 * n - at), was_red = is_red;
            const __m512i v = _mm512_maskz_loadu_epi8(wanted, in + at);
            __m512i found = px_entry(&red, v);
            found = _mm512_mask_mov_epi8(found, is_green, px_entry(&green, v));
            found = _mm512_mask_mov_epi8(found, is_blue, px_entry(&blue, v));
            _mm512_mask_storeu_epi8(out + at, wanted, found);
            is_red = is_blue; /* 64 = 3 * 21 + 1: the next vector begins one channel on */
            is_blue = is_green;
            is_green = was_red;
        }
    }
}
#else
typedef int dts_no_pixels_avx512; /* a file may not be empty */
#endif
