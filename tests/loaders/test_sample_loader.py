"""SampleLoader: order, bounds, waits and ends."""

import doctest
import os
import threading
import time

import make
import pytest

import dts.loaders.sample_loader as module
from dts.decode import decode
from dts.errors import ClosedError, ConfigError, CorruptError
from dts.loaders import SampleLoader


def in_thread(work):
    """Run `work` in a thread; the function returned waits and gives its result or exception."""
    got = []

    def run():
        try:
            got.append(work())
        except Exception as error:
            got.append(error)

    thread = threading.Thread(target=run)
    thread.start()

    def result():
        thread.join(10)
        return got[0]

    result.thread = thread
    return result


def waits(call):
    call.thread.join(0.05)
    return call.thread.is_alive()


def test_first_in_first_out(tmp_path):
    path = tmp_path / "a.jpg"
    path.write_bytes(b"file")
    with SampleLoader() as loader:
        assert loader.push_bytes(b"one", 7) == 0
        assert loader.push_file(path) == 1
        assert loader.push_bytes(memoryview(bytearray(b"three")), 9) == 2
        assert len(loader) == 3
        loader.finish()
        got = []
        while (sample := loader.get_next_sample()) is not None:
            got.append((sample[0], bytes(sample[1]), sample[2]))
        assert got == [(7, b"one", 0), (-1, b"file", 1), (9, b"three", 2)]
        assert loader.get_next_sample() is None
        assert loader.used_bytes == 0


def test_the_pool_bounds_what_is_held_and_handed_out():
    with SampleLoader(100) as loader:
        loader.push_bytes(b"a" * 60)
        loader.push_bytes(b"b" * 40)
        assert loader.used_bytes == 100
        with pytest.raises(TimeoutError, match="no room for 1 bytes"):
            loader.push_bytes(b"c", timeout=0.01)
        third = in_thread(lambda: loader.push_bytes(b"c" * 50))
        assert waits(third)
        view = loader.get_next_sample()[1]
        assert waits(third)  # the first one is handed out, and still there
        assert bytes(view) == b"a" * 60
        assert bytes(loader.get_next_sample()[1]) == b"b" * 40
        assert third() == 2
        assert loader.used_bytes == 90
        assert bytes(view) == b"a" * 60  # whoever keeps a view keeps its bytes


def test_a_push_that_waits_is_not_overtaken():
    with SampleLoader(10) as loader:
        loader.push_bytes(b"a" * 6)
        big = in_thread(lambda: loader.push_bytes(b"b" * 9))
        assert waits(big)
        small = in_thread(lambda: loader.push_bytes(b"c"))
        assert waits(small)
        assert bytes(loader.get_next_sample()[1]) == b"a" * 6
        assert bytes(loader.get_next_sample()[1]) == b"b" * 9
        assert bytes(loader.get_next_sample()[1]) == b"c"
        assert (big(), small()) == (1, 2)


def test_larger_than_the_pool(tmp_path):
    (tmp_path / "a.jpg").write_bytes(b"x" * 11)
    with SampleLoader(10) as loader:
        with pytest.raises(ConfigError, match=r"a\.jpg: 11 bytes, the pool has 10"):
            loader.push_file(tmp_path / "a.jpg")
        with pytest.raises(ConfigError, match="11 bytes"):
            loader.push_bytes(b"x" * 11)
        assert loader.push_bytes(b"x" * 10) == 0


@pytest.mark.parametrize("numbers", [(0, 1), (-1, 1), (10, 0)])
def test_numbers_that_cannot_work(numbers):
    with pytest.raises(ConfigError):
        SampleLoader(numbers[0], num_workers=numbers[1])


def test_bad_files_are_errors_in_their_turn(tmp_path):
    good, empty, fifo = tmp_path / "good.jpg", tmp_path / "empty.jpg", tmp_path / "fifo"
    good.write_bytes(b"good")
    empty.touch()
    os.mkfifo(fifo)
    bad = [
        (tmp_path / "missing.jpg", FileNotFoundError),
        (empty, CorruptError),
        (tmp_path, OSError),
        (fifo, OSError),
    ]
    with SampleLoader() as loader:
        for path, _ in bad:
            loader.push_file(path)
            loader.push_file(good)
        loader.push_bytes(b"")
        loader.finish()
        for k, (path, kind) in enumerate(bad):
            with pytest.raises(kind) as caught:
                loader.get_next_sample()
            assert str(path) in str(caught.value)
            assert caught.value.id == 2 * k
            assert bytes(loader.get_next_sample()[1]) == b"good"
        with pytest.raises(CorruptError, match="no bytes"):
            loader.get_next_sample()
        assert loader.get_next_sample() is None
        assert loader.used_bytes == 0


@pytest.mark.parametrize("change", [b"", b"longer than it was"])
def test_a_file_that_changes_meanwhile(tmp_path, change):
    path = tmp_path / "a.jpg"
    path.write_bytes(b"12345")
    with SampleLoader(6) as loader:
        loader.push_bytes(b"xx")
        push = in_thread(lambda: loader.push_file(path))
        assert waits(push)
        path.write_bytes(change)
        loader.get_next_sample()
        with pytest.raises(CorruptError, match="changed"):
            loader.get_next_sample()
        assert push() == 1


def test_close_wakes_everybody():
    loader = SampleLoader(10, num_workers=3)
    loader.push_bytes(b"x" * 10)
    view = loader.get_next_sample(2)[1]
    calls = [in_thread(lambda w=w: loader.get_next_sample(w)) for w in (0, 1)]
    calls.append(in_thread(lambda: loader.push_bytes(b"y")))
    assert all(waits(call) for call in calls)
    loader.close()
    loader.close()
    assert all(isinstance(call(), ClosedError) for call in calls)
    assert bytes(view) == b"x" * 10
    for call in (loader.get_next_sample, lambda: loader.push_bytes(b"z")):
        with pytest.raises(ClosedError):
            call()


def test_finish_wakes_everybody():
    with SampleLoader(10, num_workers=2) as loader:
        loader.push_bytes(b"x" * 10)
        assert loader.get_next_sample(0) is not None
        pull = in_thread(lambda: loader.get_next_sample(1))
        push = in_thread(lambda: loader.push_bytes(b"y"))
        assert waits(pull)
        assert waits(push)
        loader.finish()
        assert pull() is None
        assert isinstance(push(), ClosedError)


def test_waiting_with_a_limit():
    with SampleLoader() as loader:
        for timeout in (0, 0.01):
            with pytest.raises(TimeoutError):
                loader.get_next_sample(timeout=timeout)
        with pytest.raises(IndexError):
            loader.get_next_sample(1)


def test_many_threads(tmp_path):
    """4 push 200 each, files and bytes; 3 pull: everything once, each pusher's in its order."""
    with SampleLoader(500, num_workers=3) as loader:

        def push(who):
            for k in range(200):
                data = b"%d %d " % (who, k) + b"." * (k % 150)
                if k % 5:
                    loader.push_bytes(data, who)
                else:
                    path = tmp_path / f"{who}_{k}"
                    path.write_bytes(data)
                    loader.push_file(path, who)

        def pull(worker):
            got = []
            while (sample := loader.get_next_sample(worker)) is not None:
                label, data, id = sample
                who, k = (int(x) for x in bytes(data).split()[:2])
                assert label == who
                assert loader.used_bytes <= 500
                got.append((id, who, k))
            return got

        pushers = [in_thread(lambda w=w: push(w)) for w in range(4)]
        pullers = [in_thread(lambda w=w: pull(w)) for w in range(3)]
        assert [p() for p in pushers] == [None] * 4
        loader.finish()
        each = [p() for p in pullers]
        assert all(got == sorted(got) for got in each)
        everything = sorted(sample for got in each for sample in got)
        assert [id for id, _, _ in everything] == list(range(800))
        for who in range(4):
            assert [k for _, w, k in everything if w == who] == list(range(200))
        assert loader.used_bytes == 0


def test_an_interrupted_push_does_not_block_the_queue(tmp_path, monkeypatch):
    (tmp_path / "a.jpg").write_bytes(b"abc")

    def interrupted(*_):
        raise KeyboardInterrupt

    with SampleLoader() as loader:
        monkeypatch.setattr(module, "open", interrupted, raising=False)
        with pytest.raises(KeyboardInterrupt):
            loader.push_file(tmp_path / "a.jpg")
        monkeypatch.undo()
        loader.push_bytes(b"next")
        with pytest.raises(CorruptError, match="interrupted"):
            loader.get_next_sample()
        assert bytes(loader.get_next_sample()[1]) == b"next"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_is_told():
    loader = SampleLoader()
    loader.push_bytes(b"x")
    child = os.fork()
    if child == 0:
        try:
            loader.get_next_sample()
        except ClosedError:
            os._exit(0)
        os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
    assert loader.get_next_sample() is not None
    loader.close()


def test_the_example(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    picture = make.jpeg(5, 90, 70)
    (tmp_path / "cat.jpg").write_bytes(picture)
    names = {}
    finder = doctest.DocTestFinder(recurse=False)
    (example,) = finder.find(SampleLoader, "SampleLoader", globs=names)
    result = doctest.DocTestRunner().run(example, clear_globs=False)
    assert result == (0, result.attempted)
    assert result.attempted >= 5
    names = example.globs
    assert names["array"].shape == (1, 224, 224, 3)
    assert decode(picture).shape == (70, 90, 3)


def test_waiting_costs_no_time():
    with SampleLoader() as loader:
        pull = in_thread(loader.get_next_sample)
        before = time.process_time()
        assert waits(pull)
        time.sleep(0.3)
        assert time.process_time() - before < 0.15
        loader.push_bytes(b"x")
        assert pull()[1] == b"x"
