"""All that is the same for every sample of a split."""

from libc.stdint cimport int64_t, uint8_t, uint64_t

from dts.kernels.kernels cimport dts_norm
from dts.transforms.op cimport MAX_OPS, dts_op


ctypedef struct dts_plan:
    # All that is the same for every sample of a split. Read only once the threads run.
    uint64_t seed
    int split               # 0 train, 1 val
    int first_view          # part of the random key; with several views, of the first
    int views               # of each sample, out of one decode
    int format              # FORMAT_* of render.pxd
    int channels            # decoded: 1 or 3
    int array_height        # samples are plain arrays of this size; 0: they are JPEG pictures
    int array_width
    int exif                # turn pictures upright, as EXIF says; sizes and boxes are then those
    int fast_decode         # decode at a smaller scale where the box is far larger than its target
    int out_channels        # in a batch: channels, or 4
    int height              # of a finished sample
    int width
    int64_t sample_bytes
    dts_norm norm
    int n_ops
    const dts_op *ops
    uint8_t fill[MAX_OPS][16]   # what each op erases with: one pixel in the output's format
