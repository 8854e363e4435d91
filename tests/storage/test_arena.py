"""Memory for blocks: place, size, life."""

import gc
import os

import numpy as np
import pytest

from dts.errors import ClosedError
from dts.storage.arena import SLACK, Arena, arena_bytes

BLOCK = 16 << 20


def test_size_and_place():
    arena = Arena(2)
    view = memoryview(arena)
    assert arena.blocks == 2
    assert arena.nbytes == view.nbytes == arena_bytes(2) == 2 * BLOCK + SLACK
    assert SLACK >= 64
    assert view.readonly
    assert np.asarray(view).ctypes.data % 4096 == 0
    assert bytes(view[-64:]) == bytes(64)  # readable to the end


def smaps_of(address):
    """List the lines of /proc/self/smaps about the mapping that holds an address."""
    lines = []
    with open("/proc/self/smaps") as file:
        for line in file:
            first = line.split()[0]
            if "-" in first:
                low, high = (int(x, 16) for x in first.split("-"))
                inside = low <= address < high
            elif inside:
                lines.append(line)
    return lines


@pytest.mark.skipif(not os.path.exists("/proc/self/smaps"), reason="needs /proc")
def test_asks_for_huge_pages():
    arena = Arena(1)
    address = np.asarray(memoryview(arena)).ctypes.data
    assert address % (2 << 20) == 0
    flags = next(line for line in smaps_of(address) if line.startswith("VmFlags:"))
    assert " hg" in flags


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="needs /proc")
def test_memory_comes_back():
    def space():
        with open("/proc/self/status") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("VmSize:"))

    before = space()
    arena = Arena(64)
    assert space() - before >= 64 * BLOCK / 1024
    arena.close()
    assert space() - before < 1024
    arena = Arena(64)
    del arena
    gc.collect()
    assert space() - before < 1024


def test_a_view_keeps_the_memory():
    arena = Arena(1)
    view = memoryview(arena)[100:200]
    arena.close()
    with pytest.raises(ClosedError):
        memoryview(arena)
    del arena
    gc.collect()
    assert bytes(view) == bytes(100)


def test_wrong_sizes():
    for blocks in (0, -1):
        with pytest.raises(ValueError, match="at least 1"):
            Arena(blocks)
    blocks = 1 << 30
    with pytest.raises(MemoryError, match=f"{arena_bytes(blocks)} bytes for {blocks} blocks"):
        Arena(blocks)
    arena = Arena(1)
    with pytest.raises(TypeError):
        arena.__init__(1)
