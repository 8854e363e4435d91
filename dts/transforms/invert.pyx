"""RandomInvert."""

from libc.stdint cimport uint8_t

from dts.status cimport DTS_OK, dts_error
from dts.transforms.op cimport OP_PIXELS, Op, coin_op, dts_draw, dts_image, dts_op
from dts.transforms.op import Transform, check_number


cdef int _run(const dts_op *op, const dts_draw *d, const dts_image *src, const dts_image *dst,
              void *temp, dts_error *error) noexcept nogil:
    cdef int row, k, n = src.width * src.channels
    cdef const uint8_t *p
    cdef uint8_t *q
    for row in range(src.height):
        p = src.pixels + row * src.stride
        q = dst.pixels + row * dst.stride
        for k in range(n):
            q[k] = 255 - p[k]
    return DTS_OK


class RandomInvert(Transform):
    """Turn v into 255 - v with probability ``p``.

    Parameters
    ----------
    p : float
        Probability, 0..1.

    Raises
    ------
    ValueError
        A probability outside 0..1.
    """

    is_random = True
    is_pixels = True

    def __init__(self, p=0.5):
        self.p = check_number("p", p, 0.0, 1.0)

    def compile(self, position):
        cdef Op out = coin_op(OP_PIXELS, self, position)
        out.op.run = _run
        return out
