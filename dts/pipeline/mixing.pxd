from libc.stdint cimport int64_t, uint32_t

from dts.pipeline.station cimport dts_slot
from dts.pipeline.plan cimport dts_plan
from dts.transforms.mix cimport dts_mixing


# Row `row` of the `rows` of a batch is finished, or lost where it is not `good`: write its soft
# labels, and mix it with its partner if that is finished too.
cdef void mix_finish(const dts_plan *plan, const dts_mixing *m, dts_slot *slot, uint32_t epoch,
                     int64_t batch, int64_t rows, int64_t row, int64_t label,
                     bint good) noexcept nogil
