"""apply_transforms: what the workers do to one picture, on an array."""

from libc.stdint cimport int64_t, uint8_t, uint32_t
from libc.string cimport memset

from dts.pipeline.plan cimport dts_plan
from dts.pipeline.render cimport FORMAT_UINT8, dts_scratch, scratch_free, scratch_init
from dts.pipeline.worker cimport process_sample
from dts.sample cimport dts_sample
from dts.status cimport DTS_OK, dts_error, dts_error_clear
from dts.transforms.chain cimport Chain

import operator
import time

import numpy as np

from dts.errors import from_status

cdef int64_t SLACK = 64     # bytes that kernels may read past a picture

_SPLITS = {"train": 0, "val": 1}


def apply_transforms(image, transforms, *, seed=0, epoch=0, id=0, split="train", view=0):
    """Apply transforms to one picture, exactly as a Preprocessor would to that sample.

    For looking at what a chain does, and for tests: a Preprocessor does the same without copies
    and on many threads.

    Parameters
    ----------
    image : ndarray of shape (h, w), (h, w, 1) or (h, w, 3), uint8
        Is not written to.
    transforms : Transform or sequence of Transform
        Flips and erasing come last, wherever they stand; erasing writes pixel values.
    seed : int
        0..2^64-1.
    epoch : int
        0..2^32-1.
    id : int
        Number of the sample, 0..2^44-1.
    split : str
        "train" or "val".
    view : int
        Which of several views of the sample, 0..127.

    Returns
    -------
    ndarray of shape (h', w') or (h', w', c), uint8
        A new array; as many dimensions as `image`.

    Raises
    ------
    TypeError
        `image` is not a uint8 array.
    ValueError
        Another shape, no pixels, an unknown split, numbers out of range, or a transform that
        cannot work on so many channels.
    """
    return _run(image, transforms, seed, epoch, id, split, view, 1)[0]


def transforms_time(image, transforms, pictures):
    """Measure what a chain costs for a picture, in the code of the workers, without Python.

    Parameters
    ----------
    image : ndarray of shape (h, w), (h, w, 1) or (h, w, 3), uint8
    transforms : Transform or sequence of Transform
        A chain whose result has one size.
    pictures : int
        How often it is done, 1 or more, each time with the draws of another sample.

    Returns
    -------
    float
        CPU time of this thread for one picture, in seconds. A chain without transforms copies.

    Raises
    ------
    TypeError, ValueError
        As `apply_transforms`.
    """
    if pictures < 1:
        raise ValueError(f"pictures must be 1 or more, not {pictures}")
    return _run(image, transforms, 0, 0, 0, "train", 0, pictures)[1] / pictures


def _run(image, transforms, seed, epoch, id, split, view, int pictures):
    """Return the result of the last of so many samples from `id` on, and the CPU time of all."""
    cdef dts_scratch scratch
    cdef dts_plan plan
    cdef dts_sample sample
    cdef dts_error error
    cdef Chain chain
    cdef uint8_t[::1] source, target
    cdef int i, k, status, _picture
    cdef uint32_t epoch_word
    image = np.asarray(image)
    if image.dtype != np.uint8:
        raise TypeError(f"image must be uint8, not {image.dtype}")
    shape = (*image.shape, 1) if image.ndim == 2 else image.shape
    if len(shape) != 3 or shape[2] not in (1, 3) or not image.size or max(shape) > 65_500:
        raise ValueError(f"image must be (h, w), (h, w, 1) or (h, w, 3), not {image.shape}")
    if split not in _SPLITS:
        raise ValueError(f"split must be 'train' or 'val', not {split!r}")
    seed, epoch, id, view = map(operator.index, (seed, epoch, id, view))
    for name, value, bits in (
        ("seed", seed, 64), ("epoch", epoch, 32), ("id", id, 44), ("view", view, 7)
    ):
        if not 0 <= value < 1 << bits:
            raise ValueError(f"{name} must lie in 0..2^{bits}-1, not {value}")
    chain = Chain([transforms] if hasattr(transforms, "compile") else transforms)
    for transform in chain.transforms:
        transform.check_channels(shape[2])
    steps = chain.describe(seed, epoch, _SPLITS[split], id, shape[1], shape[0], view)
    last = [s["output_size"] for s, t in zip(steps, chain.transforms) if not t.is_carrier]
    height, width = last[len(last) - 1] if last else shape[:2]
    memory = np.zeros(image.size + SLACK, np.uint8)
    memory[:image.size] = image.reshape(-1)
    out = np.empty((height, width, shape[2]), np.uint8)
    source, target = memory, out.reshape(-1)

    memset(&plan, 0, sizeof(plan))
    plan.seed = seed
    plan.split = _SPLITS[split]
    plan.first_view = view
    plan.views = 1
    plan.format = FORMAT_UINT8
    plan.channels = plan.out_channels = shape[2]
    plan.array_height, plan.array_width = shape[:2]
    plan.height, plan.width = height, width
    plan.sample_bytes = out.size
    plan.n_ops = chain.n
    plan.ops = chain.ops
    for i in range(chain.n):
        for k in range(plan.channels):
            plan.fill[i][k] = <uint8_t> min(max(<int> (chain.ops[i].value[k] + 0.5), 0), 255)
    memset(&sample, 0, sizeof(sample))
    sample.data = &source[0]
    sample.size = image.size
    sample.id = id
    epoch_word = epoch
    dts_error_clear(&error)
    status = scratch_init(&scratch)
    if status != DTS_OK:
        raise MemoryError("no memory for the transforms")
    start = time.thread_time()
    with nogil:
        for _picture in range(pictures):
            status = process_sample(&scratch, &plan, &sample, epoch_word, &target[0], 0, &error)
            sample.id += 1
            if status != DTS_OK:
                break
    seconds = time.thread_time() - start
    scratch_free(&scratch)
    if status != DTS_OK:
        problem = from_status(status, (<const char *> error.reason).decode("utf-8", "replace"))
        raise problem from chain.cause(error.reserved)
    return (out[:, :, 0] if image.ndim == 2 else out), seconds
