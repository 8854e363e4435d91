"""Decoding alone, and what parts of it bring to the pipeline."""

import contextlib
import time

import numpy as np
import simplejpeg
from harness import NotHere, gate
from room import IMAGENET, cpu_timed, endless

import dts
from dts import decode, measure
from dts.decode import jpeg
from dts.format import DtsFile


@contextlib.contextmanager
def own_entropy(on):
    """Read Huffman codes by our decoder, or by libjpeg's."""
    before = jpeg.set_own_entropy(on)
    try:
        yield
    finally:
        jpeg.set_own_entropy(before)


def need_libjpeg():
    """Skip a gate that compares simplejpeg with itself."""
    if decode.library_info()["kind"] == "simplejpeg":
        raise NotHere("no libjpeg")


@gate("whole pictures, level 0", against="simplejpeg", at_most=0.85, level=0)
@gate("whole pictures, level 3", against="simplejpeg", at_most=0.90, level=3)
def whole(room, level):
    """CPU time of decoding each picture into a kept buffer, picture by picture in turns."""
    need_libjpeg()
    decoder = decode.Decoder()
    tasks = []
    with DtsFile(room.dts(level)) as file:
        for i in range(0, len(file), 8):
            data = bytes(file[i][0])
            head = decode.header(data)
            if head.components == 3:
                tasks.append((data, np.empty((head.height, head.width, 3), np.uint8)))
    while True:
        ours = theirs = 0.0
        for data, kept in tasks:
            begin = time.thread_time()
            decoder.decode(data, out=kept)
            between = time.thread_time()
            simplejpeg.decode_jpeg(data, buffer=kept)
            ours += between - begin
            theirs += time.thread_time() - between
        yield ours / len(tasks), theirs / len(tasks)


@gate("own entropy decoder, level 0", against="libjpeg's", at_most=0.88, level=0)
@gate("own entropy decoder, level 3", against="libjpeg's", at_most=0.92, level=3)
def pipeline(room, level):
    """CPU time a picture of the whole pipeline, either way."""
    need_libjpeg()
    path = room.dts(level)
    with (
        contextlib.closing(measure.turns(path, room.count // 4, chain=IMAGENET)) as ours,
        contextlib.closing(measure.turns(path, room.count // 4, chain=IMAGENET)) as theirs,
    ):
        while True:
            with own_entropy(True):
                quick = next(ours).pipeline
            with own_entropy(False):
                yield quick, next(theirs).pipeline


@gate("fast_decode, 64 pixels", against="full decode", at_most=0.9)
def fast_decode(room):
    """CPU time of an epoch of small crops."""
    need_libjpeg()
    chain = (dts.Resize(64), dts.CenterCrop(56))
    small, full = (
        room.setup(room.dts(0), dtype="float16").train_transforms(*chain).fast_decode(fast)
        for fast in (True, False)
    )
    with endless(small) as quick, endless(full) as slow:
        while True:
            yield cpu_timed(quick) / room.count, cpu_timed(slow) / room.count
