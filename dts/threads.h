/* Threads, locks and atomics, for POSIX and Windows. All functions are free of Python.
 * A lock is only ever taken to hand over a block or a batch slot, never per sample. */
#ifndef DTS_THREADS_H
#define DTS_THREADS_H

#include <stddef.h>
#include <stdint.h>

/* Two cache lines: processors fetch them in pairs. */
#define DTS_LINE ((int64_t)128)
static inline size_t dts_line_up(size_t n) { return (n + (size_t)DTS_LINE - 1) & ~((size_t)DTS_LINE - 1); }
static inline void *dts_line_start(void *p) { return (void *)dts_line_up((size_t)p); }

#if defined(_WIN32)
#define WIN32_LEAN_AND_MEAN
#include <process.h>
#include <windows.h>
typedef SRWLOCK dts_mutex;
typedef CONDITION_VARIABLE dts_cond;
typedef HANDLE dts_thread;
static inline void dts_mutex_init(dts_mutex *m) { InitializeSRWLock(m); }
static inline void dts_mutex_destroy(dts_mutex *m) { (void)m; }
static inline void dts_mutex_lock(dts_mutex *m) { AcquireSRWLockExclusive(m); }
static inline void dts_mutex_unlock(dts_mutex *m) { ReleaseSRWLockExclusive(m); }
static inline void dts_cond_init(dts_cond *c) { InitializeConditionVariable(c); }
static inline void dts_cond_destroy(dts_cond *c) { (void)c; }
static inline void dts_cond_wait(dts_cond *c, dts_mutex *m) { SleepConditionVariableSRW(c, m, INFINITE, 0); }
static inline int dts_cond_wait_ms(dts_cond *c, dts_mutex *m, int ms) {
    return SleepConditionVariableSRW(c, m, (DWORD)ms, 0) ? 0 : 1;
}
static inline void dts_cond_signal(dts_cond *c) { WakeConditionVariable(c); }
static inline void dts_cond_broadcast(dts_cond *c) { WakeAllConditionVariable(c); }
typedef struct dts_thread_start_ { void (*run)(void *); void *arg; } dts_thread_start_;
static unsigned __stdcall dts_thread_main_(void *p) {
    dts_thread_start_ s = *(dts_thread_start_ *)p;
    HeapFree(GetProcessHeap(), 0, p);
    s.run(s.arg);
    return 0;
}
static inline int dts_thread_create(dts_thread *t, void (*run)(void *), void *arg, const char *name) {
    dts_thread_start_ *s = (dts_thread_start_ *)HeapAlloc(GetProcessHeap(), 0, sizeof *s);
    (void)name;
    if (!s) return -1;
    s->run = run;
    s->arg = arg;
    *t = (HANDLE)_beginthreadex(NULL, 0, dts_thread_main_, s, 0, NULL);
    if (!*t) { HeapFree(GetProcessHeap(), 0, s); return -1; }
    return 0;
}
static inline void dts_thread_join(dts_thread t) { WaitForSingleObject(t, INFINITE); CloseHandle(t); }
static inline int dts_thread_bind(const uint8_t *cpus, int64_t n_bytes) {
    (void)cpus;
    (void)n_bytes;
    return -1;
}
static inline int64_t dts_process_id(void) { return (int64_t)GetCurrentProcessId(); }
/* Nanoseconds of CPU time of the calling thread; of a monotonic clock. */
static inline int64_t dts_thread_cpu_ns(void) {
    FILETIME a, b, k, u;
    GetThreadTimes(GetCurrentThread(), &a, &b, &k, &u);
    return ((((int64_t)k.dwHighDateTime << 32) | k.dwLowDateTime) +
            (((int64_t)u.dwHighDateTime << 32) | u.dwLowDateTime)) * 100;
}
static inline int64_t dts_now_ns(void) {
    LARGE_INTEGER c, f;
    QueryPerformanceCounter(&c);
    QueryPerformanceFrequency(&f);
    return (int64_t)((double)c.QuadPart * 1e9 / (double)f.QuadPart);
}
#else
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#if defined(__linux__)
#include <sys/syscall.h>
#endif
typedef pthread_mutex_t dts_mutex;
typedef pthread_cond_t dts_cond;
typedef pthread_t dts_thread;
static inline void dts_mutex_init(dts_mutex *m) { pthread_mutex_init(m, NULL); }
static inline void dts_mutex_destroy(dts_mutex *m) { pthread_mutex_destroy(m); }
static inline void dts_mutex_lock(dts_mutex *m) { pthread_mutex_lock(m); }
static inline void dts_mutex_unlock(dts_mutex *m) { pthread_mutex_unlock(m); }
static inline void dts_cond_init(dts_cond *c) {
#if defined(__APPLE__)
    pthread_cond_init(c, NULL);
#else
    pthread_condattr_t a;
    pthread_condattr_init(&a);
    pthread_condattr_setclock(&a, CLOCK_MONOTONIC);
    pthread_cond_init(c, &a);
    pthread_condattr_destroy(&a);
#endif
}
static inline void dts_cond_destroy(dts_cond *c) { pthread_cond_destroy(c); }
static inline void dts_cond_wait(dts_cond *c, dts_mutex *m) { pthread_cond_wait(c, m); }
/* Returns 1 when the time ran out. */
static inline int dts_cond_wait_ms(dts_cond *c, dts_mutex *m, int ms) {
    struct timespec t;
#if defined(__APPLE__)
    t.tv_sec = ms / 1000;
    t.tv_nsec = (long)(ms % 1000) * 1000000L;
    return pthread_cond_timedwait_relative_np(c, m, &t) == ETIMEDOUT;
#else
    clock_gettime(CLOCK_MONOTONIC, &t);
    t.tv_sec += ms / 1000;
    t.tv_nsec += (long)(ms % 1000) * 1000000L;
    if (t.tv_nsec >= 1000000000L) { t.tv_sec += 1; t.tv_nsec -= 1000000000L; }
    return pthread_cond_timedwait(c, m, &t) == ETIMEDOUT;
#endif
}
static inline void dts_cond_signal(dts_cond *c) { pthread_cond_signal(c); }
static inline void dts_cond_broadcast(dts_cond *c) { pthread_cond_broadcast(c); }
typedef struct dts_thread_start_ { void (*run)(void *); void *arg; char name[16]; } dts_thread_start_;
static inline void *dts_thread_main_(void *p) {
    dts_thread_start_ s = *(dts_thread_start_ *)p;
    free(p);
#if defined(__linux__)
    extern int pthread_setname_np(pthread_t, const char *);
    pthread_setname_np(pthread_self(), s.name);
#endif
    s.run(s.arg);
    return NULL;
}
/* Starts a thread that takes no signals (they belong to the interpreter's main thread). Name: 15 characters. */
static inline int dts_thread_create(dts_thread *t, void (*run)(void *), void *arg, const char *name) {
    sigset_t all, old;
    int rc;
    dts_thread_start_ *s = (dts_thread_start_ *)malloc(sizeof *s);
    if (!s) return -1;
    s->run = run;
    s->arg = arg;
    { int i = 0; for (; i < 15 && name[i]; ++i) s->name[i] = name[i]; s->name[i] = 0; }
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    rc = pthread_create(t, NULL, dts_thread_main_, s);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (rc) free(s);
    return rc ? -1 : 0;
}
static inline void dts_thread_join(dts_thread t) { pthread_join(t, NULL); }
/* Let the calling thread run on these CPUs only: bit i % 8 of byte i / 8 is CPU i. 0, or -1: refused, or no such call. */
static inline int dts_thread_bind(const uint8_t *cpus, int64_t n_bytes) {
#if defined(__linux__) && defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    extern long syscall(long, ...);
    unsigned long mask[1024 / sizeof(unsigned long)] = {0}; /* 8192 CPUs, the most that Linux has */
    if (n_bytes < 1 || n_bytes > (int64_t)sizeof mask) return -1;
    memcpy(mask, cpus, (size_t)n_bytes);
    return syscall(SYS_sched_setaffinity, 0, sizeof mask, mask) == 0 ? 0 : -1;
#else
    (void)cpus;
    (void)n_bytes;
    return -1;
#endif
}
static inline int64_t dts_process_id(void) { return (int64_t)getpid(); }
/* Nanoseconds of CPU time of the calling thread; of a monotonic clock. */
static inline int64_t dts_clock_ns_(clockid_t id) {
    struct timespec t;
    clock_gettime(id, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}
static inline int64_t dts_thread_cpu_ns(void) { return dts_clock_ns_(CLOCK_THREAD_CPUTIME_ID); }
static inline int64_t dts_now_ns(void) { return dts_clock_ns_(CLOCK_MONOTONIC); }
#endif

#if defined(_MSC_VER) && !defined(__clang__)
static inline int64_t dts_load_acq(volatile int64_t *p) { return InterlockedOr64((volatile LONG64 *)p, 0); }
static inline void dts_store_rel(volatile int64_t *p, int64_t v) { InterlockedExchange64((volatile LONG64 *)p, v); }
static inline int64_t dts_fetch_add(volatile int64_t *p, int64_t v) {
    return InterlockedExchangeAdd64((volatile LONG64 *)p, v);
}
static inline int dts_compare_swap(volatile int64_t *p, int64_t *expected, int64_t v) {
    int64_t seen = InterlockedCompareExchange64((volatile LONG64 *)p, v, *expected);
    int same = seen == *expected;
    *expected = seen;
    return same;
}
#else
static inline int64_t dts_load_acq(volatile int64_t *p) { return __atomic_load_n(p, __ATOMIC_ACQUIRE); }
static inline void dts_store_rel(volatile int64_t *p, int64_t v) { __atomic_store_n(p, v, __ATOMIC_RELEASE); }
/* Returns the value before the addition; acquires and releases. */
static inline int64_t dts_fetch_add(volatile int64_t *p, int64_t v) {
    return __atomic_fetch_add(p, v, __ATOMIC_ACQ_REL);
}
/* Make *p v if it is *expected; returns whether it was. Else *expected becomes what it is. Acquires and releases. */
static inline int dts_compare_swap(volatile int64_t *p, int64_t *expected, int64_t v) {
    return __atomic_compare_exchange_n(p, expected, v, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}
#endif

#endif
