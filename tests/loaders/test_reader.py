"""Every id once, in the order that was promised, whatever the threads and the mode."""

import itertools
import threading
import time

import numpy as np
import pytest

from dts.errors import ConfigError, DtsError
from dts.loaders.dts_reader import BlockReader
from dts.loaders.order import epoch_order

MODES = [
    ("FULLY", "global"),
    ("FULLY", "window"),
    ("FULLY", "sequential"),
    ("PARTIAL", "window"),
    ("PARTIAL", "sequential"),
]


@pytest.mark.parametrize("threads", [1, 2, 4, 16])
@pytest.mark.parametrize(("mode", "order"), MODES)
def test_every_id_once_and_right(mixed, expect, drain, mode, order, threads):
    for workers in (1, 3, 16, 64):
        with BlockReader(
            mixed,
            mode=mode,
            order=order,
            window=3,
            load_workers=threads,
            num_workers=workers,
            seed=7,
        ) as reader:
            assert reader.begin_epoch(1) == len(reader) == 29
            got = drain(reader, workers)
            reader.end_epoch()
        order_ids = epoch_order(
            mixed.block_counts, order=order, window=3, seed=7, epoch=1
        ).tolist()
        for worker, samples in enumerate(got):
            assert [s[0] for s in samples] == order_ids[worker::workers]
        for id, label, data in itertools.chain(*got):
            assert (label, data) == expect(id)


@pytest.mark.parametrize("window", [1, 2, 3, 6, 7, 8, 1000])
@pytest.mark.parametrize("order", ["window", "sequential"])
def test_windows_of_every_size(mixed, drain, window, order):
    """FULLY and PARTIAL deliver the same, also where the window is larger than the file."""
    orders = []
    for mode in ("FULLY", "PARTIAL"):
        with BlockReader(mixed, mode=mode, order=order, window=window, load_workers=2) as reader:
            for epoch in (0, 1):
                reader.begin_epoch(epoch)
                orders.append([s[0] for s in drain(reader)[0]])
    assert orders[:2] == orders[2:]
    assert sorted(orders[1]) == list(range(29))


@pytest.mark.parametrize("counts", [[1], [7], [1, 1], [0, 1, 0], [0]])
def test_small_sets(make_set, drain, counts):
    small = make_set(counts)
    for mode, order in MODES:
        with BlockReader(
            small, mode=mode, order=order, window=1, load_workers=4, num_workers=3
        ) as reader:
            for epoch in range(3):
                assert reader.begin_epoch(epoch) == sum(counts)
                got = [s[0] for s in itertools.chain(*drain(reader, 3))]
                assert sorted(got) == list(range(sum(counts)))


@pytest.mark.parametrize(("mode", "order"), MODES)
def test_starting_at_an_epoch_equals_running_to_it(mixed, drain, mode, order):
    settings = {"mode": mode, "order": order, "window": 3, "seed": 3, "split": "val"}
    with BlockReader(mixed, **settings) as reader:
        ran = []
        for epoch in range(3):
            reader.begin_epoch(epoch)
            ran.append(drain(reader)[0])
    with BlockReader(mixed, **settings) as reader:
        reader.begin_epoch(2)
        assert drain(reader)[0] == ran[2]
        reader.begin_epoch(0)
        assert drain(reader)[0] == ran[0]
    assert order == "sequential" or ran[0] != ran[1] != ran[2]


@pytest.mark.parametrize("level", [0, 2])
def test_volumes(make_set, drain, level):
    """Ids run on from volume to volume; block numbers start again in each."""
    two = make_set([[4, 2], [3, 5, 1]], level=level)
    for mode, order in MODES:
        with BlockReader(two, mode=mode, order=order, window=2) as reader:
            reader.begin_epoch(5)
            assert sorted(s[0] for s in drain(reader)[0]) == list(range(15))


def test_fully_reads_once(mixed, drain):
    with BlockReader(mixed, mode="FULLY", order="global", load_workers=3) as reader:
        for epoch in range(4):
            reader.begin_epoch(epoch)
            drain(reader)
        assert reader.stats()["blocks_read"] == 6  # one of the 7 holds nothing
        assert reader.stats()["bytes_read"] == 6 << 24


def test_fully_goes_on_where_an_early_end_left_it(mixed, drain):
    with BlockReader(mixed, mode="FULLY", order="window", window=2, load_workers=2) as reader:
        reader.begin_epoch(0)
        reader.get_next_sample()
        reader.end_epoch()
        assert reader.get_next_sample() is None
        reader.begin_epoch(1)
        assert sorted(s[0] for s in drain(reader)[0]) == list(range(29))
        assert reader.stats()["blocks_read"] == 6


def test_partial_reads_each_block_once_an_epoch(mixed, drain):
    with BlockReader(mixed, window=2, load_workers=2) as reader:
        for epoch in range(3):
            reader.begin_epoch(epoch)
            drain(reader)
        assert reader.stats()["blocks_read"] == 18


def wait_for(condition):
    end = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < end, "waited 10 s"
        time.sleep(0.002)


def test_next_window_loads_while_this_one_is_consumed(mixed):
    """One sample of window 0 is held: windows 0 and 1 come (3 blocks), window 2 does not."""
    with BlockReader(mixed, order="sequential", window=2, load_workers=2) as reader:
        reader.begin_epoch(0)
        _, data, id = reader.get_next_sample()
        held = bytes(data)
        # 7 blocks in 4 windows: 1, 2, 2, 2
        wait_for(lambda: reader.stats()["blocks_read"] == 3)
        wait_for(lambda: reader.stats()["io_waits"] == 2)
        time.sleep(0.05)
        assert reader.stats()["blocks_read"] == 3
        assert (id, bytes(data)) == (0, held)
        for _ in range(5):  # the last of them is the first of window 1
            id = reader.get_next_sample()[2]
        assert id == 5
        wait_for(lambda: reader.stats()["blocks_read"] == 4)  # one of its two is empty


def test_a_window_is_kept_until_every_worker_has_left_it(mixed, expect, drain):
    """Worker 0 holds a sample of window 0; the others stop before window 2."""
    with BlockReader(mixed, order="sequential", window=3, load_workers=2, num_workers=2) as reader:
        reader.begin_epoch(0)
        _, data, id = reader.get_next_sample(0)
        others = []
        thread = threading.Thread(
            target=lambda: others.extend(iter(lambda: reader.get_next_sample(1), None))
        )
        thread.start()
        # 3 windows of 2, 2 and 3 blocks: ids 0-7, 8-15, 16-28; odd ones are worker 1's
        wait_for(lambda: len(others) == 8 and reader.stats()["worker_waits"] >= 1)
        time.sleep(0.05)
        assert [s[2] for s in others] == list(range(1, 16, 2))
        assert bytes(data) == expect(id)[1]
        rest = [s[2] for s in iter(lambda: reader.get_next_sample(0), None)]
        thread.join()
        assert rest == list(range(2, 29, 2))
        assert [s[2] for s in others] == list(range(1, 29, 2))


def test_samples_are_views_of_the_arena(mixed):
    with BlockReader(mixed, mode="FULLY", order="sequential") as reader:
        reader.begin_epoch(0)
        _, data, _ = reader.get_next_sample()
        assert data.readonly
        assert np.shares_memory(np.asarray(data), np.asarray(memoryview(reader.feed.arena)))


def test_many_threads_over_many_epochs(mixed, drain, expect):
    with BlockReader(mixed, window=2, load_workers=3, num_workers=8, seed=1) as reader:
        for epoch in range(20):
            reader.begin_epoch(epoch)
            got = list(itertools.chain(*drain(reader, 8)))
            assert sorted(s[0] for s in got) == list(range(29))
            assert all((label, data) == expect(id) for id, label, data in got)


def test_memory_is_planned(mixed):
    def plan(**kw):
        with BlockReader(mixed, **kw) as reader:
            assert reader.feed.arena is None
            return reader.memory_bytes / (1 << 24)

    assert plan(mode="FULLY", order="global") == pytest.approx(7, abs=0.01)
    assert plan(window=2) == pytest.approx(4, abs=0.01)
    assert plan(window=3) == pytest.approx(6, abs=0.01)
    assert plan(window=4) == pytest.approx(7, abs=0.01)
    assert plan(window=100) == pytest.approx(7, abs=0.01)


@pytest.mark.parametrize(
    "wrong",
    [
        {"mode": "AUTO"},
        {"order": "random"},
        {"split": "test"},
        {"mode": "PARTIAL", "order": "global"},
        {"window": 0},
        {"load_workers": 0},
        {"num_workers": 0},
        {"bad": np.zeros(28, np.uint8)},
    ],
)
def test_wrong_settings(mixed, wrong):
    with pytest.raises(ConfigError):
        BlockReader(mixed, **wrong)


def test_wrong_calls(mixed):
    with BlockReader(mixed) as reader:
        with pytest.raises(DtsError, match="begin_epoch"):
            reader.get_next_sample()
        for epoch in (-1, 2**32):
            with pytest.raises(ConfigError, match="epoch"):
                reader.begin_epoch(epoch)
        assert reader.begin_epoch(2**32 - 1) == 29
        for worker in (-1, 1):
            with pytest.raises(IndexError):
                reader.get_next_sample(worker)
        with pytest.raises(TypeError):
            reader.__init__(mixed)
