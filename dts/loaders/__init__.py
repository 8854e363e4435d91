"""Samples of .dts files and of folders, in a reproducible order, without a copy."""

from dts.loaders.array_reader import ArrayReader
from dts.loaders.arrays import read_array_file, read_raw_arrays
from dts.loaders.cpus import default_threads
from dts.loaders.dts_reader import BlockReader
from dts.loaders.folder_reader import FolderReader
from dts.loaders.loader import DtsLoader
from dts.loaders.memory import available_bytes, check_fits, choose_mode
from dts.loaders.order import epoch_order
from dts.loaders.sample_loader import SampleLoader

__all__ = [
    "ArrayReader",
    "BlockReader",
    "DtsLoader",
    "FolderReader",
    "SampleLoader",
    "available_bytes",
    "check_fits",
    "choose_mode",
    "default_threads",
    "epoch_order",
    "read_array_file",
    "read_raw_arrays",
]
