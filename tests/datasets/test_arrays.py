"""The original files of MNIST and CIFAR: what is read, and what is refused and why."""

import gzip
import shutil

import make_arrays
import numpy as np
import pytest

from dts.datasets.arrays import SLACK
from dts.datasets.catalog import ARRAY_SETS, DATASETS, canonical
from dts.errors import ConfigError, FormatError

NAMES = list(ARRAY_SETS)
IMAGES, LABELS = "train-images-idx3-ubyte", "train-labels-idx1-ubyte"


def opened(name, root, split="train"):
    return ARRAY_SETS[name].open(root, split)


def content(raw):
    """Return pictures and labels of a split, read."""
    flat, labels = raw.read()
    size = len(raw) * raw.set.sample_bytes
    assert flat.size == size + SLACK
    assert not flat[size:].any()
    return flat[:size].reshape(len(raw), *raw.set.shape), labels


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("split", ["train", "val"])
def test_pictures_and_labels(tmp_path, name, split):
    pictures, labels = make_arrays.write(name, tmp_path)[split]
    raw = opened(name, tmp_path, split)
    got, got_labels = content(raw)
    assert np.array_equal(got, pictures)
    assert np.array_equal(got_labels, labels)
    assert got_labels.dtype == np.int32
    assert len(raw) == len(labels)
    assert raw.file_bytes >= pictures.nbytes + labels.size


def test_more_records_than_are_turned_around_at_once(tmp_path):
    sets = make_arrays.cifar(tmp_path, n_train=1500, n_val=1024)
    for split, (pictures, labels) in sets.items():
        got, got_labels = content(opened("cifar10", tmp_path, split))
        assert np.array_equal(got, pictures)
        assert np.array_equal(got_labels, labels)


def test_files_of_cifar10_are_told_apart(tmp_path):
    make_arrays.write("cifar10", tmp_path)
    raw = opened("cifar10", tmp_path)
    assert raw.counts == (3, 1, 21, 20, 5)
    assert [path[-5] for path in raw.paths] == list("12345")


@pytest.mark.parametrize("name", NAMES)
def test_files_in_the_folder_itself(tmp_path, name):
    """Also without the subfolder that the archive makes."""
    make_arrays.write(name, tmp_path / "deep")
    shutil.copytree(tmp_path / "deep" / make_arrays.FOLDERS[name], tmp_path / "flat")
    assert len(opened(name, tmp_path / "flat")) == 50


def test_mnist_where_torchvision_puts_it(tmp_path):
    make_arrays.mnist(tmp_path / "MNIST" / "raw")
    assert len(opened("mnist", tmp_path)) == 50


def test_gzip(tmp_path):
    sets = make_arrays.mnist(tmp_path, ending=".gz")
    for split, (pictures, labels) in sets.items():
        got, got_labels = content(opened("mnist", tmp_path, split))
        assert np.array_equal(got, pictures)
        assert np.array_equal(got_labels, labels)


def test_plain_files_come_before_gzip(tmp_path):
    make_arrays.mnist(tmp_path, ending=".gz", n_train=5)
    make_arrays.mnist(tmp_path, n_train=7)
    assert len(opened("mnist", tmp_path)) == 7


@pytest.mark.parametrize("name", NAMES)
def test_nothing_there(tmp_path, name):
    assert opened(name, tmp_path) is None
    assert opened(name, tmp_path / "nowhere") is None


def test_a_part_of_the_files(tmp_path):
    make_arrays.cifar(tmp_path)
    (tmp_path / "data_batch_2.bin").unlink()
    (tmp_path / "data_batch_4.bin").unlink()
    with pytest.raises(FormatError, match=r"data_batch_2\.bin, data_batch_4\.bin missing"):
        opened("cifar10", tmp_path)
    assert len(opened("cifar10", tmp_path, "val")) == 20


def test_class_names(tmp_path):
    for name in NAMES:
        make_arrays.write(name, tmp_path)
    assert opened("mnist", tmp_path).class_names == list("0123456789")
    assert opened("cifar10", tmp_path).class_names == make_arrays.CIFAR10_NAMES
    assert opened("cifar100", tmp_path).class_names[99] == "fine_99"
    (tmp_path / "cifar-10-batches-bin" / "batches.meta.txt").unlink()
    assert opened("cifar10", tmp_path).class_names is None


@pytest.mark.parametrize("content", [b"cat\ndog\n", b"\xff\xfe"])
def test_class_names_that_are_none(tmp_path, content):
    make_arrays.write("cifar10", tmp_path)
    path = tmp_path / "cifar-10-batches-bin" / "batches.meta.txt"
    path.write_bytes(content)
    with pytest.raises(FormatError, match=r"batches\.meta\.txt.*10 class names"):
        opened("cifar10", tmp_path)


def images(change, n=50, magic=2051):
    array = np.zeros((n, 28, 28), np.uint8)
    return change(make_arrays.idx(magic, array))


WRONG_MNIST = {
    "magic": (IMAGES, images(bytes, magic=2049), r"magic number is 2049, must be 2051"),
    "short": (IMAGES, images(lambda b: b[:-1]), r"too short, 39215 bytes instead of 39216"),
    "long": (IMAGES, images(lambda b: b + b"x"), r"too long, 39217 bytes instead of 39216"),
    "no head": (IMAGES, b"\0\0\x08", r"3 bytes, too short for an idx head"),
    "empty": (IMAGES, b"", r"0 bytes, too short"),
    "no record": (IMAGES, make_arrays.idx(2051, np.zeros((0, 28, 28), np.uint8)), "no record"),
    "sides": (
        IMAGES,
        make_arrays.idx(2051, np.zeros((50, 784), np.uint8), sides=(14, 56)),
        r"14 x 56, must be 28 x 28",
    ),
    "labels": (
        LABELS,
        make_arrays.idx(2049, np.zeros(49, np.uint8)),
        r"49 labels for 50 pictures",
    ),
    "label": (
        LABELS,
        make_arrays.idx(2049, np.arange(50, dtype=np.uint8) // 4),
        r"label 10 of record 40 is not within 0..9 \(10 such labels\)",
    ),
    "count": (
        IMAGES,
        make_arrays.idx(2051, np.zeros((1, 28, 28), np.uint8), n=2**32 - 1),
        r"too short, 800 bytes instead of 3367254359296",
    ),
}


@pytest.mark.parametrize("case", WRONG_MNIST)
def test_wrong_idx_files(tmp_path, case):
    make_arrays.mnist(tmp_path)
    name, data, reason = WRONG_MNIST[case]
    (tmp_path / name).write_bytes(data)
    with pytest.raises(FormatError, match=reason) as error:
        opened("mnist", tmp_path).read()
    assert str(error.value).startswith(str(tmp_path / name))


def flipped(data):
    """Packed data with one wrong bit in the checksum at its end."""
    return data[:-5] + bytes([data[-5] ^ 1]) + data[-4:]


WRONG_GZIP = {
    "short": (gzip.compress(images(lambda b: b[:-1])), "too short, 39215 bytes instead of 39216"),
    "long": (gzip.compress(images(lambda b: b + b"x")), "too long, over 39216 bytes"),
    "cut": (gzip.compress(images(bytes))[:-9], "damaged gzip file"),
    "no gzip": (images(bytes), "damaged gzip file"),
    "checksum": (flipped(gzip.compress(images(bytes))), "damaged gzip file"),
    "bomb": (
        gzip.compress(make_arrays.idx(2051, np.zeros((1, 28, 28), np.uint8), n=2**32 - 1)),
        "claims 3367254359280 bytes of data",
    ),
}


@pytest.mark.parametrize("case", WRONG_GZIP)
def test_wrong_gzip_files(tmp_path, case):
    make_arrays.mnist(tmp_path, ending=".gz")
    data, reason = WRONG_GZIP[case]
    path = tmp_path / f"{IMAGES}.gz"
    path.write_bytes(data)
    with pytest.raises(FormatError, match=reason) as error:
        opened("mnist", tmp_path).read()
    assert str(error.value).startswith(str(path))


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "the file is empty"),
        (bytes(3072), "too short or too long, its 3072 bytes are no whole number of 3073-byte"),
        (bytes(3074), "no whole number of .*; 3074 bytes are a record of CIFAR-100"),
        (bytes(2 * 3073 + 1), "no whole number"),
        (b"\x0a" + bytes(3072), "label 10 of record 0 is not within 0..9"),
    ],
)
def test_wrong_batches(tmp_path, data, reason):
    make_arrays.cifar(tmp_path)
    (tmp_path / "data_batch_3.bin").write_bytes(data)
    with pytest.raises(FormatError, match=reason) as error:
        opened("cifar10", tmp_path).read()
    assert str(error.value).startswith(str(tmp_path / "data_batch_3.bin"))


def test_labels_of_cifar100(tmp_path):
    make_arrays.cifar(tmp_path, 100)
    for head, reason in (
        (b"\x14\0", "label 20 of record 1"),
        (b"\0\x64", "label 100 of record 1"),
    ):
        records = bytes(3074) + head + bytes(3072)
        (tmp_path / "train.bin").write_bytes(records)
        with pytest.raises(FormatError, match=reason):
            opened("cifar100", tmp_path).read()
    (tmp_path / "train.bin").write_bytes(bytes(3073))
    with pytest.raises(FormatError, match="3073 bytes are a record of CIFAR-10"):
        opened("cifar100", tmp_path)


def test_a_file_that_shrinks_after_it_was_looked_at(tmp_path):
    make_arrays.cifar(tmp_path)
    raw = opened("cifar10", tmp_path, "val")
    (tmp_path / "test_batch.bin").write_bytes(bytes(3073))
    with pytest.raises(FormatError, match=r"test_batch\.bin: ends within a record"):
        raw.read()


def test_names_of_data_sets():
    assert canonical("CIFAR-10") == canonical("cifar_10") == canonical("cifar") == "cifar10"
    assert canonical("Cifar-100") == "cifar100"
    assert set(DATASETS) == {*NAMES, "imagenet", "folder"}
    with pytest.raises(ConfigError, match="coco"):
        canonical("coco")
