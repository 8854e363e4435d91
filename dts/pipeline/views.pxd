from libc.stdint cimport int64_t, uint32_t

from dts.pipeline.render cimport dts_scratch, dts_source
from dts.pipeline.plan cimport dts_plan


# Make *source, the picture open in the decoder, one in memory: what the views of the plan need of
# it is decoded, once. Returns a code of dts/status.h.
cdef int decode_for_all(dts_scratch *s, const dts_plan *plan, int64_t id, uint32_t epoch,
                        dts_source *source) noexcept nogil
