/* Asking for cache lines before they are written. */
#ifndef DTS_FETCH_H
#define DTS_FETCH_H

#include <stddef.h>

/* Own the lines of [p, p + bytes) by the time they are written. A row of a batch is written at one go, into lines that
 * no cache holds; the processor queues some 60 stores, and without this stands still until the first of them have
 * their lines. Never faults, and changes nothing but time. */
static inline void dts_fetch_to_write(void *p, size_t bytes) {
    char *line = (char *)p;
    char *const end = line + bytes;
    for (; line < end; line += 64) {
#if defined(__GNUC__) && defined(__x86_64__)
        /* The builtin gives PREFETCHT0, which leaves a line shared with other cores, unless the whole file is compiled
         * for newer CPUs. All 64-bit ones take this instruction. */
        __asm__ volatile("prefetchw %0" : : "m"(*line));
#elif defined(__GNUC__)
        __builtin_prefetch(line, 1, 3);
#else
        (void)line;
#endif
    }
}

#endif
