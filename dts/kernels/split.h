/* Weights of the vertical pass cut in two bytes, so that pixels can be multiplied as bytes (PMADDUBSW):
 *   w = 128 high + low,  (sum(px w) + 64) >> 7  =  sum(px high) + ((sum(px low) + 64) >> 7)   in whole numbers.
 * All sums of the low part fit 16 bits, and so does the result; sums of the high part may wrap on the way. */
#ifndef DTS_SPLIT_H
#define DTS_SPLIT_H

#include <stdint.h>

enum { DTS_SPLIT_TAPS = 8 };

typedef struct dts_split {
    int16_t high[DTS_SPLIT_TAPS / 2], low[DTS_SPLIT_TAPS / 2]; /* for each pair of taps, two signed bytes */
} dts_split;

/* Low parts lie in -127..127, their running sum in -64..63: each is rounded so as to undo what the others left.
 * Returns 0 where that does not keep every sum in range; most rows of up to four taps, and many of six, do. */
static inline int dts_split_weights(dts_split *s, const int16_t *weight, int taps) {
    int running = 0, above = 0, below = 0;
    if (taps > DTS_SPLIT_TAPS) return 0;
    for (int k = 0; k < taps; k += 2) {
        int high[2], low[2];
        for (int j = 0; j < 2; ++j) {
            const int w = weight[k + j], rest = w & 127, up = running + rest >= 64;
            low[j] = rest - 128 * up;
            high[j] = (w >> 7) + up;
            running += low[j];
            above += up ? 0 : low[j];
            below += up ? low[j] : 0;
        }
        if (high[0] > 127 || high[1] > 127 || high[0] + high[1] > 128) return 0;
        s->high[k / 2] = (int16_t)((high[0] & 255) | (high[1] << 8));
        s->low[k / 2] = (int16_t)((low[0] & 255) | ((low[1] & 255) << 8));
    }
    return above <= 128 && below >= -128; /* 255 x 128 + 64 is below 2^15 */
}

#endif
