"""BlockFeed apart from any loader: files and tables. Its threads are tested in tests/loaders."""

import os
import types

import pytest

from dts.storage.reader import BlockFeed


@pytest.fixture
def described(tmp_path):
    paths = [str(tmp_path / "a.dts"), str(tmp_path / "b.dts")]
    for path in paths:
        with open(path, "wb"):
            pass
    return types.SimpleNamespace(
        paths=paths,
        headers=[types.SimpleNamespace(block_header_size=4096)] * 2,
        level=0,
        num_classes=1,
        block_counts=[1, 1],
        block_starts=[0, 1],
        block_volume=[0, 1],
        block_number=[0, 0],
        block_offset=[1 << 24, 1 << 24],
    )


def test_takes_no_memory_until_it_starts(described):
    feed = BlockFeed(described, 2, 1)
    assert feed.arena is None
    assert feed.slots == 2
    assert 0 < feed.memory_bytes < 4096
    assert set(feed.stats().values()) == {0}
    feed.close()
    feed.close()


@pytest.mark.skipif(not os.path.exists("/proc/self/fd"), reason="needs /proc")
@pytest.mark.parametrize("drop", [True, False])
def test_files_are_closed(described, drop):
    before = os.listdir("/proc/self/fd")
    feed = BlockFeed(described, 1, 1)
    assert len(os.listdir("/proc/self/fd")) == len(before) + 2
    if drop:
        del feed
    else:
        feed.close()
    assert os.listdir("/proc/self/fd") == before


@pytest.mark.skipif(not os.path.exists("/proc/self/fd"), reason="needs /proc")
def test_a_missing_file_leaves_nothing_open(described):
    os.unlink(described.paths[1])
    before = os.listdir("/proc/self/fd")
    with pytest.raises(FileNotFoundError, match=r"b\.dts"):
        BlockFeed(described, 1, 1)
    assert os.listdir("/proc/self/fd") == before


@pytest.mark.parametrize(("slots", "threads"), [(0, 1), (1, 0)])
def test_wrong_sizes(described, slots, threads):
    with pytest.raises(ValueError, match="at least one"):
        BlockFeed(described, slots, threads)
