/* A transform of your own in C, for dts.CFunction. It is called without Python's lock, on several threads at once, and
 * writes one picture from another. Pixels are uint8, `channels` (1 or 3) to a pixel; rows lie `stride` bytes apart, of
 * which width * channels are pixels. Every pixel of `dst` must be written: there is no telling what is in it before.
 *
 *   src        the input. Not to be written: it may be the data set itself.
 *   dst        the output, of the size given to CFunction, or of the input's
 *   random     four words of 32 bits that depend on seed, epoch, sample, split and place in the chain, and on nothing
 *              else; zeros where CFunction was not told random=True. All randomness must come from here.
 *   user_data  what CFunction got
 *
 * Returns 0, or any other number to say that this picture cannot be done. Must not keep a pointer, unwind the stack
 * (no C++ exception, no longjmp), or wait for another call. */
#ifndef DTS_USER_TRANSFORM_H
#define DTS_USER_TRANSFORM_H

#include <stdint.h>

typedef int (*dts_user_transform)(const uint8_t *src, int64_t src_stride, int src_width, int src_height, uint8_t *dst,
                                  int64_t dst_stride, int dst_width, int dst_height, int channels,
                                  const uint32_t *random, void *user_data);

#endif
