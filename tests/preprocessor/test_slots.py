"""A batch owns its memory for as long as anybody looks at it."""

import gc

import numpy as np
import pytest

from dts import DtsError


def test_fifty_kept_batches_are_unchanged_at_the_end(blocks, setup_of):
    with setup_of(blocks[0], batch_size=5).commit() as pre:
        kept = []
        for epoch in range(4):
            kept += [(b, b.images.copy(), b.labels.copy(), b.ids.copy()) for b in pre.train(epoch)]
        assert len(kept) >= 50
        for batch, images, labels, ids in kept:
            assert np.array_equal(batch.images, images, equal_nan=True)
            assert np.array_equal(batch.labels, labels)
            assert np.array_equal(batch.ids, ids)
        assert pre.stats()["train"]["extra_slots"] >= 45
        starts = {b.images.ctypes.data for b, *_ in kept}
        assert len(starts) == len(kept)


def test_extra_slots_go_when_they_come_back(blocks, setup_of):
    with setup_of(blocks[0], batch_size=5).commit() as pre:
        kept = list(pre.train(0))
        assert pre.stats()["train"]["slots"] >= 13
        kept.clear()
        for _ in pre.train(1):
            pass
        assert pre.stats()["train"]["slots"] <= 4


def test_an_ordinary_loop_needs_no_more_slots_than_planned(blocks, setup_of):
    with setup_of(blocks[0], batch_size=3, prefetch_batches=2).commit() as pre:
        for epoch in range(5):
            for batch in pre.train(epoch):
                del batch
        assert pre.stats()["train"]["slots"] == 3
        for epoch in range(5):
            for _batch in pre.train(epoch):  # held until the next one has come
                pass
        stats = pre.stats()["train"]
        assert stats["extra_slots"] == 0
        assert stats["slots"] == 4 == pre.memory_plan().splits[0].slots


def test_one_view_keeps_the_slot(blocks, setup_of):
    with setup_of(blocks[0], batch_size=5).commit() as pre:
        views = [(batch.images[0, 1:3].T, batch.images[0, 1:3].T.copy()) for batch in pre.train(0)]
        for batch in pre.train(1):
            del batch
        assert all(np.array_equal(a, b) for a, b in views)
        labels = next(iter(pre.train(2))).labels
        before = labels.copy()
        for batch in pre.train(3):
            del batch
        assert np.array_equal(labels, before)


def test_arrays_are_aligned_writable_and_not_copied(blocks, setup_of):
    for calls in (
        {"output": "float32"},
        {"output": "float16"},
        {"output": "uint8", "batch_size": 7},
    ):
        with setup_of(blocks[0], **calls).commit() as pre:
            for batch in pre.train(0):
                for array in (batch.images, batch.labels, batch.ids):
                    assert array.flags.c_contiguous
                    assert array.flags.writeable
                    assert array.ctypes.data % 256 == 0
                    assert not array.flags.owndata
                batch.images[:] = 0
                images, labels = batch
                assert images is batch.images
                assert labels is batch.labels
                assert len(batch) == len(images)


def test_dtypes(blocks, setup_of):
    with setup_of(blocks[0], labels="int64", output=(np.float16, 3)).commit() as pre:
        batch = next(iter(pre.train(0)))
        assert batch.labels.dtype == np.int64
        assert batch.images.dtype == np.float16
        assert batch.images.shape == (8, 32, 32, 3)
        assert batch.ids.dtype == np.int64
        assert list(batch.labels) == [blocks[1][i][1] for i in batch.ids]
    with setup_of(blocks[0], amp=True).commit() as pre:
        assert pre.sample_shape == (32, 32, 4)


def test_batches_outlive_the_preprocessor(blocks, setup_of):
    pre = setup_of(blocks[0]).commit()
    batch = next(iter(pre.train(0)))
    copy = batch.images.copy()
    pre.close()
    del pre
    gc.collect()
    assert np.array_equal(batch.images, copy)
    batch.images += 1


def test_the_cap_on_held_batches_says_so(blocks, setup_of):
    with setup_of(blocks[0], batch_size=5, max_held_batches=3).commit() as pre:
        it = iter(pre.train(0))
        kept = [next(it) for _ in range(3)]
        with pytest.raises(DtsError, match=r"max_held_batches\(3\)"):
            next(it)
        ids = [i for b in kept for i in b.ids]
        del kept[:2]
        ids += [i for b in it for i in b.ids]  # nothing was lost
        assert sorted(ids) == list(range(61))
