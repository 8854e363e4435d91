"""ArrayReader: a split that is an array in memory, served sample by sample.

The contract is that of dts/loaders/loader.h. Nothing is ever waited for, so there is no lock and
no thread: an order, made anew in begin_epoch, and pointers into the array.
"""

cimport cython
from libc.stdint cimport int32_t, int64_t, uint32_t, uintptr_t
from libc.string cimport memset

from dts.loaders.array_reader cimport array_core
from dts.loaders.order cimport (ORDER_GLOBAL, ORDER_SEQUENTIAL, order_kind, seed_word,
                                split_number)
from dts.rng.philox cimport (DTS_KIND_REPLACE, DTS_KIND_SAMPLE_ORDER, DTS_KIND_WINDOW_ORDER,
                             dts_random_int, dts_shuffle_u32, dts_stream, dts_stream_next,
                             dts_stream_open)
from dts.sample cimport dts_sample
from dts.status cimport (DTS_BAD_CRC, DTS_CLOSED, DTS_END, DTS_INTERNAL, DTS_OK, dts_error,
                         dts_error_clear, dts_error_set)
from dts.threads cimport dts_load_acq, dts_process_id, dts_store_rel

import numpy as np

from dts.datasets.arrays import SLACK
from dts.errors import ClosedError, ConfigError, DtsError, from_status

cdef enum:
    DRAWS = 8  # replacements that are drawn before the walk over all others begins


cdef int serve(const array_core *core, int64_t id, int64_t position, dts_sample *out,
               dts_error *error) noexcept nogil:
    cdef int32_t file = 0
    while file + 1 < core.n_files and id >= core.starts[file + 1]:
        file += 1
    out.id = id
    out.volume = file
    out.block = 0
    out.index = <int32_t>(id - core.starts[file])
    if core.bad != NULL and core.bad[id]:
        out.data = NULL
        out.size = 0
        out.label = -1
        dts_error_clear(error)
        error.volume = out.volume
        error.block = out.block
        error.sample = out.index
        error.id = id
        error.position = position
        return dts_error_set(error, DTS_BAD_CRC, "bytes differ from those that were packed")
    out.data = core.pixels + id * core.sample_bytes
    out.size = <uint32_t>core.sample_bytes
    out.label = core.labels[id]
    return DTS_OK


cdef int array_sample_at(void *self, int worker, int64_t position, dts_sample *out,
                         dts_error *error) noexcept nogil:
    cdef array_core *core = <array_core *>self
    if worker < 0 or worker >= core.n_workers or position < 0:
        dts_error_clear(error)
        return dts_error_set(error, DTS_INTERNAL, "no such worker or position")
    if dts_load_acq(&core.stop):
        return DTS_CLOSED
    if position >= core.n:
        return DTS_END
    return serve(core, core.order[position], position, out, error)


cdef int array_replacement(void *self, int worker, int64_t position, const dts_sample *bad,
                           int attempt, dts_sample *out, dts_error *error) noexcept nogil:
    """Attempts 0..7: drawn among the others of the set; then all others in turn."""
    cdef array_core *core = <array_core *>self
    cdef dts_stream stream
    cdef uint32_t word = 0, others = <uint32_t>(core.n - 1)
    cdef int64_t id
    cdef int _
    memset(out, 0, sizeof(dts_sample))
    if dts_load_acq(&core.stop):
        return DTS_CLOSED
    if attempt < 0 or position < 0 or position >= core.n:
        dts_error_clear(error)
        return dts_error_set(error, DTS_INTERNAL, "no such position or attempt")
    if others == 0 or attempt >= DRAWS + <int64_t>others:
        return DTS_END
    stream = dts_stream_open(core.seed, DTS_KIND_REPLACE, core.split, 0, 0, core.epoch, bad.id)
    for _ in range((attempt if attempt < DRAWS else DRAWS) + 1):
        word = dts_stream_next(&stream)
    id = dts_random_int(word, others)
    if attempt > DRAWS:
        id = (id + attempt - DRAWS) % others
    return serve(core, id + (id >= bad.id), position, out, error)


cdef void array_finish(void *self, int worker) noexcept nogil:
    pass  # nothing here is used again for something else, so nobody waits for anybody


@cython.no_gc_clear  # workers below Python use these arrays until close()
cdef class ArrayReader:
    """The samples of a split that is in memory as one array, epoch after epoch.

    Serves sets of small pictures of one size, from original files and from .dts files alike. All
    of it is in memory (mode FULLY), and samples are handed out without a copy.

    Parameters
    ----------
    pixels : buffer of uint8, shape (samples * sample_bytes + SLACK,)
        Picture after picture; SLACK (dts.datasets.arrays) readable bytes behind the last.
    labels : array_like of int32, shape (samples,)
    sample_bytes : int
        Bytes of one picture.
    split : {"train", "val"}
        Which streams of random numbers the order comes from.
    order : {"global", "window", "sequential"}
        As in dts.loaders.order. There are no blocks here, so "window" is one window: a permutation
        of all samples too, by another stream.
    num_workers : int
        Consumers, numbered from 0.
    seed : int
        Taken mod 2^64.
    bad : array_like of uint8, shape (samples,), optional
        1 for samples that are known to be damaged: an error when their turn comes.
    paths : sequence of str
        The files it came from, for messages.
    counts : sequence of int, optional
        Samples of each of them, where there are several.
    bytes_read : int
        What reading it took, for `stats`.

    Attributes
    ----------
    memory_bytes : int
        What arrays and tables take.
    address : int
        Of the `dts_loader` of dts/loaders/loader.h, for C and ctypes; valid while this object
        lives. Close only when no worker is using it or a sample from it.

    Raises
    ------
    ConfigError
        Settings that cannot work, or arrays that do not fit each other.
    """

    def __init__(self, pixels, labels, int64_t sample_bytes, *, str split="train",
                 str order="global", int64_t num_workers=1, seed=0, bad=None,
                 paths=("memory",), counts=None, int64_t bytes_read=0):
        if self.view is not None or self.closed:
            raise TypeError("a reader is made once")
        if num_workers < 1:
            raise ConfigError(f"num_workers is at least 1, not {num_workers}")
        if not 1 <= sample_bytes <= 0x7FFFFFFF:
            raise ConfigError(f"sample_bytes is 1 to 2^31 - 1, not {sample_bytes}")
        self.core.kind = order_kind(order)
        self.core.split = split_number(split)
        self.core.seed = seed_word(seed)
        self.pixels = pixels
        self.labels = np.ascontiguousarray(labels, dtype=np.int32)
        self.core.n = n = self.labels.shape[0]
        if n < 1 or n > 0x7FFFFFFF:
            raise ConfigError(f"a set of {n} samples cannot be served")
        if self.pixels.shape[0] < n * sample_bytes + <int64_t>SLACK:
            raise ConfigError(f"{n} samples of {sample_bytes} bytes need an array of "
                              f"{n * sample_bytes + SLACK}, not {self.pixels.shape[0]}")
        counts = [n] if counts is None else list(counts)
        if sum(counts) != n or len(counts) != len(paths):
            raise ConfigError(f"counts {counts} of files {list(paths)} do not make {n} samples")
        if bad is not None:
            self.bad = np.array(bad, dtype=np.uint8)
            if self.bad.shape[0] != n:
                raise ConfigError(f"bad has {self.bad.shape[0]} entries for {n} samples")
            self.core.bad = &self.bad[0]
        self.starts = np.cumsum([0, *counts], dtype=np.int64)
        self.sequence = np.empty(n, dtype=np.uint32)
        self.next = np.zeros(num_workers, dtype=np.int64)
        self.view = memoryview(pixels).toreadonly()
        self.paths = list(paths)
        self.split = split
        self.mode = "FULLY"
        self.order = order
        self.bytes_read = bytes_read
        self.pid = dts_process_id()
        self.memory_bytes = (self.pixels.shape[0] + 8 * n + (0 if bad is None else n)
                             + 8 * num_workers)
        self.core.pixels = &self.pixels[0]
        self.core.sample_bytes = sample_bytes
        self.core.labels = &self.labels[0]
        self.core.order = &self.sequence[0]
        self.core.starts = &self.starts[0]
        self.core.n_files = len(self.paths)
        self.core.n_workers = num_workers
        self.core.stop = 1
        self.interface.self = &self.core
        self.interface.sample_at = array_sample_at
        self.interface.replacement = array_replacement
        self.interface.finish = array_finish
        self.interface.rest = array_finish
        self.interface.resume = array_finish

    def __len__(self):
        return self.core.n

    @property
    def address(self):
        return <uintptr_t>&self.interface

    def read_directly(self):
        """False: what was read stays in memory."""
        return False

    def bind_io(self, masks):
        """Nothing: there are no IO threads here."""

    cdef int alive(self) except -1:
        if self.view is None:
            raise ClosedError("the reader is closed")
        if self.pid != dts_process_id():
            raise ClosedError("the reader was made before a fork; make one in the child")
        return 0

    def begin_epoch(self, int64_t epoch):
        """Start an epoch; one that is running ends. No worker may be inside `sample_at`.

        Parameters
        ----------
        epoch : int
            0 to 2^32 - 1. Any order of epochs will do: nothing depends on what ran before.

        Returns
        -------
        int
            Samples in the epoch.
        """
        cdef int64_t i
        cdef array_core *core = &self.core
        cdef int stream
        self.alive()
        if not 0 <= epoch <= 0xFFFFFFFF:
            raise ConfigError(f"epoch is 0 to 2^32 - 1, not {epoch}")
        # The GIL is kept: no other thread of Python sees an order that is half made.
        dts_store_rel(&core.stop, 1)
        core.epoch = <uint32_t>epoch
        for i in range(core.n):
            core.order[i] = <uint32_t>i
        if core.kind != ORDER_SEQUENTIAL:
            stream = (DTS_KIND_SAMPLE_ORDER if core.kind == ORDER_GLOBAL
                      else DTS_KIND_WINDOW_ORDER)
            dts_shuffle_u32(core.order, core.n, core.seed, stream, core.split, core.epoch, 0)
        for i in range(core.n_workers):
            self.next[i] = i
        self.begun = True
        dts_store_rel(&core.stop, 0)
        return core.n

    def end_epoch(self):
        """End the epoch, wherever it is."""
        self.alive()
        dts_store_rel(&self.core.stop, 1)

    def get_next_sample(self, int64_t worker=0):
        """The next sample of one worker: worker w gets positions w, w + num_workers, and so on.

        Returns
        -------
        tuple of (int, memoryview, int) or None
            Label, pixels, sample id. None when the epoch is over.

        Raises
        ------
        CorruptError
            A sample that is known to be damaged. The next call goes on with the next one.
        """
        cdef int64_t start
        cdef int status
        cdef dts_sample sample
        cdef dts_error error
        self.alive()
        if not 0 <= worker < self.core.n_workers:
            raise IndexError(f"worker {worker} of {self.core.n_workers}")
        if not self.begun:
            raise DtsError("begin_epoch comes first")
        dts_error_clear(&error)
        status = array_sample_at(&self.core, <int>worker, self.next[worker], &sample, &error)
        if status == DTS_END or status == DTS_CLOSED:
            return None
        self.next[worker] += self.core.n_workers
        if status != DTS_OK:
            raise from_status(status, error.reason.decode("utf-8", "replace"),
                              path=self.paths[error.volume], sample=error.sample, id=error.id)
        start = sample.data - self.core.pixels
        return sample.label, self.view[start:start + sample.size], sample.id

    def close(self):
        """End everything; memory goes once no view of it is left. May be called again."""
        if self.view is None:
            return
        dts_store_rel(&self.core.stop, 1)
        self.closed = True
        self.view = None
        self.pixels = None
        self.labels = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def stats(self):
        """Counters since the reader was made, by the names of BlockReader's."""
        return {
            "bytes_read": self.bytes_read,
            "blocks_read": 0,
            "worker_waits": 0,
            "worker_wakes": 0,
            "worker_wait_s": 0.0,
            "io_waits": 0,
            "io_wait_s": 0.0,
            "io_bound": 0,
        }
