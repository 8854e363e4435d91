/* A message is a polynomial over GF(2), and its checksum the remainder by the generator P. Bytes
   that stand d bits before others count x^d times as much, so 16 of them can be multiplied by
   x^d mod P and added to those: they are folded away, four times 16 at once, until 16 are left.
   V. Gopal and others, Fast CRC Computation for Generic Polynomials Using PCLMULQDQ, Intel 2009. */
#include "crc32.h"

#if defined(__GNUC__) && defined(__x86_64__)

#include <immintrin.h>

#define CLMUL __attribute__((target("pclmul,sse4.1")))

static uint32_t table[256];

int dts_crc32_begin(void) {
    for (uint32_t i = 0; i < 256; ++i) {
        uint32_t value = i;
        for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ (0xEDB88320u & -(value & 1));
        table[i] = value;
    }
    return __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("sse4.1");
}

static uint32_t by_byte(uint32_t state, const uint8_t *data, size_t n) {
    for (size_t i = 0; i < n; ++i) state = table[(state ^ data[i]) & 0xFF] ^ (state >> 8);
    return state;
}

CLMUL static inline __m128i fold(__m128i x, __m128i by, __m128i onto) {
    const __m128i low = _mm_clmulepi64_si128(x, by, 0x00), high = _mm_clmulepi64_si128(x, by, 0x11);
    return _mm_xor_si128(_mm_xor_si128(low, high), onto);
}

CLMUL uint32_t dts_crc32(uint32_t crc, const uint8_t *data, size_t n) {
    /* x^(d + 32) and x^(d - 32) mod P, bits reversed, for d of 512 and 128 bits. */
    const __m128i far = _mm_set_epi64x(0x1C6E41596, 0x154442BD4);
    const __m128i near = _mm_set_epi64x(0x0CCAA009E, 0x1751997D0);
    uint32_t state = ~crc;
    if (n >= 64) {
        const __m128i *in = (const __m128i *)data;
        __m128i a = _mm_xor_si128(_mm_loadu_si128(in), _mm_cvtsi32_si128((int)state));
        __m128i b = _mm_loadu_si128(in + 1), c = _mm_loadu_si128(in + 2);
        __m128i d = _mm_loadu_si128(in + 3);
        for (in += 4, n -= 64; n >= 64; in += 4, n -= 64) {
            a = fold(a, far, _mm_loadu_si128(in));
            b = fold(b, far, _mm_loadu_si128(in + 1));
            c = fold(c, far, _mm_loadu_si128(in + 2));
            d = fold(d, far, _mm_loadu_si128(in + 3));
        }
        a = fold(fold(fold(a, near, b), near, c), near, d);
        for (; n >= 16; ++in, n -= 16) a = fold(a, near, _mm_loadu_si128(in));
        uint8_t left[16];
        _mm_storeu_si128((__m128i *)left, a);
        state = by_byte(0, left, sizeof left);
        data = (const uint8_t *)in;
    }
    return ~by_byte(state, data, n);
}

#else

int dts_crc32_begin(void) { return 0; }

uint32_t dts_crc32(uint32_t crc, const uint8_t *data, size_t n) { return crc; }

#endif
