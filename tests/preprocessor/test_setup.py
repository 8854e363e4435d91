"""Every setting is checked: types at the call, values in commit(), before any thread starts."""

import os

import make
import numpy as np
import pytest

from dts import (
    CenterCrop,
    ConfigError,
    LoadMode,
    NormMode,
    Preprocessor,
    RandomErasing,
    RandomHorizontalFlip,
    RandomResizedCrop,
    Resize,
)


def threads():
    return len(os.listdir("/proc/self/task"))


WRONG_TYPES = [
    ("dataset", (3, "x")),
    ("dataset", ("folder", 3)),
    ("using_dts_format", ("yes",)),
    ("using_dts_format", (True, "3")),
    ("fully_mode", (1,)),
    ("partial_mode", ("x",)),
    ("load_mode", ("FULLY",)),
    ("shuffle_train", (None,)),
    ("shuffle_order", (1,)),
    ("shuffle_window", (2.0,)),
    ("seed", (1.5,)),
    ("seed", ("1",)),
    ("load_workers", ("2",)),
    ("preprocess_workers", (True,)),
    ("cpu_binding", (0,)),
    ("direct_io", (1,)),
    ("batch_size", (8.0,)),
    ("drop_last", ("no",)),
    ("prefetch_batches", (None,)),
    ("max_held_batches", ("1",)),
    ("amp", (1,)),
    ("output", (3,)),
    ("output", ("float16", "4")),
    ("labels", (4,)),
    ("normalization", ("IMAGENET",)),
    ("normalization", ((0.5,), "x")),
    ("normalization", (NormMode.CIFAR, (1,))),
    ("normalization", (None,)),
    ("train_transforms", (RandomResizedCrop,)),
    ("train_transforms", ("flip",)),
    ("val_transforms", ([Resize(3)],)),
    ("color_channels", ("RGB",)),
    ("distributed", (0.0, 1)),
    ("on_error", (None,)),
    ("verify_crc", (2,)),
    ("download", ("x",)),
    ("sdmp_factor", (1.0,)),
    ("using_cpvs", ("x",)),
    ("max_intermediate_resolution", ("x",)),
]


@pytest.mark.parametrize(("method", "arguments"), WRONG_TYPES)
def test_wrong_types_fail_at_the_call(method, arguments):
    with pytest.raises(TypeError, match=method):
        getattr(Preprocessor.setup(), method)(*arguments)


def test_normalize_is_not_a_transform():
    class Normalize:
        pass

    with pytest.raises(TypeError, match="normalization"):
        Preprocessor.setup().train_transforms(Normalize())


WRONG_VALUES = [
    ("dataset", ("nothing", "x")),
    ("dataset", ("folder", "")),
    ("using_dts_format", (True, 4)),
    ("using_dts_format", (False, 2)),
    ("using_dts_format", (True, 3)),
    ("shuffle_order", ("random",)),
    ("shuffle_window", (0,)),
    ("load_workers", (-1,)),
    ("preprocess_workers", (5000,)),
    ("batch_size", (0,)),
    ("batch_size", (-3,)),
    ("prefetch_batches", (0,)),
    ("max_held_batches", (0,)),
    ("output", ("bfloat16",)),
    ("output", ("float32", 2)),
    ("labels", ("uint8",)),
    ("normalization", ((0.5, 0.5), (1, 1))),
    ("normalization", ((0.5,), (0.0,))),
    ("normalization", ((0.5,), (-1.0,))),
    ("normalization", ((float("nan"),), (1.0,))),
    ("normalization", ((0.5,), (float("nan"),))),
    ("normalization", ((float("inf"),), (1.0,))),
    ("normalization", (0.5, 10**400)),
    ("train_transforms", ()),
    ("train_transforms", (Resize(32),)),
    ("train_transforms", (RandomHorizontalFlip(),)),
    ("train_transforms", (RandomResizedCrop(30_000),)),
    ("train_transforms", (RandomResizedCrop(30), *[RandomHorizontalFlip()] * 64)),
    ("train_transforms", (RandomResizedCrop(8), RandomErasing(value=(1, 2, 3)), Resize(9))),
    ("val_transforms", (CenterCrop(9), RandomErasing())),
    ("color_channels", (2,)),
    ("distributed", (1, 1)),
    ("distributed", (0, 0)),
    ("on_error", ("ignore",)),
    ("sdmp_factor", (0,)),
    ("max_intermediate_resolution", (0,)),
    ("max_intermediate_resolution", (31,)),
]


@pytest.mark.parametrize(("method", "arguments"), WRONG_VALUES)
def test_wrong_values_fail_in_commit(blocks, setup_of, method, arguments):
    setup = setup_of(blocks[0])
    if "value=" in repr(arguments) and method == "train_transforms":
        setup.color_channels(1)
    before = threads()
    assert getattr(setup, method)(*arguments) is setup
    with pytest.raises(ConfigError, match=method):
        setup.commit()
    assert threads() == before


NOT_YET = [
    ("distributed", (0, 2)),
]


@pytest.mark.parametrize(("method", "arguments"), NOT_YET)
def test_what_does_not_exist_yet_says_so(blocks, setup_of, method, arguments):
    setup = getattr(setup_of(blocks[0]), method)(*arguments)
    with pytest.raises(NotImplementedError, match=method):
        setup.commit()


def test_state_does_not_exist_yet(blocks, setup_of):
    with setup_of(blocks[0]).commit() as pre:
        with pytest.raises(NotImplementedError):
            pre.state_dict()
        with pytest.raises(NotImplementedError):
            pre.load_state_dict({})


def test_what_cannot_go_together(blocks, setup_of):
    with pytest.raises(ConfigError, match="global"):
        setup_of(blocks[0], partial_mode=True, shuffle_order="global").commit()
    with pytest.raises(ConfigError, match="float16"):
        setup_of(blocks[0], amp=True, normalization=((0.5,), (1e-6,))).commit()
    with pytest.raises(ConfigError, match="uint8"):
        setup_of(blocks[0], output="uint8", normalization=NormMode.IMAGENET).commit()
    with pytest.raises(ConfigError, match="channels"):
        setup_of(blocks[0], color_channels=1, normalization=NormMode.IMAGENET).commit()
    with pytest.raises(ConfigError, match="float16"):
        setup_of(
            blocks[0], amp=True, train_transforms=(RandomResizedCrop(8), RandomErasing(value=1e5))
        ).commit()
    with setup_of(blocks[0], amp=True, normalization=((0.5,), (1e-4,))).commit() as pre:
        assert np.isfinite(next(iter(pre.train(0))).images).all()


def test_missing_essentials(blocks):
    with pytest.raises(ConfigError, match="dataset"):
        Preprocessor.setup().batch_size(3).commit()
    with pytest.raises(ConfigError, match="batch_size"):
        Preprocessor.setup().dataset("folder", blocks[0]).commit()
    with pytest.raises(TypeError, match="setup"):
        Preprocessor()


def test_a_set_larger_than_memory_is_refused_with_both_numbers(blocks, setup_of, monkeypatch):
    from dts.loaders import memory

    monkeypatch.setattr(memory, "available_bytes", lambda root: (100 << 20, "a test"))
    with pytest.raises(ConfigError, match=r"0\.14 GiB.*0\.10 GiB.*partial_mode"):
        setup_of(blocks[0], fully_mode=True).commit()
    with setup_of(blocks[0]).commit() as pre:
        assert pre.memory_plan().splits[0].mode == "PARTIAL"
    monkeypatch.setattr(memory, "available_bytes", lambda root: (1 << 40, "a test"))
    with setup_of(blocks[0]).commit() as pre:
        assert pre.memory_plan().splits[0].mode == "FULLY"


def test_the_default_order_does_not_follow_memory(blocks, setup_of, monkeypatch, digest):
    from dts.loaders import memory

    seen = []
    for size in (100 << 20, 1 << 40):
        monkeypatch.setattr(memory, "available_bytes", lambda root, size=size: (size, "a test"))
        with setup_of(blocks[0], shuffle_window=2).commit() as pre:
            seen.append(digest(pre.train(0)))
    assert seen[0] == seen[1]


class TestFiles:
    @pytest.fixture
    def directory(self, tmp_path):
        for split, level in (("train", 0), ("train", 3), ("val", 0), ("val", 3)):
            path = tmp_path / f"folder_{split}_lv{level}.dts"
            make.small_blocks(path, [3, 2 + level], level=level, split=split)
        return tmp_path

    def test_a_level_picks_its_files(self, directory, setup_of):
        for level, n in ((0, 5), (3, 8)):
            with setup_of(directory, using_dts_format=(True, level)).commit() as pre:
                assert pre.num_train_samples == pre.num_val_samples == n

    def test_two_levels_are_listed(self, directory, setup_of):
        with pytest.raises(ConfigError, match=r"folder_train_lv0\.dts, folder_train_lv3\.dts"):
            setup_of(directory).commit()
        with pytest.raises(ConfigError, match="level 1"):
            setup_of(directory, using_dts_format=(True, 1)).commit()

    def test_the_only_level_is_taken(self, directory, setup_of):
        (directory / "folder_train_lv3.dts").unlink()
        with setup_of(directory).commit() as pre:
            assert (pre.num_train_samples, pre.num_val_samples) == (5, 5)

    def test_files_by_name(self, directory, setup_of):
        train, val = directory / "folder_train_lv0.dts", directory / "folder_val_lv3.dts"
        setup = setup_of(train).dataset("folder", train, val_path=val)
        with setup.commit() as pre:
            assert (pre.num_train_samples, pre.num_val_samples) == (5, 8)
        with pytest.raises(ConfigError, match="val_path"):
            setup_of(train).dataset("folder", train, val_path=train).commit()
        with setup_of(train).dataset("folder", val).commit() as pre:
            assert pre.num_train_samples == 0
            with pytest.raises(ConfigError, match="training"):
                pre.train(0)

    def test_one_split_alone(self, directory, setup_of):
        with setup_of(directory / "folder_train_lv0.dts").commit() as pre:
            assert pre.num_val_samples == 0
            for call in (pre.val, lambda: pre.val_steps, lambda: pre.names("val")):
                with pytest.raises(ConfigError, match="validation"):
                    call()
            with pytest.raises(ValueError, match="test"):
                pre.names("test")

    def test_class_lists_must_agree(self, directory, setup_of):
        make.small_blocks(directory / "folder_val_lv0.dts", [3], split="val", classes=4)
        with pytest.raises(ConfigError, match=r"only in val: class_3"):
            setup_of(directory, using_dts_format=(True, 0)).commit()

    def test_a_directory_without_files(self, tmp_path, setup_of):
        with pytest.raises(ConfigError, match="dts export"):
            setup_of(tmp_path).commit()

    def test_names_in_any_spelling(self, directory, setup_of):
        for name in ("Folder", "FOLDER"):
            setup_of(directory / "folder_train_lv0.dts", name).commit().close()


def test_val_without_transforms_follows_train(tmp_path, setup_of):
    make.small_blocks(tmp_path / "folder_train_lv0.dts", [3])
    make.small_blocks(tmp_path / "folder_val_lv0.dts", [3], split="val")
    with setup_of(tmp_path, train_transforms=RandomResizedCrop(28)).commit() as pre:
        steps = pre.draws("val", 0, 1).steps
        assert [s["transform"] for s in steps] == [Resize(32), CenterCrop(28)]
        assert next(iter(pre.val())).images.shape == (3, 28, 28, 3)
    with setup_of(tmp_path, train_transforms=RandomResizedCrop((28, 56))).commit() as pre:
        assert next(iter(pre.val())).images.shape == (3, 28, 56, 3)


def test_what_it_says_of_itself(blocks, setup_of):
    path, content = blocks
    with setup_of(path, load_mode=LoadMode.PARTIAL, shuffle_window=2).commit() as pre:
        assert pre.class_names == ["class_0", "class_1", "class_2"]
        assert pre.num_train_samples == 61
        assert pre.steps_per_epoch == 8
        assert pre.sample_shape == (32, 32, 3)
        names = pre.names("train")
        assert len(names) == 61
        assert names[np.int64(7)] == f"class_{content[7][1]}/000007.jpg"
        draws = pre.draws("train", 2, np.int64(7))
        assert draws["crop"] == draws.crop
        assert draws.epoch == 2
        with pytest.raises(KeyError):
            draws["size"]
        with pytest.raises(IndexError):
            pre.draws("train", 0, 61)
        plan = pre.memory_plan()
        assert plan.splits[0].arena_bytes >= 4 * 16 << 20
        assert plan.total_bytes < 9 * 16 << 20
        assert "PARTIAL" in str(plan)
        assert "61" in repr(pre)
        list(pre.train(0))
        stats = pre.stats()["train"]
        assert stats["samples"] == 61
        assert stats["bytes_read"] >= 9 * 16 << 20
        assert stats["worker_cpu_seconds"] > 0
        assert stats["scratch_bytes"] <= plan.splits[0].workers * plan.splits[0].scratch_bytes


def test_a_batch_larger_than_the_set_takes_no_more_memory_than_the_set(blocks, setup_of):
    with setup_of(blocks[0], batch_size=1 << 24).commit() as pre:
        assert pre.memory_plan().splits[0].slot_bytes < 61 * (32 * 32 * 3 * 4 + 64)
        assert [len(batch) for batch in pre.train(0)] == [61]
    with pytest.raises(ConfigError, match="drop_last"):
        setup_of(blocks[0], batch_size=62, drop_last=True).commit()


@pytest.mark.parametrize(
    "chain",
    [
        (RandomResizedCrop(24),),
        (Resize(40), CenterCrop(32)),
        (Resize((1500, 1500)), RandomResizedCrop(32)),
        (CenterCrop(1500), Resize((20, 20))),
        (CenterCrop(1500),),
        (Resize(900), RandomResizedCrop(32)),
        (Resize((1500, 1500)), RandomResizedCrop(1200), RandomResizedCrop(32)),
    ],
)
def test_the_plan_covers_what_a_worker_takes(tmp_path, setup_of, chain):
    pictures = [(make.jpeg(k, *size), 0) for k, size in enumerate([(60, 40), (40, 150), (9, 9)])]
    path = make.pack_blocks(tmp_path / "x.dts", [pictures])
    with setup_of(path, train_transforms=chain, preprocess_workers=1).commit() as pre:
        assert sum(len(batch) for batch in pre.train(0)) == 3
        assert (
            0 < pre.stats()["train"]["scratch_bytes"] <= pre.memory_plan().splits[0].scratch_bytes
        )
