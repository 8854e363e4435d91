"""batch_transforms: what a Preprocessor hands out is the plain run, mixed as it says."""

import make_arrays
import numpy as np
import pytest

from dts import (
    ConfigError,
    CorruptError,
    CutMix,
    Lambda,
    MixUp,
    RandomErasing,
    RandomHorizontalFlip,
    RandomResizedCrop,
)
from dts.kernels import available_isas, isa, select_isa

OPS = (MixUp(0.4), CutMix(1.0))


def copies(iterator):
    """Everything of an epoch, batch by batch."""
    return [
        (b.images.copy(), b.labels.copy(), b.hard_labels.copy(), b.ids.copy(), b.mixes)
        for b in iterator
    ]


def mixed(plain, batch):
    """Mix a plain batch in numpy, as the record of the mixed one says."""
    images, lam = plain, batch.mix.lam
    out = images.copy()
    if isinstance(batch.mix.op, MixUp):
        for i, (share, j) in enumerate(zip(lam, batch.mix.partner, strict=True)):
            if i == j:
                continue
            x = images[i].astype(np.float32), images[j].astype(np.float32)
            value = share * x[0] + (np.float32(1) - share) * x[1]
            if images.dtype == np.uint8:
                value = np.floor(value + np.float32(0.5))
            out[i] = value.astype(images.dtype)
    elif isinstance(batch.mix.op, CutMix):
        top, left, h, w = batch.mix.box
        box = np.s_[top : top + h, left : left + w]
        for i, j in enumerate(batch.mix.partner):
            out[i][box] = images[j][box]
    return out


def soft(batch, hard, classes):
    out = np.zeros((len(hard), classes), np.float32)
    for i, (share, j) in enumerate(zip(batch.mix.lam, batch.mix.partner, strict=True)):
        if i == j:
            out[i, hard[i]] = 1
        else:
            out[i, hard[i]] += share
            out[i, hard[j]] += np.float32(1) - share
    return out


@pytest.mark.parametrize("dtype", ["float32", "float16", "uint8"])
def test_batches_are_the_plain_ones_mixed(blocks, setup_of, dtype):
    settings = {"output": dtype, "preprocess_workers": 3}
    kinds = set()
    with (
        setup_of(blocks[0], **settings).commit() as plain,
        setup_of(blocks[0], **settings).batch_transforms(*OPS, p=0.8).commit() as pre,
    ):
        assert pre.steps_per_epoch == plain.steps_per_epoch
        for epoch in range(3):
            for one, batch in zip(plain.train(epoch), pre.train(epoch), strict=True):
                assert np.array_equal(one.ids, batch.ids)
                assert np.array_equal(one.labels, batch.hard_labels)
                assert np.array_equal(mixed(one.images, batch), batch.images)
                assert batch.labels.dtype == np.float32
                assert np.array_equal(batch.labels, soft(batch, one.labels, 3))
                assert batch.labels.sum(1) == pytest.approx(1, abs=1e-6)
                n = len(batch)
                partner = np.arange(n) ^ 1
                partner[partner >= n] = n - 1
                if batch.mix.op is not None:
                    assert np.array_equal(batch.mix.partner, partner)
                    assert batch.mix.lam[0] == batch.mix.lam[1] != 1
                images, labels = batch
                assert images is batch.images
                assert labels is batch.labels
                kinds.add(type(batch.mix.op))
    assert kinds == {MixUp, CutMix, type(None)}


@pytest.mark.parametrize("mode", ["fully_mode", "partial_mode"])
def test_the_same_for_any_number_of_threads_and_any_start(blocks, setup_of, mode):
    def run(workers, *epochs):
        setup = setup_of(blocks[0], preprocess_workers=workers, shuffle_window=2, batch_size=7)
        setup.shuffle_order("window").batch_transforms(*OPS)
        with getattr(setup, mode)().commit() as pre:
            for epoch in epochs:
                found = copies(pre.train(epoch))
            return found

    first = run(1, 5)
    for other in (run(2, 5), run(8, 4, 5), run(8, 5)):
        for a, b in zip(first, other, strict=True):
            assert all(np.array_equal(x, y) for x, y in zip(a[:4], b[:4], strict=True))
            assert a[4][0].op == b[4][0].op
            assert np.array_equal(a[4][0].lam, b[4][0].lam)
    assert not np.array_equal(first[0][1], run(2, 6)[0][1])


def test_small_arrays_and_a_batch_of_one(tmp_path):
    from dts import Preprocessor

    make_arrays.write("cifar10", tmp_path, n_train=33)
    base = Preprocessor.setup().dataset("cifar10", tmp_path).batch_size(8).seed(1)
    base.preprocess_workers(4).train_transforms(RandomHorizontalFlip())
    with base.commit() as plain, base.batch_transforms(MixUp(1.0)).commit() as pre:
        for one, batch in zip(plain.train(0), pre.train(0), strict=True):
            assert np.array_equal(mixed(one.images, batch), batch.images)
            assert batch.labels.shape == (len(one), 10)
        assert len(batch) == 1
        assert np.array_equal(batch.images, one.images)
        assert batch.mix.lam.tolist() == [1]
        for batch in pre.val(0):
            assert batch.labels.ndim == 1
            assert batch.mix is None
            assert batch.hard_labels is batch.labels


def test_drop_last_and_int64_labels(blocks, setup_of):
    settings = {"labels": "int64", "drop_last": True, "batch_size": 10}
    setup = setup_of(blocks[0], **settings).batch_transforms(CutMix())
    with setup_of(blocks[0], **settings).commit() as plain, setup.commit() as pre:
        pairs = list(zip(plain.train(0), pre.train(0), strict=True))
    assert len(pairs) == 6
    for one, batch in pairs:
        assert batch.hard_labels.dtype == np.int64
        assert np.array_equal(mixed(one.images, batch), batch.images)
        assert np.array_equal(batch.labels, soft(batch, one.labels, 3))


def picky(image):
    if int(image.astype(np.int64).sum()) % 4 == 1:
        raise ValueError("not this one")
    return image


def bad_setup(blocks, setup_of, policy, **more):
    return setup_of(
        blocks[0],
        train_transforms=(RandomResizedCrop(16), Lambda(picky), RandomErasing(0.5)),
        on_error=policy,
        preprocess_workers=4,
        **more,
    )


def test_rows_whose_partner_was_skipped_stay_as_they_are(blocks, setup_of):
    lonely = 0
    with (
        bad_setup(blocks, setup_of, "skip").commit() as plain,
        bad_setup(blocks, setup_of, "skip").batch_transforms(*OPS).commit() as pre,
    ):
        ids = [b.ids for b in setup_ids(blocks, setup_of)]
        for one, batch, all_ids in zip(plain.train(0), pre.train(0), ids, strict=True):
            assert np.array_equal(one.ids, batch.ids)
            assert np.array_equal(mixed(one.images, batch), batch.images)
            assert np.array_equal(batch.labels, soft(batch, one.labels, 3))
            where = {int(id): k for k, id in enumerate(all_ids)}
            for i, (id, j) in enumerate(zip(batch.ids, batch.mix.partner, strict=True)):
                other = where[int(id)] ^ 1
                if other < len(all_ids) and all_ids[other] in batch.ids:
                    assert batch.ids[j] == all_ids[other]
                else:
                    assert i == j
                    assert batch.mix.lam[i] == 1
                    lonely += 1
    assert lonely > 3


def setup_ids(blocks, setup_of):
    with setup_of(blocks[0]).commit() as pre:
        return list(pre.train(0))


def test_stand_ins_are_mixed_with_their_own_label(blocks, setup_of):
    with (
        bad_setup(blocks, setup_of, "replace").commit() as plain,
        bad_setup(blocks, setup_of, "replace").batch_transforms(*OPS).commit() as pre,
    ):
        for one, batch in zip(plain.train(0), pre.train(0), strict=True):
            assert np.array_equal(one.ids, batch.ids)
            assert np.array_equal(mixed(one.images, batch), batch.images)
            assert np.array_equal(batch.labels, soft(batch, one.labels, 3))
        assert pre.stats()["train"]["replaced"] > 0


def test_errors_are_raised_and_the_epoch_goes_on(blocks, setup_of):
    with bad_setup(blocks, setup_of, "raise", batch_size=4).batch_transforms(*OPS).commit() as pre:
        it, good, failed = iter(pre.train(0)), 0, 0
        while True:
            try:
                good += next(it, None) is not None or 1 << 20
            except Exception:
                failed += 1
            if good >= 1 << 20:
                break
    assert failed > 0
    assert good - (1 << 20) + failed == 16


def test_labels_that_no_class_has_never_reach_the_soft_ones(tmp_path, setup_of):
    import make

    pictures = [[(make.jpeg(k, 40, 40), k % 3)] * 3 for k in range(4)]
    pictures[1] = [(pictures[1][0][0], 3)] * 3
    path = make.pack_blocks(tmp_path / "folder_train_lv0.dts", pictures, classes=3)
    with setup_of(path, batch_size=4, on_error="skip").batch_transforms(MixUp()).commit() as pre:
        rows = [row for b in pre.train(0) for row in b.labels]
        assert len(rows) == 9
        assert np.sum(rows, 1) == pytest.approx(1)
    one_batch = setup_of(path, batch_size=12).batch_transforms(MixUp())
    with one_batch.commit() as pre, pytest.raises(CorruptError, match="label"):
        next(iter(pre.train(0)))


def test_epochs_of_other_sizes(blocks, setup_of):
    def run():
        setup = setup_of(blocks[0], preprocess_workers=3, sdmp_factor=2)
        return setup.train_resolution({0: 16, 1: 32, 2: (24, 20)})

    with run().commit() as plain, run().batch_transforms(CutMix()).commit() as pre:
        for epoch, size in ((2, (24, 20)), (0, (16, 16)), (1, (32, 32))):
            for one, batch in zip(plain.train(epoch), pre.train(epoch), strict=True):
                assert batch.images.shape[1:3] == size
                wanted = one.images.copy()
                for mix in batch.mixes:
                    top, left, h, w = mix.box
                    box = np.s_[top : top + h, left : left + w]
                    own = np.arange(len(one)).reshape(2, -1)[batch.mixes.index(mix)]
                    for i, j in zip(own, mix.partner, strict=True):
                        wanted[i][box] = one.images[j][box]
                assert np.array_equal(batch.images, wanted)


def test_leaving_early_and_closing_while_it_runs(blocks, setup_of):
    for workers in (1, 6):
        setup = setup_of(blocks[0], preprocess_workers=workers, batch_size=5)
        with setup.batch_transforms(*OPS).commit() as pre:
            for epoch in range(40):
                for _ in pre.train(epoch):
                    break
            it = iter(pre.train(50))
            next(it)


def test_memory_of_soft_labels_is_planned(blocks, setup_of):
    plain = setup_of(blocks[0]).commit()
    mixing = setup_of(blocks[0]).batch_transforms(MixUp(num_classes=5000)).commit()
    with plain, mixing:
        slot = [pre.memory_plan().splits[0].slot_bytes for pre in (plain, mixing)]
        assert slot[1] - slot[0] >= 8 * 5000 * 4
        assert next(iter(mixing.train(0))).labels.shape == (8, 5000)


@pytest.mark.parametrize(
    ("ops", "p", "text"),
    [
        ((MixUp(),), 1.5, "batch_transforms: p must lie in"),
        ((MixUp(), CutMix()), (0.9, 0.9), "batch_transforms: p must not sum"),
        ((MixUp(), CutMix()), (0.9,), "a number for each of 2"),
        ((MixUp(num_classes=2),), None, "num_classes is 2, the data set has 3"),
        ((MixUp(num_classes=5), CutMix(num_classes=6)), None, "differ in num_classes"),
    ],
)
def test_what_is_refused_in_commit(blocks, setup_of, ops, p, text):
    with pytest.raises(ConfigError, match=text):
        setup_of(blocks[0]).batch_transforms(*ops, p=p).commit()


@pytest.mark.parametrize("op", [RandomErasing(), MixUp, "mixup", None])
def test_what_is_no_batch_operation(blocks, setup_of, op):
    with pytest.raises(TypeError, match="batch_transforms"):
        setup_of(blocks[0]).batch_transforms(op)
    with pytest.raises(TypeError, match="batch_transforms"):
        setup_of(blocks[0]).batch_transforms(MixUp(), p="x")


def test_calling_it_again_undoes_it(blocks, setup_of):
    setup = setup_of(blocks[0]).batch_transforms(MixUp()).batch_transforms()
    with setup.commit() as pre:
        assert next(iter(pre.train(0))).labels.ndim == 1


def test_the_same_on_every_instruction_set(blocks, setup_of):
    def run(name):
        select_isa(name)
        setup = setup_of(blocks[0], preprocess_workers=2, output="float16", sdmp_factor=2)
        with setup.batch_transforms(*OPS).commit() as pre:
            return [array.tobytes() for b in pre.train(0) for array in (b.images, b.labels)]

    before = isa()
    try:
        runs = [run(name) for name in available_isas()]
    finally:
        select_isa(before)
    assert all(found == runs[0] for found in runs)
