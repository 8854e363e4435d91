"""Which picture goes into which block: pure functions from sizes to an arrangement.

A picture takes its size rounded up to 64 bytes. `capacity` is what a block holds beside its
table, `limit` the number of pictures its table holds; a full table counts as no room.

Level 0 knows all sizes beforehand and fills blocks almost completely (`arrange`). Levels 1-3 learn
a size only when the picture has been encoded, and fill one block after the other (`Filler`) in the
order of `shuffled`.
"""

from __future__ import annotations

import random
from array import array
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

SEED = 42  # every shuffle is one use of a fresh random.Random(SEED)
MARGIN_ROUNDS = 32

# (samples, classes) of ImageNet-1k's two halves -> number of blocks to begin with.
IMAGENET_MIN_BLOCKS = {(1_281_167, 1000): 8700, (50_000, 1000): 400}


@dataclass(frozen=True)
class Arrangement:
    """Samples in the order of the file, cut into blocks.

    Attributes
    ----------
    order : int64 array of shape (n,)
        Sample numbers, block after block.
    bounds : int64 array of shape (num_blocks + 1,)
        Block k holds ``order[bounds[k]:bounds[k + 1]]``.
    """

    order: NDArray[np.int64]
    bounds: NDArray[np.int64]

    @property
    def num_blocks(self) -> int:
        return len(self.bounds) - 1

    def block(self, k: int) -> NDArray[np.int64]:
        """Sample numbers of block k."""
        return self.order[self.bounds[k] : self.bounds[k + 1]]


def padded(sizes: ArrayLike) -> NDArray[np.int64]:
    """Sizes in bytes, rounded up to multiples of 64."""
    return (np.asarray(sizes, np.int64) + 63) & ~63


def shuffled(n: int) -> NDArray[np.int64]:
    """0..n-1 in the order ``random.Random(42).shuffle`` gives a list of n."""
    items = array("q", range(n))
    random.Random(SEED).shuffle(items)
    return np.frombuffer(items, np.int64) if n else np.empty(0, np.int64)


def choose_min_blocks(sizes: ArrayLike, num_classes: int, capacity: int) -> int:
    """How many blocks level 0 begins with when nobody says.

    Parameters
    ----------
    sizes : array_like of shape (n,)
        Bytes of each picture.
    num_classes, capacity : int
        Classes of the set; bytes a block holds.

    Returns
    -------
    int
        ImageNet-1k's own number where the set has its counts and fills that many blocks; else one
        block less than the bytes need at the very least, so that pictures are left for every step.
    """
    space = padded(sizes)
    least = -(-int(space.sum()) // capacity)
    imagenet = IMAGENET_MIN_BLOCKS.get((len(space), num_classes))
    if imagenet is not None and imagenet <= least:
        return imagenet
    return max(least - 1, 1)


def arrange(
    sizes: ArrayLike, min_blocks: int | None, capacity: int, limit: int, *, num_classes: int = 0
) -> Arrangement:
    """Arrange the pictures of a level 0 file.

    A set that fits one block is one block in shuffled order, unless more blocks are asked for.
    Else: the largest pictures, one to a block; then shuffled ones while they fit; then, 32 times,
    the smallest that are left, one to a block, fullest block first; what is still left goes to the
    last block and to new ones. The work is done when nothing is left, in whichever step.

    Parameters
    ----------
    sizes : array_like of shape (n,)
        Bytes of each picture, in the order of the listing.
    min_blocks : int or None
        Blocks to begin with, or None for `choose_min_blocks`. Never more than there are pictures.
    capacity, limit : int
        Bytes and pictures a block holds.
    num_classes : int
        For `choose_min_blocks`.

    Returns
    -------
    Arrangement

    Raises
    ------
    ValueError
        There is no picture, or one does not fit a block, or `min_blocks` is below 1.
    """
    space = padded(sizes)
    n = len(space)
    if n == 0:
        raise ValueError("no picture to arrange")
    if int(space.max()) > capacity:
        raise ValueError("a picture is larger than a block")
    if min_blocks is not None and min_blocks < 1:
        raise ValueError(f"min_blocks must be at least 1, not {min_blocks}")
    if (min_blocks is None or min_blocks == 1) and n <= limit and int(space.sum()) <= capacity:
        return Arrangement(shuffled(n), np.array([0, n], np.int64))
    if min_blocks is None:
        min_blocks = choose_min_blocks(sizes, num_classes, capacity)
    return _Greedy(space, min(min_blocks, n), capacity, limit).run()


class _Greedy:
    """The level 0 arrangement at work. `rest` is always in the order in which it is taken."""

    def __init__(self, space, num_blocks, capacity, limit):
        self.space = space
        self.capacity = capacity
        self.limit = limit
        by_size = np.argsort(space, kind="stable")
        self.first = by_size[::-1][:num_blocks]  # block k begins with the k-th largest
        self.rest = by_size[: len(space) - num_blocks]
        self.room = capacity - space[self.first]
        self.count = np.ones(num_blocks, np.int64)
        self.file_order = np.arange(num_blocks)
        self.items = [self.first]  # what was put where, in order of time
        self.blocks = [self.file_order]

    def run(self):
        self._random_fill()
        self._margins()
        self._new_blocks()
        items, blocks = np.concatenate(self.items), np.concatenate(self.blocks)
        place = np.empty(len(self.file_order), np.int64)
        place[self.file_order] = np.arange(len(place))
        place = place[blocks]
        counts = np.bincount(place, minlength=len(self.file_order))
        return Arrangement(
            items[np.argsort(place, kind="stable")], np.concatenate(([0], np.cumsum(counts)))
        )

    def _shuffle_rest(self):
        """Shuffle what is left, given as the list it is; it is taken from the list's end."""
        self.rest = self.rest[shuffled(len(self.rest))][::-1]

    def _random_fill(self):
        self._shuffle_rest()
        total = np.concatenate(([0], np.cumsum(self.space[self.rest])))
        ends = np.empty(len(self.room), np.int64)
        at = 0
        for k, room in enumerate(self.room.tolist()):
            at = self._next_fit(total, at, room, self.limit - 1)
            ends[k] = at
        taken = np.diff(ends, prepend=0)
        self.items.append(self.rest[:at])
        self.blocks.append(np.repeat(self.file_order, taken))
        self.room -= np.diff(total[ends], prepend=0)
        self.count += taken
        self.rest = self.rest[at:]

    @staticmethod
    def _next_fit(total, at, room, places):
        """Where the run of pictures from `at` on ends that fits `room` bytes and `places`."""
        end = int(np.searchsorted(total, total[at] + room, side="right")) - 1
        return min(end, at + places)

    def _margins(self):
        left = self.rest[::-1]  # back to the order of the list, whose end was taken from
        queue = left[np.argsort(-self.space[left], kind="stable")][::-1]
        sizes = self.space[queue].tolist()
        room, count = self.room, self.count
        at, taken_by = 0, []
        for _ in range(MARGIN_ROUNDS):
            if at == len(sizes):
                break
            # Two blocks never begin with the same picture, so the first one decides a tie.
            self.file_order = np.lexsort((self.first, room))
            before = at
            roomy = int(np.searchsorted(room[self.file_order], sizes[at]))
            for k in self.file_order[roomy:].tolist():
                if sizes[at] <= room[k] and count[k] < self.limit:
                    room[k] -= sizes[at]
                    count[k] += 1
                    taken_by.append(k)
                    at += 1
                    if at == len(sizes):
                        break
            if at == before:
                break  # nothing fits any more, and nothing will in the next round
        self.items.append(queue[:at])
        self.blocks.append(np.array(taken_by, np.int64))
        self.rest = queue[at:][::-1]

    def _new_blocks(self):
        self._shuffle_rest()
        total = np.concatenate(([0], np.cumsum(self.space[self.rest])))
        block = int(self.file_order[-1])
        room, places = int(self.room[block]), self.limit - int(self.count[block])
        at, new = 0, len(self.room)
        blocks = []
        while True:
            end = self._next_fit(total, at, room, places)
            blocks.append(np.full(end - at, block, np.int64))
            at = end
            if at == len(self.rest):
                break
            block, room, places, new = new, self.capacity, self.limit, new + 1
        self.items.append(self.rest)
        self.blocks.append(np.concatenate(blocks))
        self.file_order = np.concatenate((self.file_order, np.arange(len(self.room), new)))


class Filler:
    """The arrangement of levels 1-3, one picture after the other.

    Parameters
    ----------
    capacity, limit : int
        Bytes and pictures a block holds.
    """

    def __init__(self, capacity: int, limit: int):
        self.capacity = capacity
        self.limit = limit
        self.room = capacity
        self.count = 0

    def add(self, size: int) -> bool:
        """Place the next picture of `size` bytes; True if it begins a new block.

        Raises
        ------
        ValueError
            The picture is larger than a block; it was not placed.
        """
        space = (size + 63) & ~63
        if space > self.capacity:
            raise ValueError("a picture is larger than a block")
        new = space > self.room or self.count == self.limit
        if new:
            self.room, self.count = self.capacity, 0
        self.room -= space
        self.count += 1
        return new
