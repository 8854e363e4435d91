"""sdmp_factor: several views of one decode, each as it would be alone."""

import make
import make_arrays
import numpy as np
import pytest

from dts import (
    CenterCrop,
    ConfigError,
    CutMix,
    Lambda,
    MixUp,
    Preprocessor,
    RandomErasing,
    RandomHorizontalFlip,
    RandomInvert,
    RandomResizedCrop,
    Resize,
    apply_transforms,
)
from dts.decode import decode

CHAINS = {
    "crop": (RandomResizedCrop(32), RandomHorizontalFlip(), RandomErasing(0.5)),
    "small crop": (RandomResizedCrop(16, scale=(0.05, 0.1)), RandomHorizontalFlip()),
    "pixels first": (RandomInvert(0.5), RandomResizedCrop(24)),
    "padded": (CenterCrop(80), RandomInvert(0.5)),
    "two resizes": (Resize(40), RandomResizedCrop(24), Resize((10, 12))),
    "resize and crop": (Resize(40), CenterCrop(32), RandomInvert(0.5)),
}


@pytest.mark.parametrize("name", CHAINS)
def test_each_view_is_what_it_would_be_alone(blocks, setup_of, name):
    path, samples = blocks
    chain = CHAINS[name]
    settings = {"train_transforms": chain, "output": "uint8", "preprocess_workers": 3}
    with (
        setup_of(path, **settings).commit() as plain,
        setup_of(path, sdmp_factor=3, **settings).commit() as pre,
    ):
        assert pre.steps_per_epoch == plain.steps_per_epoch
        for one, batch in zip(plain.train(1), pre.train(1), strict=True):
            n = len(one)
            assert batch.n_views == 3
            assert batch.images.shape[0] == len(batch) == 3 * n
            assert np.array_equal(batch.images[:n], one.images)
            assert np.array_equal(batch.ids, np.tile(one.ids, 3))
            assert np.array_equal(batch.labels, np.tile(one.labels, 3))
            for view, images in enumerate(batch.views):
                assert np.shares_memory(images, batch.images)
                for image, id in zip(images, one.ids, strict=True):
                    wanted = apply_transforms(
                        decode(samples[int(id)][0]), chain, seed=42, epoch=1, id=int(id), view=view
                    )
                    assert np.array_equal(image, wanted)


@pytest.mark.parametrize("mode", ["fully_mode", "partial_mode"])
def test_the_same_for_any_number_of_threads(blocks, setup_of, digest, mode):
    def run(workers):
        setup = setup_of(blocks[0], preprocess_workers=workers, sdmp_factor=2, shuffle_window=2)
        with getattr(setup.shuffle_order("window").amp(), mode)().commit() as pre:
            return digest(pre.train(3))

    assert run(1) == run(4) == run(7)


def test_upright_pictures(tmp_path, setup_of):
    import io

    from PIL import Image

    samples = []
    for k in range(8):
        image = Image.fromarray(make.pixels(k, 70, 50))
        exif = Image.Exif()
        exif[0x0112] = k + 1
        out = io.BytesIO()
        image.save(out, "JPEG", exif=exif)
        samples.append((out.getvalue(), k % 3))
    path = make.pack_blocks(tmp_path / "folder_train_lv0.dts", [samples])
    chain = (RandomResizedCrop(20, scale=(0.1, 0.4)),)
    settings = {"train_transforms": chain, "exif_orientation": True, "batch_size": 8}
    plain, several = setup_of(path, **settings), setup_of(path, sdmp_factor=4, **settings)
    with plain.commit() as one, several.commit() as pre:
        (alone,), (batch,) = one.train(0), pre.train(0)
        assert np.array_equal(batch.views[0], alone.images)
        assert not np.array_equal(batch.views[1], alone.images)


def test_draws_of_a_view(blocks, setup_of):
    with setup_of(blocks[0], sdmp_factor=2).commit() as pre:
        first, second = (pre.draws("train", 0, 5, view=v) for v in range(2))
        assert first == pre.draws("train", 0, 5)
        assert first.crop != second.crop
        for view in (-1, 2):
            with pytest.raises(ValueError, match="view"):
                pre.draws("train", 0, 5, view=view)


def test_plain_arrays_have_views_too(tmp_path):
    make_arrays.write("cifar10", tmp_path, n_train=21)
    base = Preprocessor.setup().dataset("cifar10", tmp_path).batch_size(6).preprocess_workers(3)
    base.train_transforms(RandomHorizontalFlip(), RandomErasing(0.9))
    with base.commit() as plain, base.sdmp_factor(2).commit() as pre:
        for one, batch in zip(plain.train(0), pre.train(0), strict=True):
            assert np.array_equal(batch.views[0], one.images)
            assert len(batch) == 2 * len(one)
        assert not np.array_equal(batch.views[0], batch.views[1])
        assert all(b.n_views == 1 and len(b) <= 6 for b in pre.val(0))


def test_drop_last_counts_samples(blocks, setup_of):
    setup = setup_of(blocks[0], sdmp_factor=2, batch_size=30, drop_last=True)
    with setup.commit() as pre:
        assert [len(b) for b in pre.train(0)] == [60, 60]


def half_bad(image):
    if int(image.astype(np.int64).sum()) % 3 == 1:
        raise ValueError("no")
    return image


def test_a_sample_with_one_bad_view_is_left_out_in_all(blocks, setup_of):
    chain = (RandomResizedCrop(16), Lambda(half_bad))
    base = {"sdmp_factor": 2, "output": "uint8", "preprocess_workers": 3}
    setup = setup_of(blocks[0], train_transforms=chain, on_error="skip", **base)
    with setup.commit() as pre:
        batches = list(pre.train(0))
        assert 0 < sum(map(len, batches)) // 2 == 61 - pre.stats()["train"]["skipped"] < 45
    crop = setup_of(blocks[0], train_transforms=chain[:1], **base)
    with crop.commit() as pre:
        for batch, whole in zip(batches, pre.train(0), strict=True):
            n = len(batch) // 2
            assert np.array_equal(batch.ids[:n], batch.ids[n:])
            rows = [whole.ids.tolist().index(id) for id in batch.ids[:n]]
            for view in range(2):
                assert np.array_equal(batch.views[view], whole.views[view][rows])


def test_a_damaged_picture_fails_once(tmp_path, setup_of):
    samples = [(make.jpeg(k, 60, 60), 0) for k in range(6)]
    samples[2] = (samples[2][0][: len(samples[2][0]) // 3], 0)
    path = make.pack_blocks(tmp_path / "folder_train_lv0.dts", [samples], classes=1)
    with setup_of(path, sdmp_factor=3, on_error="skip").commit() as pre:
        (batch,) = pre.train(0)
        assert len(batch) == 15
        assert pre.stats()["train"]["skipped"] == 1


def test_views_are_mixed_apart(blocks, setup_of):
    base = {"sdmp_factor": 2, "preprocess_workers": 4, "output": "float32"}
    mixing = setup_of(blocks[0], **base).batch_transforms(MixUp(1.0), CutMix(1.0))
    once = setup_of(blocks[0]).batch_transforms(MixUp(1.0), CutMix(1.0))
    differ = 0
    with (
        setup_of(blocks[0], **base).commit() as plain,
        mixing.commit() as pre,
        once.commit() as single,
    ):
        for one, batch, first in zip(plain.train(0), pre.train(0), single.train(0), strict=True):
            n = len(one) // 2
            assert np.array_equal(batch.views[0], first.images)
            assert np.array_equal(batch.labels[:n], first.labels)
            assert len(batch.mixes) == 2
            differ += batch.mixes[0].lam[0] != batch.mixes[1].lam[0]
            for view, mix in enumerate(batch.mixes):
                rows = slice(view * n, (view + 1) * n)
                assert set(mix.partner) <= set(range(*rows.indices(2 * n)))
                if isinstance(mix.op, MixUp):
                    share = mix.lam[:, None, None, None]
                    wanted = np.where(
                        (mix.partner == np.arange(2 * n)[rows])[:, None, None, None],
                        one.images[rows],
                        share * one.images[rows]
                        + (np.float32(1) - share) * one.images[mix.partner],
                    )
                    assert np.array_equal(batch.images[rows], wanted)
    assert differ > 4


def test_memory_of_views_is_planned(blocks, setup_of):
    plain, many = setup_of(blocks[0]).commit(), setup_of(blocks[0], sdmp_factor=4).commit()
    with plain, many:
        one, four = (pre.memory_plan().splits[0] for pre in (plain, many))
        assert four.slot_bytes > 3.9 * one.slot_bytes
        assert four.scratch_bytes > one.scratch_bytes
        next(iter(many.train(0)))


@pytest.mark.parametrize("k", [0, -1, 129])
def test_factors_that_cannot_be(blocks, setup_of, k):
    with pytest.raises(ConfigError, match="sdmp_factor"):
        setup_of(blocks[0], sdmp_factor=k).commit()
