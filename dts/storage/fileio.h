/* Positional reads of whole ranges, for POSIX and Windows. Files are the descriptors of Python's os.open, so that a file that
 * cannot be opened is reported by Python itself, and one descriptor serves all threads (a positional read moves no offset). */
#ifndef DTS_FILEIO_H
#define DTS_FILEIO_H

#include <errno.h>
#include <stdint.h>

#include "dts/status.h"
#include "dts/storage/pages.h"
#include "dts/threads.h"

#define DTS_READ_PIECE DTS_HUGE_PAGE /* between two pieces a thread looks whether it should stop */

#define DTS_SECTOR 4096 /* that direct reads must be multiples of, at most */

#if defined(_WIN32)
#include <fcntl.h>
#include <io.h>
#include <sys/stat.h>
/* Bytes read, 0 at the end of the file, -1 with *os_errno set. */
static inline int64_t dts_read_once_(int fd, void *to, int64_t length, int64_t offset, int32_t *os_errno) {
    HANDLE file = (HANDLE)_get_osfhandle(fd);
    OVERLAPPED where;
    DWORD got = 0;
    memset(&where, 0, sizeof where);
    where.Offset = (DWORD)offset;
    where.OffsetHigh = (DWORD)((uint64_t)offset >> 32);
    if (ReadFile(file, to, (DWORD)length, &got, &where)) return (int64_t)got;
    if (GetLastError() == ERROR_HANDLE_EOF) return 0;
    *os_errno = EIO;
    return -1;
}
static inline void dts_file_close(int fd) { _close(fd); }
/* See below. */
static inline int dts_file_open(const char *path, int64_t *size, int32_t *os_errno) {
    wchar_t wide[32768];
    struct _stat64 st;
    int fd;
    if (!MultiByteToWideChar(CP_UTF8, 0, path, -1, wide, 32768)) {
        *os_errno = EINVAL;
        return -1;
    }
    fd = _wopen(wide, _O_RDONLY | _O_BINARY);
    if (fd < 0 || _fstat64(fd, &st) != 0) {
        *os_errno = errno;
        if (fd >= 0) _close(fd);
        return -1;
    }
    *size = (int64_t)st.st_size;
    return fd;
}
static inline void dts_file_pause(void) { Sleep(1); }
#else
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
static inline int64_t dts_read_once_(int fd, void *to, int64_t length, int64_t offset, int32_t *os_errno) {
    for (;;) {
        const ssize_t got = pread(fd, to, (size_t)length, (off_t)offset);
        if (got >= 0) return (int64_t)got;
        if (errno == EINTR) continue;
        *os_errno = errno;
        return -1;
    }
}
static inline void dts_file_close(int fd) { close(fd); }
/* A descriptor, with the size the file has now; -1 with *os_errno set where there is no regular file to read. Never waits,
 * as opening a pipe would. */
static inline int dts_file_open(const char *path, int64_t *size, int32_t *os_errno) {
    struct stat st;
    int fd;
    do fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    while (fd < 0 && errno == EINTR);
    if (fd < 0 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        *os_errno = fd < 0 ? errno : S_ISDIR(st.st_mode) ? EISDIR : EINVAL;
        if (fd >= 0) close(fd);
        return -1;
    }
    *size = (int64_t)st.st_size;
    return fd;
}
static inline void dts_file_pause(void) {
    const struct timespec ms = {0, 1000000};
    nanosleep(&ms, NULL);
}
#endif

/* As dts_file_open, and waits up to 5 s where all descriptors of the process or of the system are taken. */
static inline int dts_file_open_wait(const char *path, int64_t *size, volatile int64_t *stop, int32_t *os_errno) {
    int i;
    for (i = 0;; ++i) {
        const int fd = dts_file_open(path, size, os_errno);
        if (fd >= 0 || (*os_errno != EMFILE && *os_errno != ENFILE) || i == 5000 || dts_load_acq(stop)) return fd;
        dts_file_pause();
    }
}

/* Read bytes [offset, offset + length) of the file into `to`, piece by piece. *got: bytes that arrived.
 * direct: -1, or a descriptor of the same file that reads around the page cache. It is given all in one request, and what
 * it refuses, as it does the end of a file that is no multiple of its sectors, is read in the other way.
 * fresh: nothing was written there yet, so memory is taken from the system first, a piece at a time: that is quicker than
 * to run into every missing page while bytes are copied, and a piece that was just cleared is still in a near cache.
 * DTS_OK; DTS_TRUNCATED when the file ends first; DTS_IO with *os_errno; DTS_CLOSED when *stop became non-zero. */
static inline int dts_file_read(int fd, int direct, uint8_t *to, int64_t length, int64_t offset, int fresh,
                                volatile int64_t *stop, int64_t *got, int32_t *os_errno) {
    *got = 0;
    while (*got < length) {
        const int64_t left = length - *got;
        const int64_t piece = direct >= 0 || left < DTS_READ_PIECE ? left : DTS_READ_PIECE;
        int64_t n;
        if (dts_load_acq(stop)) return DTS_CLOSED;
        if (fresh) dts_pages_touch(to + *got, piece);
        n = dts_read_once_(direct >= 0 ? direct : fd, to + *got, piece, offset + *got, os_errno);
        if (direct >= 0 && (n <= 0 || n % DTS_SECTOR != 0)) {
            direct = -1;
            *os_errno = 0;
            continue;
        }
        if (n < 0) return DTS_IO;
        if (n == 0) return DTS_TRUNCATED;
        *got += n;
    }
    return DTS_OK;
}

#endif
