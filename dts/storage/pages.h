/* Large anonymous memory straight from the operating system: aligned for huge pages, and given back whole. */
#ifndef DTS_PAGES_H
#define DTS_PAGES_H

#include <stdint.h>

#define DTS_HUGE_PAGE ((int64_t)2 << 20)

typedef struct dts_pages {
    uint8_t *base;   /* multiple of DTS_HUGE_PAGE; NULL: none */
    int64_t size;    /* bytes usable from base on */
    void *mapping;   /* what was mapped */
    int64_t mapped;  /* bytes of it */
} dts_pages;

#if defined(_WIN32)
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
static inline int dts_pages_get(dts_pages *p, int64_t size) {
    p->mapped = size + DTS_HUGE_PAGE;
    p->mapping = VirtualAlloc(NULL, (SIZE_T)p->mapped, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
    if (!p->mapping) return -1;
    p->base = (uint8_t *)(((uintptr_t)p->mapping + DTS_HUGE_PAGE - 1) & ~(uintptr_t)(DTS_HUGE_PAGE - 1));
    p->size = size;
    return 0;
}
static inline void dts_pages_touch(void *at, int64_t size) {
    (void)at;
    (void)size;
}
static inline void dts_pages_free(dts_pages *p) {
    if (p->mapping) VirtualFree(p->mapping, 0, MEM_RELEASE);
    p->mapping = p->base = NULL;
}
#else
#include <sys/mman.h>
#if !defined(MAP_ANONYMOUS)
#define MAP_ANONYMOUS MAP_ANON
#endif
/* 0, or -1 when the system refuses. Pages are zero and take memory only once they are written. */
static inline int dts_pages_get(dts_pages *p, int64_t size) {
    p->mapped = size + DTS_HUGE_PAGE;
    p->mapping = mmap(NULL, (size_t)p->mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p->mapping == MAP_FAILED) {
        p->mapping = NULL;
        return -1;
    }
    p->base = (uint8_t *)(((uintptr_t)p->mapping + DTS_HUGE_PAGE - 1) & ~(uintptr_t)(DTS_HUGE_PAGE - 1));
    p->size = size;
#if defined(MADV_HUGEPAGE)
    (void)madvise(p->base, (size_t)size, MADV_HUGEPAGE); /* advice: refused where the kernel has none */
#endif
    return 0;
}
/* Take memory for these bytes from the system now, in one call. Only advice: what is refused comes page by page. */
static inline void dts_pages_touch(void *at, int64_t size) {
#if defined(__linux__)
    (void)madvise(at, (size_t)size, 23); /* MADV_POPULATE_WRITE, since Linux 5.14; older headers do not name it */
#else
    (void)at;
    (void)size;
#endif
}
static inline void dts_pages_free(dts_pages *p) {
    if (p->mapping) munmap(p->mapping, (size_t)p->mapped);
    p->mapping = p->base = NULL;
}
#endif

#endif
