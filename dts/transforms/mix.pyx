"""MixUp and CutMix: what is drawn for a batch, and what happens to two rows of it.

The words of a batch's stream (kind "mixing", split 0, the number of the batch for an id): one to
choose the operation; then two for each attempt at Beta(alpha, alpha); then, of CutMix, two for the
centre of its box, x before y.
"""

from libc.math cimport sqrt
from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memset

from dts.kernels.kernels cimport dts_mix_kernels, get_mix
from dts.rng.philox cimport (
    DTS_KIND_MIX, dts_exp, dts_log, dts_random_int, dts_stream, dts_stream_next, dts_stream_open,
    dts_uniform,
)

from numbers import Integral, Real

import numpy as np

from dts.transforms.op import check_number

MAX_CLASSES = 1 << 24

cdef double LOG4 = 1.3862943611198906
cdef double LOG5_1 = 2.6094379124341003     # 1 + log 5


cdef double between(dts_stream *s) noexcept nogil:
    """A uniform number above 0 and below 1, on a grid of 2^-32."""
    return (<double> dts_stream_next(s) + 0.5) * (1.0 / 4294967296.0)


cdef double beta_number(double a, dts_stream *s) noexcept nogil:
    """Draw from Beta(a, a).

    Up to 1 by Jöhnk (1964), in logarithms, since a power would underflow; above 1 by Cheng's BB
    (Communications of the ACM 21, 1978), whose constants are simple where both parameters agree.
    """
    cdef double u, v, x, y, w, z, r, t, rate, gamma
    if a <= 1.0:
        while True:
            x = dts_log(between(s)) / a
            y = dts_log(between(s)) / a
            u = dts_exp(x) if x > -700.0 else 0.0
            v = dts_exp(y) if y > -700.0 else 0.0
            if u + v <= 1.0:
                x = y - x
                return 1.0 / (1.0 + dts_exp(min(max(x, -700.0), 700.0)))
    rate = 1.0 / sqrt(a)
    gamma = a + sqrt(a)
    while True:
        u = between(s)
        v = between(s)
        x = rate * dts_log(u / (1.0 - u))
        w = a * dts_exp(x)
        z = u * u * v
        r = gamma * x - LOG4
        t = a + r - w
        if t + LOG5_1 >= 5.0 * z or t >= dts_log(z) or (
                r + 2.0 * a * dts_log(2.0 * a / (a + w)) >= dts_log(z)):
            return w / (a + w)


cdef void mix_draw(const dts_mixing *m, uint64_t seed, uint32_t epoch, int view, int64_t batch,
                   int width, int height, dts_mix *out) noexcept nogil:
    cdef dts_stream s = dts_stream_open(seed, DTS_KIND_MIX, 0, view, 0, epoch, batch)
    cdef double u = dts_uniform(dts_stream_next(&s))
    cdef double lam, half
    cdef int k = 0, cx, cy, rx, ry
    memset(out, 0, sizeof(dts_mix))
    while k < m.n and u >= m.upto[k]:
        k += 1
    out.lam = 1.0
    out.chosen = k if k < m.n else -1
    if out.chosen < 0:
        return
    out.kind = m.kind[k]
    lam = beta_number(m.alpha[k], &s)
    if out.kind == MIX_UP:
        out.lam = <float> lam
        return
    cx = <int> dts_random_int(dts_stream_next(&s), width)
    cy = <int> dts_random_int(dts_stream_next(&s), height)
    half = 0.5 * sqrt(1.0 - lam)
    rx = <int> (half * width)
    ry = <int> (half * height)
    out.x = max(cx - rx, 0)
    out.y = max(cy - ry, 0)
    out.w = min(cx + rx, width) - out.x
    out.h = min(cy + ry, height) - out.y
    out.lam = <float> (1.0 - <double> (<int64_t> out.w * out.h) / (<double> width * height))


def beta_numbers(alpha, seed, n):
    """Return the first draws from Beta(alpha, alpha) of `n` batches, for tests.

    Parameters
    ----------
    alpha : float
        Above 0.
    seed, n : int

    Returns
    -------
    float64 array of shape (n,)
    """
    cdef dts_stream s
    cdef double a = alpha
    cdef uint64_t key = seed
    cdef int64_t i, count = n
    out = np.empty(n)
    cdef double[::1] view = out
    for i in range(count):
        s = dts_stream_open(key, DTS_KIND_MIX, 0, 0, 0, 0, i)
        view[i] = beta_number(a, &s)
    return out


def mix_rows(a, b, lam):
    """Mix two arrays in place, as the workers do: see dts/kernels/mix.h.

    Parameters
    ----------
    a, b : ndarray of float32, float16 or uint8
        Contiguous and writable, of the same dtype and size.
    lam : float
        0..1; a' = lam a + (1 - lam) b, b' = lam b + (1 - lam) a.
    """
    cdef const dts_mix_kernels *k = get_mix()
    cdef float share = lam
    cdef size_t n = a.size
    cdef uint8_t[::1] left, right
    if a.dtype != b.dtype or a.size != b.size:
        raise ValueError("two arrays of the same dtype and size are needed")
    if not n:
        return
    left, right = a.reshape(-1).view(np.uint8), b.reshape(-1).view(np.uint8)
    name = a.dtype.name
    if name == "float32":
        k.f32(<float *> &left[0], <float *> &right[0], n, share)
    elif name == "float16":
        k.f16(<uint16_t *> &left[0], <uint16_t *> &right[0], n, share)
    elif name == "uint8":
        k.u8(&left[0], &right[0], n, share)
    else:
        raise TypeError(f"float32, float16 or uint8 is needed, not {name}")


class BatchTransform:
    """Base of the operations on whole batches: immutable parameters, checked when made.

    Parameters
    ----------
    alpha : float
        Of the distribution Beta(alpha, alpha), above 0 and up to 1000.
    num_classes : int, optional
        Columns of the soft labels; None: the classes of the data set.

    Raises
    ------
    ValueError
        A number outside its range.
    """

    def __init__(self, alpha=1.0, num_classes=None):
        self.alpha = check_number("alpha", alpha, 1e-3, 1e3)
        if num_classes is not None:
            if isinstance(num_classes, bool) or not isinstance(num_classes, Integral):
                raise ValueError(f"num_classes must be an integer, not {num_classes!r}")
            if not 1 <= num_classes <= MAX_CLASSES:
                raise ValueError(f"num_classes must lie in 1..{MAX_CLASSES}, not {num_classes}")
            num_classes = int(num_classes)
        self.num_classes = num_classes

    def __repr__(self):
        return f"{type(self).__name__}(alpha={self.alpha}, num_classes={self.num_classes})"

    def __eq__(self, other):
        if type(other) is not type(self):
            return NotImplemented
        return vars(self) == vars(other)

    def __hash__(self):
        return hash((type(self), self.alpha, self.num_classes))


class MixUp(BatchTransform):
    """Blend each picture of a batch with its partner: lam x + (1 - lam) y, and the labels too.

    Zhang et al., "mixup: Beyond Empirical Risk Minimization", 2018. One `lam` of
    Beta(alpha, alpha) for a batch, as in torchvision; rows 2k and 2k + 1 are partners, where
    torchvision takes the row before. The last row of a batch with an odd number of rows, and one
    whose partner was skipped, stays as it is.

    Parameters
    ----------
    alpha : float
        0.001..1000.
    num_classes : int, optional
        Columns of the soft labels; None: the classes of the data set.

    Raises
    ------
    ValueError
        A number outside its range.

    Notes
    -----
    float32 and float16 are mixed after normalisation, in float32, and rounded once; uint8 to the
    nearest level.
    """


class CutMix(BatchTransform):
    """Exchange a box of each picture of a batch with its partner, and mix the labels by area.

    Yun et al., "CutMix", 2019, with torchvision's box: its centre is anywhere, its sides are
    sqrt(1 - lam) of the picture's, and what hangs over the edge is cut off. One box for a batch.
    Partners are those of `MixUp`.

    Parameters
    ----------
    alpha : float
        0.001..1000.
    num_classes : int, optional
        Columns of the soft labels; None: the classes of the data set.

    Raises
    ------
    ValueError
        A number outside its range.
    """


_KINDS = {MixUp: MIX_UP, CutMix: MIX_CUT}


def shares_of(ops, p):
    """Return the probability of each batch operation.

    Parameters
    ----------
    ops : sequence of BatchTransform
    p : None, float or sequence of float
        As in ``Setup.batch_transforms``.

    Returns
    -------
    tuple of float

    Raises
    ------
    ValueError
        Not a probability, or a sum above 1.
    """
    if p is None or (isinstance(p, Real) and not isinstance(p, bool)):
        return (check_number("p", 1.0 if p is None else p, 0.0, 1.0) / len(ops),) * len(ops)
    shares = tuple(check_number("p", v, 0.0, 1.0) for v in p)
    if len(shares) != len(ops):
        raise ValueError(f"p must have a number for each of {len(ops)} operations, not {p!r}")
    if sum(shares) > 1.0 + 1e-9:
        raise ValueError(f"p must not sum to more than 1, as {p!r} does")
    return shares


cdef class Mixing:
    """Batch operations compiled.

    Parameters
    ----------
    ops : sequence of BatchTransform
        Empty: none.
    shares : sequence of float
        Probability of each; what is missing to 1 leaves batches as they are.
    classes : int
        Columns of the soft labels.

    Raises
    ------
    ValueError
        Too many operations.
    """

    def __cinit__(self, ops=(), shares=(), int classes=0):
        cdef int k
        cdef double upto = 0.0
        self.ops = tuple(ops)
        self.shares = tuple(shares)
        if len(self.ops) > MAX_MIX:
            raise ValueError(f"at most {MAX_MIX} batch operations, not {len(self.ops)}")
        memset(&self.c, 0, sizeof(self.c))
        self.c.n = len(self.ops)
        self.c.classes = classes
        for k, op in enumerate(self.ops):
            upto += self.shares[k]
            self.c.kind[k] = _KINDS[type(op)]
            self.c.alpha[k] = op.alpha
            # Sums of rounded shares must not leave a gap below 1.
            self.c.upto[k] = 1.0 if upto > 1.0 - 1e-9 else upto

    @property
    def classes(self):
        """Columns of the soft labels; 0 where there are none."""
        return self.c.classes

    def describe(self, seed, epoch, batch, height, width, view=0):
        """Return what is drawn for a batch.

        Parameters
        ----------
        seed, epoch, batch, view : int
        height, width : int
            Of the pictures, in pixels.

        Returns
        -------
        op : BatchTransform or None
        lam : float
            Share of a row's own label, a float32 value.
        box : tuple of int or None
            Top, left, height, width of what CutMix exchanges.
        """
        cdef dts_mix m
        mix_draw(&self.c, seed, epoch, view, batch, width, height, &m)
        op = self.ops[m.chosen] if m.chosen >= 0 else None
        return op, m.lam, (m.y, m.x, m.h, m.w) if m.kind == MIX_CUT else None
