"""Sets of small arrays: an epoch of them on two threads, against the same work in numpy."""

import numpy as np
from harness import gate
from room import endless, timed

import dts

BATCH = 128


def cifar10(folder):
    """Write the binary files of CIFAR-10, of noise; return pictures and labels too."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 10, (50_000, 1), np.uint8)
    pixels = rng.integers(0, 256, (50_000, 3072), np.uint8)
    records = np.concatenate([labels, pixels], 1)
    for k, part in enumerate(np.split(records, 5), 1):
        (folder / f"data_batch_{k}.bin").write_bytes(part.tobytes())
    pictures = pixels.reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
    return np.ascontiguousarray(pictures), labels[:, 0].astype(np.int32)


def mnist(folder):
    """Write the training files of MNIST, of noise; return pictures and labels too."""
    rng = np.random.default_rng(0)
    pictures = rng.integers(0, 256, (60_000, 28, 28, 1), np.uint8)
    labels = rng.integers(0, 10, 60_000, np.uint8)
    for kind, array in (("images-idx3", pictures[..., 0]), ("labels-idx1", labels)):
        head = bytes([0, 0, 8, array.ndim]) + np.array(array.shape, ">i4").tobytes()
        (folder / f"train-{kind}-ubyte").write_bytes(head + array.tobytes())
    return pictures, labels.astype(np.int32)


SETS = {"cifar10": (cifar10, dts.NormMode.CIFAR), "mnist": (mnist, dts.NormMode.MNIST)}


def setup_of(name, folder):
    """Return the Setup of an epoch in FP16 on two threads, and pictures and labels."""
    write, norm = SETS[name]
    pictures, labels = write(folder)
    setup = dts.Preprocessor.setup().dataset(name, folder).batch_size(BATCH)
    setup.output("float16", pictures.shape[-1]).normalization(norm).preprocess_workers(2)
    if name == "cifar10":
        setup.train_transforms(dts.RandomCrop(32, padding=4), dts.RandomHorizontalFlip())
    return setup, pictures, labels


def numpy_epoch(name, pictures, labels, epoch):
    """Do what an epoch does, a batch at a time: order, crops, flips, normalisation, conversion."""
    rng = np.random.default_rng(epoch)
    mean, std = (np.array(v, np.float32) for v in SETS[name][1].value)
    scale, bias = np.float32(1 / 255) / std, mean / std
    order = rng.permutation(len(pictures))
    seen = 0
    for first in range(0, len(order), BATCH):
        ids = order[first : first + BATCH]
        batch = pictures[ids]
        if name == "cifar10":
            batch = cropped(batch, rng)
            flip = rng.random(len(ids)) < 0.5
            batch[flip] = batch[flip][:, :, ::-1]
        images = (batch * scale - bias).astype(np.float16)
        seen += min(len(images), len(labels[ids]))
    return seen


def cropped(batch, rng, padding=4):
    """Cut a window of its own out of each padded picture."""
    n, height, width, _ = batch.shape
    padded = np.pad(batch, ((0, 0), (padding, padding), (padding, padding), (0, 0)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (height, width), axis=(1, 2))
    top, left = rng.integers(0, 2 * padding + 1, (2, n))
    return np.moveaxis(windows[np.arange(n), top, left], 1, -1).copy()


@gate("CIFAR-10, an epoch", against="numpy, batch by batch", at_least=5, cpus=2, of="cifar10")
@gate("MNIST, an epoch", against="numpy, batch by batch", at_least=5, cpus=2, of="mnist")
def epoch(room, of):
    """Wall time of an epoch: RandomCrop(32, padding=4) and flip for CIFAR-10, FP16."""
    setup, pictures, labels = setup_of(of, room.fresh(of))
    number = 0
    with endless(setup) as stream:
        while True:
            number += 1
            yield timed(stream), timed(numpy_epoch, of, pictures, labels, number)
