"""FolderReader: files in blocks, the same orders and the same contract as .dts files."""

import errno
import os
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest

from dts.datasets.listing import Listing, list_pictures
from dts.errors import ClosedError, ConfigError, CorruptError, DecodeError
from dts.loaders import FolderReader, epoch_order
from dts.loaders.folder_blocks import FolderBlocks

BLOCK = 16 << 20
MODES = [
    ("FULLY", "global"),
    ("FULLY", "window"),
    ("FULLY", "sequential"),
    ("PARTIAL", "window"),
    ("PARTIAL", "sequential"),
]


def content(k, size):
    return (k.to_bytes(4, "little") * (size // 4 + 1))[:size]


def write(root, sizes, classes=5):
    """Files of these sizes, dealt to classes; their bytes tell which one they are."""
    for k, size in enumerate(sizes):
        path = root / f"class_{k % classes}" / f"f{k:05d}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content(k, size))
    return root


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """3300 files: a few of 6 MB that fill blocks, and more small ones than a block may hold."""
    sizes = [6_000_000 if k % 400 == 7 else 1 + k % 500 for k in range(3300)]
    return write(tmp_path_factory.mktemp("tree"), sizes)


@pytest.fixture(scope="module")
def listing(tree):
    return list_pictures(tree)


def check_epoch(listing, got):
    assert sorted(id for id, _, _ in got) == list(range(len(listing)))
    for id, label, data in got:
        assert label == listing.labels[id]
        k = int(listing.name(id)[-9:-4])
        assert data == content(k, int(listing.sizes[id]))


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize(("mode", "order"), MODES)
def test_every_file_once_in_the_order_of_its_blocks(listing, drain, mode, order, threads):
    settings = {"order": order, "window": 2, "seed": 3}
    blocks = FolderBlocks(listing, spread=order == "window")
    assert len(blocks.block_counts) >= 5
    with FolderReader(listing, mode=mode, load_workers=threads, **settings) as reader:
        for epoch in (0, 5):
            assert reader.begin_epoch(epoch) == len(reader) == 3300
            (got,) = drain(reader)
            check_epoch(listing, got)
            expected = epoch_order(blocks.block_counts, epoch=epoch, **settings)
            assert [id for id, _, _ in got] == blocks.ids[expected].tolist()


@pytest.mark.parametrize("workers", [2, 7])
def test_the_number_of_threads_changes_nothing(listing, drain, workers):
    with FolderReader(listing, window=1, load_workers=3, num_workers=workers) as reader:
        reader.begin_epoch(1)
        got = drain(reader, workers)
    with FolderReader(listing, window=1) as reader:
        reader.begin_epoch(1)
        (alone,) = drain(reader)
    assert [got[i % workers][i // workers] for i in range(len(alone))] == alone


def test_without_a_shuffle_ids_count_up(listing, drain):
    with FolderReader(listing, order="sequential", window=1) as reader:
        reader.begin_epoch(9)
        assert [id for id, _, _ in drain(reader)[0]] == list(range(3300))


# ---------------------------------------------------------------- blocks


@pytest.mark.parametrize("spread", [False, True])
def test_blocks_hold_every_file_once_and_fit(listing, spread):
    blocks = FolderBlocks(listing, spread=spread)
    assert sorted(blocks.ids.tolist()) == list(range(3300))
    assert blocks.block_counts.max() <= 1364
    assert blocks.rooms.max() <= BLOCK
    for start, count in zip(blocks.block_starts, blocks.block_counts, strict=True):
        assert (np.diff(blocks.ids[start : start + count]) > 0).all()
    if not spread:
        assert blocks.ids.tolist() == list(range(3300))
    else:  # every block of some size holds files of nearly all classes
        for start, count in zip(blocks.block_starts, blocks.block_counts, strict=True):
            if count > 100:
                assert len(set(blocks.labels[blocks.ids[start : start + count]])) >= 4


def test_blocks_do_not_depend_on_names(tmp_path):
    sizes = [3_000_000] * 9
    one = FolderBlocks(list_pictures(write(tmp_path / "a", sizes)), spread=True)
    for path in sorted((tmp_path / "a").rglob("*.jpg")):
        path.rename(path.with_name("x" + path.name))
    other = FolderBlocks(list_pictures(tmp_path / "a"), spread=True)
    assert one.ids.tolist() == other.ids.tolist()


@pytest.mark.parametrize(("mode", "order"), MODES)
def test_a_file_over_16_mib_has_a_block_of_its_own(tmp_path, drain, mode, order):
    sizes = [100, BLOCK, 40_000_000, 5, BLOCK - 100, 7, 9_000_000, 9_000_000]
    listing = list_pictures(write(tmp_path, sizes))
    blocks = FolderBlocks(listing, spread=False)
    assert {blocks.sizes[i] for i in blocks.ids[blocks.block_starts]} >= {BLOCK, 40_000_000}
    with FolderReader(listing, mode=mode, order=order, window=1, load_workers=2) as reader:
        assert reader.memory_bytes < 120_000_000
        for epoch in range(2):
            reader.begin_epoch(epoch)
            check_epoch(listing, drain(reader)[0])


def test_memory_is_planned_from_the_sizes(tmp_path):
    listing = list_pictures(write(tmp_path, [100] * 50))
    for mode in ("FULLY", "PARTIAL"):
        with FolderReader(listing, mode=mode) as reader:
            assert reader.memory_bytes < 100_000


# ---------------------------------------------------------------- faults


def outcomes(reader):
    """What each sample became, by id: its bytes or its error."""
    found = {}
    while True:
        try:
            sample = reader.get_next_sample()
        except (CorruptError, DecodeError, OSError) as error:
            found[error.id] = error
            continue
        if sample is None:
            return found
        found[sample[2]] = bytes(sample[1])


FAULTS = [
    (lambda p: p.unlink(), FileNotFoundError, "No such file"),
    (lambda p: p.write_bytes(b"x"), CorruptError, "shorter than when it was listed"),
    (lambda p: p.write_bytes(b"x" * 9999), CorruptError, "longer than when it was listed"),
    (lambda p: (p.unlink(), p.mkdir()), IsADirectoryError, "directory"),
    (lambda p: (p.unlink(), os.mkfifo(p)), OSError, "Invalid argument"),
    (lambda p: (p.unlink(), p.symlink_to(p)), OSError, "symbolic links"),
    (lambda p: (p.rename(p.parent.parent / "a"), p.parent.rmdir()), FileNotFoundError, "No such"),
]


@pytest.mark.parametrize("mode", ["FULLY", "PARTIAL"])
@pytest.mark.parametrize(("spoil", "kind", "words"), FAULTS)
def test_a_lost_file_is_the_error_of_its_sample(tmp_path, mode, spoil, kind, words):
    write(tmp_path, [50] * 21, classes=1)
    alone = tmp_path / "lone" / "f99999.jpg"
    alone.parent.mkdir()
    alone.write_bytes(b"y" * 50)
    listing = list_pictures(tmp_path)
    (id,) = (i for i in range(22) if listing.name(i) == b"lone/f99999.jpg")
    with FolderReader(listing, mode=mode, seed=1) as reader:
        spoil(alone)
        reader.begin_epoch(0)
        found = outcomes(reader)
        error = found.pop(id)
        assert type(error) is kind
        assert words in str(error)
        assert (error.id, error.name) == (id, "lone/f99999.jpg")
        path = error.filename if isinstance(error, OSError) else error.path
        assert path == str(alone)
        assert "block" not in str(error)
        assert sorted(found) == list(range(21))
        assert all(isinstance(data, bytes) for data in found.values())


@pytest.mark.parametrize("mode", ["FULLY", "PARTIAL"])
def test_a_file_that_comes_back_is_read_in_the_next_epoch(tmp_path, mode):
    listing = list_pictures(write(tmp_path, [60] * 8))
    path = tmp_path / "class_3" / "f00003.jpg"
    data = path.read_bytes()
    with FolderReader(listing, mode=mode) as reader:
        path.unlink()
        reader.begin_epoch(0)
        assert sum(isinstance(x, OSError) for x in outcomes(reader).values()) == 1
        path.write_bytes(data)
        for epoch in (1, 2):
            reader.begin_epoch(epoch)
            assert data in outcomes(reader).values()
        assert reader.stats()["blocks_read"] == (2 if mode == "FULLY" else 3)


def test_empty_and_huge_files(tmp_path):
    write(tmp_path, [10, 0, 10])
    with open(tmp_path / "class_2" / "huge.jpg", "wb") as file:
        file.truncate((256 << 20) + 1)
    listing = list_pictures(tmp_path)
    with FolderReader(listing, mode="FULLY", order="sequential") as reader:
        assert reader.memory_bytes < 100_000
        reader.begin_epoch(0)
        found = outcomes(reader)
    assert isinstance(found[1], DecodeError)
    assert "empty" in str(found[1])
    assert isinstance(found[3], DecodeError)
    assert "256 MiB" in str(found[3])
    assert [len(found[i]) for i in (0, 2)] == [10, 10]


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_unreadable_file(tmp_path):
    listing = list_pictures(write(tmp_path, [10] * 3))
    (tmp_path / "class_1" / "f00001.jpg").chmod(0)
    with FolderReader(listing) as reader:
        reader.begin_epoch(0)
        assert isinstance(outcomes(reader)[1], PermissionError)


def test_files_added_while_reading_are_not_seen(tmp_path, drain):
    listing = list_pictures(write(tmp_path, [10] * 6))
    with FolderReader(listing) as reader:
        reader.begin_epoch(0)
        (tmp_path / "class_0" / "a_new_one.jpg").write_bytes(b"new")
        check_epoch(listing, drain(reader)[0])
        reader.begin_epoch(1)
        check_epoch(listing, drain(reader)[0])
    assert len(list_pictures(tmp_path)) == 7


NAMES = ["Ünï cødé", "e\u0301", "\u00e9", "日本 語", "🐱", "-rf", "a'b\"c", "new\nline", "n" * 255]


def test_names_of_all_kinds_and_links(tmp_path):
    for k, name in enumerate(NAMES):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "1.jpg").write_bytes(content(k, 40))
    raw = os.fsencode(tmp_path) + b"/not \xff utf-8"
    os.mkdir(raw)
    with open(raw + b"/\xfe.JPG", "wb") as file:
        file.write(content(99, 40))
    (tmp_path / "-rf" / "link.jpg").symlink_to("../日本 語/1.jpg")
    (tmp_path / "linked class").symlink_to("🐱")
    deep = tmp_path / "deep" / "a" / "b"
    deep.mkdir(parents=True)
    (deep / "c.jpeg").write_bytes(b"deep")
    listing = list_pictures(tmp_path)
    assert len(listing) == len(NAMES) + 3
    with FolderReader(listing, mode="FULLY", load_workers=2) as reader:
        reader.begin_epoch(0)
        found = outcomes(reader)
    for id, data in found.items():
        with open(listing.path(id), "rb") as file:
            assert file.read() == data


@pytest.mark.parametrize("folders", [2500, 20_000])
def test_paths_that_no_system_takes(tmp_path, folders):
    name = b"d/" * folders + b"x.jpg"
    listing = Listing.of_names(
        os.fsencode(tmp_path),
        (b"c",),
        np.zeros(1, np.int32),
        np.ones(1, np.int64),
        name,
        np.zeros(1, np.int64),
        np.array([len(name)], np.uint16),
    )
    with FolderReader(listing) as reader:
        reader.begin_epoch(0)
        assert outcomes(reader)[0].errno == errno.ENAMETOOLONG


def test_relative_root_outlives_a_change_of_directory(tmp_path, drain, monkeypatch):
    write(tmp_path / "data", [20] * 4)
    monkeypatch.chdir(tmp_path)
    listing = list_pictures("data")
    with FolderReader(listing) as reader:
        monkeypatch.chdir("/")
        reader.begin_epoch(0)
        check_epoch(listing, drain(reader)[0])


# ---------------------------------------------------------------- the C contract


def test_sample_at_and_replacement(tmp_path, c_loader):
    listing = list_pictures(write(tmp_path, [6_000_000, 6_000_000, 40, 6_000_000, 41, 42, 43]))
    blocks = FolderBlocks(listing, spread=True)
    assert len(blocks.block_counts) >= 2
    (tmp_path / "class_2" / "f00002.jpg").unlink()
    (lost,) = (i for i in range(7) if listing.name(i).endswith(b"f00002.jpg"))
    block = np.searchsorted(blocks.block_starts, blocks.ids.tolist().index(lost), "right") - 1
    start, count = blocks.block_starts[block], blocks.block_counts[block]
    others = set(blocks.ids[start : start + count].tolist()) - {lost}
    assert others
    with FolderReader(listing, mode="FULLY", seed=2) as reader:
        loader = c_loader(reader)
        for position in range(reader.begin_epoch(0)):
            status, sample, error = loader.sample_at(position)
            assert (sample.volume, sample.block, sample.index) == (sample.id, -1, -1)
            if sample.id != lost:
                assert (status, sample.label) == (0, listing.labels[sample.id])
                assert sample.data % 64 == 0
                continue
            assert (status, sample.label, sample.data, sample.size) == (4, -1, None, 0)
            assert (error.id, error.volume, error.block, error.os_errno) == (lost, lost, -1, 2)
            got, attempt = [], 0
            while (answer := loader.replacement(position, sample, attempt))[0] == 0:
                got.append(answer[1].id)
                attempt += 1
            assert set(got[: 8 + len(others)]) == others
            assert set(got) == set(range(7)) - {lost}


def test_settings_and_life(tmp_path, listing):
    with pytest.raises(ConfigError, match="global"):
        FolderReader(listing, mode="PARTIAL", order="global")
    with pytest.raises(ConfigError, match="window"):
        FolderReader(listing, window=0)
    reader = FolderReader(listing, load_workers=3)
    before = threading.active_count()
    reader.begin_epoch(0)
    view = reader.get_next_sample()[1]
    kept = bytes(view)
    reader.close()
    reader.close()
    assert bytes(view) == kept  # stays until nobody looks
    assert threading.active_count() == before
    with pytest.raises(ClosedError):
        reader.begin_epoch(1)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_is_told(listing):
    with FolderReader(listing) as reader:
        reader.begin_epoch(0)
        child = os.fork()
        if child == 0:
            try:
                reader.get_next_sample()
            except ClosedError:
                os._exit(0)
            os._exit(1)
        assert os.waitpid(child, 0)[1] == 0
        assert reader.get_next_sample() is not None


def test_closing_and_dropping_in_the_middle_of_reading(listing):
    for k in range(30):
        reader = FolderReader(listing, mode="FULLY", load_workers=3, seed=k)
        reader.begin_epoch(k)
        if k % 3:
            reader.get_next_sample()
        if k % 2:
            reader.end_epoch()
        del reader


def run(script, *arguments):
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script), *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_few_descriptors(tree):
    """With ulimit -n 64, and more IO threads than that."""
    done = run(
        """
        import os, resource, sys
        from dts.datasets.listing import list_pictures
        from dts.loaders import FolderReader
        resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
        listing = list_pictures(sys.argv[1])
        with FolderReader(listing, load_workers=100, window=2) as reader:
            for epoch in range(2):
                left = reader.begin_epoch(epoch)
                while reader.get_next_sample() is not None:
                    left -= 1
                assert left == 0
            assert len(os.listdir("/proc/self/fd")) < 8
        """,
        tree,
    )
    assert done.returncode == 0, done.stderr


def test_memory_stays_flat(tree):
    done = run(
        """
        import sys
        from dts.datasets.listing import list_pictures
        from dts.loaders import FolderReader
        def rss():
            return int(open("/proc/self/statm").read().split()[1]) * 4096
        listing = list_pictures(sys.argv[1])
        with FolderReader(listing, load_workers=2, window=1) as reader:
            seen = []
            for epoch in range(20):
                reader.begin_epoch(epoch)
                while reader.get_next_sample() is not None:
                    pass
                seen.append(rss())
            assert seen[-1] - seen[4] < 2 << 20, seen
            assert seen[-1] - seen[0] < reader.memory_bytes, seen
        """,
        tree,
    )
    assert done.returncode == 0, done.stderr


def test_a_read_only_folder_stays_untouched(tmp_path, drain):
    root = write(tmp_path / "data", [30] * 10)
    for folder in (*root.iterdir(), root):
        folder.chmod(0o555)
    try:
        before = {p: p.stat().st_mtime_ns for p in (root, *root.rglob("*"))}
        listing = list_pictures(root)
        with FolderReader(listing) as reader:
            reader.begin_epoch(0)
            check_epoch(listing, drain(reader)[0])
        assert before == {p: p.stat().st_mtime_ns for p in (root, *root.rglob("*"))}
    finally:
        for folder in (root, *root.iterdir()):
            folder.chmod(0o755)
