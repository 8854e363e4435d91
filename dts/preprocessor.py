"""Preprocessor: epochs of batches, train and val."""

import atexit
import logging
import operator
import os
import threading
import warnings
import weakref
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dts.batch import Batch, Draws, Mix
from dts.config import MemoryPlan
from dts.errors import ClosedError, ConfigError, DtsError
from dts.plan import Split, plan_splits
from dts.transforms.function import in_user_code

if TYPE_CHECKING:
    from dts.builder import Setup

_log = logging.getLogger("dts")
_live: "weakref.WeakSet[Preprocessor]" = weakref.WeakSet()


class Preprocessor:
    """Streams batches of a data set. Made by ``Preprocessor.setup()...commit()``.

    A context manager; leaving it, ``close()``, dropping the object and exiting the interpreter all
    stop its threads. Two of them in one process are independent.
    """

    _splits: dict[str, Split]
    _started: dict[str, int]
    _current: dict[str, "weakref.ref[EpochIterator] | None"]
    _lock: threading.RLock
    _closed: bool  # refuses what is asked for
    _stopped: bool  # all threads and memory are given back
    _pid: int
    _seed: int

    @staticmethod
    def setup() -> "Setup":
        """Return a Setup: the fluent configuration."""
        from dts.builder import Setup

        return Setup()

    @classmethod
    def _from_setup(cls, setup: "Setup") -> "Preprocessor":
        self = cls.__new__(cls)
        self._lock = threading.RLock()
        self._closed = False
        self._stopped = False
        self._splits = plan_splits(setup)
        self._started = dict.fromkeys(self._splits, -1)
        self._current = dict.fromkeys(self._splits)
        self._pid = os.getpid()
        self._seed = next(iter(self._splits.values())).config.seed
        _live.add(self)
        _log.info("%s", self.memory_plan())
        return self

    def __init__(self):
        raise TypeError("use Preprocessor.setup()...commit()")

    # Epochs

    def train(self, epoch: int | None = None) -> "EpochIterator":
        """Iterate over the training batches of an epoch.

        Parameters
        ----------
        epoch : int, optional
            0 to 2^32 - 1; None is the one after the last that was started. Order and augmentation
            are a function of the seed and this number, so any epoch can be started directly.

        Returns
        -------
        EpochIterator
            Its ``len()`` is exact. It starts when iterated; an older one of the same split ends
            with ClosedError then.

        Raises
        ------
        ConfigError
            The data set has no training set.
        ValueError
            No such epoch.
        """
        return self._epoch("train", epoch)

    def val(self, epoch: int | None = None) -> "EpochIterator":
        """Iterate over the validation batches, in file order. As `train`."""
        return self._epoch("val", epoch)

    def _epoch(self, split: str, epoch: int | None) -> "EpochIterator":
        self._check_open()
        self._split(split)
        number = _epoch_number(self._started[split] + 1 if epoch is None else epoch)
        return EpochIterator(self, split, number)

    def _split(self, split: str) -> Split:
        if split not in ("train", "val"):
            raise ValueError(f"a split is 'train' or 'val', not {split!r}")
        if split not in self._splits:
            other = next(iter(self._splits.values())).source.place
            name = "training" if split == "train" else "validation"
            raise ConfigError(f"dataset: there is no {name} set (only {other})")
        return self._splits[split]

    # What is there

    @property
    def steps_per_epoch(self) -> int:
        """Batches of a training epoch."""
        return self._split("train").n_batches

    @property
    def val_steps(self) -> int:
        """Batches of a validation epoch."""
        return self._split("val").n_batches

    @property
    def num_train_samples(self) -> int:
        """Samples of the training set; 0 where there is none."""
        return len(self._splits["train"].source) if "train" in self._splits else 0

    @property
    def num_val_samples(self) -> int:
        """Samples of the validation set; 0 where there is none."""
        return len(self._splits["val"].source) if "val" in self._splits else 0

    @property
    def seed(self) -> int:
        """The seed in use, 0..2^64-1; drawn where it was given as None."""
        return self._seed

    @property
    def class_names(self) -> list[str] | None:
        """Names of the classes, by label; None in files without names."""
        for split in self._splits.values():
            if split.source.class_names is not None:
                return list(split.source.class_names)
        return None

    @property
    def sample_shape(self) -> tuple[int, int, int]:
        """(h, w, c) of one sample of the training set, else of the validation set.

        With ``train_resolution`` that of the largest, which the batch slots are made for.
        """
        return next(iter(self._splits.values())).config.sample_shape

    def names(self, split: str) -> Sequence[str] | None:
        """Return the names of the samples, ``class/file``, by id; None in files without names.

        Parameters
        ----------
        split : str
            "train" or "val".

        Returns
        -------
        sequence of str, or None
            Bytes that are not UTF-8 come as surrogate escapes.
        """
        return self._split(split).source.names

    def memory_plan(self) -> MemoryPlan:
        """Return the MemoryPlan: what will be used, in bytes. ``str()`` of it is a report."""
        return MemoryPlan(tuple(s.memory for s in self._splits.values()))

    def stats(self) -> dict[str, dict[str, Any]]:
        """Return counts since the start: samples, errors, waits, bytes read, memory.

        Returns
        -------
        dict of dict
            By split.
        """
        return {name: s.pipeline.stats() for name, s in self._splits.items()}

    def draws(self, split: str, epoch: int, id: int, view: int = 0) -> Draws:
        """Return what is drawn for a sample in an epoch: crop box, flip, erase box.

        Parameters
        ----------
        split : str
            "train" or "val".
        epoch, id : int
            Epoch, 0 to 2^32 - 1, and sample id.
        view : int
            Which of the views that ``sdmp_factor`` asks for.

        Returns
        -------
        Draws

        Raises
        ------
        IndexError
            No such id.
        ValueError
            No such epoch, or view.
        CorruptError, DecodeError
            The picture's size cannot be read.
        """
        self._check_open()
        s = self._split(split)
        id, epoch = operator.index(id), _epoch_number(epoch)
        if not 0 <= id < len(s.source):
            raise IndexError(f"id {id} is not within 0..{len(s.source) - 1}")
        view = operator.index(view)
        if not 0 <= view < s.config.views:
            raise ValueError(f"view {view} is not within 0..{s.config.views - 1}")
        height, width = s.source.picture_size(id)
        chain = s.chain_at(epoch)
        steps = chain.describe(self._seed, epoch, s.config.split, id, width, height, view)
        return Draws.from_steps(steps, id=id, epoch=epoch, split=split, image_size=(height, width))

    def state_dict(self) -> dict[str, Any]:
        """Do not use: does not exist yet."""
        raise NotImplementedError(
            "state_dict does not exist yet; train(epoch) starts at any epoch"
        )

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Do not use: does not exist yet."""
        raise NotImplementedError("load_state_dict does not exist yet")

    # Life and end

    def _check_open(self):
        if self._pid != os.getpid():
            raise ClosedError("this Preprocessor was made before a fork: build one in the child")
        if self._closed:
            raise ClosedError("the Preprocessor was closed")

    def close(self) -> None:
        """Stop all threads and give all memory back. Batches that are still held stay valid."""
        if self._stopped:
            return
        _check_outside()
        self._closed = True
        if self._pid != os.getpid():
            return
        for s in self._splits.values():
            s.pipeline.interrupt()
        with self._lock:
            for s in self._splits.values():
                s.pipeline.close()
                s.source.close()
            self._stopped = True

    def __enter__(self) -> "Preprocessor":
        self._check_open()
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def __del__(self):
        if getattr(self, "_splits", None):
            _finalize(self)

    def __reduce__(self):
        raise TypeError("a Preprocessor runs threads and cannot be pickled: send the settings")

    def __repr__(self):
        if self._closed:
            return "<Preprocessor, closed>"
        parts = ", ".join(f"{n}: {len(s.source)} samples" for n, s in self._splits.items())
        return f"<Preprocessor, {parts}>"


class EpochIterator:
    """Batches of one epoch of one split.

    Errors of damaged samples are raised by ``next()``; the call after that gives the next batch.
    Leaving early costs nothing: dropping the iterator ends the epoch.
    """

    def __init__(self, owner: Preprocessor, split: str, epoch: int) -> None:
        self._owner = owner
        self._split = split
        self._pipeline = owner._splits[split].pipeline
        self._n = owner._splits[split].n_batches
        self._state = "new"
        self._token = -1
        self.epoch = epoch

    def __len__(self) -> int:
        return self._n

    def __iter__(self) -> "EpochIterator":
        self._start()
        return self

    def _start(self):
        if self._state != "new":
            return
        _check_outside()
        owner = self._owner
        owner._check_open()
        current = owner._current[self._split]
        older = current() if current is not None else None
        if older is not None and older is not self:
            older._state = "superseded"
            self._pipeline.interrupt()
        with owner._lock:
            if self._state != "new":
                return  # another thread was first
            owner._check_open()
            self._token = self._pipeline.begin(self.epoch)
            owner._current[self._split] = weakref.ref(self)
            owner._started[self._split] = self.epoch
            self._state = "running"

    def __next__(self) -> Batch:
        self._start()
        if self._state == "done":
            raise StopIteration
        _check_outside()
        self._check()
        try:
            got = self._pipeline.next(self._token)
        except ClosedError:
            self._check()
            raise
        if got is None:
            with self._owner._lock:
                self._pipeline.end(self._token)
            self._state = "done"
            raise StopIteration
        images, labels, ids, soft, mixes, index = got
        if not len(ids):
            warnings.warn(
                f"batch {index} of epoch {self.epoch} is empty: all of its samples are damaged, "
                "and on_error is 'skip'; stats() tells what befell them",
                RuntimeWarning,
                stacklevel=2,
            )
        mixes = () if mixes is None else tuple(Mix.from_record(*m) for m in mixes)
        return Batch(
            images,
            labels if soft is None else soft,
            ids,
            self.epoch,
            index,
            hard_labels=labels,
            mixes=mixes,
            n_views=self._owner._splits[self._split].config.views,
        )

    def _check(self):
        if self._state == "superseded":
            raise ClosedError(f"a newer iterator over the {self._split} set was started")
        if self._state == "closed":
            raise ClosedError("this iterator was closed")
        self._owner._check_open()

    def close(self) -> None:
        """End the epoch here."""
        _check_outside()
        if self._state == "running" and not self._owner._closed:
            self._state = "closed"
            if self._owner._pid == os.getpid():  # else: another thread may have held the lock
                with self._owner._lock:
                    self._pipeline.end(self._token)

    def __del__(self):
        if self._state == "running":
            _finalize(self)


def _check_outside():
    """Refuse what waits for the workers where a worker itself asks for it."""
    if in_user_code():
        raise DtsError(
            "a Preprocessor can be neither iterated nor closed inside a transform: "
            "the worker that runs it would wait for itself"
        )


def _finalize(thing):
    """Close what nobody refers to any more.

    Python may collect garbage on any thread, a worker's too, which cannot wait for itself.
    """
    if in_user_code():
        threading.Thread(target=thing.close, name="dts-close").start()
    else:
        thing.close()


def _epoch_number(epoch: int) -> int:
    """Check an epoch: it is one 32-bit word of the random numbers' counter."""
    number = operator.index(epoch)
    if not 0 <= number <= 0xFFFFFFFF:
        raise ValueError(f"an epoch is 0 to 2^32 - 1, not {number}")
    return number


@atexit.register
def _close_all():
    for pre in list(_live):
        pre.close()


def _after_fork():
    for pre in list(_live):
        for s in pre._splits.values():
            s.pipeline.abandon()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
