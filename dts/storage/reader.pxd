from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t

from dts.format.block cimport DTS_BLOCK_BYTES
from dts.status cimport dts_error
from dts.storage.arena cimport Arena
from dts.threads cimport dts_cond, dts_mutex, dts_thread


cdef enum:
    GATES = 16              # workers wait for block b at gate b mod GATES


# What the sample path needs of a block: one cache line.
ctypedef struct block_entry:
    int64_t state           # 0, then 1 once all below is true; atomic
    uint8_t *data           # where its bytes are, or will be
    int64_t first_id
    int64_t got             # bytes of it that its file has
    int64_t offset          # in its file
    int32_t count           # pictures
    int32_t status          # DTS_OK, or why the whole block is lost
    int32_t os_errno
    int32_t volume
    int32_t number          # within the file
    int32_t queued          # scratch of whoever fills the sequence

# Files that blocks are made of, by sample id. Names are not NUL-terminated; `pool` has those of
# the files, `folder_pool` those of their folders below the root.
ctypedef struct file_table:
    const char *root
    int64_t root_length
    const uint8_t *pool
    const int64_t *start
    const uint16_t *length
    const int32_t *folder
    const uint8_t *folder_pool
    const int64_t *folder_start     # one more than folders
    const int64_t *sizes
    const int32_t *labels

ctypedef struct volume_entry:
    int fd
    int direct              # the same file around the page cache; -1: not wanted, or refused
    int32_t level
    int64_t header_size
    int64_t num_classes

ctypedef struct feed_counters:
    int64_t bytes_read
    int64_t blocks_read
    int64_t worker_waits
    int64_t worker_wakes
    int64_t worker_wait_ns
    int64_t io_waits
    int64_t io_wait_ns

ctypedef struct io_thread:
    block_feed *feed
    int64_t index
    const uint8_t *mask     # CPUs to run on, feed.mask_bytes; NULL: all
    dts_thread handle

ctypedef struct block_feed:
    block_entry *blocks
    int64_t n_blocks
    const int64_t *rooms    # bytes of the arena that each block takes; NULL: DTS_BLOCK_BYTES
    const int64_t *ids      # of the samples, block after block; NULL: they count up
    const file_table *files     # NULL: the blocks are those of .dts files
    # Reads and checks one block. DTS_OK, whatever became of it; DTS_CLOSED: told to stop.
    int (*load)(block_feed *feed, block_entry *block) noexcept nogil
    volume_entry *volumes
    int64_t n_volumes
    uint8_t *base           # of the arena
    uint8_t *touched        # 1 for each room of DTS_BLOCK_BYTES that has memory; NULL: not known
    int32_t *sequence       # the blocks to load in this epoch, in order of need
    int64_t n_sequence
    int64_t n_threads
    int64_t mask_bytes
    int64_t stop            # 1 while no epoch runs; atomic
    # All above stays as it is while an epoch runs, and workers read it for every sample. What
    # follows is written under the lock, and lies apart from it.
    int64_t pad[16]
    int64_t next            # the first position of `sequence` that no IO thread has taken
    int64_t limit           # positions of `sequence` below it may be loaded now
    int64_t serial          # counts epochs, so that no wait outlives its own
    int64_t running         # IO threads still at work in this epoch
    int64_t closing
    feed_counters counters
    int64_t bound           # IO threads that run on the CPUs they were given
    dts_mutex lock          # guards next to bound, and the counters
    dts_cond ready[GATES]   # a block came, or the epoch ended
    dts_cond room           # the limit rose, an epoch began or ended
    dts_cond idle           # the last IO thread came to rest
    io_thread *threads
    int64_t pad_end[16]


cdef inline int64_t block_room(const block_feed *feed, int64_t block) noexcept nogil:
    return feed.rooms[block] if feed.rooms != NULL else DTS_BLOCK_BYTES

# The id of picture `index` of a block; ids grow with the index.
cdef inline int64_t picture_id(const block_feed *feed, const block_entry *block,
                               int64_t index) noexcept nogil:
    cdef int64_t place = block.first_id + index
    return feed.ids[place] if feed.ids != NULL else place


# Wait for a block: DTS_OK; DTS_CLOSED when its epoch ended; DTS_END when `ms` passed (never if
# negative).
cdef int feed_wait(block_feed *feed, int64_t block, int64_t serial, int ms) noexcept nogil

# Raise the limit. Call with the lock held.
cdef void feed_allow(block_feed *feed, int64_t limit) noexcept nogil

# Say in *error why `block` is lost.
cdef int feed_explain(block_feed *feed, int64_t block, dts_error *error) noexcept nogil


cdef class BlockFeed:
    cdef block_feed feed
    cdef void *entries          # what feed.blocks was cut from
    cdef int64_t pid            # threads live in the process that started them
    cdef int64_t started        # IO threads that run
    cdef readonly Arena arena
    cdef readonly int64_t slots
    cdef readonly int64_t arena_bytes   # known before the arena is made
    cdef readonly int64_t half_bytes    # where the second half of the arena starts
    cdef int64_t extra_bytes            # tables of a subclass
    cdef list file_paths
    cdef bytes masks                    # CPUs of the IO threads, one after the other
    cdef bint closed
    cdef tables(self, starts, counts, int64_t slots, int64_t threads)
    cdef start(self)
    cdef void begin(self, int64_t n_sequence, int64_t limit) noexcept nogil
    cdef int end(self, int ms) noexcept nogil
    cdef void stop_threads(self) noexcept nogil
    cpdef close(self)
