"""Damage is data: it reaches the batch it belongs to, by name, and the loader goes on."""

import itertools
import shutil

import make
import pytest

from dts import CorruptError, DecodeError, DtsError, FormatError, LoadMode
from dts.format.layout import BLOCK_BYTES, HEADER_AREA

BROKEN = {4: b"\xff\xd8 broken", 20: b"", 21: b"<html>", 50: None}


@pytest.fixture(scope="module")
def broken(tmp_path_factory):
    """Nine blocks; pictures 4, 20, 21 cannot be decoded, 50 is cut in half."""
    path = tmp_path_factory.mktemp("broken") / "folder_train_lv0.dts"
    counts = [7, 1, 12, 5, 9, 3, 11, 6, 7]
    pictures = make.varied(sum(counts), 9, (24, 72))
    for id, data in BROKEN.items():
        pictures[id] = pictures[id][: len(pictures[id]) // 2] if data is None else data
    labelled = [(data, k % 3) for k, data in enumerate(pictures)]
    ends = list(itertools.accumulate(counts))
    blocks = [labelled[end - n : end] for n, end in zip(counts, ends, strict=True)]
    return make.pack_blocks(path, blocks), labelled


def drain(iterator):
    """All batches and all errors of an epoch, as (kind, value) in order."""
    found = []
    while True:
        try:
            found.append(("batch", next(iterator)))
        except StopIteration:
            return found
        except (DtsError, OSError) as error:
            found.append(("error", error))


MODES = [LoadMode.FULLY, LoadMode.PARTIAL]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("threads", [1, 5])
def test_raise_gives_the_next_batch_afterwards(broken, setup_of, mode, threads):
    path, labelled = broken
    setup = setup_of(path, load_mode=mode, shuffle_window=3, preprocess_workers=threads)
    runs = []
    for _ in range(2):
        with setup.commit() as pre:
            found = drain(iter(pre.train(0)))
            assert len(found) == pre.steps_per_epoch == 8
            again = drain(iter(pre.train(0)))
        runs.append([str(e) for kind, e in found if kind == "error"])
        assert runs[-1] == [str(e) for kind, e in again if kind == "error"]
        errors = [e for kind, e in found if kind == "error"]
        assert 1 <= len(errors) <= 4
        for error in errors:
            assert isinstance(error, DecodeError)
            assert error.path == str(path)
            assert error.id in BROKEN
            assert error.name == f"class_{labelled[error.id][1]}/{error.id:06d}.jpg"
            assert error.block is not None
            assert error.reason
            for part in (str(path), f"block {error.block}", f"id {error.id}", error.name):
                assert part in str(error)
        ids = [i for kind, b in found if kind == "batch" for i in b.ids]
        assert not set(ids) & set(BROKEN)
        assert len(set(ids)) == len(ids)
    assert runs[0] == runs[1]


@pytest.mark.parametrize("mode", MODES)
def test_skip_makes_batches_shorter(broken, setup_of, mode):
    path, labelled = broken
    setup = setup_of(path, load_mode=mode, shuffle_window=3, on_error="skip")
    plain = setup_of(path, load_mode=mode, shuffle_window=3, on_error="replace")
    with setup.commit() as pre, plain.commit() as other:
        batches = list(pre.train(1))
        assert len(batches) == pre.steps_per_epoch
        ids = [int(i) for b in batches for i in b.ids]
        assert sorted(ids) == sorted(set(range(61)) - set(BROKEN))
        good = {
            int(i): image.tobytes()
            for b in other.train(1)
            for i, image in zip(b.ids, b.images, strict=True)
        }
        for batch in batches:
            assert len(batch) == len(batch.images) == len(batch.labels) == len(batch.ids)
            for image, label, id in zip(batch.images, batch.labels, batch.ids, strict=True):
                assert label == labelled[id][1]
                assert image.tobytes() == good[int(id)]
        stats = pre.stats()["train"]
        assert stats["skipped"] == 4
        assert len(stats["errors"]) == 4


def test_a_batch_of_nothing_but_errors_is_empty_and_warns(tmp_path, setup_of):
    blocks = [[(b"no picture", 0)] * 3, [(make.jpeg(0, 50, 50), 1)] * 3]
    path = make.pack_blocks(tmp_path / "folder_train_lv0.dts", blocks)
    setup = setup_of(path, batch_size=3, shuffle_train=False, on_error="skip")
    with setup.commit() as pre:
        with pytest.warns(RuntimeWarning, match="batch 0 of epoch 0 is empty") as told:
            assert [len(b) for b in pre.train(0)] == [0, 3]
        assert len(told) == 1
        assert told[0].filename == __file__  # whoever iterates, not this library


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("threads", [1, 7])
def test_replace_takes_another_of_the_same_block(broken, setup_of, digest, mode, threads):
    path, labelled = broken
    setup = setup_of(path, load_mode=mode, shuffle_order="window", shuffle_window=3)
    with setup.on_error("replace").preprocess_workers(threads).commit() as pre:
        batches = list(pre.train(0))
        ids = [int(i) for b in batches for i in b.ids]
        assert len(ids) == 61
        assert not set(ids) & set(BROKEN)
        assert set(ids) == set(range(61)) - set(BROKEN)
        for batch in batches:
            assert list(batch.labels) == [labelled[i][1] for i in batch.ids]
        assert pre.stats()["train"]["replaced"] == 4
        hashes = [digest(pre.train(e)) for e in range(2)]
    with setup_of(path, shuffle_window=3, on_error="replace").commit() as pre:
        assert [digest(pre.train(e)) for e in range(2)] == hashes


@pytest.fixture
def copy(blocks, tmp_path):
    path = tmp_path / "folder_train_lv0.dts"
    shutil.copyfile(blocks[0], path)
    return path


@pytest.mark.parametrize("mode", MODES)
def test_a_truncated_file(copy, setup_of, mode):
    """The blocks that are there are served; the others say which they are."""
    with open(copy, "r+b") as f:
        f.truncate(HEADER_AREA + 6 * BLOCK_BYTES + 100)
    setup = setup_of(copy, load_mode=mode, shuffle_window=3, batch_size=1)
    with setup.commit() as pre:
        for epoch in range(2):
            found = drain(iter(pre.train(epoch)))
            assert len(found) == 61
            errors = [e for kind, e in found if kind == "error"]
            assert sorted(e.id for e in errors) == list(range(37, 61))
            for error in errors:
                assert isinstance(error, CorruptError)
                assert error.path == str(copy)
                assert error.block in (6, 7, 8)
                assert error.sample is not None
                assert error.name
    with setup.on_error("replace").commit() as pre:
        ids = [int(i) for b in pre.train(0) for i in b.ids]
        assert len(ids) == 61
        assert set(ids) <= set(range(37))


@pytest.mark.parametrize("mode", MODES)
def test_a_flipped_byte_is_pinned_to_its_sample(copy, blocks, setup_of, mode):
    data = bytes(blocks[1][17][0])
    content = copy.read_bytes()
    place = content.index(data) + len(data) - 40
    with open(copy, "r+b") as f:
        f.seek(place)
        f.write(bytes([content[place] ^ 0x10]))
    with setup_of(copy, load_mode=mode, verify_crc=True, batch_size=1).commit() as pre:
        errors = [e for kind, e in drain(iter(pre.train(0))) if kind == "error"]
        assert len(errors) == 1
        assert isinstance(errors[0], CorruptError)
        assert (errors[0].id, errors[0].block, errors[0].sample) == (17, 2, 9)
        assert errors[0].path == str(copy)
        assert "class_2/000017.jpg" in str(errors[0])
    with setup_of(copy, load_mode=mode, verify_crc=True, on_error="skip").commit() as pre:
        assert 17 not in [i for b in pre.train(0) for i in b.ids]


def test_a_flipped_byte_without_the_extension_is_pinned_to_the_file(tmp_path, setup_of):
    path, _ = make.small_blocks(tmp_path / "folder_train_lv0.dts", [3, 4], plain=True)
    with setup_of(path, verify_crc=True).commit() as pre:
        assert sorted(i for b in pre.train(0) for i in b.ids) == list(range(7))
        assert pre.names("train") is None
    with open(path, "r+b") as f:
        f.seek(HEADER_AREA + 5000)
        f.write(b"\xaa")
    with pytest.raises(CorruptError, match="folder_train_lv0"):
        setup_of(path, verify_crc=True).commit()


@pytest.mark.parametrize("plain", [False, True])
def test_a_block_of_garbage(tmp_path, setup_of, plain):
    path, _ = make.small_blocks(tmp_path / "folder_train_lv0.dts", [4, 5, 6], plain=plain)
    with open(path, "r+b") as f:
        f.seek(HEADER_AREA + BLOCK_BYTES)
        f.write(b"\xff" * 4096)
    with setup_of(path, batch_size=1).commit() as pre:
        found = drain(iter(pre.train(0)))
        assert sorted(e.id for kind, e in found if kind == "error") == [4, 5, 6, 7, 8]
        assert all(e.block == 1 for kind, e in found if kind == "error")


def test_not_a_dts_file(tmp_path, setup_of):
    path = tmp_path / "folder_train_lv0.dts"
    for content in (b"", b"short", b"\0" * 200, b"\x89PNG" + b"\1" * 5000):
        path.write_bytes(content)
        with pytest.raises(FormatError, match="folder_train_lv0"):
            setup_of(path).commit()
    with pytest.raises(FileNotFoundError):
        setup_of(tmp_path / "nowhere.dts").commit()


def test_a_file_that_shrinks_while_it_is_read(copy, setup_of):
    setup = setup_of(copy, load_mode=LoadMode.PARTIAL, shuffle_window=1, batch_size=1)
    with setup.commit() as pre:
        it = iter(pre.train(0))
        next(it)
        with open(copy, "r+b") as f:
            f.truncate(HEADER_AREA + BLOCK_BYTES)
        rest = drain(it)
        assert len(rest) == 60
        assert any(kind == "error" for kind, _ in rest)
        assert all(isinstance(e, CorruptError) for kind, e in rest if kind == "error")
