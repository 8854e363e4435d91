"""What is done to whole batches, and users' own transforms, against a run without."""

from harness import gate
from room import EVALUATION, cpu_timed, endless, timed

import dts
from dts.export import export_folder

MIXUP, CUTMIX = dts.MixUp(0.2), dts.CutMix(1.0)


@gate("MixUp, FP16", against="no mixing", at_most=1.10, level=3, op=MIXUP)
@gate("MixUp, FP32", against="no mixing", at_most=1.15, level=3, op=MIXUP, dtype="float32")
@gate("MixUp, uint8", against="no mixing", at_most=1.10, level=3, op=MIXUP, dtype="uint8")
@gate("CutMix, FP16", against="no mixing", at_most=1.06, level=3, op=CUTMIX)
def mixing(room, level, op, dtype="float16"):
    """CPU time of an epoch."""

    def setup():
        found = room.setup(room.dts(level), dtype=dtype)
        return found.normalization(dts.NormMode.NO_NORM)

    with endless(setup().batch_transforms(op)) as mixed, endless(setup()) as plain:
        while True:
            yield cpu_timed(mixed) / room.count, cpu_timed(plain) / room.count


@gate("2 views of a decode", against="1 view", at_most=0.75, level=3, views=2)
@gate("4 views of a decode", against="1 view", at_most=0.55, level=3, views=4)
@gate("2 views of a decode, level 0", against="1 view", at_most=0.72, level=0, views=2)
def views(room, level, views):
    """CPU time a view."""
    path = room.dts(level)
    with (
        endless(room.setup(path).sdmp_factor(views)) as several,
        endless(room.setup(path)) as one,
    ):
        while True:
            yield cpu_timed(several) / room.count / views, cpu_timed(one) / room.count


@gate("a kept validation epoch", against="preprocessing it", at_most=0.01, level=3, unit="us")
def kept(room, level):
    """Wall time a picture of a later epoch."""
    path = room.path / f"folder_val_lv{level}.dts"
    if not path.exists():
        settings = {"level": level, "split": "val", "jobs": 0, "progress": False}
        export_folder(room.class_folders(1), path, **settings)

    def setup():
        return room.setup(path).val_transforms(*EVALUATION)

    def epoch(pre):
        return sum(len(batch) for batch in pre.val())

    with setup().using_cpvs().commit() as keeping, setup().commit() as plain:
        n = epoch(keeping)
        while True:
            yield timed(epoch, keeping) / n, timed(epoch, plain) / n


@gate("a Python function that does nothing", against="no such step", at_most=1.30, level=3)
def python(room, level):
    """CPU time of an epoch with one thread; with more they wait for Python's lock."""
    chain = (dts.RandomResizedCrop(224), dts.RandomHorizontalFlip())
    with (
        endless(room.setup(room.dts(level), chain=(*chain, dts.Lambda(lambda x: x)))) as called,
        endless(room.setup(room.dts(level), chain=chain)) as plain,
    ):
        while True:
            yield cpu_timed(called) / room.count, cpu_timed(plain) / room.count
