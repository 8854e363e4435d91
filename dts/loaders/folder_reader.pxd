from dts.loaders.dts_reader cimport BlockReader


cdef class FolderReader(BlockReader):
    pass
