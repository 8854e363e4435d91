"""train_resolution: epochs of other sizes, same results as plain runs of those sizes."""

import make
import make_arrays
import numpy as np
import pytest

from dts import (
    CenterCrop,
    ConfigError,
    FastRandomResizedCrop,
    Pad,
    Preprocessor,
    RandomCrop,
    RandomErasing,
    RandomHorizontalFlip,
    RandomResizedCrop,
    RandomRotation,
    RandomScale,
    Resize,
    apply_transforms,
)
from dts.decode import decode
from dts.resolution import stages


def setup(path, *chain, sizes=None, output="uint8"):
    s = Preprocessor.setup().dataset("folder", path).batch_size(8).seed(5).output(output)
    s.train_transforms(*chain).preprocess_workers(3)
    return s if sizes is None else s.train_resolution(sizes)


def images(pre, epoch):
    found = {}
    for batch in pre.train(epoch):
        found.update(zip(batch.ids.tolist(), batch.images.copy(), strict=True))
    return found


@pytest.mark.parametrize("order", [(0, 1, 2, 3, 4, 5), (5, 0, 3, 2, 4, 1)])
@pytest.mark.parametrize(
    ("chain", "plain"),
    [
        (
            (RandomResizedCrop(24), RandomHorizontalFlip(), RandomErasing(0.5, value=3)),
            lambda s: (RandomResizedCrop(s), RandomHorizontalFlip(), RandomErasing(0.5, value=3)),
        ),
        (
            (Resize(32), RandomCrop(24), RandomRotation(20)),
            lambda s: (Resize(round(32 * s / 24)), RandomCrop(s), RandomRotation(20)),
        ),
    ],
)
def test_epochs_are_those_of_a_plain_run_of_their_size(blocks, chain, plain, order):
    path = blocks[0]
    sizes = {1: 12, 3: (36, 36), 5: 24}
    of_epoch = {0: 24, 1: 12, 2: 12, 3: 36, 4: 36, 5: 24}
    with setup(path, *chain, sizes=sizes).commit() as pre:
        got = {epoch: images(pre, epoch) for epoch in order}
        assert pre.sample_shape == (36, 36, 3)
    for epoch, size in of_epoch.items():
        with setup(path, *plain(size)).commit() as pre:
            wanted = images(pre, epoch)
        assert wanted.keys() == got[epoch].keys()
        for id, image in wanted.items():
            assert image.shape == (size, size, 3)
            assert np.array_equal(got[epoch][id], image), (epoch, id)


def test_batches_are_contiguous_and_those_held_stay(blocks):
    s = setup(blocks[0], RandomResizedCrop((20, 30)), sizes={0: (10, 15), 1: 40}, output="float16")
    with s.commit() as pre:
        held = [batch.images for batch in pre.train(0)]
        copies = [h.copy() for h in held]
        large = [batch.images for batch in pre.train(1)]
        assert {h.shape[1:] for h in held} == {(10, 15, 4)}
        assert {h.shape[1:] for h in large} == {(40, 40, 4)}
        for array in (*held, *large):
            assert array.flags.c_contiguous
            assert array.ctypes.data % 256 == 0
        for array, copy in zip(held, copies, strict=True):
            assert np.array_equal(array, copy)


def test_memory_is_planned_for_the_largest_once(blocks):
    sizes = {0: 16, 1: 64, 2: 16}
    with setup(blocks[0], RandomResizedCrop(32), sizes=sizes).commit() as pre:
        plan = pre.memory_plan().splits[0]
        with setup(blocks[0], RandomResizedCrop(64)).commit() as other:
            assert plan.slot_bytes == other.memory_plan().splits[0].slot_bytes
        slots = []
        for epoch in range(6):
            for batch in pre.train(epoch):
                del batch
            slots.append(pre.stats()["train"]["slots"])
        assert slots[-1] <= plan.slots
        assert pre.stats()["train"]["extra_slots"] == 0


def test_boxes_do_not_depend_on_the_size(blocks):
    with setup(blocks[0], FastRandomResizedCrop(32), sizes={2: 64}).commit() as pre:
        draws = [pre.draws("train", epoch, 3) for epoch in (1, 2)]
        assert [d.steps[0]["output_size"] for d in draws] == [(32, 32), (64, 64)]
    with setup(blocks[0], FastRandomResizedCrop(32)).commit() as pre:
        assert [pre.draws("train", e, 3).crop for e in (1, 2)] == [d.crop for d in draws]


def test_skipped_rows_close_up_at_a_smaller_size(tmp_path):
    path = tmp_path / "folder_train_lv0.dts"
    _, data = make.small_blocks(path, [6, 6])
    chain = (RandomCrop(40), RandomResizedCrop(32))  # some pictures are smaller than 40
    with setup(path, *chain, sizes={0: 8}).on_error("skip").commit() as pre:
        got = images(pre, 0)
        assert pre.stats()["train"]["skipped"] == 12 - len(got)
    assert 0 < len(got) < 12
    for id, image in got.items():
        wanted = apply_transforms(
            decode(data[id][0]), (RandomCrop(40), RandomResizedCrop(8)), seed=5, id=id
        )
        assert np.array_equal(image, wanted)


@pytest.fixture
def two_splits(tmp_path):
    make.small_blocks(tmp_path / "folder_train_lv0.dts", [5, 9])
    make.small_blocks(tmp_path / "folder_val_lv0.dts", [8, 6], split="val", seed=1)
    return tmp_path


def test_val_is_not_touched(two_splits):
    s = Preprocessor.setup().dataset("folder", two_splits).batch_size(8)
    s.train_transforms(RandomResizedCrop(32)).train_resolution({0: 16})
    with s.commit() as pre:
        assert next(iter(pre.train(0))).images.shape[1:3] == (16, 16)
        assert next(iter(pre.val(0))).images.shape[1:3] == (32, 32)


def test_train_and_val_of_different_sizes_side_by_side(two_splits):
    s = Preprocessor.setup().dataset("folder", two_splits).batch_size(8)
    s.train_transforms(RandomResizedCrop(16)).val_transforms(Resize(30), CenterCrop((28, 20)))
    with s.commit() as pre:
        both = list(zip(pre.train(0), pre.val(0), strict=True))
        assert {t.images.shape[1:] for t, _ in both} == {(16, 16, 3)}
        assert {v.images.shape[1:] for _, v in both} == {(28, 20, 3)}


def test_cifar_takes_another_crop(tmp_path):
    make_arrays.write("cifar10", tmp_path)
    s = Preprocessor.setup().dataset("cifar10", tmp_path).batch_size(16)
    s.train_transforms(RandomCrop(32, padding=4)).train_resolution({0: 24, 1: 32})
    with s.commit() as pre:
        assert [next(iter(pre.train(e))).images.shape[1] for e in (0, 1, 7)] == [24, 32, 32]


@pytest.mark.parametrize(
    ("chain", "size", "wanted"),
    [
        ((RandomResizedCrop(224),), (128, 128), (RandomResizedCrop(128),)),
        ((Resize(256), CenterCrop(224)), (128, 128), (Resize(146), CenterCrop(128))),
        (
            (Resize((256, 300)), RandomCrop(200)),
            (100, 50),
            (Resize((128, 75)), RandomCrop((100, 50))),
        ),
        (
            (Resize(512), RandomResizedCrop(224), RandomScale(0.5, 1.5)),
            (112, 112),
            (Resize(512), RandomResizedCrop(112), RandomScale(0.5, 1.5)),
        ),
        (
            (CenterCrop(300), Pad(2, 9), RandomCrop(200)),
            (300, 300),
            (CenterCrop(450), Pad(2, 9), RandomCrop(300)),
        ),
        (
            (RandomResizedCrop(9, (0.1, 0.2), antialias=False), RandomHorizontalFlip()),
            (1, 65_500),
            (
                RandomResizedCrop((1, 65_500), (0.1, 0.2), antialias=False),
                RandomHorizontalFlip(),
            ),
        ),
    ],
)
def test_which_sizes_change(chain, size, wanted):
    first, second = stages(chain, None, {4: size})
    assert (first.first_epoch, first.chain) == (0, chain)
    assert (second.first_epoch, second.chain, second.size) == (4, wanted, size)


def test_no_key_0_begins_with_the_chain_itself():
    assert [s.first_epoch for s in stages((CenterCrop(8),), None, {0: (4, 4), 2: (8, 8)})] == [
        0,
        2,
    ]
    assert [s.size for s in stages((CenterCrop(8),), None, {})] == [(8, 8)]


@pytest.mark.parametrize(
    ("chain", "sizes", "message"),
    [
        ((RandomResizedCrop(32),), {0: 0}, "train_resolution: size"),
        ((RandomResizedCrop(32),), {0: (8, 65_501)}, "train_resolution: size"),
        ((RandomResizedCrop(32),), {-1: 8}, "train_resolution: epoch"),
        ((RandomResizedCrop(32),), {1 << 32: 8}, "train_resolution: epoch"),
        ((RandomResizedCrop(28), Pad(2)), {0: 16}, r"ends at 32 x 32.*at 18 x 18, not at 16"),
        ((Resize(40), CenterCrop(32)), {0: (16, 32)}, "keeps the aspect ratio"),
        ((Resize((40_000, 40)), CenterCrop(32)), {0: 64}, "65500"),
    ],
)
def test_what_cannot_be_is_said_in_commit(blocks, chain, sizes, message):
    with pytest.raises(ConfigError, match=message):
        setup(blocks[0], *chain, sizes=sizes).commit()


def test_a_set_without_a_crop_keeps_its_size(tmp_path):
    make_arrays.write("mnist", tmp_path)
    s = Preprocessor.setup().dataset("mnist", tmp_path).batch_size(16).train_resolution({1: 14})
    with pytest.raises(ConfigError, match="train_resolution"):
        s.commit()


@pytest.mark.parametrize(
    "sizes", [128, [128], {0: "8"}, {"0": 8}, {0: (1, 2, 3)}, {0: 1.5}, {0: None}, {True: 8}]
)
def test_wrong_types_are_refused_at_once(sizes):
    with pytest.raises(TypeError, match="train_resolution"):
        Preprocessor.setup().train_resolution(sizes)
