"""One sample, from bytes to its rows of a batch."""

from libc.stdint cimport int64_t, uint8_t, uint32_t

from dts.pipeline.plan cimport dts_plan
from dts.pipeline.render cimport dts_scratch
from dts.sample cimport dts_sample
from dts.status cimport dts_error


# View v of the sample goes to out + v * view_bytes.
cdef int process_sample(dts_scratch *s, const dts_plan *plan, const dts_sample *sample,
                        uint32_t epoch, uint8_t *out, int64_t view_bytes,
                        dts_error *error) noexcept nogil
