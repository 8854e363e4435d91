"""Blocks in the order of the file, from a listing: read as they are, or encoded anew."""

from __future__ import annotations

import contextlib
import errno
import os
import queue
import threading
import warnings
from concurrent.futures import Executor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dts.datasets.places import WHOLE, open_place
from dts.errors import ExportError
from dts.export.blocks import Block, ReadError, pack_pictures, read_files
from dts.export.errors import PictureError
from dts.export.flow import in_order, processes, stopped
from dts.export.packing import Filler, shuffled
from dts.export.pictures import Encoded, check_file, check_pixels, reencode
from dts.format.layout import BLOCK_BYTES, BLOCK_HEADER_SIZE, MAX_PICTURES
from dts.format.reading import allowed_cpus

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence

    from numpy.typing import NDArray

    from dts.datasets.listing import Listing
    from dts.datasets.places import Place
    from dts.export.packing import Arrangement

READERS = 4  # threads that read ahead, each a block of 16 MiB
MOST_READERS = 16
CHECKED_AT_ONCE = 256  # files a checking task looks at
DECODED_AT_ONCE = 16  # and decodes
ENCODED_AT_ONCE = 8  # pictures an encoding task makes: what an interrupt has to wait for


class Filled(NamedTuple):
    """A block, and of each picture in it the sample number and the size of its source.

    `following` is where in the order of encoding the next block begins.
    """

    block: Block
    samples: NDArray[np.int64]
    source_sizes: NDArray[np.int64]
    following: int = 0


class BadSample(Exception):
    """One sample of the listing cannot be packed, for a reason."""

    def __init__(self, sample: int, reason: str):
        super().__init__(sample, reason)
        self.sample = sample
        self.reason = reason


def capacity(level: int) -> int:
    """Bytes a block holds beside its table."""
    return BLOCK_BYTES - BLOCK_HEADER_SIZE[level]


def check_files(
    listing: Listing, tick: Callable[[int], object], *, decode: bool, threads: int
) -> Iterator[tuple[int, str]]:
    """Read the head of every file that is to be stored as it is; yield what cannot be stored.

    With `decode` the whole file is read and decoded, and what is damaged is yielded too.
    """
    n = len(listing)
    at_once = DECODED_AT_ONCE if decode else CHECKED_AT_ONCE
    look = check_pixels if decode else check_file
    starts = range(0, n, at_once)

    def check(start: int) -> list[tuple[int, str]]:
        found = []
        for i in range(start, min(start + at_once, n)):
            try:
                look(listing.place(i))
            except PictureError as error:
                found.append((i, str(error)))
            except OSError as error:
                found.append((i, f"cannot be read: {error.strerror}"))
        return found

    with ThreadPoolExecutor(threads) as pool:
        results = in_order(pool, check, ((s,) for s in starts), 2 * threads)
        for start, found in zip(starts, results, strict=True):
            tick(min(at_once, n - start))
            yield from found


def changed_files(listing: Listing) -> Iterator[tuple[int, str]]:
    """Look at every file again; yield what is not as the listing says."""
    for i in range(len(listing)):
        path, offset, size = listing.place(i)
        try:
            there = os.stat(path).st_size
            if there != listing.sizes[i] if size == WHOLE else there < offset + size:
                yield i, "changed its size since it was listed"
            elif not os.access(path, os.R_OK):
                yield i, f"cannot be read: {os.strerror(errno.EACCES)}"
        except OSError as error:
            yield i, f"cannot be read: {error.strerror}"


def stored_blocks(
    listing: Listing,
    plan: Arrangement,
    numbers: Sequence[int],
    readers: int,
    tick: Callable[[int], object],
) -> Generator[Filled]:
    """Read the blocks of a level 0 set, some ahead.

    Parameters
    ----------
    listing : Listing
    plan : Arrangement
    numbers : sequence of int
        Number of each block in its file.
    readers : int
        Threads.
    tick : callable
        Called with the number of pictures that were read.

    Yields
    ------
    Filled
        Its bytes are good until the next one is asked for.

    Raises
    ------
    BadSample
        A file is not any more what the listing says.
    """
    stop = threading.Event()
    written: queue.SimpleQueue[bytearray] = queue.SimpleQueue()  # memory to be used again

    def read(k: int) -> Filled | None:
        samples = plan.block(k)
        sizes = listing.sizes[samples]
        places = [listing.place(i) for i in samples]
        labels = listing.labels[samples]
        used = None
        with contextlib.suppress(queue.Empty):
            used = written.get_nowait()
        try:
            block = read_files(numbers[k], places, sizes.tolist(), labels, stop.is_set, used)
        except ReadError as error:
            raise BadSample(int(samples[error.place]), error.reason) from None
        return None if block is None else Filled(block, samples, sizes)

    pool = ThreadPoolExecutor(readers)
    try:
        for filled in in_order(pool, read, ((k,) for k in range(plan.num_blocks)), readers + 1):
            assert filled is not None  # only after stop
            tick(len(filled.samples))
            yield filled
            written.put(filled.block.data)
    finally:
        stop.set()
        pool.shutdown(wait=True, cancel_futures=True)


def encoded_blocks(
    listing: Listing,
    level: int,
    jobs: int,
    executor: Executor | None,
    bad: Callable[[int, str], None],
    start: tuple[int, int],
    roi: bool,
    tick: Callable[[int], object],
) -> Generator[Filled]:
    """Encode all pictures of a listing and fill block after block.

    Parameters
    ----------
    listing : Listing
    level : {1, 2, 3}
    jobs : int
        Processes; 1 is this one alone.
    executor : Executor or None
        Where to encode instead. Its workers must see the files under the same paths.
    bad : callable
        Called with sample number and reason of each picture that cannot be packed.
    start : tuple of (int, int)
        Number of the first block to make, and where in the order of encoding it begins.
    roi : bool
        In the ROI layout.
    tick : callable
        Called with the number of pictures that were done.
    """
    number, begin = start
    tick(begin)
    order = shuffled(len(listing))[begin:]
    filler = Filler(capacity(level), MAX_PICTURES[level])
    pictures: list[Encoded] = []
    samples: list[int] = []
    sources: list[int] = []

    def block(following: int) -> Filled:
        index = np.array(samples, np.int64)
        packed = pack_pictures(level, number, pictures, listing.labels[index])
        return Filled(packed, index, np.array(sources, np.int64), following)

    with contextlib.closing(_encoded(listing, order, level, roi, jobs, executor)) as results:
        for at, (sample, result) in enumerate(zip(order.tolist(), results, strict=True), begin):
            tick(1)
            if isinstance(result, str):
                bad(sample, result)
                continue
            encoded, source_size = result
            try:
                begins = filler.add(len(encoded.data))
            except ValueError:
                bad(sample, f"takes {len(encoded.data):,} bytes, a block has {capacity(level):,}")
                continue
            if begins:
                yield block(at)
                number += 1
                pictures, samples, sources = [], [], []
            pictures.append(encoded)
            samples.append(sample)
            sources.append(source_size)
    if pictures:
        yield block(begin + len(order))


def _encoded(
    listing: Listing,
    order: NDArray[np.int64],
    level: int,
    roi: bool,
    jobs: int,
    executor: Executor | None,
) -> Generator[tuple[Encoded, int] | str]:
    """Encode pictures in an order; a reason in place of one that cannot be."""
    tasks = (
        ([listing.place(i) for i in order[start : start + ENCODED_AT_ONCE]], level, roi)
        for start in range(0, len(order), ENCODED_AT_ONCE)
    )
    with contextlib.ExitStack() as stack:
        others = executor is not None
        if executor is None and jobs > 1:
            try:
                executor = stack.enter_context(processes(jobs))
            except (OSError, ImportError) as error:  # in a container without /dev/shm, say
                warnings.warn(
                    f"this system lets us start no other processes ({error}): this one encodes",
                    stacklevel=2,
                )
        if executor is None:
            for places, *_ in tasks:
                yield from encode_files(places, level, roi)
            return
        try:
            ahead = 4 * max(jobs, allowed_cpus())
            for results in in_order(executor, encode_files, tasks, ahead, cancel=others):
                yield from results
        except BrokenProcessPool:
            raise ExportError(
                "an encoding process died: for want of memory, or because the program that calls "
                'this does so outside of `if __name__ == "__main__":` (each process imports it '
                "anew; jobs=1 starts none)"
            ) from None


def encode_files(places: list[Place], level: int, roi: bool) -> list[tuple[Encoded, int] | str]:
    """Read and encode some pictures: what an encoding process is given to do.

    Returns
    -------
    list
        For each place the picture and the size of its file, or the reason why there is none.
    """
    results: list[tuple[Encoded, int] | str] = []
    for place in places:
        if stopped():
            break
        try:
            with open_place(place) as file:
                data = file.read()
            if place.size not in (WHOLE, len(data)):
                results.append("changed its size since it was listed")
                continue
            results.append((reencode(data, level, roi=roi), len(data)))
        except OSError as error:
            results.append(f"cannot be read: {error.strerror}")
        except PictureError as error:
            results.append(str(error))
    return results
