"""Folders of class folders behind the Preprocessor (RAW), beside .dts files made of them."""

import shutil

import make
import numpy as np
import pytest

from dts import (
    CenterCrop,
    ConfigError,
    DecodeError,
    DtsError,
    NormMode,
    Preprocessor,
    RandomHorizontalFlip,
    RandomResizedCrop,
    Resize,
)
from dts.datasets.listing import list_pictures
from dts.export import export_folder
from dts.format import DtsFile
from dts.loaders import DtsLoader


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """A folder with train/ and val/; class_2 is missing in val."""
    root = tmp_path_factory.mktemp("tree")
    make.folder(root / "train", make.varied(41, 6, (40, 200)))
    make.folder(root / "val", make.varied(12, 7, (40, 200)))
    shutil.rmtree(root / "val" / "class_1")
    (root / "notes.txt").write_text("not a picture")
    return root


@pytest.fixture(scope="module")
def packed(tree, tmp_path_factory):
    path = tmp_path_factory.mktemp("packed") / "folder_train_lv0.dts"
    export_folder(tree / "train", path, level=0, progress=False)
    return path


def raw(path, **calls):
    setup = Preprocessor.setup().dataset("folder", path).batch_size(8).seed(3)
    setup.train_transforms(Resize(48), CenterCrop(32)).normalization(NormMode.IMAGENET)
    for method, argument in calls.items():
        getattr(setup, method)(*(argument if isinstance(argument, tuple) else (argument,)))
    return setup


def pictures(pre, epoch=0):
    """Finished pictures and labels by name."""
    names, found = pre.names("train"), {}
    for batch in pre.train(epoch):
        for image, label, id in zip(batch.images, batch.labels, batch.ids, strict=True):
            found[names[id]] = (image.tobytes(), int(label))
    return found


def test_same_bytes_and_labels_as_a_packed_file(tree, packed):
    with DtsFile(packed) as file, DtsLoader().configure(tree / "train", raw="folder") as loader:
        wanted = sorted((bytes(data), int(label)) for data, label in (file[i] for i in range(41)))
        assert loader.begin_epoch(0) == 41
        got = []
        while (sample := loader.get_next_sample()) is not None:
            got.append((bytes(sample[1]), sample[0]))
        assert sorted(got) == wanted
        assert loader.class_names == file.class_names


@pytest.mark.parametrize("mode", ["fully_mode", "partial_mode"])
def test_same_pictures_as_a_packed_file(tree, packed, mode):
    with raw(tree, **{mode: True}).commit() as pre, raw(packed).commit() as other:
        got, wanted = pictures(pre), pictures(other)
        assert len(got) == 41
        assert got == wanted
        assert pre.class_names == other.class_names == ["class_0", "class_1", "class_2"]


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("mode", ["fully_mode", "partial_mode"])
def test_random_transforms_follow_id_and_epoch_only(tree, digest, mode, threads):
    setup = raw(tree, shuffle_order="window", preprocess_workers=threads, load_workers=threads)
    setup.train_transforms(RandomResizedCrop(32), RandomHorizontalFlip())
    getattr(setup, mode)()
    first = raw(tree, shuffle_order="window").train_transforms(
        RandomResizedCrop(32), RandomHorizontalFlip()
    )
    with setup.commit() as pre, first.commit() as other:
        pre.train(0)
        assert digest(pre.train(4)) == digest(other.train(4))
        id = pre.names("train").index("class_1/picture_00004.jpg")
        assert pre.draws("train", 4, id) == other.draws("train", 4, id)


def test_validation_follows_the_classes_of_train_in_order(tree):
    with raw(tree).commit() as pre:
        assert (pre.num_train_samples, pre.num_val_samples) == (41, 8)
        batches = list(pre.val())
        ids = np.concatenate([b.ids for b in batches])
        labels = np.concatenate([b.labels for b in batches])
        assert ids.tolist() == list(range(8))
        names = [pre.names("val")[i] for i in ids]
        assert names == sorted(names)
        assert labels.tolist() == [int(name[len("class_")]) for name in names]
        assert set(labels) == {0, 2}


def test_an_unknown_class_is_named(tree, tmp_path):
    root = shutil.copytree(tree, tmp_path / "x")
    (root / "val" / "class_0").rename(root / "val" / "zebra")
    with pytest.raises(ConfigError, match="zebra"):
        raw(root).commit()


class TestWhere:
    def test_a_class_folder_tree_is_the_training_set(self, tree):
        with raw(tree / "train").commit() as pre:
            assert (pre.num_train_samples, pre.num_val_samples) == (41, 0)
            with pytest.raises(ConfigError, match=r"only .*train\)"):
                pre.val()

    def test_two_paths(self, tree):
        for val in (tree / "val", tree):
            setup = raw(tree).dataset("folder", tree / "train", val_path=val)
            with setup.commit() as pre:
                assert (pre.num_train_samples, pre.num_val_samples) == (41, 8)

    def test_val_alone(self, tree, tmp_path):
        shutil.copytree(tree / "val", tmp_path / "val")
        with raw(tmp_path, val_transforms=(Resize(32), CenterCrop(32))).commit() as pre:
            assert (pre.num_train_samples, pre.num_val_samples) == (0, 8)

    def test_a_class_may_be_called_train(self, tree, tmp_path):
        shutil.copytree(tree / "val" / "class_0", tmp_path / "train")
        shutil.copytree(tree / "val" / "class_2", tmp_path / "car")
        with raw(tmp_path).commit() as pre:
            assert pre.class_names == ["car", "train"]

    def test_dts_files_come_first(self, tree, packed, tmp_path):
        shutil.copytree(tree / "val", tmp_path / "train")
        with raw(tmp_path).commit() as pre:
            assert pre.num_train_samples == 8
        shutil.copy(packed, tmp_path / packed.name)
        for asked, n in (((), 41), ((True,), 41), ((False,), 8)):
            setup = raw(tmp_path)
            if asked:
                setup.using_dts_format(*asked)
            with setup.commit() as pre:
                assert pre.num_train_samples == n

    def test_imagenet_takes_jpeg_only(self, tree, tmp_path):
        shutil.copytree(tree / "train", tmp_path / "train")
        for path in sorted((tmp_path / "train").rglob("*.jpg"))[::2]:
            path.rename(path.with_suffix(".JPEG"))
        (tmp_path / "devkit").mkdir()
        with raw(tmp_path).dataset("imagenet", tmp_path).commit() as pre:
            assert pre.num_train_samples == 21
            names = [pre.names("train")[i] for i in range(21)]
            assert names == sorted(names)
            assert len(pictures(pre)) == 21

    @pytest.mark.parametrize(
        ("path", "words"),
        [("nothing", "nothing at"), ("train/class_0/picture_00000.jpg", "not a folder")],
    )
    def test_wrong_places(self, tree, path, words):
        with pytest.raises((ConfigError, FileNotFoundError), match=words):
            raw(tree / path, using_dts_format=False).commit()

    def test_no_pictures(self, tmp_path):
        (tmp_path / "a").mkdir()
        (tmp_path / "a" / "b.txt").write_text("x")
        with pytest.raises(ConfigError, match=r"train set: .*no pictures"):
            raw(tmp_path).commit()

    def test_no_val_where_one_was_asked_for(self, tree, tmp_path):
        shutil.copytree(tree / "train", tmp_path / "train")
        with pytest.raises(ConfigError, match="val_path"):
            raw(tmp_path).dataset("folder", tmp_path, val_path=tmp_path).commit()

    def test_checksums_cannot_be_checked(self, tree):
        with pytest.raises(ConfigError, match="verify_crc"):
            raw(tree, verify_crc=True).commit()


@pytest.mark.parametrize("policy", ["raise", "skip", "replace"])
@pytest.mark.parametrize("mode", ["fully_mode", "partial_mode"])
def test_damage_between_epochs(tree, tmp_path, policy, mode):
    root = shutil.copytree(tree / "train", tmp_path / "train")
    with raw(root, on_error=policy, drop_last=False, **{mode: True}).commit() as pre:
        (root / "class_0" / "picture_00003.jpg").unlink()
        (root / "class_1" / "picture_00004.jpg").write_bytes(b"\xff\xd8 broken")
        path = root / "class_2" / "picture_00005.jpg"
        path.write_bytes(path.read_bytes()[:-50])
        (root / "class_2" / "new.jpg").write_bytes(b"was not there")
        errors, seen, iterator = [], 0, iter(pre.train(0))
        while True:
            try:
                seen += len(next(iterator))
            except StopIteration:
                break
            except (OSError, DtsError) as error:
                errors.append(error)
        if policy == "raise":
            assert {e.name for e in errors} <= {
                "class_0/picture_00003.jpg",
                "class_1/picture_00004.jpg",
                "class_2/picture_00005.jpg",
            }
            assert errors
            for error in errors:
                assert error.name in str(getattr(error, "filename", None) or error.path)
                assert pre.names("train")[error.id] == error.name
        else:
            assert not errors
            assert seen == (41 if policy == "replace" else 38)


def test_a_picture_that_is_no_jpeg_is_an_error_by_name(tmp_path):
    make.folder(tmp_path, [*make.varied(5, 2), b"\x89PNG\r\n\x1a\n" + bytes(60)], 2)
    (tmp_path / "class_1" / "picture_00005.jpg").rename(tmp_path / "class_1" / "x.png")
    with raw(tmp_path).commit() as pre, pytest.raises(DecodeError, match=r"class_1/x\.png"):
        list(pre.train(0))


def test_the_low_level_loader(tree, packed):
    names = ["class_0", "class_1", "class_2"]
    with DtsLoader() as loader:
        assert loader.class_names is None
        assert loader.label_to_folder == {}
        loader.configure(
            tree / "train", tree / "val", raw="folder", mode="FULLY", preprocess_workers=2
        )
        assert loader.class_names == names
        assert loader.label_to_folder == dict(enumerate(names))
        assert loader.folder_to_label == {"class_0": 0, "class_1": 1, "class_2": 2}
        assert loader.begin_epoch(0, is_train=False) == 8
        assert [loader.get_next_sample(k % 2)[2] for k in range(8)] == list(range(8))
        assert 0 < loader.memory_bytes < 2_000_000
    with DtsLoader().configure(packed) as loader:
        assert loader.folder_to_label == {"class_0": 0, "class_1": 1, "class_2": 2}


def test_the_low_level_loader_takes_a_listing(tree):
    listing = list_pictures(tree / "train").by_class()
    with DtsLoader().configure(listing, raw="folder", mode="PARTIAL") as loader:
        assert loader.begin_epoch(0) == 41
    with pytest.raises(ConfigError, match="Listing"):
        DtsLoader().configure(listing)
    other = list_pictures(tree / "val")
    with pytest.raises(ConfigError, match="different classes"):
        DtsLoader().configure(listing, other, raw="folder")
