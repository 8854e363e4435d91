"""Filling blocks."""

import zlib

import numpy as np

from dts.datasets.places import Place
from dts.export.blocks import pack_pictures, read_files
from dts.export.pictures import Encoded
from dts.format.layout import BLOCK_BYTES


def never():
    return False


def files_of(folder, make, sizes):
    paths = []
    for k, size in enumerate(sizes):
        data = make.jpeg(k, 40, 30)
        path = folder / f"{k}.jpg"
        path.write_bytes(data + bytes([k]) * (size - len(data)))
        paths.append(Place(bytes(path)))
    return paths


def test_memory_of_a_block_that_is_used_again_leaves_no_trace(tmp_path, make):
    sizes = [5000, 4097, 64 * 100, 9001]
    places, labels = files_of(tmp_path, make, sizes), [0, 1, 2, 0]
    fresh = read_files(7, places, sizes, labels, never)
    used = bytearray(b"\xff") * BLOCK_BYTES
    again = read_files(7, places, sizes, labels, never, used)
    assert again.data is used
    assert again.data == fresh.data
    assert again.crc == fresh.crc == zlib.crc32(fresh.data)
    assert (again.sample_crcs == fresh.sample_crcs).all()


def test_checksums_are_those_of_the_bytes(make):
    pictures = [Encoded(make.jpeg(k, 60 + k, 40), 60 + k, 40) for k in range(5)]
    block = pack_pictures(3, 2, pictures, np.arange(5))
    assert block.crc == zlib.crc32(block.data)
    assert block.sample_crcs.tolist() == [zlib.crc32(p.data) for p in pictures]
