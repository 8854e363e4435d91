"""Kernels alone, one thread, data in cache, against memcpy of the bytes they write."""

import contextlib

import numpy as np
from harness import NotHere, gate
from room import aligned, hot

from dts import kernels
from dts.kernels import kernels as module

SIDE = 224
MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
MEMCPY = "memcpy of the output"
CHANNELS = {"float16": 4, "float32": 3, "uint8": 3}


@contextlib.contextmanager
def instruction_set(name):
    """Use an instruction set for a while."""
    if name not in kernels.available_isas():
        raise NotHere(f"no {name} on this machine")
    before = kernels.isa()
    kernels.select_isa(name)
    try:
        yield
    finally:
        kernels.select_isa(before)


def normalizer(dtype, *, side=SIDE, rows=SIDE, count=1, c=3, channels=None, flip=False,
               erase=None):  # fmt: skip
    """Make a call that normalises `count` pictures, and a memcpy of as many output bytes."""
    itemsize = np.dtype(dtype).itemsize
    channels = channels or CHANNELS[dtype]
    images = np.random.default_rng(0).integers(0, 256, (count, rows, side, c), np.uint8)
    out, source = (aligned(count * rows * side * channels * itemsize) for _ in range(2))
    scale, bias = kernels.norm_constants(MEAN[:c], STD[:c])
    flips = np.full(count, flip, np.uint8)
    boxes = None if erase is None else np.array([erase] * count, np.int32)

    def normalize():
        module._normalize(out, images, itemsize, channels, scale, bias, flips, boxes)

    return normalize, lambda: np.copyto(out, source)


def without_call(whole, part, share):
    """Take the cost of the call itself out of a time, given that of `share` of the work."""
    return (whole - part) / (1 - share)


@gate(
    "normalise, FP16, AVX-512",
    against=MEMCPY,
    at_most=1.7,
    unit="us",
    dtype="float16",
    isa="avx512",
)
@gate(
    "normalise, FP32, AVX-512",
    against=MEMCPY,
    at_most=1.3,
    unit="us",
    dtype="float32",
    isa="avx512",
)
@gate("normalise, FP16, AVX2", against=MEMCPY, at_most=2.0, unit="us", dtype="float16", isa="avx2")
@gate("normalise, FP32, AVX2", against=MEMCPY, at_most=1.3, unit="us", dtype="float32", isa="avx2")
def normalise(room, dtype, isa):
    """Normalise a picture of 224x224x3."""
    whole, row = normalizer(dtype), normalizer(dtype, rows=1)
    with instruction_set(isa):
        while True:
            ours, memcpy, ours1, memcpy1 = hot(whole[0], whole[1], row[0], row[1])
            yield (without_call(ours, ours1, 1 / SIDE), without_call(memcpy, memcpy1, 1 / SIDE))


@gate("flip, FP16", against="normalise alone", at_most=1.1, unit="us", dtype="float16")
@gate("flip, FP32", against="normalise alone", at_most=1.1, unit="us", dtype="float32")
def flip(room, dtype):
    """Normalise and flip."""
    flipped, plain = normalizer(dtype, flip=True)[0], normalizer(dtype)[0]
    while True:
        yield tuple(hot(flipped, plain))


@gate("erase, FP16", against="normalise alone", at_most=1.1, unit="us", dtype="float16")
@gate("erase, FP32", against="normalise alone", at_most=1.1, unit="us", dtype="float32")
def erase(room, dtype):
    """Normalise a picture with a box of it erased."""
    erased, plain = normalizer(dtype, erase=(40, 60, 90, 70))[0], normalizer(dtype)[0]
    while True:
        yield tuple(hot(erased, plain))


@gate("32x32x3, FP16, a pixel", against="224x224x3", at_most=1.5, unit="ns", side=32, c=3)
@gate("28x28x1, FP16, a pixel", against="224x224x1", at_most=1.5, unit="ns", side=28, c=1)
def small(room, side, c):
    """Normalise as many pixels in small pictures as in a large one."""
    count = SIDE**2 // side**2
    channels = {3: 4, 1: 1}[c]
    many = normalizer("float16", side=side, rows=side, count=count, c=c, channels=channels)[0]
    large = normalizer("float16", c=c, channels=channels)[0]
    while True:
        small_ones, large_one = hot(many, large)
        yield small_ones / (count * side**2), large_one / SIDE**2
