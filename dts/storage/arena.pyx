"""The memory that blocks are read into and samples are served from."""

from cpython.buffer cimport PyBuffer_FillInfo

from dts.format.block cimport DTS_BLOCK_BYTES

from dts.errors import ClosedError

SLACK = 4096  # readable bytes after the last block: vector loads may run past a picture's end


def arena_bytes(blocks):
    """Memory that an arena of so many blocks takes, in bytes."""
    return blocks * DTS_BLOCK_BYTES + SLACK


cdef class Arena:
    """Room for `blocks` blocks of 16 MiB in one anonymous mapping.

    Block i starts at byte i * 2^24. The mapping starts at a multiple of 2 MiB and asks for huge
    pages; memory is taken from the system page by page as blocks are first written.
    As a buffer it is read-only bytes of shape (nbytes,).

    Parameters
    ----------
    blocks : int
        How many, at least 1.
    nbytes : int, optional
        What they take together, where they differ in size: where each one starts is then the
        caller's.

    Raises
    ------
    MemoryError
        When the system refuses so much address space.
    """

    def __init__(self, int64_t blocks, int64_t nbytes=0):
        if self.pages.base != NULL or self.closed:
            raise TypeError("an arena is made once")
        if blocks < 1:
            raise ValueError(f"an arena needs at least 1 block, not {blocks}")
        cdef int64_t size = nbytes + SLACK if nbytes > 0 else arena_bytes(blocks)
        if dts_pages_get(&self.pages, size) != 0:
            raise MemoryError(f"the system refuses {size} bytes for {blocks} blocks")
        self.base = self.pages.base
        self.blocks = blocks
        self.nbytes = size

    cpdef close(self):
        """Give the memory back: now, or when the last memoryview of it ends."""
        self.closed = True
        if self.exports == 0:
            self.base = NULL
            dts_pages_free(&self.pages)

    def __getbuffer__(self, Py_buffer *view, int flags):
        if self.closed or self.base == NULL:
            raise ClosedError("the arena is closed")
        PyBuffer_FillInfo(view, self, self.base, self.nbytes, 1, flags)
        self.exports += 1

    def __releasebuffer__(self, Py_buffer *view):
        self.exports -= 1
        if self.closed:
            self.close()

    def __dealloc__(self):
        dts_pages_free(&self.pages)
