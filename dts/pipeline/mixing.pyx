"""Mixing two rows of a batch, by whoever finishes the second of them.

Rows 2k and 2k + 1 are partners. Nobody waits for anybody, no row is kept twice, and the work lies
with all workers; each row is read and written once more, mostly while it is in a cache.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t
from libc.string cimport memset

from dts.kernels.kernels cimport dts_mix_kernels, get_mix, swap_bytes
from dts.pipeline.render cimport FORMAT_FLOAT16, FORMAT_FLOAT32, format_bytes
from dts.pipeline.station cimport dts_slot
from dts.pipeline.plan cimport dts_plan
from dts.threads cimport dts_fetch_add
from dts.transforms.mix cimport MIX_NONE, MIX_UP, Mixing, dts_mix, dts_mixing, mix_draw

import numpy as np

cdef enum:
    GOOD = 1    # what the first of two rows leaves behind
    LOST = 2


cdef void blend(const dts_plan *plan, float lam, uint8_t *a, uint8_t *b) noexcept nogil:
    cdef const dts_mix_kernels *k = get_mix()
    cdef size_t n = <size_t> plan.height * plan.width * plan.out_channels
    if plan.format == FORMAT_FLOAT16:
        k.f16(<uint16_t *> a, <uint16_t *> b, n, lam)
    elif plan.format == FORMAT_FLOAT32:
        k.f32(<float *> a, <float *> b, n, lam)
    else:
        k.u8(a, b, n, lam)


cdef void exchange(const dts_plan *plan, const dts_mix *mix, uint8_t *a,
                   uint8_t *b) noexcept nogil:
    cdef int64_t pixel = plan.out_channels * format_bytes(plan.format)
    cdef int64_t at
    cdef int y
    for y in range(mix.y, mix.y + mix.h):
        at = (<int64_t> y * plan.width + mix.x) * pixel
        swap_bytes(a + at, b + at, <size_t> (mix.w * pixel))


cdef void mix_finish(const dts_plan *plan, const dts_mixing *m, dts_slot *slot, uint32_t epoch,
                     int64_t batch, int64_t rows, int64_t row, int64_t label,
                     bint good) noexcept nogil:
    cdef dts_mix mix
    cdef float *mine
    cdef float *other
    cdef int64_t at, to, before, partner = row ^ 1, theirs
    cdef int view
    if good:  # the loaders see to it that a label is below the number of classes
        slot.own[row] = <int32_t> label
        for view in range(plan.views):
            mine = slot.soft + (view * rows + row) * m.classes
            memset(mine, 0, m.classes * sizeof(float))
            mine[label] = 1.0
    if partner >= rows:
        return
    before = dts_fetch_add(&slot.pair[row >> 1], GOOD if good else LOST)
    if before != GOOD or not good:
        return
    theirs = slot.own[partner]
    for view in range(plan.views):
        mix_draw(m, plan.seed, epoch, view, batch, plan.width, plan.height, &mix)
        if mix.kind == MIX_NONE:
            continue
        at = view * rows + row
        to = view * rows + partner
        if mix.kind == MIX_UP:
            blend(plan, mix.lam, slot.images + at * plan.sample_bytes,
                  slot.images + to * plan.sample_bytes)
        else:
            exchange(plan, &mix, slot.images + at * plan.sample_bytes,
                     slot.images + to * plan.sample_bytes)
        mine = slot.soft + at * m.classes
        other = slot.soft + to * m.classes
        mine[label] = mix.lam
        mine[theirs] += <float> 1.0 - mix.lam
        other[theirs] = mix.lam
        other[label] += <float> 1.0 - mix.lam


def mix_records(Mixing mixing, seed, epoch, index, height, width, views, bad):
    """Tell what happened to each row of a batch.

    Parameters
    ----------
    mixing : Mixing
    seed, epoch, index : int
        Of the run, and number of the batch.
    height, width : int
        Of the pictures, in pixels.
    views : int
        Views of each sample.
    bad : bool array of shape (n,)
        Samples that were left out.

    Returns
    -------
    list of (op, lam, partner, box)
        One for each view: the operation or None; float32 and int64 arrays over the rows that are
        left; (top, left, height, width) or None.
    """
    row = np.arange(len(bad))
    partner = row ^ 1
    alone = partner >= len(bad)
    partner[alone] = row[alone]
    alone |= bad[partner]
    partner[alone] = row[alone]
    left = ~bad
    place = np.cumsum(left) - 1
    found = []
    for view in range(views):
        op, share, box = mixing.describe(seed, epoch, index, height, width, view)
        lam = np.where(alone, np.float32(1), np.float32(share))[left]
        other = row if op is None else partner
        found.append((op, lam, place[other[left]] + view * int(left.sum()), box))
    return found
