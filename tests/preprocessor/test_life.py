"""Starting, leaving, closing, forking, exiting: nothing hangs, nothing is left."""

import copy
import gc
import os
import pickle
import signal
import subprocess
import sys
import textwrap
import threading
import time

import processes
import pytest

from dts import ClosedError


def threads():
    return len(os.listdir("/proc/self/task"))


def resident():
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_leaving_early_200_times_leaks_nothing(blocks, setup_of):
    with setup_of(blocks[0], load_workers=2, preprocess_workers=3).commit() as pre:
        for epoch in range(20):
            next(iter(pre.train(epoch)))
        gc.collect()
        before = threads(), resident()
        for epoch in range(200):
            for batch in pre.train(epoch):
                del batch
                break
        gc.collect()
        assert threads() == before[0]
        assert resident() - before[1] < 10 << 20
        assert sorted(i for b in pre.train(3) for i in b.ids) == list(range(61))
    assert threads() < before[0]


def test_memory_is_flat_over_epochs(blocks, setup_of):
    with setup_of(blocks[0], preprocess_workers=2).commit() as pre:
        sizes = []
        for epoch in range(50):
            for batch in pre.train(epoch):
                del batch
            sizes.append(resident())
        assert max(sizes[10:]) - sizes[9] < 8 << 20


def test_all_threads_end_with_close(blocks, setup_of):
    before = threads()
    pre = setup_of(blocks[0], load_workers=3, preprocess_workers=5).commit()
    next(iter(pre.train(0)))
    assert threads() == before + 8
    pre.close()
    pre.close()
    assert threads() == before
    for call in (pre.train, pre.val, lambda: pre.draws("train", 0, 0), pre.__enter__):
        with pytest.raises(ClosedError):
            call()


def test_dropping_the_object_ends_its_threads(blocks, setup_of):
    before = threads()
    pre = setup_of(blocks[0]).commit()
    it = iter(pre.train(0))
    next(it)
    del pre, it
    gc.collect()
    assert threads() == before


def test_a_cycle_is_collected(blocks, setup_of):
    before = threads()
    pre = setup_of(blocks[0]).commit()
    it = iter(pre.train(0))
    pre.cycle = [it, pre]
    next(it)
    del pre, it
    gc.collect()
    assert threads() == before


def test_two_at_once_are_independent(blocks, setup_of, digest):
    def run(seed):
        with setup_of(blocks[0], seed=seed).commit() as pre:
            return digest(pre.train(0))

    alone = run(1), run(2)
    with setup_of(blocks[0], seed=1).commit() as one, setup_of(blocks[0], seed=2).commit() as two:
        pairs = list(zip(one.train(0), two.train(0), strict=True))
    assert (digest(a for a, _ in pairs), digest(b for _, b in pairs)) == alone


def test_train_and_val_at_once(tmp_path, setup_of, digest):
    import make

    make.small_blocks(tmp_path / "folder_train_lv0.dts", [9, 8, 7])
    make.small_blocks(tmp_path / "folder_val_lv0.dts", [5, 6], seed=1, split="val")
    with setup_of(tmp_path, batch_size=3).commit() as pre:
        apart = digest(pre.train(0)), digest(pre.val(0))
        train, val = [], []
        its = [(iter(pre.train(0)), train), (iter(pre.val(0)), val)]
        while its:
            for it, into in list(its):
                batch = next(it, None)
                if batch is None:
                    its.remove((it, into))
                else:
                    into.append(batch)
        assert (digest(train), digest(val)) == apart
        assert [i for b in val for i in b.ids] == list(range(11))
        assert pre.val_steps == 4
        assert (pre.num_train_samples, pre.num_val_samples) == (24, 11)


def test_a_newer_iterator_ends_the_older(blocks, setup_of):
    with setup_of(blocks[0]).commit() as pre:
        old = iter(pre.train(0))
        next(old)
        assert len(pre.train(1)) == 8  # asking for the length starts nothing
        next(old)
        new = iter(pre.train(1))
        next(new)
        with pytest.raises(ClosedError, match="newer"):
            next(old)
        del old
        assert len(list(new)) == 7
        assert list(new) == []


def test_an_exception_in_the_loop_body(blocks, setup_of):
    with setup_of(blocks[0]).commit() as pre:
        with pytest.raises(KeyError):  # noqa: PT012 - leaving the loop is what is tried
            for batch in pre.train(0):
                raise KeyError(batch.index)
        assert len(list(pre.train(0))) == 8


def test_close_wakes_whoever_waits(blocks, setup_of):
    pre = setup_of(blocks[0], batch_size=4).commit()
    it = iter(pre.train(0))
    seen = []

    def consume():
        try:
            while True:
                next(it)
        except (ClosedError, StopIteration) as error:
            seen.append(error)

    workers = [threading.Thread(target=consume) for _ in range(3)]
    for w in workers:
        w.start()
    pre.close()
    for w in workers:
        w.join(5)
        assert not w.is_alive()
    assert len(seen) == 3


def test_several_threads_share_an_iterator(blocks, setup_of):
    with setup_of(blocks[0], batch_size=2).commit() as pre:
        it = iter(pre.train(0))
        got = [[] for _ in range(4)]

        def consume(into):
            for batch in it:
                into.extend(batch.ids.tolist())

        workers = [threading.Thread(target=consume, args=(g,)) for g in got]
        for w in workers:
            w.start()
        for w in workers:
            w.join(30)
            assert not w.is_alive()
        assert sorted(i for g in got for i in g) == list(range(61))


def test_it_cannot_be_pickled_but_its_settings_can_be_made_again(blocks, setup_of):
    with setup_of(blocks[0]).commit() as pre:
        with pytest.raises(TypeError, match="pickled"):
            pickle.dumps(pre)
        with pytest.raises(TypeError, match="pickled"):
            copy.deepcopy(pre)


@pytest.mark.fork
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_child_gets_a_clear_error_and_both_end(blocks, setup_of):
    with setup_of(blocks[0], preprocess_workers=3).commit() as pre:
        it = iter(pre.train(0))
        batch = next(it)
        child = os.fork()
        if child == 0:
            code = 1
            try:
                del batch
                for call in (
                    lambda: next(it),
                    lambda: pre.train(0),
                    lambda: pre.draws("train", 0, 0),
                ):
                    try:
                        call()
                    except ClosedError:
                        continue
                    os._exit(2)
                pre.close()
                del it, pre
                gc.collect()
                code = 0
            finally:
                os._exit(code)
        _wait(child)
        assert len(list(it)) == 7


def _wait(child):
    for _ in range(100):
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            assert os.waitstatus_to_exitcode(status) == 0
            return
        time.sleep(0.1)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    pytest.fail("the child hangs")


def python(code, path):
    """Start a Python that has `pre` made and runs `code`."""
    start = f"""
        import os, sys, time
        from dts import *
        pre = (Preprocessor.setup().dataset("folder",
        {str(path)!r}).batch_size(2).preprocess_workers(3)
               .train_transforms(RandomResizedCrop(64)).commit())
    """
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(start) + textwrap.dedent(code)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=processes.heed_ctrl_c,
        text=True,
    )


@pytest.mark.parametrize(
    "code",
    [
        "it = iter(pre.train(0)); next(it)",
        "it = iter(pre.train(0)); batch = next(it); pre = None",
        "pre.me = pre; it = pre.train(0); next(it); sys.modules['kept'] = it",
        "it = iter(pre.train(0)); next(it); raise SystemExit(0)",
        "import threading\nfor b in pre.train(0): pass",
    ],
)
def test_the_interpreter_exits_with_an_epoch_running(blocks, code):
    process = python(code, blocks[0])
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 0, errors
    assert errors == ""


@pytest.mark.parametrize("where", ["waiting for a batch", "between batches"])
def test_ctrl_c_ends_in_under_a_second(blocks, where):
    body = "pass" if where == "waiting for a batch" else "time.sleep(0.05)"
    code = f"""
        print("ready", flush=True)
        epoch = 0
        while True:
            for b in pre.train(epoch):
                {body}
            epoch += 1
    """
    process = python(code, blocks[0])
    assert process.stdout.readline() == "ready\n"
    time.sleep(0.7)
    start = time.monotonic()
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert time.monotonic() - start < 1.0
    assert "KeyboardInterrupt" in errors
    assert process.returncode != 0


def test_few_file_descriptors_are_enough(blocks, setup_of):
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, hard))
    try:
        with setup_of(blocks[0], load_workers=8, preprocess_workers=64).commit() as pre:
            assert len(list(pre.train(0))) == 8
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_the_file_may_be_removed_while_it_is_open(tmp_path, setup_of):
    import make

    path, _ = make.small_blocks(tmp_path / "folder_train_lv0.dts", [4, 5, 6])
    with setup_of(path, partial_mode=True, shuffle_window=1).commit() as pre:
        it = iter(pre.train(0))
        next(it)
        path.unlink()
        assert sum(len(b) for b in it) == 7
        assert sum(len(b) for b in pre.train(1)) == 15


def test_epochs_of_several_threads_end_whole_or_closed(blocks, setup_of):
    """One thread may come to the end of an epoch while another one starts the next."""
    wrong = []

    def run(pre):
        for epoch in range(20):
            try:
                got = sum(len(batch) for batch in pre.train(epoch))
            except ClosedError:
                continue
            except BaseException as error:
                got = error
            if got != 61:
                wrong.append(got)

    with setup_of(blocks[0], batch_size=30).commit() as pre:
        several = [threading.Thread(target=run, args=(pre,)) for _ in range(3)]
        for thread in several:
            thread.start()
        for thread in several:
            thread.join()
        assert wrong == []
        assert sum(len(batch) for batch in pre.train(0)) == 61


def test_counts_stay_after_close(blocks, setup_of):
    with setup_of(blocks[0]).commit() as pre:
        assert sum(len(batch) for batch in pre.train(0)) == 61
    stats = pre.stats()["train"]
    assert stats["samples"] == 61
    assert stats["scratch_bytes"] == 0


@pytest.mark.skipif(sys.platform != "linux", reason="limits the address space")
def test_no_batch_is_lost_when_memory_runs_out(blocks):
    code = """
        import os, resource, sys
        from dts import Preprocessor, Resize
        pre = (Preprocessor.setup().dataset("folder", sys.argv[1]).batch_size(2).fully_mode()
               .preprocess_workers(2).load_workers(1).prefetch_batches(1)
               .train_transforms(Resize((1000, 1000))).commit())
        for _ in pre.train(0):  # every thread has its stack and its scratch memory now
            pass
        it = iter(pre.train(1))
        kept, ids, errors = [], [], 0
        batch = next(it)
        with open("/proc/self/statm") as f:
            used = int(f.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
        resource.setrlimit(resource.RLIMIT_AS, (used + (150 << 20), -1))
        while batch is not None:
            kept.append(batch)
            ids += batch.ids.tolist()
            try:
                batch = next(it, None)
            except MemoryError:
                errors += 1
                kept.clear()
                batch = None
                batch = next(it, None)
        assert errors > 0
        assert sorted(ids) == list(range(61)), sorted(ids)
        """
    subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), str(blocks[0])], check=True, timeout=60
    )
