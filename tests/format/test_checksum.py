import importlib.util
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dts.errors import CorruptError
from dts.format import checksum, reading
from dts.format.checksum import crc32_combine, crc32_concat, crc32_of_file


@given(st.binary(), st.binary())
def test_combine_equals_the_checksum_of_both(a, b):
    assert crc32_combine(zlib.crc32(a), zlib.crc32(b), len(b)) == zlib.crc32(a + b)


@given(st.lists(st.binary(max_size=50)))
def test_concat(pieces):
    crcs = np.array([zlib.crc32(piece) for piece in pieces], np.uint32)
    lengths = [len(piece) for piece in pieces]
    assert crc32_concat(crcs, np.array(lengths, np.int64)) == zlib.crc32(b"".join(pieces))


def test_concat_of_equal_pieces():
    data = np.random.default_rng(0).bytes(7000)
    crcs = [zlib.crc32(data[i : i + 1000]) for i in range(0, 7000, 1000)]
    assert crc32_concat(crcs, 1000) == zlib.crc32(data)
    assert crc32_concat([], 1000) == 0


def test_combine_over_4_gib():
    doubled, size = zlib.crc32(b"\0"), 1
    while size < 8 << 30:
        doubled, size = crc32_combine(doubled, doubled, size), size * 2
    assert crc32_concat([zlib.crc32(bytes(1 << 20))] * (8 << 10), 1 << 20) == doubled
    assert crc32_combine(zlib.crc32(b"a"), doubled, 8 << 30) == crc32_combine(
        crc32_combine(zlib.crc32(b"a"), zlib.crc32(bytes(1 << 20)), 1 << 20),
        crc32_concat([zlib.crc32(bytes(1 << 20))] * ((8 << 10) - 1), 1 << 20),
        (8 << 30) - (1 << 20),
    )


def test_negative_lengths_are_refused():
    with pytest.raises(ValueError, match="-1"):
        crc32_combine(0, 0, -1)
    with pytest.raises(ValueError, match="-5"):
        crc32_concat([1, 2], [3, -5])


@pytest.mark.parametrize("threads", [None, 1, 5])
def test_file(tmp_path, monkeypatch, threads):
    monkeypatch.setattr(reading, "CHUNK", 1000)
    data = np.random.default_rng(3).bytes((16 << 20) * 2 + 12345)
    path = tmp_path / "data"
    path.write_bytes(data)
    assert len(data) > checksum.PIECE * 2
    assert crc32_of_file(path, threads=threads) == zlib.crc32(data)
    assert crc32_of_file(str(path), 144, 20 << 20, threads) == zlib.crc32(
        data[144 : 144 + (20 << 20)]
    )
    with open(path, "rb") as file:
        assert crc32_of_file(file.fileno(), 5, 100) == zlib.crc32(data[5:105])


def test_parts_of_a_file(tmp_path):
    path = tmp_path / "data"
    path.write_bytes(b"0123456789")
    assert crc32_of_file(path, 10) == 0
    assert crc32_of_file(path, 99) == 0
    assert crc32_of_file(path, 3, 4) == zlib.crc32(b"3456")
    with pytest.raises(CorruptError, match="ends at byte 10, not at 11"):
        crc32_of_file(path, 3, 8)
    with pytest.raises(CorruptError):
        crc32_of_file(path, 0, 40 << 20, 2)
    with pytest.raises(FileNotFoundError):
        crc32_of_file(tmp_path / "missing")


def test_without_positional_reads(tmp_path, monkeypatch):
    monkeypatch.delattr("os.pread")
    spec = importlib.util.spec_from_file_location("windows_reading", reading.__file__)
    other = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(other)
    path = tmp_path / "data"
    path.write_bytes(b"0123456789")
    with other.opened(path) as fd:
        assert other.read_at(fd, 3, 4) == b"3456"
        assert other.read_at(fd, 0, 99) == b"0123456789"
        assert other.crc32_at(fd, 2, 5) == zlib.crc32(b"23456")
