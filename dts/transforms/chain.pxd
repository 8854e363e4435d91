from libc.stdint cimport int64_t, uint32_t, uint64_t

from dts.transforms.op cimport dts_draw, dts_op


cdef class Chain:
    cdef dts_op *ops
    cdef readonly int n
    cdef readonly tuple transforms
    cdef list kept                  # what the operations point into


# All draws of one sample: out[0..n-1], in chain order. width, height: the picture's, in pixels.
cdef void chain_draw(const dts_op *ops, int n, uint64_t seed, uint32_t epoch, int split, int view,
                     int64_t id, int width, int height, dts_draw *out) noexcept nogil
