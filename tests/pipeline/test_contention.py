"""Threads meet once a batch, never once a sample; no setting makes them wait for ever."""

import faulthandler
import itertools

import make
import pytest

from dts import LoadMode, Preprocessor, RandomResizedCrop


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
    assert after["slot_waits"] - before["slot_waits"] <= batches * workers
    assert after["consumer_waits"] - before["consumer_waits"] <= batches


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
