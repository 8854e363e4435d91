"""MNIST and CIFAR from end to end: original files and .dts files give the same batches."""

import logging
import shutil
import threading

import make_arrays
import numpy as np
import pytest

from dts import (
    CenterCrop,
    LoadMode,
    NormMode,
    Preprocessor,
    RandomErasing,
    RandomHorizontalFlip,
    RandomResizedCrop,
    Resize,
)
from dts.datasets import download as module
from dts.datasets.catalog import ARRAY_SETS
from dts.errors import ConfigError, CorruptError, FormatError
from dts.export import export_dataset
from dts.loaders import epoch_order

NAMES = list(ARRAY_SETS)
MODES = {"mnist": NormMode.MNIST, "cifar10": NormMode.CIFAR, "cifar100": NormMode.CIFAR}
SIZES = {"n_train": 61, "n_val": 23}


@pytest.fixture(scope="session")
def sets(tmp_path_factory):
    """Return by name: folder of original files, folder of .dts files, content."""
    made = {}
    for name in NAMES:
        raw, packed = tmp_path_factory.mktemp(name), tmp_path_factory.mktemp(f"{name}_dts")
        content = make_arrays.write(name, raw, **SIZES)
        for split in content:
            export_dataset(name, raw, packed, split=split)
        made[name] = raw, packed, content
    return made


def plain(name, path, **calls):
    """Return a Setup without transforms; keyword arguments are calls on it."""
    setup = Preprocessor.setup().dataset(name, path).batch_size(8).seed(42)
    for method, arguments in calls.items():
        arguments = arguments if isinstance(arguments, tuple) else (arguments,)
        getattr(setup, method)(*arguments)
    return setup


def augmented(name, path, **calls):
    setup = plain(name, path, **calls).normalization(MODES[name])
    ops = RandomResizedCrop(24, scale=(0.3, 1.0)), RandomHorizontalFlip(), RandomErasing(0.5)
    return setup.train_transforms(*ops)


def joined(batches):
    """Images, labels and ids of an epoch."""
    batches = [(b.images.copy(), b.labels.copy(), b.ids.copy()) for b in batches]
    return tuple(np.concatenate(part) for part in zip(*batches, strict=True))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dts", [False, True])
def test_pixels_labels_and_ids(sets, name, dts):
    path, content = sets[name][dts], sets[name][2]
    setup = plain(name, path, output="uint8", using_dts_format=dts, labels="int64")
    with setup.commit() as pre:
        assert (pre.num_train_samples, pre.num_val_samples) == (61, 23)
        assert (pre.steps_per_epoch, pre.val_steps) == (8, 3)
        assert pre.sample_shape == make_arrays.SHAPES[name]
        assert pre.names("train") is None
        for split, epoch in (("train", 0), ("train", 3), ("val", 0)):
            images, labels, ids = joined(getattr(pre, split)(epoch))
            assert np.array_equal(images, content[split][0][ids])
            assert np.array_equal(labels, content[split][1][ids])
            assert labels.dtype == np.int64
            order = "global" if split == "train" else "sequential"
            assert ids.tolist() == order_of(len(ids), order, 42, epoch, split)


def order_of(n, order, seed, epoch, split):
    return epoch_order([n], order=order, seed=seed, epoch=epoch, split=split).tolist()


@pytest.mark.parametrize("name", NAMES)
def test_the_same_bytes_for_any_threads_and_either_way(sets, digest, name):
    raw, packed, _ = sets[name]
    seen = set()
    for path in (raw, packed):
        for loaders, workers in ((1, 1), (2, 3), (1, 64)):
            setup = augmented(name, path, load_workers=loaders, preprocess_workers=workers)
            with setup.commit() as pre:
                seen.add((digest(pre.train(2)), digest(pre.train(0)), digest(pre.val())))
    assert len(seen) == 1
    assert len(set(seen.pop())) == 3


@pytest.mark.parametrize("dtype", ["float32", "float16", "uint8"])
def test_numbers(sets, dtype):
    """One channel: normalised by one mean; float16 has zeros in the channels behind it."""
    raw, _, content = sets["mnist"]
    setup = plain("mnist", raw, output=dtype)
    if dtype != "uint8":
        setup.normalization(NormMode.MNIST)
    with setup.commit() as pre:
        images, _, ids = joined(pre.val())
    pixels = content["val"][0][ids]
    if dtype == "uint8":
        assert np.array_equal(images, pixels)
        return
    wanted = (pixels / 255 - 0.1307) / 0.3081
    assert np.allclose(images[..., :1], wanted, atol=2e-6 if dtype == "float32" else 2e-3)
    assert images.shape == (23, 28, 28, 4 if dtype == "float16" else 1)
    assert not images[..., 1:].any()


def test_packed_channels_of_mnist(sets):
    with plain("mnist", sets["mnist"][0], output=("float16", 1)).commit() as pre:
        assert next(iter(pre.train(0))).images.shape == (8, 28, 28, 1)
    with pytest.raises(ConfigError, match="output"):
        plain("mnist", sets["mnist"][0], output=("float16", 3)).commit()
    with pytest.raises(ConfigError, match="color_channels"):
        plain("mnist", sets["mnist"][0], color_channels=3).commit()


@pytest.mark.parametrize("mode", list(LoadMode))
def test_always_in_memory(sets, digest, caplog, mode):
    raw, packed, _ = sets["cifar10"]
    caplog.set_level(logging.INFO, "dts")
    with augmented("cifar10", packed, load_mode=mode).commit() as pre:
        assert {s.mode for s in pre.memory_plan().splits} == {"FULLY"}
        seen = digest(pre.train(1))
    assert ("always in memory" in caplog.text) == (mode is LoadMode.PARTIAL)
    with augmented("cifar10", raw).commit() as pre:
        assert digest(pre.train(1)) == seen


def test_orders(sets):
    raw = sets["mnist"][0]

    def ids(**calls):
        with plain("mnist", raw, **calls).commit() as pre:
            return [joined(pre.train(e))[2].tolist() for e in range(2)]

    assert ids(shuffle_train=False) == [list(range(61))] * 2
    assert ids(shuffle_order="window")[1] == order_of(61, "window", 42, 1, "train")
    assert ids(shuffle_order="global", partial_mode=True) == ids()
    seen = [ids(seed=s) for s in (0, 1, 2**40)]  # the reference forgot the seed here
    assert len({str(s) for s in seen}) == 3
    assert all(s[0] != s[1] for s in seen)


@pytest.mark.parametrize("batch", [1, 7, 61, 100])
def test_counts_that_do_not_divide(sets, batch):
    with plain("cifar100", sets["cifar100"][1], batch_size=batch).commit() as pre:
        sizes = [len(b) for b in pre.train(0)]
        assert sum(sizes) == 61
        assert len(sizes) == pre.steps_per_epoch == -(-61 // batch)
    if batch < 61:
        setup = plain("cifar100", sets["cifar100"][1], batch_size=batch, drop_last=True)
        with setup.commit() as pre:
            assert sum(len(b) for b in pre.train(0)) == 61 // batch * batch


def test_transforms(sets):
    raw, _, content = sets["cifar10"]
    with plain("cifar10", raw, output="uint8", val_transforms=CenterCrop(24)).commit() as pre:
        images, _, ids = joined(pre.val())
        assert np.array_equal(images, content["val"][0][ids, 4:28, 4:28])
        assert pre.sample_shape == (32, 32, 3)
    setup = plain("cifar10", raw, output="uint8", train_transforms=RandomHorizontalFlip())
    with setup.commit() as pre:
        images, _, ids = joined(pre.train(0))
        flipped = [pre.draws("train", 0, id).flip for id in ids]
        for image, id, flip in zip(images, ids, flipped, strict=True):
            pixels = content["train"][0][id]
            assert np.array_equal(image, pixels[:, ::-1] if flip else pixels)
        assert 0 < sum(flipped) < 61
        assert np.array_equal(joined(pre.val())[0], content["val"][0])
    with plain("cifar10", raw, train_transforms=(Resize(40), CenterCrop(36))).commit() as pre:
        assert next(iter(pre.train(0))).images.shape == (8, 36, 36, 3)
        assert pre.draws("val", 0, 0).steps[0]["transform"] == Resize(41)
        assert next(iter(pre.val())).images.shape == (8, 36, 36, 3)


def test_class_names(sets, tmp_path):
    for name, wanted in (("mnist", list("0123456789")), ("cifar10", make_arrays.CIFAR10_NAMES)):
        with plain(name, sets[name][0]).commit() as pre:
            assert pre.class_names == wanted
    with plain("cifar10", sets["cifar10"][1]).commit() as pre:
        assert pre.class_names is None
    packed = shutil.copytree(sets["cifar10"][1], tmp_path / "packed")
    (packed / "batches.meta.txt").write_text("\n".join(make_arrays.CIFAR10_NAMES))
    with plain("cifar10", packed).commit() as pre:
        assert pre.class_names == make_arrays.CIFAR10_NAMES
    with plain("mnist", sets["mnist"][1]).commit() as pre:
        assert pre.class_names == list("0123456789")


class TestPlaces:
    @pytest.fixture
    def mixed(self, sets, tmp_path):
        """Return a folder with both kinds; the .dts files hold another set, to tell them apart."""
        raw, _, _ = sets["cifar10"]
        place = shutil.copytree(raw, tmp_path / "place")
        make_arrays.write("cifar10", tmp_path / "other", n_train=31, n_val=11)
        for split in ("train", "val"):
            export_dataset("cifar10", tmp_path / "other", place, split=split)
        return place

    def counts(self, path, **calls):
        with plain("cifar10", path, **calls).commit() as pre:
            return pre.num_train_samples, pre.num_val_samples

    def test_dts_files_come_first(self, mixed):
        assert self.counts(mixed) == (31, 11)
        assert self.counts(mixed, using_dts_format=True) == (31, 11)
        assert self.counts(mixed, using_dts_format=False) == (61, 23)
        (mixed / "cifar10_test.dts").unlink()
        assert self.counts(mixed) == (31, 23)
        assert self.counts(mixed, using_dts_format=True) == (31, 0)
        assert self.counts(mixed / "cifar-10-batches-bin") == (61, 23)

    def test_single_files(self, mixed):
        train, val = mixed / "cifar10_train.dts", mixed / "cifar10_test.dts"
        assert self.counts(train) == (31, 0)
        assert self.counts(val) == (0, 11)
        for val_path in (val, mixed):
            setup = plain("cifar10", train).dataset("cifar", train, val_path=val_path)
            with setup.commit() as pre:
                assert (pre.num_train_samples, pre.num_val_samples) == (31, 11)

        def refused(path, val_path, reason):
            setup = plain("cifar10", path).dataset("cifar10", path, val_path=val_path)
            with pytest.raises(ConfigError, match=reason):
                setup.commit()

        refused(train, train, "val_path .* holds a training set")
        refused(val, val, "second val set")
        with pytest.raises(ConfigError, match="name the directory"):
            plain("cifar10", train, using_dts_format=False).commit()

    def test_another_set(self, sets, tmp_path):
        raw, packed, _ = sets["cifar100"]
        with pytest.raises(ConfigError, match=r"cifar100_train\.dts holds cifar100, not cifar10"):
            plain("cifar10", packed / "cifar100_train.dts").commit()
        with pytest.raises(ConfigError, match=r"no cifar10_train\.dts and no data_batch_1\.bin"):
            plain("cifar10", raw).commit()
        shutil.copy(packed / "cifar100_train.dts", tmp_path / "cifar10_train.dts")
        with pytest.raises(ConfigError, match="holds cifar100"):
            plain("cifar10", tmp_path).commit()
        shutil.copy(packed / "cifar100_train.dts", tmp_path / "cifar100_test.dts")
        with pytest.raises(ConfigError, match="not a val set"):
            plain("cifar100", tmp_path).commit()

    def test_nothing(self, tmp_path):
        with pytest.raises(ConfigError, match=r"no cifar10_train\.dts.*download"):
            plain("cifar10", tmp_path).commit()
        with pytest.raises(ConfigError, match=r"no cifar10_train\.dts.*dts export"):
            plain("cifar10", tmp_path, using_dts_format=True).commit()
        with pytest.raises(FileNotFoundError, match="nowhere"):
            plain("cifar10", tmp_path / "nowhere").commit()
        (tmp_path / "x.bin").write_bytes(bytes(3073))
        with pytest.raises(FormatError, match=r"x\.bin.*directory, is needed"):
            plain("cifar10", tmp_path / "x.bin").commit()

    def test_levels(self, mixed):
        assert self.counts(mixed, using_dts_format=(True, 0)) == (31, 11)
        with pytest.raises(ConfigError, match="no level 3"):
            plain("cifar10", mixed, using_dts_format=(True, 3)).commit()


def threads():
    return {t.name for t in threading.enumerate()}


def test_damaged_files_fail_in_commit(sets, tmp_path):
    raw = shutil.copytree(sets["mnist"][0], tmp_path / "raw")
    before = threads()
    path = raw / "t10k-images-idx3-ubyte"
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(FormatError, match="t10k-images-idx3-ubyte: too short"):
        plain("mnist", raw).commit()
    packed = shutil.copytree(sets["mnist"][1], tmp_path / "packed")
    path = packed / "mnist_test.dts"
    data = bytearray(path.read_bytes())
    path.write_bytes(data[:-1])
    with pytest.raises(CorruptError, match=r"mnist_test\.dts.*cut off"):
        plain("mnist", packed).commit()
    data[-1] ^= 1
    path.write_bytes(data)
    plain("mnist", packed).commit().close()
    with pytest.raises(CorruptError, match=r"mnist_test\.dts: CRC-32 of the file"):
        plain("mnist", packed, verify_crc=True).commit()
    plain("mnist", sets["mnist"][1], verify_crc=True).commit().close()
    plain("mnist", sets["mnist"][0], verify_crc=True).commit().close()
    assert threads() == before


def test_a_set_larger_than_memory_is_refused(sets, monkeypatch):
    from dts.loaders import memory

    monkeypatch.setattr(memory, "available_bytes", lambda root: (100_000, "a test"))
    with pytest.raises(ConfigError, match="100000"):
        plain("cifar10", sets["cifar10"][0]).commit()


def test_download_is_asked_for_what_is_missing(sets, tmp_path, monkeypatch):
    asked = []

    def fake(name, directory, *, splits):
        asked.append((name, directory, list(splits)))
        shutil.copytree(sets[name][0], directory, dirs_exist_ok=True)

    monkeypatch.setattr("dts.array_sources.download", fake)
    new = tmp_path / "new"
    with plain("mnist", new, download=True).commit() as pre:
        assert pre.num_train_samples == 61
    assert asked == [("mnist", new, ["train", "val"])]
    asked.clear()
    export_dataset("mnist", sets["mnist"][0], new)
    plain("mnist", new, download=True).commit().close()
    plain("mnist", new, download=True, using_dts_format=False).commit().close()
    plain("mnist", new / "mnist_train.dts", download=True).commit().close()
    assert [splits for _, _, splits in asked] == [["val"], ["train", "val"]]


def test_download_goes_nowhere_when_all_is_there(sets, monkeypatch):
    monkeypatch.setattr(module, "fetch", lambda *args, **kwargs: pytest.fail("asked the network"))
    for name in NAMES:
        for path in sets[name][:2]:
            plain(name, path, download=True).commit().close()


def test_download_of_imagenet_says_what_to_do(tmp_path, setup_of):
    with pytest.raises(ConfigError, match=r"ILSVRC2012_img_train\.tar"):
        setup_of(tmp_path, "imagenet", download=True).commit()
    with pytest.raises(ConfigError, match="your own"):
        setup_of(tmp_path, download=True).commit()


def test_early_ends_and_two_at_once(sets):
    raw = sets["cifar10"][0]
    with augmented("cifar10", raw).commit() as one, augmented("cifar10", raw).commit() as two:
        for epoch in range(20):
            next(iter(one.train(epoch)))
        held = next(iter(two.train(0)))
        pixels = held.images.copy()
        list(two.train(1))
        assert np.array_equal(held.images, pixels)
        assert len(joined(one.train(3))[2]) == 61
        stats = one.stats()["train"]
        assert stats["errors"] == []
        assert stats["bytes_read"] > 61 * 3072


@pytest.mark.parametrize("dts", [False, True])
def test_messages_say_where_a_set_lies(sets, dts, caplog, tmp_path):
    raw, packed, _ = sets["mnist"]
    if dts:
        place = tmp_path / "mnist_train.dts"
        shutil.copy(next(packed.glob("*train*")), place)
        path = place
    else:
        path = place = tmp_path
        for file in raw.glob("train-*"):
            shutil.copy(file, place)
    caplog.set_level(logging.WARNING, "dts")
    with plain("mnist", path).direct_io().commit() as pre:
        assert f"direct_io: {place} is read through the page cache" in caplog.text
        with pytest.raises(ConfigError, match="no validation set") as error:
            pre.val()
        assert str(place) in str(error.value)
