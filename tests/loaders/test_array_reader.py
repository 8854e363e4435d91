"""ArrayReader: the contract, the order, replacement, life and end; RAW and DTS agree."""

import copy
import gc
import itertools
import os
import pickle
import struct
import threading

import make_arrays
import numpy as np
import pytest

from dts import rng
from dts.datasets.arrays import SLACK
from dts.datasets.catalog import ARRAY_SETS
from dts.errors import ClosedError, ConfigError, CorruptError, DtsError, FormatError
from dts.export import export_dataset
from dts.format import DtsFile
from dts.loaders import ArrayReader, DtsLoader, epoch_order, read_array_file, read_raw_arrays

OK, END, CLOSED, BAD_CRC, INTERNAL = 0, 1, 2, 7, 10
SIZE = 12


def make(n=29, **settings):
    """Make a reader of n samples whose bytes are multiples of their id."""
    pixels = np.zeros(n * SIZE + SLACK, np.uint8)
    pixels[: n * SIZE] = np.repeat(np.arange(n) % 251, SIZE)
    return ArrayReader(pixels, np.arange(n) % 7, SIZE, **settings)


def ids(reader, epoch=0):
    reader.begin_epoch(epoch)
    found = []
    while (sample := reader.get_next_sample()) is not None:
        found.append(sample[2])
    return found


@pytest.mark.parametrize("workers", [1, 2, 5, 40])
def test_every_sample_once(drain, workers):
    with make(num_workers=workers) as reader:
        assert reader.begin_epoch(3) == len(reader) == 29
        got = drain(reader, workers)
        one = ids(make(), 3)
        for w, samples in enumerate(got):
            assert [id for id, _, _ in samples] == one[w::workers]
            for id, label, data in samples:
                assert label == id % 7
                assert data == bytes([id]) * SIZE
        assert reader.get_next_sample(0) is None


@pytest.mark.parametrize("split", ["train", "val"])
@pytest.mark.parametrize("order", ["global", "window", "sequential"])
def test_orders_are_those_of_one_block(split, order):
    for seed, epoch in ((0, 0), (-1, 2**32 - 1), (12345678901234567890, 7)):
        with make(split=split, order=order, seed=seed, num_workers=1) as reader:
            wanted = epoch_order([29], order=order, seed=seed, epoch=epoch, split=split)
            assert ids(reader, epoch) == wanted.tolist()


def test_the_global_order_is_the_permutation_of_the_contract():
    with make(5000, seed=9) as reader:
        wanted = rng.permutation(5000, 9, epoch=4)
        assert ids(reader, 4) == wanted.tolist()


def test_an_epoch_depends_on_nothing_that_ran_before():
    fresh = ids(make(seed=1), 5)
    with make(seed=1) as reader:
        first = ids(reader, 0)
        reader.begin_epoch(1)
        reader.get_next_sample()
        assert ids(reader, 5) == fresh
        assert ids(reader, 0) == first
        assert first != fresh


def test_seeds_and_splits_matter():
    """The reference shuffled these sets by the epoch alone."""
    orders = [ids(make(seed=s, split=p)) for s in (0, 1, 2**32) for p in ("train", "val")]
    assert len({tuple(o) for o in orders}) == 6
    assert ids(make(seed=3)) == ids(make(seed=3 + 2**64))


def test_the_c_contract(c_loader):
    reader = make(order="sequential", num_workers=2, paths=["a", "b", "c"], counts=[4, 20, 5])
    loader = c_loader(reader)
    assert loader.sample_at(0)[0] == CLOSED
    reader.begin_epoch(0)
    for position, place in ((0, (0, 0)), (3, (0, 3)), (4, (1, 0)), (23, (1, 19)), (28, (2, 4))):
        status, sample, _ = loader.sample_at(position, 1)
        assert status == OK
        assert (sample.id, sample.label, sample.size) == (position, position % 7, SIZE)
        assert (sample.volume, sample.index, sample.block) == (*place, 0)
    assert loader.sample_at(29)[0] == END
    assert loader.sample_at(2**40)[0] == END
    loader.finish(0)
    for position, worker in ((-1, 0), (0, 2), (0, -1)):
        status, _, error = loader.sample_at(position, worker)
        assert (status, error.status) == (INTERNAL, INTERNAL)
    reader.end_epoch()
    assert loader.sample_at(5)[0] == CLOSED
    assert loader.replacement(5, loader.sample_at(5)[1], 0)[0] == CLOSED
    reader.close()
    assert loader.sample_at(5)[0] == CLOSED


def test_bad_samples(c_loader):
    bad = np.zeros(29, np.uint8)
    bad[[4, 11]] = 1
    reader = make(order="sequential", bad=bad, paths=["a", "b"], counts=[5, 24])
    reader.begin_epoch(0)
    status, sample, error = c_loader(reader).sample_at(11)
    assert (status, error.status, error.position) == (BAD_CRC, BAD_CRC, 11)
    assert (sample.id, sample.label, sample.data) == (11, -1, None)
    assert (error.volume, error.sample, error.id) == (1, 6, 11)
    seen, reasons = [], []
    for _ in range(29):
        try:
            seen.append(reader.get_next_sample()[2])
        except CorruptError as wrong:
            reasons.append(str(wrong))
    assert reasons == [
        "a, sample 4, id 4: bytes differ from those that were packed",
        "b, sample 6, id 11: bytes differ from those that were packed",
    ]
    assert seen == [i for i in range(29) if i not in (4, 11)]
    assert reader.get_next_sample() is None


def candidates(loader, position, bad):
    found = []
    while (got := loader.replacement(position, bad, len(found)))[0] != END:
        found.append((got[0], got[1].id))
    return found


def test_replacements(c_loader):
    """Eight draws among the others of the set, then all others in turn, whatever the threads."""
    bad = np.zeros(29, np.uint8)
    bad[[4, 11]] = 1
    first = make(bad=bad, seed=5)
    second = make(bad=bad, seed=5, num_workers=3)
    for reader in (first, second):
        reader.begin_epoch(2)
    order = ids(make(seed=5), 2)
    one, two = c_loader(first), c_loader(second)
    sample = one.sample_at(order.index(4))[1]
    found = candidates(one, order.index(4), sample)
    assert found == candidates(two, order.index(4), sample)
    assert len(found) == 8 + 28
    assert sorted(id for _, id in found[8:]) == [i for i in range(29) if i != 4]
    assert all(id != 4 for _, id in found)
    assert {status for status, id in found if id == 11} == {BAD_CRC}
    words = [w for b in range(3) for w in rng.philox4x32((5, 0), (b, 4, 2, 4 << 28))]
    drawn = [(int(w) * 28) >> 32 for w in words[:9]]
    assert [id for _, id in found[:9]] == [d + (d >= 4) for d in drawn]
    assert one.replacement(-1, sample, 0)[0] == INTERNAL
    assert one.replacement(0, sample, -1)[0] == INTERNAL


def test_a_single_sample_has_no_replacement(c_loader):
    reader = make(1, bad=[1])
    reader.begin_epoch(0)
    loader = c_loader(reader)
    assert loader.replacement(0, loader.sample_at(0)[1], 0)[0] == END


def test_settings_that_cannot_work():
    for settings, reason in (
        ({"num_workers": 0}, "num_workers"),
        ({"order": "any"}, "order"),
        ({"split": "test"}, "split"),
        ({"bad": [0]}, "bad has 1 entries for 29"),
        ({"counts": [28]}, "do not make 29"),
        ({"counts": [20, 9]}, "do not make 29"),
    ):
        with pytest.raises(ConfigError, match=reason):
            make(**settings)
    with pytest.raises(ConfigError, match="need an array of 76"):
        ArrayReader(bytes(75), [0], 12)
    with pytest.raises(ConfigError, match="0 samples"):
        ArrayReader(bytes(100), [], 12)
    with pytest.raises(ConfigError, match="sample_bytes"):
        ArrayReader(bytes(100), [0], 0)
    with make() as reader:
        with pytest.raises(DtsError, match="begin_epoch comes first"):
            reader.get_next_sample()
        for epoch in (-1, 2**32):
            with pytest.raises(ConfigError, match="epoch"):
                reader.begin_epoch(epoch)
        reader.begin_epoch(0)
        for worker in (-1, 1):
            with pytest.raises(IndexError):
                reader.get_next_sample(worker)
        with pytest.raises(TypeError):
            reader.__init__(bytes(100), [0], 12)


def test_closed():
    reader = make()
    reader.begin_epoch(0)
    _, view, id = reader.get_next_sample()
    reader.close()
    reader.close()
    gc.collect()
    assert bytes(view) == bytes([id]) * SIZE  # a view that somebody holds stays
    for call in (lambda: reader.begin_epoch(0), reader.get_next_sample, reader.end_epoch):
        with pytest.raises(ClosedError):
            call()
    assert reader.stats()["bytes_read"] == 0


def test_views_cannot_be_written():
    with make() as reader:
        reader.begin_epoch(0)
        view = reader.get_next_sample()[1]
        assert view.readonly
        with pytest.raises(TypeError):
            view[0] = 1


def test_memory_goes_with_the_reader():
    pixels = np.zeros(29 * SIZE + SLACK, np.uint8)
    reader = ArrayReader(pixels, np.zeros(29), SIZE)
    assert reader.memory_bytes >= pixels.nbytes + 8 * 29
    reader.close()
    pixels.resize(1)  # refused as long as anyone looks at it


def test_a_reader_cannot_be_copied():
    with make() as reader:
        for copy_it in (copy.copy, copy.deepcopy, pickle.dumps):
            with pytest.raises(TypeError):
                copy_it(reader)


def test_ending_and_closing_from_other_threads():
    reader = make(500, num_workers=4)
    strange = []

    def work(worker):
        try:
            while True:
                sample = reader.get_next_sample(worker)
                if sample is not None:
                    bytes(sample[1])
        except ClosedError:
            pass
        except BaseException as error:
            strange.append(error)

    reader.begin_epoch(0)
    threads = [threading.Thread(target=work, args=(w,)) for w in range(4)]
    for thread in threads:
        thread.start()
    for epoch in range(20):
        reader.begin_epoch(epoch)
        reader.end_epoch()
    reader.close()
    for thread in threads:
        thread.join(10)
        assert not thread.is_alive()
    assert strange == []


@pytest.mark.fork
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_is_told():
    reader = make()
    reader.begin_epoch(0)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            reader.get_next_sample()
        except ClosedError as error:
            code = 0 if "fork" in str(error) else 2
        reader.close()
        os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
    assert reader.get_next_sample() is not None


# From files


@pytest.fixture(scope="module", params=list(ARRAY_SETS))
def both(request, tmp_path_factory):
    """Return a set's name, folder of original files, .dts files by split, and content."""
    root = tmp_path_factory.mktemp(request.param)
    sets = make_arrays.write(request.param, root)
    packed = {s: export_dataset(request.param, root, root, split=s).path for s in sets}
    return request.param, root, packed, sets


@pytest.mark.parametrize("split", ["train", "val"])
def test_raw_and_dts_agree(both, drain, split):
    name, root, packed, sets = both
    pictures, labels = sets[split]
    raw = ARRAY_SETS[name].open(root, split)
    settings = {"split": split, "seed": 6, "num_workers": 3, "mode": "PARTIAL", "window": 2}
    with DtsFile(packed[split]) as file:
        readers = [read_raw_arrays(raw, **settings), read_array_file(file, **settings)]
    got = []
    for reader in readers:
        assert reader.mode == "FULLY"
        assert reader.stats()["bytes_read"] > pictures.nbytes
        reader.begin_epoch(1)
        got.append(drain(reader, 3))
        reader.close()
    assert got[0] == got[1]
    for id, label, data in itertools.chain(*got[0]):
        assert data == pictures[id].tobytes()
        assert label == labels[id]


def test_the_loader_by_either_way(both):
    name, root, packed, sets = both
    seen = []
    for paths in ((packed["train"], packed["val"]), (root, root)):
        raw = name if paths[0] == root else None
        with DtsLoader().configure(*paths, seed=2, raw=raw) as loader:
            assert loader.mode == "FULLY"
            assert loader.memory_bytes > sets["train"][0].nbytes
            for train in (True, False):
                n = loader.begin_epoch(0, train)
                seen.append([loader.get_next_sample() for _ in range(n)])
                assert loader.get_next_sample() is None
    assert seen[:2] == seen[2:]
    assert sorted(id for _, _, id in seen[0]) == list(range(50))
    assert seen[0][0][2] != 0
    assert [id for _, _, id in seen[1]] == list(range(20))


def test_the_loader_without_files(tmp_path):
    with pytest.raises(FileNotFoundError, match="no mnist train set"):
        DtsLoader().configure(tmp_path, raw="mnist")
    with pytest.raises(ConfigError, match="raw is one of"):
        DtsLoader().configure(tmp_path, raw="coco")


def test_damaged_files(tmp_path, both, make_set):
    packed = both[2]
    with open(packed["train"], "rb") as file:
        data = bytearray(file.read())
    path = tmp_path / "x.dts"
    for change, reason in (
        (lambda d: d[:-1], r"cut off: 49 of 50 pictures"),
        (lambda d: d[:310], r"cut off: 0 of 50 pictures"),
        (lambda d: d[:280], r"cut off in its 50 labels"),
        (lambda d: d[:258] + b"\xff" + d[259:], r"id 2: label 255 is not within 0"),
    ):
        path.write_bytes(change(data))
        with DtsFile(path) as file, pytest.raises(CorruptError, match=reason) as error:
            read_array_file(file)
        assert str(error.value).startswith(str(path))
    blocks = make_set([2, 1]).paths[0]
    with DtsFile(blocks) as file, pytest.raises(FormatError, match="blocks of pictures"):
        read_array_file(file)


def test_files_of_the_reference_serve_too(tmp_path):
    """Its header of MNIST counts three bytes for each pixel."""
    sets = make_arrays.mnist(tmp_path)
    path = tmp_path / "x.dts"
    export_dataset("mnist", tmp_path, path)
    data = bytearray(path.read_bytes())
    body = 50 * (28 * 28 * 3 + 1)
    struct.pack_into("<Q", data, 72, 256 + body)
    struct.pack_into("<QI", data, 84, body, body)
    path.write_bytes(data)
    with DtsFile(path) as file:
        reader = read_array_file(file, order="sequential")
    reader.begin_epoch(0)
    assert bytes(reader.get_next_sample()[1]) == sets["train"][0][0].tobytes()
