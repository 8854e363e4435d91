"""Threads meet once a batch, never once a sample; no setting makes them wait for ever."""

import faulthandler
import itertools
import threading

import make
import pytest

from dts import Lambda, LoadMode, Preprocessor, RandomResizedCrop
from dts.loaders.topology import allowed_cpus


@pytest.fixture(scope="module")
def blocks(tmp_path_factory):
    path = tmp_path_factory.mktemp("blocks") / "folder_train_lv0.dts"
    return make.small_blocks(path, [5, 1, 2, 9, 1, 1, 4, 8, 3, 6])[0]


def setup(path, **calls):
    s = Preprocessor.setup().dataset("folder", path).seed(1)
    s.train_transforms(RandomResizedCrop(16))
    for method, value in calls.items():
        getattr(s, method)(value)
    return s


@pytest.mark.parametrize("workers", [1, 2, 8])
def test_waits_are_counted_by_the_batch(blocks, workers):
    s = setup(blocks, batch_size=10, preprocess_workers=workers, load_mode=LoadMode.FULLY)
    with s.commit() as pre:
        list(pre.train(0))
        before = pre.stats()["train"]
        for epoch in range(1, 26):
            for batch in pre.train(epoch):
                del batch
        after = pre.stats()["train"]
    batches = 25 * pre.steps_per_epoch
    samples = after["samples"] - before["samples"]
    assert samples == 25 * 40
    at_once = min(workers, len(allowed_cpus()) or workers)
    assert after["slot_waits"] - before["slot_waits"] <= batches * at_once
    assert after["slot_waits"] - workers <= after["slot_wakes"] <= after["slot_waits"]
    assert after["consumer_waits"] - before["consumer_waits"] <= batches


def test_functions_that_wait_are_called_by_all_workers_at_once(blocks):
    """Others are no more than there are CPUs: this one may be waiting for a network."""
    together = threading.Barrier(7)

    def meet(picture):
        together.wait(30)
        return picture

    s = setup(blocks, batch_size=14, preprocess_workers=7, load_mode=LoadMode.FULLY)
    s.drop_last(True).train_transforms(RandomResizedCrop(16), Lambda(meet))
    with s.commit() as pre:
        for epoch in range(2):
            assert sum(len(batch) for batch in pre.train(epoch)) == 28
    assert not together.broken


@pytest.mark.parametrize("workers", [1, 2, 64])
@pytest.mark.parametrize("mode", [LoadMode.PARTIAL, LoadMode.FULLY])
def test_epochs_that_end_anywhere(blocks, workers, mode):
    """Begun and left at each batch: the next one is whole, and nobody is left asleep."""
    s = setup(blocks, batch_size=3, preprocess_workers=workers, shuffle_window=1, load_mode=mode)
    faulthandler.dump_traceback_later(60, exit=True)
    try:
        with s.commit() as pre:
            for taken in range(14):
                for step, _ in enumerate(pre.train(0)):
                    if step == taken:
                        break
                assert sorted(i for b in pre.train(1) for i in b.ids) == list(range(40))
    finally:
        faulthandler.cancel_dump_traceback_later()


@pytest.mark.parametrize(
    ("workers", "window", "batch", "prefetch"),
    list(itertools.product([1, 3, 64], [1, 2, 4], [1, 7], [1, 3])),
)
def test_tiny_windows_and_many_workers_do_not_deadlock(blocks, workers, window, batch, prefetch):
    s = setup(
        blocks,
        batch_size=batch,
        preprocess_workers=workers,
        prefetch_batches=prefetch,
        shuffle_window=window,
        load_mode=LoadMode.PARTIAL,
        load_workers=2,
    )
    faulthandler.dump_traceback_later(60, exit=True)  # a hang would be silent
    try:
        with s.commit() as pre:
            for epoch in range(2):
                assert sorted(i for b in pre.train(epoch) for i in b.ids) == list(range(40))
    finally:
        faulthandler.cancel_dump_traceback_later()
