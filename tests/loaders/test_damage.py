"""Damage comes up at its sample's turn, with its place and reason, and the epoch goes on."""

import errno
import shutil
import struct

import numpy as np
import pytest

from dts.errors import CorruptError
from dts.loaders.dts_reader import BlockReader

BLOCK = 16 << 20
COUNTS = [4, 3, 5, 2]
MODES = [
    ("FULLY", "global"),
    ("FULLY", "window"),
    ("PARTIAL", "window"),
    ("PARTIAL", "sequential"),
]


@pytest.fixture(params=MODES, ids="-".join)
def settings(request):
    mode, order = request.param
    return {"mode": mode, "order": order, "window": 2, "load_workers": 2, "seed": 1}


@pytest.fixture
def broken(make_set, tmp_path):
    """broken(patch): a set of its own whose file went through patch(open file)."""
    original = make_set(COUNTS)

    def make(patch, names=None):
        path = tmp_path / "broken.dts"
        shutil.copy(original.paths[0], path)
        with open(path, "r+b") as file:
            patch(file)
        original.paths, original.names = [str(path)], names
        return original

    return make


def write_at(offset, data):
    def patch(file):
        file.seek(offset)
        file.write(data)

    return patch


def outcome(reader, epoch=0):
    """Ids served, and errors by id, of one epoch."""
    served, errors = [], {}
    reader.begin_epoch(epoch)
    while True:
        try:
            sample = reader.get_next_sample()
        except (CorruptError, OSError) as error:
            errors[getattr(error, "id", len(errors))] = error
            continue
        if sample is None:
            return sorted(served), errors
        served.append(sample[2])


@pytest.mark.parametrize(
    ("offset", "data", "reason"),
    [
        (0, b"JUNK", "magic"),
        (0, b"LV1B", "level"),
        (4, struct.pack("<I", 7), "number 7"),
        (8, struct.pack("<I", 4), "4 pictures"),
        (8, struct.pack("<I", 2**32 - 1), "claims"),
        (12, struct.pack("<I", 2**32 - 64), "outside"),
        (12 + 4 * 5, struct.pack("<I", 2**32 - 1), "outside"),
        (12, struct.pack("<I", 0), "outside"),
        (12 + 8 * 5, struct.pack("<I", 99), "label 99"),
    ],
)
@pytest.mark.parametrize("mode", ["FULLY", "PARTIAL"])
def test_a_bad_block_costs_its_samples_only(broken, mode, offset, data, reason):
    bad = broken(write_at(BLOCK * 3 + offset, data), names=[f"c/{i}.jpg" for i in range(14)])
    with BlockReader(bad, mode=mode, window=2) as reader:
        for epoch in range(2):
            served, errors = outcome(reader, epoch)
            assert served == [*range(7), 12, 13]
            assert sorted(errors) == list(range(7, 12))
        for id, error in errors.items():
            assert (error.path, error.block, error.sample) == (bad.paths[0], 2, id - 7)
            assert error.name == f"c/{id}.jpg"
            assert reason in error.reason


def test_noise_in_place_of_a_block(broken, settings):
    noise = np.random.default_rng(0).integers(0, 256, BLOCK, np.uint8).tobytes()
    with BlockReader(broken(write_at(BLOCK, noise)), **settings) as reader:
        served, errors = outcome(reader)
        assert served == list(range(4, 14))
        assert sorted(errors) == [0, 1, 2, 3]


def test_a_file_cut_within_a_picture(broken, settings):
    """What lies before the cut is served; block 2 holds ids 7-11 in 64 or 128 bytes each."""
    cut = BLOCK * 3 + 4096 + 64 + 128 + 30
    with BlockReader(broken(lambda file: file.truncate(cut)), **settings) as reader:
        served, errors = outcome(reader)
        assert served == list(range(9))
        assert sorted(errors) == list(range(9, 14))
        assert errors[9].block == 2
        assert errors[13].block == 3
        assert all("file ends" in error.reason for error in errors.values())


@pytest.mark.parametrize("cut", [BLOCK, BLOCK + 5, BLOCK + 4095, 100, 0])
def test_a_file_cut_within_a_table(broken, settings, cut):
    with BlockReader(broken(lambda file: file.truncate(cut)), **settings) as reader:
        for epoch in range(2):
            served, errors = outcome(reader, epoch)
            assert served == []
            assert sorted(errors) == list(range(14))


def test_a_short_last_block_without_its_zeros_is_whole(broken, settings):
    """Zeros after the last picture may be missing: nothing is lost."""
    end = BLOCK * 4 + 4096 + 128 + 104
    with BlockReader(broken(lambda file: file.truncate(end)), **settings) as reader:
        assert outcome(reader) == (list(range(14)), {})


def test_a_lost_block_is_tried_again_in_the_next_epoch(broken, settings):
    bad = broken(write_at(BLOCK * 2, b"XXXX"))
    with BlockReader(bad, **settings) as reader:
        assert sorted(outcome(reader, 0)[1]) == [4, 5, 6]
        with open(bad.paths[0], "r+b") as file:
            write_at(BLOCK * 2, b"LV0B")(file)
        assert outcome(reader, 1) == (list(range(14)), {})


def test_what_the_system_says_is_kept(make_set, tmp_path):
    """Reading a directory fails: an OSError with errno, path and place for each sample."""
    two = make_set([[2, 2], [3]])
    two.paths[1] = str(tmp_path)
    with BlockReader(two, order="sequential") as reader:
        reader.begin_epoch(0)
        assert [reader.get_next_sample()[2] for _ in range(4)] == [0, 1, 2, 3]
        for i in range(3):
            with pytest.raises(IsADirectoryError, match=f"block 0, sample {i}") as caught:
                reader.get_next_sample()
            assert caught.value.errno == errno.EISDIR
            assert caught.value.filename == str(tmp_path)
        assert reader.get_next_sample() is None


def test_samples_known_to_be_bad(make_set, settings):
    fine = make_set(COUNTS)
    bad = np.zeros(14, np.uint8)
    bad[[3, 8]] = 1
    with BlockReader(fine, bad=bad, **settings) as reader:
        bad[:] = 1  # the reader has its own copy
        served, errors = outcome(reader)
    assert served == [i for i in range(14) if i not in (3, 8)]
    assert [(e.block, e.sample, e.id) for _, e in sorted(errors.items())] == [(0, 3, 3), (2, 1, 8)]
    assert "CRC-32" in errors[3].reason


def test_a_missing_file(make_set, tmp_path):
    two = make_set([[2], [2]])
    two.paths[1] = str(tmp_path / "gone.dts")
    with pytest.raises(FileNotFoundError, match=r"gone\.dts"):
        BlockReader(two)
