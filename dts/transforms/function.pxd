from dts.rng.philox cimport dts_stream
from dts.transforms.op cimport dts_draw, dts_op


cdef void draw_words(const dts_op *op, dts_stream *s, dts_draw *d) noexcept nogil
