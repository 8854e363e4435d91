"""The whole pipeline, from bytes in memory to a batch, against plain decoding of the pictures."""

import contextlib

from harness import gate, scaling
from roi_layout import compared
from room import EVALUATION, IMAGENET, cpu_timed, endless, timed

from dts import measure

DECODE = "simplejpeg, whole picture"


@gate("level 0, FP16", against=DECODE, at_most=0.82, aim=0.78, level=0)
@gate("level 3, FP16", against=DECODE, at_most=0.90, aim=0.84, level=3)
@gate("level 3, ROI layout, FP16", against=DECODE, at_most=0.78, aim=0.72, level=3, roi=True)
@gate("level 1, ROI layout, FP16", against=DECODE, at_most=0.78, level=1, roi=True)
@gate("evaluation, level 0, FP16", against=DECODE, at_most=1.0, level=0, chain=EVALUATION)
@gate("evaluation, level 3, FP16", against=DECODE, at_most=1.0, level=3, chain=EVALUATION)
def pipeline(room, level, chain=IMAGENET, roi=False):
    """CPU time a picture with one preprocessing thread, against decoding what was delivered."""
    path = room.dts(level, roi=roi)
    with contextlib.closing(measure.turns(path, room.count // 4, chain=chain)) as turns:
        for turn in turns:
            yield turn.pipeline, turn.decode


@gate("ROI layout, level 3", against="plain layout", at_most=1.0, aim=0.9, level=3)
@gate("ROI layout, level 1", against="plain layout", at_most=1.0, aim=0.9, level=1)
def roi_layout(room, level):
    """CPU time a picture of either layout: the own entropy decoder made the plain one cheaper."""
    yield from compared(room, level)


@gate("FP32", against="FP16", at_most=1.08, level=3)
def fp32(room, level):
    """CPU time of an epoch that writes twice as many bytes."""
    with (
        endless(room.setup(room.dts(level), dtype="float32")) as wide,
        endless(room.setup(room.dts(level), dtype="float16")) as narrow,
    ):
        while True:
            yield cpu_timed(wide) / room.count, cpu_timed(narrow) / room.count


@gate("2 threads", against="1 thread", at_least=1.9, cpus=2, scales=1.9, level=3)
def two_threads(room, level):
    """Wall time of an epoch."""
    with (
        endless(room.setup(room.dts(level), workers=2)) as two,
        endless(room.setup(room.dts(level), workers=1)) as one,
    ):
        while True:
            yield timed(two) / room.count, timed(one) / room.count, scaling(2)


@gate("64 threads", against="one thread a CPU", at_most=1.05, cpus=2, level=3)
def many_threads(room, level):
    """Wall time of an epoch with more threads than CPUs."""
    with (
        endless(room.setup(room.dts(level), workers=64)) as many,
        endless(room.setup(room.dts(level), workers=2)) as few,
    ):
        while True:
            yield timed(many) / room.count, timed(few) / room.count


def windows(room, level):
    """Return a Setup whose epoch has several windows, so that most of them load behind others."""
    setup = room.setup(room.dts(level), workers=2)
    return setup.shuffle_order("window").shuffle_window(2 if level == 0 else 1)


@gate("PARTIAL, level 0", against="FULLY", at_most=1.03, cpus=2, level=0)
@gate("PARTIAL, level 3", against="FULLY", at_most=1.03, cpus=2, level=3)
def partial(room, level):
    """Wall time of an epoch, with loading hidden behind decoding."""
    with (
        endless(windows(room, level).partial_mode()) as partly,
        endless(windows(room, level).fully_mode()) as fully,
    ):
        while True:
            yield timed(partly) / room.count, timed(fully) / room.count
