"""DtsLoader on real files: what it serves is what DtsFile reads."""

import threading

import numpy as np
import pytest

from dts.errors import ClosedError, ConfigError, FormatError
from dts.format import DtsFile
from dts.loaders import BlockReader, DtsLoader, epoch_order

TRAIN, VAL = [5, 3, 7, 1, 4], [2, 6]


@pytest.fixture(scope="module")
def paths(make_set):
    return make_set(TRAIN).paths[0], make_set(VAL, level=3).paths[0]


def ids(loader):
    return [sample[2] for sample in iter(loader.get_next_sample, None)]


@pytest.mark.parametrize("volumes", [[TRAIN], [[4, 2], [3, 5, 1], [2]]])
@pytest.mark.parametrize("mode", ["FULLY", "PARTIAL"])
def test_serves_what_the_file_holds(make_set, volumes, mode):
    made = make_set(volumes if len(volumes) > 1 else volumes[0])
    with DtsFile(made.paths[0]) as file, BlockReader(file, mode=mode, window=2) as reader:
        assert reader.begin_epoch(0) == len(file)
        seen = 0
        for label, data, id in iter(reader.get_next_sample, None):
            expected, expected_label = file[id]
            assert (label, bytes(data)) == (expected_label, bytes(expected))
            seen += 1
        assert seen == len(file)


def test_train_and_val_in_turn(paths):
    with DtsLoader().configure(*paths, seed=3, window=2, mode="PARTIAL", order="window") as loader:
        for epoch in range(2):
            assert loader.begin_epoch(epoch, True) == 20
            train = ids(loader)
            loader.end_epoch()
            assert loader.begin_epoch(epoch, False) == 8
            assert ids(loader) == list(range(8))
            assert train == epoch_order(TRAIN, window=2, seed=3, epoch=epoch).tolist()


def test_one_epoch_at_a_time(paths):
    with DtsLoader().configure(*paths) as loader:
        loader.begin_epoch(0, True)
        loader.get_next_sample()
        loader.begin_epoch(0, False)
        assert ids(loader) == list(range(8))


def test_shuffles_are_settings(paths):
    with DtsLoader().configure(*paths, shuffle_train=False, shuffle_val=True, seed=1) as loader:
        loader.begin_epoch(4, True)
        assert ids(loader) == list(range(20))
        loader.begin_epoch(4, False)
        assert ids(loader) == epoch_order(VAL, seed=1, epoch=4, split="val").tolist()


@pytest.mark.parametrize(
    ("mode", "order", "expected"),
    [
        ("FULLY", None, "global"),
        ("AUTO", None, "window"),
        ("PARTIAL", None, "window"),
        ("FULLY", "window", "window"),
    ],
)
def test_default_order(paths, mode, order, expected):
    """AUTO keeps window order, so that free memory never changes it."""
    with DtsLoader().configure(paths[0], mode=mode, order=order, seed=2) as loader:
        loader.begin_epoch(1)
        assert ids(loader) == epoch_order(TRAIN, order=expected, seed=2, epoch=1).tolist()


def test_auto_follows_the_memory(paths, monkeypatch):
    asked = []

    def choose(nbytes):
        asked.append(nbytes)
        return "PARTIAL" if len(asked) == 1 else "FULLY"

    monkeypatch.setattr("dts.loaders.loader.choose_mode", choose)
    for expected in ("PARTIAL", "FULLY"):
        with DtsLoader().configure(*paths, window=1) as loader:
            assert loader.mode == expected
            assert loader.memory_bytes > (7 << 24 if expected == "FULLY" else 4 << 24)
    assert asked[0] == pytest.approx(7 << 24, rel=0.01)


def test_fully_larger_than_the_memory_is_refused(paths, monkeypatch):
    monkeypatch.setattr("dts.loaders.memory.available_bytes", lambda *_: (1000, "a test"))
    with pytest.raises(ConfigError, match=r"1000 .*partial_mode"):
        DtsLoader().configure(paths[0], mode="FULLY")
    with DtsLoader().configure(paths[0]) as loader:
        assert loader.mode == "PARTIAL"


def test_workers_take_turns(paths):
    with DtsLoader().configure(
        paths[0], preprocess_workers=3, load_workers=2, window=2, mode="PARTIAL", order="window"
    ) as loader:
        loader.begin_epoch(0)
        got = {}

        def work(worker):
            got[worker] = [s[2] for s in iter(lambda: loader.get_next_sample(worker), None)]

        threads = [threading.Thread(target=work, args=(w,)) for w in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        order = epoch_order(TRAIN, window=2).tolist()
        assert got == {w: order[w::3] for w in range(3)}


def test_two_loaders(paths):
    with DtsLoader().configure(paths[0]) as one, DtsLoader().configure(paths[0]) as two:
        one.begin_epoch(0)
        two.begin_epoch(0)
        assert [one.get_next_sample()[2] for _ in range(5)] == [
            two.get_next_sample()[2] for _ in range(5)
        ]
        one.close()
        assert len(ids(two)) == 15


def test_wrong_calls(paths, tmp_path):
    for wrong in ({}, {"train_path": paths[0], "mode": "HALF"}):
        with pytest.raises(ConfigError):
            DtsLoader().configure(**wrong)
    with pytest.raises(ConfigError, match="global"):
        DtsLoader().configure(paths[0], mode="PARTIAL", order="global")
    with pytest.raises(FileNotFoundError):
        DtsLoader().configure(paths[0], tmp_path / "none.dts")
    (tmp_path / "text.dts").write_text("no")
    with pytest.raises(FormatError):
        DtsLoader().configure(tmp_path / "text.dts")
    loader = DtsLoader()
    with pytest.raises(ConfigError, match="begin_epoch"):
        loader.get_next_sample()
    loader.configure(paths[0])
    with pytest.raises(ClosedError):
        loader.configure(paths[0])
    with pytest.raises(ConfigError, match="val_path"):
        loader.begin_epoch(0, False)
    loader.close()
    loader.close()
    for call in (lambda: loader.begin_epoch(0), loader.get_next_sample, loader.end_epoch):
        with pytest.raises(ClosedError):
            call()


def test_plain_arrays_are_refused(tmp_path):
    """MNIST and CIFAR have no blocks of 16 MiB."""
    from dts.format import Header

    header = Header(dataset_type="MNIST", num_samples=2, crc_code=0)
    path = tmp_path / "mnist_train.dts"
    path.write_bytes(header.to_bytes().ljust(256, b"\0") + bytes(2 * 785))
    with DtsFile(path) as file, pytest.raises(ConfigError, match="plain arrays"):
        BlockReader(file)


def test_names_in_errors(make_set):
    made = make_set([2, 2])
    with open(made.paths[0], "r+b") as raw:
        raw.seek(2 << 24)
        raw.write(b"oops")
    with DtsFile(made.paths[0]) as file, BlockReader(file, order="sequential") as reader:
        file.__dict__["names"] = ["a/0.jpg", "a/1.jpg", "b/2.jpg", "b/3.jpg"]
        reader.begin_epoch(0)
        got = [reader.get_next_sample()[2] for _ in range(2)]
        with pytest.raises(Exception, match=r"block 1, sample 0, id 2, 'b/2.jpg'"):
            reader.get_next_sample()
        assert got == [0, 1]
        assert np.array_equal(file.block_counts, [2, 2])
