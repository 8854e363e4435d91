"""One sample, from bytes to its row of a batch."""

from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t

from dts.kernels.kernels cimport dts_norm
from dts.pipeline.render cimport dts_scratch
from dts.sample cimport dts_sample
from dts.status cimport dts_error
from dts.transforms.op cimport MAX_OPS, dts_op


ctypedef struct dts_plan:
    # All that is the same for every sample of a split. Read only once the threads run.
    uint64_t seed
    int split               # 0 train, 1 val
    int format              # FORMAT_* of render.pxd
    int channels            # decoded: 1 or 3
    int array_height        # samples are plain arrays of this size; 0: they are JPEG pictures
    int array_width
    int exif                # turn pictures upright, as EXIF says; sizes and boxes are then those
    int out_channels        # in a batch: channels, or 4
    int height              # of a finished sample
    int width
    int64_t sample_bytes
    dts_norm norm
    int n_ops
    const dts_op *ops
    uint8_t fill[MAX_OPS][16]   # what each op erases with: one pixel in the output's format


cdef int process_sample(dts_scratch *s, const dts_plan *plan, const dts_sample *sample,
                        uint32_t epoch, uint8_t *out, dts_error *error) noexcept nogil
