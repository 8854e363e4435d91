from libc.stdint cimport int64_t, uint8_t


cdef extern from "dts/threads.h" nogil:
    ctypedef struct dts_mutex:
        pass
    ctypedef struct dts_cond:
        pass
    ctypedef struct dts_thread:
        pass

    void dts_mutex_init(dts_mutex *m) noexcept
    void dts_mutex_destroy(dts_mutex *m) noexcept
    void dts_mutex_lock(dts_mutex *m) noexcept
    void dts_mutex_unlock(dts_mutex *m) noexcept
    void dts_cond_init(dts_cond *c) noexcept
    void dts_cond_destroy(dts_cond *c) noexcept
    void dts_cond_wait(dts_cond *c, dts_mutex *m) noexcept
    int dts_cond_wait_ms(dts_cond *c, dts_mutex *m, int ms) noexcept
    void dts_cond_signal(dts_cond *c) noexcept
    void dts_cond_broadcast(dts_cond *c) noexcept
    int dts_thread_create(dts_thread *t, void (*run)(void *) noexcept nogil, void *arg,
                          const char *name) noexcept
    void dts_thread_join(dts_thread t) noexcept
    int64_t dts_process_id() noexcept
    int64_t dts_thread_cpu_ns() noexcept
    int64_t dts_now_ns() noexcept
    int dts_thread_bind(const uint8_t *cpus, int64_t n_bytes) noexcept
    # Cache lines that one thread writes are apart from those of others by so much.
    const int64_t DTS_LINE
    void *dts_line_start(void *p) noexcept
    size_t dts_line_up(size_t n) noexcept
    int64_t dts_load_acq(int64_t *p) noexcept
    void dts_store_rel(int64_t *p, int64_t v) noexcept
    int64_t dts_fetch_add(int64_t *p, int64_t v) noexcept
    bint dts_compare_swap(int64_t *p, int64_t *expected, int64_t v) noexcept
