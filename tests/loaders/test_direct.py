"""Reading around the page cache: the same samples, and nothing left behind in the cache."""

import ctypes
import logging
import mmap
import os

import make
import pytest

from dts import LoadMode, Preprocessor, RandomResizedCrop
from dts.format import DtsFile
from dts.loaders import BlockReader

pytestmark = pytest.mark.skipif(not hasattr(os, "O_DIRECT"), reason="no O_DIRECT here")


@pytest.fixture
def blocks(tmp_path):
    return make.small_blocks(tmp_path / "folder_train_lv0.dts", [5, 1, 9, 4], checksums=False)


def samples(path, direct, **options):
    """All that an epoch hands out: (label, bytes, id), or the error of a sample, as text."""
    found = []
    with DtsFile(path) as file, BlockReader(file, order="sequential", **options) as reader:
        if direct and not reader.read_directly():
            pytest.skip("this file system has no direct reads")
        reader.begin_epoch(0)
        while True:
            try:
                sample = reader.get_next_sample()
            except Exception as error:
                found.append(str(error))
                continue
            if sample is None:
                return found
            found.append((sample[0], bytes(sample[1]), sample[2]))


@pytest.mark.parametrize("mode", ["FULLY", "PARTIAL"])
def test_the_same_samples(blocks, mode):
    path, content = blocks
    found = samples(path, True, mode=mode, window=2, load_workers=2)
    assert found == samples(path, False, mode=mode, window=2)
    assert [(label, data) for label, data, _ in found] == [(lab, data) for data, lab in content]


@pytest.mark.parametrize("lost", [1, 511, 4096, (16 << 20) - 200, (20 << 20) + 77])
def test_a_file_that_ends_early_loses_the_same_samples(blocks, lost):
    path = blocks[0]
    os.truncate(path, os.path.getsize(path) - lost)
    assert samples(path, True) == samples(path, False)


def cached(path):
    """Pages of a file that are in the page cache, as a share of all."""
    libc = ctypes.CDLL(None, use_errno=True)
    size = os.path.getsize(path)
    with open(path, "rb") as file, mmap.mmap(file.fileno(), size, mmap.MAP_PRIVATE) as memory:
        pages = (ctypes.c_ubyte * -(-size // mmap.PAGESIZE))()
        start = ctypes.c_char.from_buffer(memory)
        address = ctypes.c_void_p(ctypes.addressof(start))
        assert libc.mincore(address, ctypes.c_size_t(size), pages) == 0
        del start
        return sum(p & 1 for p in pages) / len(pages)


def forget(path):
    fd = os.open(path, os.O_RDONLY)
    os.fsync(fd)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(fd)


def test_the_page_cache_stays_as_it_was(blocks):
    path = blocks[0]
    with open(path, "r+b") as file:  # no holes: they are not read from the disk
        for k in range(16 << 20, os.path.getsize(path), 1 << 20):
            file.seek(k + (1 << 20) - 64)
            file.write(os.urandom(64))
    forget(path)
    if cached(path) > 0.1:
        pytest.skip("this file system keeps all files in the cache")
    samples(path, True)
    assert cached(path) < 0.3  # the header area, and what the format's checks read
    samples(path, False)
    assert cached(path) > 0.7


def test_setup_reads_directly(blocks, monkeypatch, caplog):
    path = blocks[0]
    setup = Preprocessor.setup().dataset("folder", path).batch_size(4).seed(1)
    setup.train_transforms(RandomResizedCrop(16)).load_mode(LoadMode.PARTIAL)

    def epoch():
        with setup.commit() as pre:
            return [(b.images.tobytes(), b.ids.tolist()) for b in pre.train(0)]

    plain = epoch()
    with caplog.at_level(logging.WARNING, "dts"):
        assert setup.direct_io() is setup
        assert epoch() == plain
        assert "direct_io" not in caplog.text
        monkeypatch.delattr(os, "O_DIRECT")
        assert epoch() == plain
    assert "direct_io" in caplog.text
