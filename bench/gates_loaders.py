"""Loading without decoding: blocks in, samples out, against plain reads of the same file.

All with the file in the page cache. A C compiler (``cc``) makes the loop that asks for samples
without Python.
"""

import contextlib
import ctypes
import functools
import mmap
import os
import subprocess
import threading

from harness import NotHere, gate
from room import ROOT, timed

from dts.format import DtsFile
from dts.format.layout import BLOCK_BYTES
from dts.loaders.dts_reader import BlockReader

THREADS, WINDOW = 2, 8
PIECE = 4 << 20

DRAIN = """
#include "dts/loaders/loader.h"
long long drain(dts_loader *loader, long long n) {
    dts_sample sample;
    dts_error error;
    long long bytes = 0;
    for (long long i = 0; i < n; ++i) {
        if (loader->sample_at(loader->self, 0, i, &sample, &error)) return -1;
        bytes += sample.size;
    }
    loader->finish(loader->self, 0);
    return bytes;
}
"""


@functools.cache
def compiled(folder):
    """Return the C function that takes n samples of the epoch that was begun."""
    source, library = folder / "drain.c", folder / "drain.so"
    source.write_text(DRAIN)
    command = ["cc", "-O2", "-shared", "-fPIC", f"-I{ROOT}", "-o", library, source]
    try:
        subprocess.run(command, check=True)
    except OSError as error:
        raise NotHere(f"no C compiler: {error}") from None
    function = ctypes.CDLL(str(library)).drain
    function.restype = ctypes.c_longlong
    function.argtypes = [ctypes.c_void_p, ctypes.c_longlong]
    return function


class Reader:
    """A BlockReader over the long file whose epochs go by without decoding."""

    def __init__(self, room, *, direct=False, **options):
        self._drain = compiled(room.path)
        self._file = DtsFile(room.long)
        self._reader = BlockReader(self._file, load_workers=THREADS, seed=1, **options)
        if direct and not self._reader.read_directly():
            raise NotHere("no direct reads on this file system")
        self.samples = len(self._reader)
        self._epoch = 0

    def begin(self):
        self._reader.begin_epoch(self._epoch)
        self._epoch += 1

    def drain(self):
        assert self._drain(self._reader.address, self.samples) > 0

    def epoch(self):
        self.begin()
        self.drain()
        self._reader.end_epoch()

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self._reader.close()
        self._file.close()


def fresh_memory(nbytes, huge):
    memory = mmap.mmap(-1, nbytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if huge:
        memory.madvise(mmap.MADV_HUGEPAGE)
    return memory


def plain_read(path, memory):
    """Read all blocks with `THREADS` threads into memory, round and round if it is shorter."""
    blocks = os.path.getsize(path) // BLOCK_BYTES - 1
    places = len(memory) // BLOCK_BYTES
    fd = os.open(path, os.O_RDONLY)

    def work(thread):
        for block in range(thread, blocks, THREADS):
            for piece in range(0, BLOCK_BYTES, PIECE):
                at = block % places * BLOCK_BYTES + piece
                os.preadv(fd, [view[at : at + PIECE]], BLOCK_BYTES * (1 + block) + piece)

    with memoryview(memory) as view:
        pool = [threading.Thread(target=work, args=(t,)) for t in range(THREADS)]
        for thread in pool:
            thread.start()
        for thread in pool:
            thread.join()
    os.close(fd)


@gate("PARTIAL, an epoch", against="pread into a reused buffer", at_least=0.9, cpus=2)
def partial(room):
    """Steady state: blocks read, checked and handed out."""
    memory = fresh_memory(2 * WINDOW * BLOCK_BYTES, huge=True)
    with Reader(room, mode="PARTIAL", window=WINDOW) as reader, contextlib.closing(memory):
        while True:
            yield timed(reader.epoch), timed(plain_read, room.long, memory)


def forget(path):
    """Drop a file from the page cache."""
    if not hasattr(os, "posix_fadvise"):
        raise NotHere("no posix_fadvise")
    fd = os.open(path, os.O_RDONLY)
    os.fsync(fd)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(fd)


@gate("cold file", against="cold pread", at_least=0.95, cpus=2, direct=False)
@gate("cold file, direct_io", against="cold pread", at_least=0.95, cpus=2, direct=True)
def cold(room, direct):
    """An epoch of PARTIAL from the disk. A disk that is unsteady counts as a busy machine."""
    memory = fresh_memory(2 * WINDOW * BLOCK_BYTES, huge=True)
    with (
        Reader(room, direct=direct, mode="PARTIAL", window=WINDOW) as reader,
        contextlib.closing(memory),
    ):
        while True:
            forget(room.long)
            figure = timed(reader.epoch)
            forget(room.long)
            yield figure, timed(plain_read, room.long, memory)


def touch(nbytes):
    """Use so much memory for a moment: a virtual machine then has it from its host."""
    memory = fresh_memory(nbytes, huge=True)
    with contextlib.closing(memory), memoryview(memory) as view:
        view[:: mmap.PAGESIZE] = bytes(-(-nbytes // mmap.PAGESIZE))


@gate("FULLY, first epoch", against="pread into fresh memory", at_least=1.5, cpus=2)
def fill(room):
    """The whole file into memory, against reads into memory whose pages are touched first.

    What the host of a virtual machine takes to find memory, up to half a second a GB, counts for
    neither.
    """
    size = os.path.getsize(room.long) - BLOCK_BYTES
    while True:
        touch(size)
        with Reader(room, mode="FULLY", order="window") as reader:
            figure = timed(reader.epoch)
        touch(size)
        memory = fresh_memory(size, huge=False)
        with contextlib.closing(memory):
            yield figure, timed(plain_read, room.long, memory)


@gate("FULLY, later epochs, a sample", against="150 ns", limit=150e-9, unit="ns", order="window")
@gate("FULLY, any order, a sample", against="150 ns", limit=150e-9, unit="ns", order="global")
def hand_out(room, order):
    """Hand out samples that are in memory."""
    with Reader(room, mode="FULLY", order=order) as reader:
        reader.epoch()
        while True:
            reader.begin()
            yield timed(reader.drain) / reader.samples
