"""Export of MNIST and CIFAR: the bytes of the reference, true headers, and what is refused."""

import errno
import hashlib
import os
import struct
import types

import make_arrays
import numpy as np
import pytest

from dts.datasets.catalog import ARRAY_SETS
from dts.errors import ConfigError, ExportError
from dts.export import export_dataset
from dts.export.output import OutputFile
from dts.format import DtsFile, read_header

NAMES = list(ARRAY_SETS)

# What the reference's exporter makes of the sets of `golden_set`: SHA-256 of all after the header.
# Of CIFAR its header is true too, so that the whole file is the same.
GOLDEN = {
    ("mnist", "train"): "71db2a29bbef95bca46749869194782583eacb728b87b891a4e409a5e51ccdff",
    ("mnist", "val"): "81899d4c3dc89b166e665d654d456b34fee8680b1638412fad75aa97c4efe58d",
    ("cifar10", "train"): "bc2caba075b89b83eda29f404c095dedc748dd15349654edb1b10d3915f5b39b",
    ("cifar10", "val"): "4239599646797962cf327188258401dd57a8d3b6c3318ab43620e3ee69481b26",
    ("cifar100", "train"): "6f09b5b0493945874faf0f057d2fbae18c8be1b24ff099c40ff704590f54ca61",
    ("cifar100", "val"): "67120b575718d697b51f8e5ea36983a480009026549a539c057a16f00c4e216b",
}
GOLDEN_FILES = {
    ("cifar10", "train"): "b2338ca6e18dc89150bc11c9a2658657ad278cfec6a11e9626a54e0ee2e89d91",
    ("cifar10", "val"): "808d56f7945f8267a3e0750343cf6afb1bdd29255181d5b1fc101303db4ad744",
    ("cifar100", "train"): "5d174f0ff4d3f873ec959c6c9aa7cb2da1fd6bc57b0a1d26b07ad5a0765d7a2e",
    ("cifar100", "val"): "139e9d58f49f99e75979c7843761d2e48c8758841a9ce679d09d7128458f211d",
}
# The reference's header of MNIST counts 3 bytes for each pixel; with the true 1 this is left.
MNIST_SIZES = {"train": 47_100_256, "val": 7_850_256}


def cifar_records(seed, n, classes):
    random = np.random.RandomState(seed)
    labels = [(np.frombuffer(random.bytes(n), np.uint8) % k).reshape(n, 1) for k in classes]
    pixels = np.frombuffer(random.bytes(n * 3072), np.uint8).reshape(n, 3072)
    return np.concatenate([*labels, pixels], axis=1).tobytes()


def golden_set(root, name, split):
    """Write one split of full size, of noise."""
    if name == "mnist":
        stem, seed, n = {"train": ("train", 1001, 60000), "val": ("t10k", 1002, 10000)}[split]
        random = np.random.RandomState(seed)
        labels = np.frombuffer(random.bytes(n), np.uint8) % 10
        files = {
            f"{stem}-labels-idx1-ubyte": struct.pack(">II", 2049, n) + labels.tobytes(),
            f"{stem}-images-idx3-ubyte": struct.pack(">IIII", 2051, n, 28, 28)
            + random.bytes(n * 784),
        }
    elif name == "cifar10":
        batches = {f"data_batch_{k}.bin": 2000 + k for k in range(1, 6)}
        batches = batches if split == "train" else {"test_batch.bin": 2006}
        files = {file: cifar_records(seed, 10000, (10,)) for file, seed in batches.items()}
    else:
        file, seed, n = {"train": ("train", 3001, 50000), "val": ("test", 3002, 10000)}[split]
        files = {f"{file}.bin": cifar_records(seed, n, (20, 100))}
    for file, data in files.items():
        (root / file).write_bytes(data)


@pytest.mark.parametrize(("name", "split"), GOLDEN)
def test_bytes_of_the_reference(tmp_path, name, split):
    golden_set(tmp_path, name, split)
    result = export_dataset(name, tmp_path, tmp_path / "out", split=split)
    with open(result.path, "rb") as file:
        data = file.read()
    assert hashlib.sha256(data[256:]).hexdigest() == GOLDEN[name, split]
    if name == "mnist":
        assert len(data) == result.header.total_bytes == MNIST_SIZES[split]
    else:
        assert hashlib.sha256(data).hexdigest() == GOLDEN_FILES[name, split]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("split", ["train", "val"])
def test_small_sets_with_true_headers(tmp_path, name, split):
    pictures, labels = make_arrays.write(name, tmp_path)[split]
    result = export_dataset(name.upper(), tmp_path, tmp_path / "out", split=split)
    file = f"{name}_{'train' if split == 'train' else 'test'}.dts"
    assert result.path == str(tmp_path / "out" / file)
    head = read_header(result.path)
    n = len(labels)
    assert result.header == head
    assert (head.num_samples, head.max_pic_per_block) == (n, n)
    assert head.block_bytes == head.bytes_per_block == n * (pictures[0].size + 1)
    assert head.total_bytes == os.path.getsize(result.path) == 256 + head.block_bytes
    assert head.is_training == (split == "train")
    assert (head.compress_level, head.val_set_prep) == (0, 0)
    with DtsFile(result.path) as packed:
        assert packed.verify().ok
        assert np.array_equal(packed.labels(), labels)
        for id in (0, n - 1):
            data, label = packed[id]
            assert bytes(data) == pictures[id].tobytes()
            assert label == labels[id]
    counts = np.bincount(labels, minlength=make_arrays.CLASSES[name])
    assert np.array_equal(result.report.counts, counts)
    assert result.report.dataset == name


def test_gzip_gives_the_same(tmp_path):
    paths = []
    for ending in ("", ".gz"):
        make_arrays.mnist(tmp_path / f"raw{ending}", ending=ending)
        paths.append(tmp_path / f"m{ending}.dts")
        export_dataset("mnist", tmp_path / f"raw{ending}", paths[-1])
    assert paths[0].read_bytes() == paths[1].read_bytes()


def test_the_report_comes_first(tmp_path):
    make_arrays.write("cifar10", tmp_path)
    target = tmp_path / "x.dts"
    seen = []
    export_dataset(
        "cifar10", tmp_path, target, report=lambda found: seen.append((found, target.exists()))
    )
    (report, existed) = seen[0]
    assert not existed
    assert "50 pictures in 10 classes" in str(report)
    assert report.classes == tuple(make_arrays.CIFAR10_NAMES)
    (tmp_path / "cifar-10-batches-bin" / "batches.meta.txt").unlink()
    result = export_dataset("cifar10", tmp_path, target, overwrite=True)
    assert result.report.classes == tuple("0123456789")


def test_existing_files(tmp_path):
    make_arrays.mnist(tmp_path)
    target = tmp_path / "x.dts"
    target.write_bytes(b"mine")
    with pytest.raises(ExportError, match=r"x\.dts exists already"):
        export_dataset("mnist", tmp_path, target)
    assert target.read_bytes() == b"mine"
    export_dataset("mnist", tmp_path, target, overwrite=True)
    assert read_header(target).num_samples == 50


@pytest.mark.parametrize("name", NAMES)
def test_sources_that_are_none(tmp_path, name):
    with pytest.raises(ExportError, match=f"no {ARRAY_SETS[name].title} val set there"):
        export_dataset(name, tmp_path, tmp_path / "new", split="val")
    with pytest.raises(FileNotFoundError):
        export_dataset(name, tmp_path / "nowhere", tmp_path / "new")
    (tmp_path / "file").write_bytes(b"x")
    with pytest.raises(ExportError, match="must be the folder"):
        export_dataset(name, tmp_path / "file", tmp_path / "new")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["file"]


def test_damaged_sources_leave_nothing(tmp_path):
    make_arrays.cifar(tmp_path / "raw")
    (tmp_path / "raw" / "data_batch_1.bin").write_bytes(b"\x63" + bytes(3072))
    with pytest.raises(ExportError, match=r"data_batch_1\.bin: label 99 of record 0"):
        export_dataset("cifar10", tmp_path / "raw", tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_a_full_disk_leaves_nothing(tmp_path, monkeypatch):
    make_arrays.mnist(tmp_path / "raw")
    usage = types.SimpleNamespace(total=100, free=10)
    monkeypatch.setattr("dts.export.output.shutil.disk_usage", lambda path: usage)
    with pytest.raises(ExportError, match="no room"):
        export_dataset("mnist", tmp_path / "raw", tmp_path / "new")
    monkeypatch.undo()

    def write(self, offset, data):
        raise self._named(OSError(errno.ENOSPC, "full"))

    monkeypatch.setattr(OutputFile, "write", write)
    with pytest.raises(ExportError, match="no room"):
        export_dataset("mnist", tmp_path / "raw", tmp_path / "new")
    assert [p.name for p in tmp_path.iterdir()] == ["raw"]


@pytest.mark.parametrize(
    "setting",
    [{"level": 1}, {"classes": ["a"]}, {"min_blocks": 3}, {"split": "test"}],
)
def test_settings_without_a_meaning(tmp_path, setting):
    make_arrays.mnist(tmp_path)
    with pytest.raises(ConfigError, match=next(iter(setting))):
        export_dataset("mnist", tmp_path, tmp_path / "x.dts", **setting)
    with pytest.raises(TypeError, match="spilt"):
        export_dataset("mnist", tmp_path, tmp_path / "x.dts", spilt="val")


def test_settings_at_their_defaults(tmp_path):
    make_arrays.mnist(tmp_path)
    export_dataset(
        "mnist",
        tmp_path,
        tmp_path / "x.dts",
        level=0,
        classes=None,
        jobs=4,
        min_blocks=None,
        plain=True,
        on_error="raise",
        progress=False,
    )
    assert (tmp_path / "x.dts").exists()
