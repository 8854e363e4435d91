from libc.stdint cimport uint8_t

from dts.transforms.op cimport dts_draw


# Values 64 g to 64 g + 63 of the noise that fills a box; each of its rows begins with a new g.
# Uniform bytes: of the stream's blocks 4 g to 4 g + 3, counted from the one after the draw, the
# words in order, low byte first.
cdef void erase_bytes(const dts_draw *d, int g, uint8_t *out) noexcept nogil
# Normal numbers, of blocks 16 g to 16 g + 15: in the order of dts/kernels/pixels.h.
cdef void erase_normals(const dts_draw *d, int g, float *out) noexcept nogil
