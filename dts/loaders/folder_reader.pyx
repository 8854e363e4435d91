"""FolderReader: one split of a class folder tree, served sample by sample."""

cimport cython
from libc.stdint cimport int64_t

from dts.loaders.dts_reader cimport BlockReader
from dts.storage.folder_feed cimport FolderFeed
from dts.storage.reader cimport BlockFeed

from dts.loaders.folder_blocks import FolderBlocks


@cython.final
@cython.no_gc_clear  # as BlockReader
cdef class FolderReader(BlockReader):
    """The files of a folder, epoch after epoch, with everything that BlockReader promises.

    Files are read in groups of up to 16 MiB (see FolderBlocks) by the IO threads, each of which
    has one file open at a time. The order is that of BlockReader over a .dts file with these
    blocks. A file that is missing, cannot be read, is empty, over 256 MiB, or not of the size that
    was listed is the error of its own sample, whose `volume` is its id (block and index: -1).

    Parameters
    ----------
    listing : dts.datasets.listing.Listing
        Sample id = position in it.
    split, mode, order, window, load_workers, num_workers, seed, bad
        As in BlockReader.
    """

    def __init__(self, listing, *, str split="train", str mode="PARTIAL", str order="window",
                 int64_t window=32, int64_t load_workers=1, int64_t num_workers=1, seed=0,
                 bad=None):
        blocks = FolderBlocks(listing, spread=order == "window")
        BlockReader.__init__(self, blocks, split=split, mode=mode, order=order, window=window,
                             load_workers=load_workers, num_workers=num_workers, seed=seed,
                             bad=bad)

    cdef BlockFeed make_feed(self, int64_t slots, int64_t threads):
        return FolderFeed(self.file, slots, threads, self.core.half)
