"""Several threads that use one Preprocessor, and what comes in between two lines."""

import gc
import hashlib
import os
import signal
import sys
import threading
import time

import make
import pytest

from dts import CenterCrop, ClosedError, MixUp, Resize, kept

QUICK = {"batch_size": 20, "train_transforms": CenterCrop(8), "preprocess_workers": 2}


@pytest.fixture
def many_switches():
    """Threads of Python take turns as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.fixture
def alarm():
    """Give a call that interrupts what runs so many seconds later, as Ctrl-C does; 0: not."""

    def interrupt(*_):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    yield lambda seconds: signal.setitimer(signal.ITIMER_REAL, seconds)
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


def content(batch):
    return hashlib.sha256(batch.images.tobytes() + batch.ids.tobytes()).hexdigest()


def run(functions):
    pool = [threading.Thread(target=f) for f in functions]
    for thread in pool:
        thread.start()
    for thread in pool:
        thread.join(60)
        assert not thread.is_alive()


@pytest.mark.usefixtures("many_switches")
def test_threads_that_start_one_iterator_share_one_epoch(blocks, setup_of):
    with setup_of(blocks[0], **QUICK).commit() as pre:
        for epoch in range(60):
            iterator, begin, got = pre.train(epoch), threading.Barrier(6), []

            def take(iterator=iterator, begin=begin, got=got):
                begin.wait(30)
                got.extend(batch.index for batch in iterator)

            run([take] * 6)
            assert sorted(got) == list(range(4))


@pytest.mark.usefixtures("many_switches")
def test_who_waits_while_others_end_the_epoch_takes_nothing_of_the_next(blocks, setup_of):
    with setup_of(blocks[0], **QUICK).commit() as pre:
        expected = [content(batch) for batch in pre.train(0)]
        now, wrong, taken, ended = [None], [], [0], threading.Event()

        def take():
            while not ended.is_set():
                try:
                    for batch in now[0] or ():
                        taken[0] += 1
                        if content(batch) != expected[batch.index]:
                            wrong.append(batch.index)
                except ClosedError:
                    pass
                except Exception as error:
                    wrong.append(error)

        def begin():
            until = time.monotonic() + 3
            while time.monotonic() < until:
                iterator = now[0] = pre.train(0)
                try:
                    for _ in iterator:
                        pass
                except ClosedError:
                    pass
            ended.set()

        run([begin, *[take] * 4])
    assert wrong == []
    assert taken[0] > 0


def test_garbage_that_is_collected_inside_next_lets_nobody_take_the_same_batch(blocks, setup_of):
    """What a finaliser does may hand the turn to another thread at any allocation."""
    turns = iter(range(10**9))

    def dawdle(phase, info):
        if phase == "stop" and next(turns) % 2:
            time.sleep(0.0005)

    setup = setup_of(blocks[0], **QUICK, prefetch_batches=3).batch_size(4)
    with setup.commit() as pre:
        expected = [content(batch) for batch in pre.train(0)]
        before = gc.get_threshold()
        for _ in range(20):
            iterator, got = iter(pre.train(0)), []

            def take(iterator=iterator, got=got):
                got.extend((batch, content(batch)) for batch in iterator)  # held: new slots

            gc.callbacks.append(dawdle)
            gc.set_threshold(1)
            try:
                run([take] * 3)
            finally:
                gc.set_threshold(*before)
                gc.callbacks.remove(dawdle)
            assert sorted(batch.index for batch, _ in got) == list(range(16))
            assert all(found == expected[batch.index] for batch, found in got)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # in __del__
def test_interrupts_inside_next_lose_no_slot(blocks, setup_of, alarm):
    setup = setup_of(blocks[0], **QUICK).batch_size(4).batch_transforms(MixUp())
    with setup.commit() as pre:
        hit = 0
        for k in range(400):
            try:
                alarm((k * 37 % 100 + 1) * 2e-5)
                for batch in pre.train(0):
                    del batch
                alarm(0)
            except KeyboardInterrupt:
                hit += 1
        alarm(0)
        stats = pre.stats()["train"]
        assert hit > 20
        assert stats["slots"] <= 6
        assert stats["extra_slots"] <= 6


def worker_threads():
    names = []
    for task in os.listdir("/proc/self/task"):
        try:
            with open(f"/proc/self/task/{task}/comm") as file:
                names.append(file.read().strip())
        except FileNotFoundError:
            pass
    return [name for name in names if name.startswith("dts-")]


def test_close_goes_on_where_an_interrupt_ended_it(blocks, setup_of, alarm):
    hit = 0
    for k in range(120):
        pre = setup_of(blocks[0], **QUICK).partial_mode().commit()
        iterator = iter(pre.train(0))
        if k % 2:
            next(iterator)
        try:
            alarm((k * 37 % 100 + 1) * 6e-6)
            pre.close()
            alarm(0)
        except KeyboardInterrupt:
            hit += 1
        alarm(0)
        pre.close()
        assert worker_threads() == []
    assert hit > 10


def test_an_old_iterator_of_a_kept_set_takes_nothing_of_a_new_epoch(
    tmp_path, setup_of, monkeypatch
):
    make.small_blocks(tmp_path / "folder_val_lv0.dts", [5, 6, 10], seed=1, split="val")
    setup = setup_of(tmp_path / "folder_val_lv0.dts", batch_size=3)
    setup.val_transforms(Resize((8, 8))).using_cpvs()
    inside, go_on = threading.Event(), threading.Event()
    plain = kept.KeptPipeline._run

    def late(self, *arguments):
        if threading.current_thread().name == "late":
            inside.set()
            assert go_on.wait(30)
        return plain(self, *arguments)

    monkeypatch.setattr(kept.KeptPipeline, "_run", late)
    with setup.commit() as pre:
        old, ended = iter(pre.val(0)), []

        def take():
            try:
                next(old)
            except ClosedError:
                ended.append(True)

        thread = threading.Thread(target=take, name="late")
        thread.start()
        assert inside.wait(30)
        new = iter(pre.val(1))
        go_on.set()
        thread.join(30)
        assert ended == [True]
        assert [batch.index for batch in new] == list(range(7))
