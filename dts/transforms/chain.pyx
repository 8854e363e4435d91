"""A chain of transforms in the form that the workers run."""

from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memset

from dts.rng.philox cimport DTS_KIND_AUGMENT, dts_stream, dts_stream_open
from dts.transforms.op cimport (
    MAX_OPS, OP_ERASE, OP_FLIP, OP_GEOMETRY, OP_PIXELS, OP_VFLIP, Op, dts_draw, dts_op, is_carrier,
)

_KIND_NAMES = {
    OP_GEOMETRY: "crop", OP_FLIP: "flip", OP_VFLIP: "vflip", OP_ERASE: "erase",
    OP_PIXELS: "pixels",
}


cdef void chain_draw(const dts_op *ops, int n, uint64_t seed, uint32_t epoch, int split, int view,
                     int64_t id, int width, int height, dts_draw *out) noexcept nogil:
    cdef int i, turn
    cdef int w = width, h = height
    cdef dts_stream s
    # Carriers act on the finished picture, so they are drawn when its size is known.
    for turn in range(2):
        for i in range(n):
            if is_carrier(ops[i].kind) != (turn == 1):
                continue
            s = dts_stream_open(seed, DTS_KIND_AUGMENT, split, view, ops[i].position, epoch, id)
            out[i].kind = ops[i].kind
            out[i].in_w = w
            out[i].in_h = h
            out[i].x = out[i].y = out[i].w = out[i].h = 0
            memset(out[i].value, 0, sizeof(out[i].value))
            memset(out[i].choice, 0, sizeof(out[i].choice))
            ops[i].draw(&ops[i], &s, &out[i])
            out[i].stream = s
            w = out[i].out_w
            h = out[i].out_h


cdef class Chain:
    """Transforms compiled in order.

    Parameters
    ----------
    transforms : sequence of Transform
        At most 64.

    Raises
    ------
    ValueError
        Too many transforms.
    """

    def __cinit__(self, transforms):
        cdef Op op
        self.transforms = tuple(transforms)
        self.kept = []
        self.n = len(self.transforms)
        if self.n > MAX_OPS:
            raise ValueError(f"a chain takes at most {MAX_OPS} transforms, not {self.n}")
        self.ops = <dts_op *> calloc(max(self.n, 1), sizeof(dts_op))
        if self.ops == NULL:
            raise MemoryError("no memory for a chain of transforms")
        for position, transform in enumerate(self.transforms):
            op = transform.compile(position)
            self.ops[<int> position] = op.op
            self.kept.append(op.keep)

    def __dealloc__(self):
        free(self.ops)

    def cause(self, number):
        """Return the exception that a Python function raised, by the number in its error record.

        Parameters
        ----------
        number : int

        Returns
        -------
        BaseException or None
        """
        for kept in self.kept:
            found = getattr(kept, "failures", {}).get(number)
            if found is not None:
                return found
        return None

    def describe(self, uint64_t seed, uint32_t epoch, int split, int64_t id, int width,
                 int height, int view=0):
        """Return what is drawn for one sample, one dict for each transform.

        Parameters
        ----------
        seed : int
            0..2^64-1.
        epoch, split, id : int
            Epoch, 0 train or 1 val, sample id.
        width, height : int
            The picture's size, in pixels.
        view : int
            Which of several views of the sample.

        Returns
        -------
        list of dict
            ``transform``, ``kind`` ("crop", "flip", "vflip", "erase" or "pixels"), ``applied``,
            ``box`` (top, left, height, width, in pixels), ``input_size`` and ``output_size``
            (height, width), and what else that transform draws, by name.
        """
        cdef dts_draw draws[MAX_OPS]
        cdef int i
        chain_draw(self.ops, self.n, seed, epoch, split, view, id, width, height, draws)
        return [
            {
                "transform": self.transforms[i],
                "kind": _KIND_NAMES[draws[i].kind],
                "applied": bool(draws[i].applied),
                "box": (draws[i].y, draws[i].x, draws[i].h, draws[i].w),
                "input_size": (draws[i].in_h, draws[i].in_w),
                "output_size": (draws[i].out_h, draws[i].out_w),
                **self.transforms[i].drawn(tuple(draws[i].value), tuple(draws[i].choice)),
            }
            for i in range(self.n)
        ]
