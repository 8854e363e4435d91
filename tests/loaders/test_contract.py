"""dts_loader of loader.h: what the pipeline relies on, called through ctypes."""

import ctypes
import threading

import numpy as np
import pytest

from dts.loaders.dts_reader import BlockReader
from dts.loaders.order import epoch_order

OK, END, CLOSED, BAD_BLOCK, BAD_CRC, INTERNAL = 0, 1, 2, 6, 7, 10
BLOCK = 16 << 20
COUNTS = [4, 3, 5, 2, 6, 1]  # 21 samples
STARTS = np.cumsum([0, *COUNTS])


@pytest.fixture(scope="module")
def some(make_set):
    return make_set(COUNTS)


@pytest.fixture
def lost(make_set):
    """Damage block 2 (ids 7-11) and block 5 (id 20) of the same set."""
    made = make_set(COUNTS)
    with open(made.paths[0], "r+b") as file:
        for block in (2, 5):
            file.seek(BLOCK * (1 + block))
            file.write(b"????")
    return made


def test_sample_at_fills_every_field(some, c_loader, expect):
    with BlockReader(some, mode="FULLY", order="global", seed=4) as reader:
        reader.begin_epoch(2)
        loader = c_loader(reader)
        ids = epoch_order(COUNTS, order="global", seed=4, epoch=2)
        for position in (20, 0, 7):  # in FULLY, any order of positions
            status, sample, _ = loader.sample_at(position)
            block = int(np.searchsorted(STARTS, ids[position], "right")) - 1
            assert status == OK
            assert sample.id == ids[position]
            assert (sample.volume, sample.block) == (0, block)
            assert sample.index == sample.id - STARTS[block]
            label, data = expect(sample.id)
            assert (sample.label, sample.size) == (label, len(data))
            assert ctypes.string_at(sample.data, sample.size) == data


@pytest.mark.parametrize(("worker", "position"), [(-1, 0), (2, 0), (0, -1)])
def test_wrong_numbers_are_an_error_not_a_crash(some, c_loader, worker, position):
    with BlockReader(some, num_workers=2) as reader:
        reader.begin_epoch(0)
        assert c_loader(reader).sample_at(position, worker)[0] == INTERNAL
        c_loader(reader).finish(worker)


def test_positions_must_grow_from_window_to_window(some, c_loader):
    with BlockReader(some, window=1) as reader:
        loader = c_loader(reader)
        assert loader.sample_at(0)[0] == CLOSED
        reader.begin_epoch(0)
        assert loader.sample_at(0)[0] == OK
        assert loader.sample_at(20)[0] == OK
        status, _, error = loader.sample_at(0)
        assert (status, error.position) == (INTERNAL, 0)
        assert b"grow" in error.reason
        assert loader.sample_at(21)[0] == END
        loader.finish()
        assert loader.sample_at(20)[0] == INTERNAL
        reader.end_epoch()
        assert loader.sample_at(20)[0] == CLOSED


def test_workers_take_any_positions(some, c_loader):
    """Positions by ticket: whoever is free takes the next one. Windows still hold."""
    for threads in (1, 2, 7):
        with BlockReader(some, window=2, load_workers=2, num_workers=threads, seed=9) as reader:
            reader.begin_epoch(0)
            loader = c_loader(reader)
            got, tickets, lock = [], iter(range(21)), threading.Lock()

            def work(worker, loader=loader, got=got, tickets=tickets, lock=lock):
                while True:
                    with lock:
                        position = next(tickets, None)
                    if position is None:
                        loader.finish(worker)
                        return
                    status, sample, _ = loader.sample_at(position, worker)
                    assert status == OK
                    got.append((position, sample.id))

            pool = [threading.Thread(target=work, args=(w,)) for w in range(threads)]
            for thread in pool:
                thread.start()
            for thread in pool:
                thread.join()
        ids = epoch_order(COUNTS, window=2, seed=9).tolist()
        assert sorted(got) == list(enumerate(ids))


def test_a_worker_that_finished_holds_nothing_up(some, c_loader):
    with BlockReader(some, order="sequential", window=1, num_workers=3) as reader:
        reader.begin_epoch(0)
        loader = c_loader(reader)
        assert loader.sample_at(0, 1)[0] == OK
        loader.finish(1)
        loader.finish(2)
        assert [loader.sample_at(p)[1].id for p in range(21)] == list(range(21))


def test_a_worker_that_rests_holds_nothing_up_and_comes_back_anywhere(some, c_loader):
    with BlockReader(some, order="sequential", window=1, num_workers=3) as reader:
        reader.begin_epoch(0)
        loader = c_loader(reader)
        assert loader.sample_at(0, 1)[0] == OK
        loader.rest(1)
        loader.rest(2)
        assert [loader.sample_at(p)[1].id for p in range(10)] == list(range(10))
        loader.resume(1)
        loader.resume(1)  # changes nothing
        assert loader.sample_at(10, 1)[1].id == 10
        assert [loader.sample_at(p)[1].id for p in range(11, 13)] == [11, 12]
        loader.rest(0)
        assert [loader.sample_at(p, 1)[1].id for p in range(13, 21)] == list(range(13, 21))
        loader.resume(2)
        assert loader.sample_at(20, 2)[1].id == 20


def test_blocks_stay_while_all_workers_rest(some, c_loader):
    """Nobody says how far the epoch is then, so nothing may be reused."""
    with BlockReader(some, order="sequential", window=1, num_workers=2) as reader:
        reader.begin_epoch(0)
        loader = c_loader(reader)
        assert [loader.sample_at(p)[1].id for p in range(5)] == list(range(5))
        for _ in range(3):
            loader.rest(0)
            loader.rest(1)
            loader.resume(1)
            loader.resume(0)
        assert [loader.sample_at(p, 1)[1].id for p in range(5, 7)] == [5, 6]
        assert [loader.sample_at(p)[1].id for p in range(5, 7)] == [5, 6]


def test_who_comes_back_is_waited_for_again(some, c_loader):
    with BlockReader(some, order="sequential", window=1, num_workers=2) as reader:
        reader.begin_epoch(0)
        loader, seen = c_loader(reader), []
        loader.rest(1)
        assert loader.sample_at(4)[0] == OK  # the second window
        loader.resume(1)
        thread = threading.Thread(target=lambda: seen.append(loader.sample_at(20)[0]))
        thread.start()
        while reader.stats()["worker_waits"] == 0:
            pass
        assert seen == []
        loader.rest(1)
        thread.join(10)
        assert seen == [OK]


@pytest.mark.parametrize("worker", [-1, 2])
def test_no_such_worker_rests_or_resumes(some, c_loader, worker):
    with BlockReader(some, window=1, num_workers=2) as reader:
        reader.begin_epoch(0)
        c_loader(reader).rest(worker)
        c_loader(reader).resume(worker)
        assert c_loader(reader).sample_at(0)[0] == OK


def test_end_of_epoch_wakes_a_waiting_worker(some, c_loader):
    with BlockReader(some, order="sequential", window=1, num_workers=2) as reader:
        reader.begin_epoch(0)
        loader, seen = c_loader(reader), []
        thread = threading.Thread(target=lambda: seen.append(loader.sample_at(20, 1)[0]))
        thread.start()  # waits: worker 0 has not moved
        while reader.stats()["worker_waits"] == 0:
            pass
        assert seen == []
        reader.end_epoch()
        thread.join(10)
        assert seen == [CLOSED]


def replacements(loader, position, bad):
    """All candidates, in turn, as (status, id)."""
    got, attempt = [], 0
    while True:
        status, sample, error = loader.replacement(position, bad, attempt)
        if status == END:
            return got
        assert status in (OK, BAD_CRC), error.reason
        got.append((status, sample.id))
        attempt += 1
        assert attempt < 200


def all_replacements(c_loader, file, settings, bad=None):
    """Candidates of every sample that is damaged, by id."""
    found = {}
    with BlockReader(file, bad=bad, **settings) as reader:
        loader = c_loader(reader)
        for position in range(reader.begin_epoch(3)):
            status, sample, _ = loader.sample_at(position)
            if status != OK:
                assert (sample.label, sample.data) == (-1, None)
                found[sample.id] = replacements(loader, position, sample)
    return found


def test_replacement_comes_from_the_same_block(some, c_loader):
    """8 draws among the others of the block, then all of them in turn."""
    bad = np.zeros(21, np.uint8)
    bad[[9, 15]] = 1
    settings = {"mode": "PARTIAL", "window": 3, "seed": 5}
    found = all_replacements(c_loader, some, settings, bad)
    assert sorted(found) == [9, 15]
    for id, block in ((9, range(7, 12)), (15, range(14, 20))):
        others = set(block) - {id}
        first = [i for _, i in found[id][: 8 + len(others)]]
        assert set(first) <= others
        assert set(first[8:]) == others
        assert len(set(first[:8])) > 1
        rest = {i for _, i in found[id][8 + len(others) :]}
        assert rest
        assert not rest & set(block)


def test_replacement_of_a_lost_block_comes_from_its_window(lost, c_loader):
    settings = {"mode": "PARTIAL", "order": "sequential", "window": 2, "seed": 5}
    found = all_replacements(c_loader, lost, settings)
    assert sorted(found) == [7, 8, 9, 10, 11, 20]
    for id in range(7, 12):  # windows of 2: blocks 2 and 3
        assert {i for _, i in found[id]} == {12, 13}
        assert sorted(i for _, i in found[id][8:]) == [12, 13]
    assert {i for _, i in found[20]} == set(range(14, 20))


def test_replacement_in_global_order_comes_from_anywhere(lost, c_loader):
    found = all_replacements(c_loader, lost, {"mode": "FULLY", "order": "global", "seed": 5})
    assert sorted(i for _, i in found[8][8:]) == [*range(7), *range(12, 20)]
    assert len({tuple(found[i][:8]) for i in found}) == len(found)


def test_a_lone_bad_picture_is_replaced_from_the_window(some, c_loader):
    bad = np.zeros(21, np.uint8)
    bad[20] = 1
    found = all_replacements(c_loader, some, {"order": "sequential", "window": 2}, bad)
    assert sorted(i for _, i in found[20][8:]) == list(range(14, 20))


def test_bad_candidates_are_told_and_passed_over(some, c_loader):
    bad = np.zeros(21, np.uint8)
    bad[7:11] = 1
    found = all_replacements(c_loader, some, {"order": "sequential", "window": 2}, bad)
    walk = found[8][8:12]
    assert sorted(walk) == [(OK, 11), (BAD_CRC, 7), (BAD_CRC, 9), (BAD_CRC, 10)]


def test_replacement_depends_on_neither_threads_nor_mode(lost, c_loader):
    runs = [
        all_replacements(
            c_loader,
            lost,
            {"mode": mode, "order": "window", "window": 3, "seed": 2, "load_workers": n},
        )
        for mode in ("FULLY", "PARTIAL")
        for n in (1, 3, 16)
    ]
    assert all(run == runs[0] for run in runs)
    assert len(runs[0]) == 6


def test_nothing_left_to_replace_with(make_set, c_loader):
    single = make_set([1])
    found = all_replacements(c_loader, single, {"order": "window"}, np.ones(1, np.uint8))
    assert found == {0: []}
