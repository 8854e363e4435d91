"""Blocks that are made of files while they are read: what a folder needs instead of a .dts file.

An IO thread opens, reads and closes one file after the other and writes a block as a .dts file
would hold it: head, table, pictures at multiples of 64 bytes. So whoever serves samples needs to
know nothing of files. A file that could not be had has offset 0 in the table, a status of
dts/status.h as its size, and what the system said (errno) as its label.
"""

cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t
from libc.string cimport memcpy

from dts.status cimport (DTS_BAD_CRC, DTS_BAD_IMAGE, DTS_CLOSED, DTS_IO, DTS_OK, DTS_TOO_LARGE,
                         DTS_TRUNCATED)
from dts.storage.fileio cimport dts_file_close, dts_file_open_wait, dts_file_read
from dts.storage.reader cimport BlockFeed, block_entry, block_feed, file_table
from dts.threads cimport dts_load_acq

import errno

import numpy as np

from dts.storage import arena as _arena

MAX_FILE = 256 << 20  # bytes; a larger file is an error when its turn comes

cdef enum:
    PATH_BYTES = 32768  # the longest path that any system takes
    HEAD = 12

cdef int64_t max_file = MAX_FILE
cdef int32_t name_too_long = errno.ENAMETOOLONG


cdef int64_t up64(int64_t n) noexcept nogil:
    return (n + 63) & ~<int64_t>63


cdef int path_of(const file_table *files, int64_t id, char *path) noexcept nogil:
    """Write root/folder/name and a NUL. -1 when it is too long."""
    cdef int64_t first = files.folder_start[files.folder[id]]
    cdef int64_t within = files.folder_start[files.folder[id] + 1] - first
    cdef int64_t name = files.length[id], at = files.root_length
    if at + within + name + 3 > PATH_BYTES:
        return -1
    memcpy(path, files.root, at)
    path[at] = b"/"
    at += 1
    if within:
        memcpy(path + at, files.folder_pool + first, within)
        at += within
        path[at] = b"/"
        at += 1
    memcpy(path + at, files.pool + files.start[id], name)
    path[at + name] = 0
    return 0


cdef int read_file(const file_table *files, int64_t id, uint8_t *to, int64_t *stop,
                   int32_t *os_errno) noexcept nogil:
    """The file of a sample, whole and of the size that was listed, or a status that says why not.
    """
    cdef char path[PATH_BYTES]
    cdef int64_t size = files.sizes[id], now = 0, got
    cdef int fd, status
    os_errno[0] = 0
    if size > max_file:
        return DTS_TOO_LARGE
    if path_of(files, id, path) != 0:
        os_errno[0] = name_too_long
        return DTS_IO
    fd = dts_file_open_wait(path, &now, stop, os_errno)
    if fd < 0:
        return DTS_CLOSED if dts_load_acq(stop) else DTS_IO
    if now != size:
        status = DTS_BAD_CRC if now > size else DTS_TRUNCATED
    elif size == 0:
        status = DTS_BAD_IMAGE
    else:
        status = dts_file_read(fd, -1, to, size, 0, 0, stop, &got, os_errno)
    dts_file_close(fd)
    return status


cdef int load_files(block_feed *feed, block_entry *block) noexcept nogil:
    cdef const file_table *files = feed.files
    cdef uint32_t *table = <uint32_t *>block.data
    cdef int64_t n = block.count, i, id, at = up64(HEAD + 12 * n)
    cdef int32_t os_errno = 0
    cdef int status
    block.status = DTS_OK
    block.os_errno = 0
    block.got = 0
    memcpy(table, b"LV0B", 4)
    table[1] = <uint32_t>block.number
    table[2] = <uint32_t>n
    table += 3
    for i in range(n):
        if dts_load_acq(&feed.stop):
            return DTS_CLOSED
        id = feed.ids[block.first_id + i]
        status = read_file(files, id, block.data + at, &feed.stop, &os_errno)
        if status == DTS_CLOSED:
            return DTS_CLOSED
        if status == DTS_OK:
            table[i] = <uint32_t>at
            table[n + i] = <uint32_t>files.sizes[id]
            table[2 * n + i] = <uint32_t>files.labels[id]
            block.got += files.sizes[id]
            at += up64(files.sizes[id])
        else:
            table[i] = 0
            table[n + i] = <uint32_t>status
            table[2 * n + i] = <uint32_t>os_errno
            block.os_errno = -1  # not all of the block came: FULLY tries it again next epoch
    return DTS_OK


@cython.no_gc_clear  # as BlockFeed
cdef class FolderFeed(BlockFeed):
    """The files of a folder, grouped into blocks, an arena for them, and the IO threads.

    Each IO thread has at most one file open.

    Parameters
    ----------
    blocks : dts.loaders.folder_blocks.FolderBlocks
    slots, threads, half : int
        As in BlockFeed. The arena has room for the largest so many blocks.
    """

    def __init__(self, blocks, int64_t slots, int64_t threads, int64_t half=0):
        cdef block_feed *feed = &self.feed
        cdef file_table *table = &self.table
        cdef int64_t i
        self.tables(blocks.block_starts, blocks.block_counts, slots, threads)
        for i in range(feed.n_blocks):
            feed.blocks[i].number = <int32_t>i
        rooms = np.ascontiguousarray(blocks.rooms, dtype=np.int64)
        largest = np.concatenate([[0], np.cumsum(np.sort(rooms)[::-1])])
        if half:
            self.half_bytes = largest[half]
            self.arena_bytes = largest[half] + largest[slots - half] + _arena.SLACK
        else:
            self.arena_bytes = largest[slots] + _arena.SLACK
        self.root = blocks.root
        self.pool, self.start, self.length, self.folder = blocks.file_names
        self.folder_pool, self.folder_start = blocks.folder_names
        self.sizes = blocks.sizes
        self.labels = blocks.labels
        self.ids = blocks.ids
        self.rooms = rooms
        self.extra_bytes = (self.sizes.nbytes + self.labels.nbytes + self.ids.nbytes
                            + self.rooms.nbytes + self.pool.nbytes + self.start.nbytes
                            + self.length.nbytes + self.folder.nbytes + self.folder_pool.nbytes
                            + self.folder_start.nbytes)
        table.root = self.root
        table.root_length = len(self.root)
        table.pool = &self.pool[0]
        table.start = &self.start[0]
        table.length = &self.length[0]
        table.folder = &self.folder[0]
        table.folder_pool = &self.folder_pool[0]
        table.folder_start = &self.folder_start[0]
        table.sizes = &self.sizes[0]
        table.labels = &self.labels[0]
        feed.ids = &self.ids[0]
        feed.rooms = &self.rooms[0]
        feed.files = table
        feed.load = load_files

    def __dealloc__(self):
        self.close()  # the threads end before the tables go
