"""using_cpvs: a validation set that is preprocessed once and kept."""

import gc
import logging
import threading

import make
import numpy as np
import pytest

import dts.batching
from dts import (
    CenterCrop,
    ClosedError,
    ConfigError,
    DecodeError,
    RandomHorizontalFlip,
    RandomResizedCrop,
    Resize,
)


@pytest.fixture
def both(tmp_path):
    """A directory with 24 training and 21 validation pictures."""
    make.small_blocks(tmp_path / "folder_train_lv0.dts", [9, 8, 7])
    make.small_blocks(tmp_path / "folder_val_lv0.dts", [5, 6, 10], seed=1, split="val")
    return tmp_path


def damaged(tmp_path):
    samples = [(make.jpeg(k, 60, 60), 0) for k in range(12)]
    samples[5] = (samples[5][0][:300], 0)
    make.pack_blocks(tmp_path / "folder_val_lv0.dts", [samples], classes=1, split="val")
    return tmp_path / "folder_val_lv0.dts"


def everything(iterator):
    return [(b.images.copy(), b.labels.copy(), b.ids.copy(), b.index, len(b)) for b in iterator]


def same(one, other):
    return all(
        all(np.array_equal(x, y) for x, y in zip(a, b, strict=True))
        for a, b in zip(one, other, strict=True)
    )


def decoded(pre):
    return pre.stats()["val"]["samples"]


@pytest.mark.parametrize("mode", ["fully_mode", "partial_mode"])
def test_later_epochs_have_the_same_bytes_and_run_nothing(both, setup_of, mode):
    plain, keeping = setup_of(both), setup_of(both, using_cpvs=True)
    with getattr(plain, mode)().commit() as one, getattr(keeping, mode)().commit() as pre:
        wanted = everything(one.val(0))
        assert same(everything(pre.val(0)), wanted)
        assert decoded(pre) == 21
        for epoch in range(1, 4):
            it = pre.val(epoch)
            assert len(it) == 3
            assert same(everything(it), wanted)
        assert all(b.epoch == 7 for b in pre.val(7))
        assert decoded(pre) == 21
        assert pre.stats()["val"]["kept_batches"] == 3
        assert same(everything(pre.train(0)), everything(one.train(0)))


def test_the_memory_is_the_same_and_cannot_be_written(both, setup_of):
    with setup_of(both, using_cpvs=True).commit() as pre:
        for first, second in zip(list(pre.val(0)), list(pre.val(1)), strict=True):
            for name in ("images", "labels", "ids"):
                a, b = getattr(first, name), getattr(second, name)
                assert np.shares_memory(a, b)
                assert a is not b
                for array in (a, b):
                    with pytest.raises(ValueError, match="read-only"):
                        array[0] = 0
                    with pytest.raises(ValueError, match="WRITEABLE"):
                        array.flags.writeable = True
            second.images.shape = (-1,)  # the array is the user's, the memory is not
        assert all(b.images.ndim == 4 for b in pre.val(2))
        for batch in pre.train(0):
            batch.images[0] = 0  # those of training are writable as ever


def test_an_epoch_left_early_is_not_kept(both, setup_of):
    with setup_of(both).commit() as one:
        wanted = everything(one.val(0))
    with setup_of(both, using_cpvs=True).commit() as pre:
        for _ in range(3):
            for _ in pre.val():
                break
        assert pre.stats()["val"]["kept_batches"] == 0
        assert same(everything(pre.val()), wanted)
        for _ in pre.val():
            break
        assert same(everything(pre.val()), wanted)


def test_held_batches_are_not_counted_and_outlive_the_preprocessor(both, setup_of):
    setup = setup_of(both, using_cpvs=True, max_held_batches=2, batch_size=2)
    with setup.commit() as pre:
        first, second = list(pre.val(0)), list(pre.val(1))
        assert len(first) == len(second) == 11
        wanted = everything(first)
        assert pre.stats()["val"]["extra_slots"] == 0
    gc.collect()
    assert same(everything(second), wanted)
    with pytest.raises(ClosedError):
        pre.val(2)


def test_closing_in_the_midst_of_a_kept_epoch(both, setup_of):
    pre = setup_of(both, using_cpvs=True).commit()
    list(pre.val(0))
    it = iter(pre.val(1))
    next(it)
    pre.close()
    with pytest.raises(ClosedError):
        next(it)


def test_a_newer_iterator_ends_the_older(both, setup_of):
    with setup_of(both, using_cpvs=True).commit() as pre:
        list(pre.val(0))
        old = iter(pre.val(1))
        next(old)
        new = iter(pre.val(2))
        next(new)
        with pytest.raises(ClosedError, match="newer"):
            next(old)
        del old
        assert len(list(new)) == 2
        assert list(new) == []


@pytest.mark.parametrize("epochs", [1, 2])
def test_several_threads_share_an_epoch(both, setup_of, epochs):
    with setup_of(both, using_cpvs=True, batch_size=1).commit() as pre:
        for _ in range(epochs):
            it = iter(pre.val())
            got = [[] for _ in range(4)]

            def consume(into, it=it):
                for batch in it:
                    into.extend(batch.ids.tolist())

            workers = [threading.Thread(target=consume, args=(g,)) for g in got]
            for w in workers:
                w.start()
            for w in workers:
                w.join(30)
                assert not w.is_alive()
            assert sorted(i for g in got for i in g) == list(range(21))
            assert pre.stats()["val"]["kept_batches"] == 21


def test_training_goes_on_beside_it(both, setup_of, digest):
    with setup_of(both, using_cpvs=True).commit() as pre:
        alone = digest(pre.train(5))
        list(pre.val())
        train = iter(pre.train(5))
        batches = [next(train)]
        assert len(list(pre.val())) == 3
        batches += list(train)
        assert digest(batches) == alone


@pytest.mark.parametrize("policy", ["skip", "replace"])
def test_bad_samples_are_kept_as_they_came(tmp_path, setup_of, policy):
    path = damaged(tmp_path)
    with setup_of(
        path, using_cpvs=True, on_error=policy, val_transforms=CenterCrop(16), batch_size=5
    ).commit() as pre:
        first, second = everything(pre.val()), everything(pre.val())
        assert same(first, second)
        assert sum(len(b[0]) for b in second) == (11 if policy == "skip" else 12)
        assert pre.stats()["val"]["kept_batches"] == 3


def test_a_set_that_raises_is_not_kept(tmp_path, setup_of, caplog):
    path = damaged(tmp_path)
    with setup_of(
        path, using_cpvs=True, val_transforms=CenterCrop(16), batch_size=4
    ).commit() as pre:
        for _ in range(2):
            it, rows = iter(pre.val()), []
            next(it)
            with pytest.raises(DecodeError):
                next(it)
            with caplog.at_level(logging.WARNING, "dts"):
                rows += [len(b) for b in it]
            assert rows == [4]
            assert "1 of 3 batches raised an error, so the set is not kept" in caplog.text
            caplog.clear()
        assert pre.stats()["val"]["kept_batches"] == 0


def test_the_plan_says_how_much(both, setup_of, caplog):
    with caplog.at_level(logging.INFO, "dts"), setup_of(both, using_cpvs=True).commit() as pre:
        train, val = pre.memory_plan().splits
        assert train.kept_bytes == 0
        assert 21 * 32 * 32 * 3 * 4 < val.kept_bytes < 28 * 32 * 32 * 3 * 4
        assert val.total_bytes > val.kept_bytes
        assert "of batches that are kept" in str(pre.memory_plan())
    assert "of batches that are kept" in caplog.text


def test_what_does_not_fit_is_refused(both, setup_of, monkeypatch):
    monkeypatch.setattr(dts.batching, "available_bytes", lambda: (100_000, "a test"))
    with pytest.raises(ConfigError, match=r"using_cpvs: .* may use 100000 .*a test"):
        setup_of(both, using_cpvs=True).partial_mode().commit()
    setup_of(both, using_cpvs=False).partial_mode().commit().close()
    monkeypatch.setattr(dts.batching, "available_bytes", lambda: (50 << 20, "a test"))
    setup_of(both, using_cpvs=True).partial_mode().commit().close()
    with pytest.raises(ConfigError, match="beside 100663296 bytes of the data set"):
        setup_of(both, using_cpvs=True).fully_mode().commit()


@pytest.mark.parametrize(
    "chain", [(RandomResizedCrop(8),), (Resize(20), CenterCrop(8), RandomHorizontalFlip())]
)
def test_random_numbers_in_validation_are_refused(both, setup_of, chain):
    with pytest.raises(ConfigError, match=r"using_cpvs: Random.* draws random numbers"):
        setup_of(both, using_cpvs=True, val_transforms=chain).commit()


def test_no_validation_set(blocks, setup_of):
    with pytest.raises(ConfigError, match="using_cpvs: there is no validation set"):
        setup_of(blocks[0], using_cpvs=True).commit()
