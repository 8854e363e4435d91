"""What is drawn for a whole batch: MixUp and CutMix."""

from libc.stdint cimport int64_t, uint32_t, uint64_t


cdef enum:
    MIX_NONE = 0
    MIX_UP = 1
    MIX_CUT = 2
    MAX_MIX = 16


ctypedef struct dts_mixing:
    # The batch operations of a split. n 0: none, and labels are plain.
    int n
    int classes
    int kind[MAX_MIX]
    double alpha[MAX_MIX]
    double upto[MAX_MIX]    # operation k is chosen by a number below this, and not below the last


ctypedef struct dts_mix:
    int chosen              # which operation; -1: none
    int kind                # MIX_*
    float lam               # share of a row's own label
    int x                   # CutMix: the box that is exchanged
    int y
    int w
    int h


cdef class Mixing:
    cdef dts_mixing c
    cdef readonly tuple ops
    cdef readonly tuple shares


# What happens to view `view` of a batch of pictures of width x height.
cdef void mix_draw(const dts_mixing *m, uint64_t seed, uint32_t epoch, int view, int64_t batch,
                   int width, int height, dts_mix *out) noexcept nogil
