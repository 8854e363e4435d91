"""A user's own transform in a running Preprocessor: same for any threads, errors, no deadlock."""

import ctypes
import gc
import shutil
import signal
import subprocess
import sys
import textwrap
import threading
import time
import weakref

import numpy as np
import processes
import pytest

from dts import (
    CenterCrop,
    CFunction,
    ClosedError,
    DtsError,
    Lambda,
    RandomResizedCrop,
    TransformError,
    get_include,
)


def scramble(image, rng):
    return image ^ rng.integers(0, 256, image.shape, np.uint8)


def refuses(*bad):
    """Fail on the pictures whose crop's first pixel sum is one of those."""

    def check(image):
        if int(image.astype(np.int64).sum()) % 5 in bad:
            raise ValueError("this one not")
        return image

    return check


def chain(*more):
    return {"train_transforms": (RandomResizedCrop(16), *more), "output": "uint8"}


@pytest.mark.parametrize("mode", ["fully_mode", "partial_mode"])
def test_the_same_for_any_number_of_threads(blocks, setup_of, digest, mode):
    def run(workers):
        settings = chain(Lambda(scramble, random=True))
        setup = setup_of(blocks[0], preprocess_workers=workers, shuffle_window=2, **settings)
        with getattr(setup.shuffle_order("window"), mode)().commit() as pre:
            return [digest(pre.train(e)) for e in (0, 1)]

    first = run(1)
    assert first == run(3) == run(7)
    assert first[0] != first[1]


SOURCE = """
#include "dts/transforms/user_transform.h"
int scramble(const uint8_t *src, int64_t src_stride, int src_width, int src_height,
             uint8_t *dst, int64_t dst_stride, int dst_width, int dst_height, int channels,
             const uint32_t *random, void *user_data) {
    if (random[0] % 10 == 3) return 9;
    for (int y = 0; y < dst_height; ++y)
        for (int x = 0; x < dst_width * channels; ++x)
            dst[y * dst_stride + x] = src[y * src_stride + x] ^ (uint8_t)(random[x % 4] >> y % 24);
    return 0;
}
"""


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    if shutil.which("cc") is None:
        pytest.skip("no C compiler (cc) here")
    place = tmp_path_factory.mktemp("user")
    (place / "user.c").write_text(SOURCE)
    flags = ["-O2", "-shared", "-fPIC", "-I", get_include()]
    subprocess.run(["cc", *flags, place / "user.c", "-o", place / "user.so"], check=True)
    return ctypes.CDLL(str(place / "user.so")).scramble


def test_a_compiled_one_is_the_same_for_any_number_of_threads(blocks, setup_of, digest, compiled):
    def run(workers):
        chain = (RandomResizedCrop(16), CFunction(compiled, random=True))
        setup = setup_of(
            blocks[0], preprocess_workers=workers, on_error="skip", train_transforms=chain
        )
        with setup.commit() as pre:
            found = digest(pre.train(0)), pre.stats()["train"]["skipped"]
            assert any("returned 9" in e for e in pre.stats()["train"]["errors"])
            return found

    assert run(1) == run(5)


@pytest.mark.parametrize("size", [None, 20])
def test_sizes_in_progressive_resolution(blocks, setup_of, size):
    """A function of one size keeps it, what comes after it follows."""

    def shrink(image):
        return image if size is None else image[:size, :size]

    chain = (RandomResizedCrop(24), Lambda(shrink, size=size), CenterCrop(16))
    setup = setup_of(blocks[0], train_transforms=chain, preprocess_workers=2)
    with setup.train_resolution({0: 8, 1: 16}).commit() as pre:
        assert [next(iter(pre.train(e))).images.shape[1] for e in (0, 1)] == [8, 16]


def test_draws_tell_the_key(blocks, setup_of):
    with setup_of(blocks[0], **chain(Lambda(scramble, random=True))).commit() as pre:
        step = pre.draws("train", 3, 5).steps[1]
        assert step["function"] == "scramble"
        assert len(step["key"]) == 4
        assert step["key"] != pre.draws("train", 4, 5).steps[1]["key"]


def test_an_error_names_the_sample_and_the_epoch_goes_on(blocks, setup_of):
    def run(workers):
        seen, causes, rows = [], [], 0
        setup = setup_of(blocks[0], preprocess_workers=workers, **chain(Lambda(refuses(1))))
        with setup.commit() as pre:
            it = iter(pre.train(0))
            while True:
                try:
                    rows += len(next(it))
                except StopIteration:
                    break
                except TransformError as error:
                    causes.append(error.__cause__)
                    seen.append(str(error))
            assert {type(c) for c in causes} == {ValueError}
            assert all(c.__traceback__ is not None for c in causes)
            assert pre.names("train")[pre_id(seen[0])] in seen[0]
        return seen, rows

    seen, rows = run(1)
    assert 0 < rows < 61
    assert "this one not" in seen[0]
    assert "folder_train_lv0.dts, block" in seen[0]
    assert (seen, rows) == run(4)


def pre_id(message):
    return int(message.split(", id ")[1].split(",")[0])


def test_bad_ones_are_skipped_or_replaced(blocks, setup_of, digest):
    for policy in ("skip", "replace"):
        runs = []
        for workers in (1, 4):
            setup = setup_of(
                blocks[0],
                preprocess_workers=workers,
                on_error=policy,
                **chain(Lambda(refuses(1, 2))),
            )
            with setup.commit() as pre:
                batches = list(pre.train(0))
                runs.append(digest(batches))
                stats = pre.stats()["train"]
                rows = sum(map(len, batches))
                assert any("ValueError: this one not" in e for e in stats["errors"])
                if policy == "replace":
                    assert rows == 61
                    assert stats["replaced"] > 0
                else:
                    assert rows == 61 - stats["skipped"] < 61
        assert runs[0] == runs[1]


def test_every_call_failing_ends_nothing(blocks, setup_of):
    setup = setup_of(blocks[0], on_error="skip", preprocess_workers=3, **chain(Lambda(fail)))
    with setup.commit() as pre:
        with pytest.warns(RuntimeWarning, match="is empty"):
            assert sum(len(b) for b in pre.train(0)) == 0
        assert pre.stats()["train"]["skipped"] == 61


def fail(image):
    raise RuntimeError("always")


def test_closing_while_calls_wait_for_the_lock(blocks, setup_of):
    for _ in range(10):
        called = threading.Event()

        def slow(image, called=called):
            called.set()
            time.sleep(0.002)
            return image

        pre = setup_of(blocks[0], preprocess_workers=6, **chain(Lambda(slow))).commit()
        it = iter(pre.train(0))
        called.wait(10)
        pre.close()
        with pytest.raises(ClosedError):
            next(it)


def test_leaving_early_and_beginning_anew(blocks, setup_of):
    with setup_of(blocks[0], preprocess_workers=5, **chain(Lambda(np.copy))).commit() as pre:
        for epoch in range(30):
            for _ in pre.train(epoch):
                break
        assert sum(len(b) for b in pre.train(31)) == 61


def test_a_transform_cannot_use_its_own_preprocessor(blocks, setup_of):
    holder, refused = [], []

    def meddle(image):
        for call in (holder[0].close, lambda: next(holder[1]), lambda: iter(holder[0].train(5))):
            try:
                call()
            except DtsError as error:
                refused.append(str(error))
        return image

    with setup_of(blocks[0], preprocess_workers=2, **chain(Lambda(meddle))).commit() as pre:
        it = pre.train(0)
        holder += [pre, it]
        assert sum(len(b) for b in it) == 61
    assert len(refused) == 3 * 61
    assert all("inside a transform" in text for text in refused)


def test_garbage_that_is_found_on_a_workers_thread(blocks, setup_of):
    """A cycle with another Preprocessor in it, collected by the very thread it waits for."""
    collect = threading.Event()

    def collector(image):
        if collect.is_set():
            gc.collect()
        return image

    gc.disable()
    try:
        pre = setup_of(blocks[0], preprocess_workers=2, **chain(Lambda(collector))).commit()
        it = iter(pre.train(0))
        pre.cycle = [pre, it]
        gone = weakref.ref(pre)
        collect.set()
        del pre, it
        deadline = time.monotonic() + 20
        while gone() is not None and time.monotonic() < deadline:
            time.sleep(0.01)
        assert gone() is None
        for thread in threading.enumerate():
            if thread.name == "dts-close":
                thread.join(20)
                assert not thread.is_alive()
    finally:
        gc.enable()


def python(code, path):
    start = f"""
        import sys, time
        import numpy as np
        from dts import *
        def slow(image):
            time.sleep(0.01)
            return image
        def busy(image):
            sum(range(20_000))
            return image
        def make(f):
            return (Preprocessor.setup().dataset("folder", {str(path)!r}).batch_size(2)
                    .preprocess_workers(4)
                    .train_transforms(RandomResizedCrop(64), Lambda(f)).commit())
    """
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(start) + textwrap.dedent(code)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=processes.heed_ctrl_c,
        text=True,
    )


@pytest.mark.parametrize("function", ["slow", "busy"])
def test_the_interpreter_exits_while_calls_run(blocks, function):
    code = f"pre = make({function}); it = iter(pre.train(0)); next(it); pre.me = [pre, it]"
    process = python(code, blocks[0])
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 0, errors
    assert errors == ""


@pytest.mark.parametrize("function", ["slow", "busy"])
def test_ctrl_c_while_calls_run(blocks, function):
    code = f"""
        pre = make({function})
        print("ready", flush=True)
        epoch = 0
        while True:
            for b in pre.train(epoch):
                pass
            epoch += 1
    """
    process = python(code, blocks[0])
    assert process.stdout.readline() == "ready\n"
    time.sleep(0.5)
    start = time.monotonic()
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert time.monotonic() - start < 2.0
    assert "KeyboardInterrupt" in errors
    assert process.returncode != 0
