"""Early ends, close, fork, exit, garbage, Ctrl-C: nothing hangs, leaks or crashes."""

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
import weakref

import processes
import pytest

from dts.errors import ClosedError
from dts.loaders.dts_reader import BlockReader

linux_only = pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="needs /proc")


def status(key):
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith(key))


def wait_until(condition):
    end = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < end, "waited 10 s"
        time.sleep(0.001)


@linux_only
@pytest.mark.parametrize("mode", ["FULLY", "PARTIAL"])
def test_200_early_ends_leave_nothing(mixed, drain, mode):
    with BlockReader(mixed, mode=mode, window=2, load_workers=4) as reader:
        reader.begin_epoch(0)
        drain(reader)

        def leave_early(i):
            reader.begin_epoch(i)
            for _ in range(i % 3):
                reader.get_next_sample()
            reader.end_epoch()

        for i in range(20):
            leave_early(i)
        threads, memory, files = status("Threads:"), status("VmRSS:"), os.listdir("/proc/self/fd")
        for i in range(200):
            leave_early(i)
        assert status("Threads:") == threads
        assert status("VmRSS:") < memory + 4_000
        assert len(os.listdir("/proc/self/fd")) == len(files)


@linux_only
def test_closed_readers_leave_nothing(make_set):
    small = make_set([2, 1])

    def once():
        with BlockReader(small, load_workers=4, mode="FULLY") as reader:
            reader.begin_epoch(0)
            reader.get_next_sample()

    once()
    gc.collect()
    threads, files = status("Threads:"), len(os.listdir("/proc/self/fd"))
    memory, space = status("VmRSS:"), status("VmSize:")
    for _ in range(15):
        once()
    assert status("Threads:") == threads
    assert len(os.listdir("/proc/self/fd")) == files
    assert status("VmRSS:") < memory + 8_000
    assert status("VmSize:") < space + 8_000


@linux_only
@pytest.mark.parametrize("mode", ["FULLY", "PARTIAL"])
def test_memory_is_flat_over_50_epochs(make_set, drain, mode):
    with BlockReader(make_set([3] * 3), mode=mode, window=1, load_workers=2) as reader:
        memory = []
        for epoch in range(52):
            reader.begin_epoch(epoch)
            drain(reader)
            memory.append(status("VmRSS:"))
        assert memory[-1] < memory[1] + 1_000


def test_a_reader_cannot_be_copied(mixed):
    with BlockReader(mixed) as reader:
        for copy_it in (copy.copy, copy.deepcopy, pickle.dumps):
            for thing in (reader, reader.feed):
                with pytest.raises(TypeError):
                    copy_it(thing)


@linux_only
def test_io_threads_have_names(mixed):
    with BlockReader(mixed, load_workers=3) as reader:
        reader.begin_epoch(0)

        def names():
            found = []
            for task in os.listdir("/proc/self/task"):
                with open(f"/proc/self/task/{task}/comm") as file:
                    found.append(file.read().strip())
            return {"dts-io-0", "dts-io-1", "dts-io-2"} <= set(found)

        wait_until(names)


def test_an_epoch_may_be_left_by_the_next_one(mixed, drain):
    with BlockReader(mixed, window=2) as reader:
        for epoch in range(5):
            reader.begin_epoch(epoch)
            reader.get_next_sample()
        reader.begin_epoch(9)
        assert len(drain(reader)[0]) == 29


def test_two_readers_at_once(mixed, drain):
    with BlockReader(mixed, window=2) as one, BlockReader(mixed, mode="FULLY") as two:
        one.begin_epoch(0)
        two.begin_epoch(0)
        got = [[], []]
        for _ in range(29):
            for reader, ids in zip((one, two), got, strict=True):
                ids.append(reader.get_next_sample()[2])
        assert sorted(got[0]) == sorted(got[1]) == list(range(29))
        one.close()
        two.begin_epoch(1)
        assert len(drain(two)[0]) == 29


def test_closed(mixed):
    reader = BlockReader(mixed)
    reader.close()
    reader.close()
    for call in (lambda: reader.begin_epoch(0), reader.get_next_sample, reader.end_epoch):
        with pytest.raises(ClosedError):
            call()
    assert reader.stats()["blocks_read"] == 0


@pytest.mark.parametrize("end", ["close", "end_epoch"])
def test_ending_wakes_a_waiting_worker(mixed, end):
    reader = BlockReader(mixed, order="sequential", window=1, num_workers=2)
    reader.begin_epoch(0)
    seen = []

    def work():
        try:
            while reader.get_next_sample(1) is not None:
                pass
            seen.append("over")
        except ClosedError:
            seen.append("closed")

    thread = threading.Thread(target=work)
    thread.start()
    wait_until(lambda: reader.stats()["worker_waits"] and reader.stats()["io_waits"])
    begin = time.monotonic()
    getattr(reader, end)()
    thread.join(10)
    assert time.monotonic() - begin < 1
    assert seen == ["closed" if end == "close" else "over"]
    reader.close()


def test_calls_from_many_threads_while_it_closes(mixed):
    """Workers, epochs and close() from everywhere at once: errors are fine, crashes are not."""
    for _ in range(6):
        reader = BlockReader(mixed, window=2, load_workers=2, num_workers=4)
        reader.begin_epoch(0)
        strange = []

        def work(worker, reader=reader, strange=strange):
            try:
                while True:
                    sample = reader.get_next_sample(worker)
                    if sample is not None:
                        bytes(sample[1])
            except ClosedError:
                pass
            except BaseException as error:
                strange.append(error)

        threads = [threading.Thread(target=work, args=(w,)) for w in range(4)]
        for thread in threads:
            thread.start()
        for epoch in range(3):
            reader.begin_epoch(epoch)
        reader.close()
        for thread in threads:
            thread.join(10)
            assert not thread.is_alive()
        assert strange == []


def test_a_view_outlives_the_reader(mixed, expect):
    reader = BlockReader(mixed, mode="FULLY", order="sequential")
    reader.begin_epoch(0)
    _, data, id = reader.get_next_sample()
    reader.close()
    del reader
    gc.collect()
    assert bytes(data) == expect(id)[1]


def test_dropped_without_close(mixed):
    before = threading.active_count()
    reader = BlockReader(mixed, load_workers=3)
    reader.begin_epoch(0)
    reader.get_next_sample()
    gone = weakref.ref(reader)
    del reader
    assert gone() is None
    assert threading.active_count() == before


def test_garbage_in_a_cycle(make_set):
    class Names(list):
        pass

    made = make_set([3, 3])
    made.names = Names("abcdef")
    reader = BlockReader(made, load_workers=2)
    made.names.reader = reader
    reader.begin_epoch(0)
    reader.get_next_sample()
    gone = weakref.ref(reader)
    del reader, made
    gc.collect()
    assert gone() is None


@pytest.mark.skipif(os.name == "nt", reason="an open file cannot be deleted")
def test_a_file_deleted_while_open(make_set, drain):
    made = make_set([3, 4])
    with BlockReader(made) as reader:
        os.unlink(made.paths[0])
        reader.begin_epoch(0)
        assert len(drain(reader)[0]) == 7


PREPARE = """
import os, signal, sys, threading, time, types
from dts.errors import ClosedError
from dts.loaders.dts_reader import BlockReader

BLOCK = 16 << 20
def make(**kw):
    counts, path = [1] * 6, sys.argv[1]
    with open(path, "wb") as file:
        for i in range(6):
            file.seek(BLOCK * (1 + i))
            numbers = (i, 1, 4096, 4, 0)
            file.write(b"LV0B" + b"".join(n.to_bytes(4, "little") for n in numbers))
        file.truncate(BLOCK * 7)
    header = types.SimpleNamespace(block_header_size=4096)
    return BlockReader(types.SimpleNamespace(
        paths=[path], headers=[header], level=0, num_classes=1, block_counts=counts,
        block_starts=range(6), block_volume=[0] * 6, block_number=range(6),
        block_offset=[BLOCK * (1 + i) for i in range(6)], names=None), **kw)
"""


def run_script(tmp_path, script, **kw):
    code = PREPARE + textwrap.dedent(script)
    return subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path / "small.dts")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=processes.heed_ctrl_c,
        text=True,
        **kw,
    )


@pytest.mark.fork
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_fork(tmp_path):
    """The child gets ClosedError from every call and can make its own; the parent goes on."""
    process = run_script(
        tmp_path,
        """
        import gc, warnings
        warnings.simplefilter("ignore")  # 3.12 warns of forks beside threads
        reader = make(order="sequential", window=1, load_workers=3, num_workers=2)
        reader.begin_epoch(0)
        _, data, _ = reader.get_next_sample()
        other = lambda: reader.get_next_sample(1)
        waiting = threading.Thread(target=lambda: list(iter(other, None)))
        waiting.start()
        while not reader.stats()["worker_waits"]:
            time.sleep(0.001)
        child = os.fork()
        if child == 0:
            refused = 0
            for call in (lambda: reader.begin_epoch(1), reader.get_next_sample, reader.end_epoch):
                try:
                    call()
                except ClosedError as error:
                    refused += "fork" in str(error)
            assert len(bytes(data)) == 4
            reader.close()
            del reader
            gc.collect()
            own = make(order="sequential")
            own.begin_epoch(0)
            assert own.get_next_sample()[2] == 0
            own.close()
            sys.exit(40 + refused)  # and atexit runs
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 43
        assert [reader.get_next_sample()[2] for _ in range(2)] == [2, 4]
        assert reader.get_next_sample() is None
        waiting.join(10)
        print("fine")
        """,
    )
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out, err) == (0, "fine\n", "")


@pytest.mark.parametrize("held", ["reader", "reader.feed"])
def test_exit_with_a_live_reader(tmp_path, held):
    process = run_script(
        tmp_path,
        f"""
        reader = make(order="sequential", window=1, load_workers=4, num_workers=2)
        reader.begin_epoch(0)
        sample = reader.get_next_sample()
        sys.kept = {held}
        def work():
            try:
                while reader.get_next_sample(1) is not None:
                    pass
            except ClosedError:
                pass
        threading.Thread(target=work, daemon=True).start()
        while not reader.stats()["worker_waits"]:
            time.sleep(0.001)
        print("leaving")
        """,
    )
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out, err) == (0, "leaving\n", "")


POSIX = pytest.mark.skipif(os.name == "nt", reason="POSIX signals")


@POSIX
def test_ctrl_c_while_waiting(tmp_path):
    process = run_script(
        tmp_path,
        """
        reader = make(order="sequential", window=1, load_workers=2, num_workers=2)
        reader.begin_epoch(0)
        print("ready", flush=True)
        while True:
            reader.get_next_sample(1)  # worker 0 holds window 0 for ever
        """,
    )
    assert process.stdout.readline() == "ready\n"
    time.sleep(0.2)
    begin = time.monotonic()
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=10)
    assert time.monotonic() - begin < 1
    assert err.rstrip().endswith("KeyboardInterrupt")
    assert process.returncode == -signal.SIGINT


@POSIX
def test_an_interrupted_wait_loses_nothing(mixed):
    """The sample that was waited for is the next one still."""

    class Stop(Exception):
        pass

    def stop(*_):
        raise Stop

    with BlockReader(mixed, order="sequential", window=1, num_workers=2) as reader:
        reader.begin_epoch(0)
        got = []

        def all_of_worker_1():
            signal.setitimer(signal.ITIMER_REAL, 0.3)
            got.extend(s[2] for s in iter(lambda: reader.get_next_sample(1), None))

        old = signal.signal(signal.SIGALRM, stop)
        try:
            with pytest.raises(Stop):
                all_of_worker_1()
        finally:
            signal.signal(signal.SIGALRM, old)
        assert got == [1, 3, 5, 7]  # 9 lies in window 2, which worker 0 kept from loading
        assert [reader.get_next_sample(0)[2] for _ in range(5)] == [0, 2, 4, 6, 8]
        assert reader.get_next_sample(1)[2] == 9
