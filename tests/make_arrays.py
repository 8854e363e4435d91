"""MNIST and CIFAR sets for the tests: their original files, from numpy seeds."""

import gzip
import struct

import numpy as np

FOLDERS = {"mnist": "", "cifar10": "cifar-10-batches-bin", "cifar100": "cifar-100-binary"}
SHAPES = {"mnist": (28, 28, 1), "cifar10": (32, 32, 3), "cifar100": (32, 32, 3)}
CLASSES = {"mnist": 10, "cifar10": 10, "cifar100": 100}
CIFAR10_NAMES = [
    "airplane",
    "automobile",
    "bird",
    "cat",
    "deer",
    "dog",
    "frog",
    "horse",
    "ship",
    "truck",
]


def idx(magic, array, n=None, sides=None):
    """Bytes of an idx file; `n` and `sides` are what it claims."""
    sides = array.shape[1:] if sides is None else sides
    head = struct.pack(f">{2 + len(sides)}I", magic, len(array) if n is None else n, *sides)
    return head + array.tobytes()


def mnist(root, n_train=50, n_val=20, ending=""):
    """Write the four idx files; returns {split: (pictures (n, 28, 28, 1), labels)}."""
    root.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(11)
    sets = {}
    for split, stem, n in (("train", "train", n_train), ("val", "t10k", n_val)):
        labels = rng.integers(0, 10, n, np.uint8)
        pictures = rng.integers(0, 256, (n, 28, 28), np.uint8)
        packed = gzip.compress if ending == ".gz" else bytes
        (root / f"{stem}-labels-idx1-ubyte{ending}").write_bytes(packed(idx(2049, labels)))
        (root / f"{stem}-images-idx3-ubyte{ending}").write_bytes(packed(idx(2051, pictures)))
        sets[split] = pictures[..., None], labels.astype(np.int32)
    return sets


def cifar(root, classes=10, n_train=50, n_val=20, names=True):
    """Write the binary files of CIFAR-10 or -100, as `mnist`.

    The five training batches of CIFAR-10 differ in length.
    """
    root.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(classes)
    sets = {}
    for split, n in (("train", n_train), ("val", n_val)):
        planes = rng.integers(0, 256, (n, 3, 32, 32), np.uint8)
        labels = rng.integers(0, classes, n, np.uint8)
        columns = [labels[:, None], planes.reshape(n, -1)]
        if classes == 100:
            columns.insert(0, rng.integers(0, 20, (n, 1), np.uint8))
        records = np.concatenate(columns, 1)
        if split == "val" or classes == 100:
            name = {10: "test_batch.bin", 100: f"{'train' if split == 'train' else 'test'}.bin"}
            (root / name[classes]).write_bytes(records.tobytes())
        else:
            for k, part in enumerate(np.split(records, [3, 4, n // 2, n - 5]), 1):
                (root / f"data_batch_{k}.bin").write_bytes(part.tobytes())
        sets[split] = np.ascontiguousarray(planes.transpose(0, 2, 3, 1)), labels.astype(np.int32)
    if names and classes == 10:
        (root / "batches.meta.txt").write_text("\n".join(CIFAR10_NAMES) + "\n\n")
    if names and classes == 100:
        lines = [f"fine_{k}" for k in range(100)]
        (root / "fine_label_names.txt").write_text("\n".join(lines) + "\n")
    return sets


def write(name, root, **sizes):
    """Write a set where it belongs below `root`; returns what `mnist` and `cifar` do."""
    place = root / FOLDERS[name]
    return mnist(place, **sizes) if name == "mnist" else cifar(place, CLASSES[name], **sizes)
