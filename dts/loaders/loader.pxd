from libc.stdint cimport int64_t

from dts.sample cimport dts_sample
from dts.status cimport dts_error


cdef extern from "dts/loaders/loader.h" nogil:
    ctypedef struct dts_loader:
        void *self
        int (*sample_at)(void *self, int worker, int64_t position, dts_sample *out,
                         dts_error *error) noexcept nogil
        int (*replacement)(void *self, int worker, int64_t position, const dts_sample *bad,
                           int attempt, dts_sample *out, dts_error *error) noexcept nogil
        void (*finish)(void *self, int worker) noexcept nogil
        void (*rest)(void *self, int worker) noexcept nogil
        void (*resume)(void *self, int worker) noexcept nogil
