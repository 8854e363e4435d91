import gc
import threading

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dts.errors import ClosedError, CorruptError, FormatError
from dts.format import DtsFile
from dts.format.block import pack_table
from dts.format.header import Header
from dts.format.layout import BLOCK_BYTES, HEADER_AREA


def content(file, ids=None):
    ids = range(len(file)) if ids is None else ids
    return [(bytes(data), label) for data, label in (file[i] for i in ids)]


@pytest.mark.parametrize("level", [0, 1, 2, 3])
@pytest.mark.parametrize("extension", [True, False])
def test_reads_what_was_written(write_dts, level, extension):
    written = write_dts((3, 5, 4), level=level, extension=extension)
    with DtsFile(written.path) as file:
        assert len(file) == 12
        assert content(file) == written.samples
        assert list(file.names or []) == (written.names if extension else [])
        assert file.class_names == ([f"class{i}" for i in range(10)] if extension else None)
        assert (file.level, file.num_classes, file.is_training) == (level, 10, True)
        assert file.paths == [str(written.path)]
        assert file.header == file.headers[0] == written.header
        assert file.labels().tolist() == [label for _, label in written.samples]
        assert "12 samples" in repr(file)


def test_block_arrays(write_dts):
    with DtsFile(write_dts((3, 5, 4)).path) as file:
        arrays = {
            "block_counts": (np.int64, [3, 5, 4]),
            "block_starts": (np.int64, [0, 3, 8, 12]),
            "block_volume": (np.int32, [0, 0, 0]),
            "block_number": (np.int32, [0, 1, 2]),
            "block_offset": (np.int64, [BLOCK_BYTES, 2 * BLOCK_BYTES, 3 * BLOCK_BYTES]),
            "block_available": (np.uint8, [1, 1, 1]),
        }
        for name, (dtype, values) in arrays.items():
            assert getattr(file, name).dtype == dtype
            assert getattr(file, name).tolist() == values
            assert not getattr(file, name).flags.writeable
        block = file.blocks()[1]
        assert (block.volume, block.number, block.count) == (0, 1, 5)
        assert (block.offset, block.ids, block.available) == (2 * BLOCK_BYTES, range(3, 8), True)


def test_ids(write_dts):
    written = write_dts((3, 0, 4))
    with DtsFile(written.path) as file:
        assert bytes(file[-1][0]) == written.samples[6][0]
        assert bytes(file[np.int32(3)][0]) == written.samples[3][0]
        assert [file.find(i) for i in (0, 2, 3, -1)] == [
            (0, 0, 0),
            (0, 0, 2),
            (0, 2, 0),
            (0, 2, 3),
        ]
        for id in (7, -8, 2**63, np.int64(70)):
            with pytest.raises(IndexError, match=r"a\.dts"):
                file[id]
        for id in (1.0, "1", None, slice(2)):
            with pytest.raises(TypeError):
                file[id]
        assert len(list(file)) == 7


def test_a_picture_may_be_empty_or_end_at_the_last_byte(write_dts):
    last = b"y" * (BLOCK_BYTES - 4096 - 64)
    written = write_dts(blocks=[[(b"x", 1), (last, 2)], [(b"", 3)]])
    with DtsFile(written.path) as file:
        assert content(file) == written.samples


def test_many_pictures_in_a_block(write_dts, make_blocks):
    written = write_dts(blocks=make_blocks([1364]), level=3)
    with DtsFile(written.path) as file:
        assert content(file) == written.samples


def test_close(write_dts):
    file = DtsFile(write_dts().path)
    assert file.class_names is not None
    file.close()
    file.close()
    assert file.closed
    assert "closed" in repr(file)
    for use in (
        lambda: file[0],
        lambda: file.find(0),
        lambda: file.table(0),
        file.labels,
        file.verify,
        lambda: file.names,
        file.__enter__,
    ):
        with pytest.raises(ClosedError, match=r"a\.dts"):
            use()


def test_dropped_without_close(write_dts):
    path = write_dts().path
    with pytest.raises(TypeError):
        DtsFile()
    for _ in range(3):
        DtsFile(path)
    gc.collect()


def test_threads_share_a_file(write_dts):
    written = write_dts((40, 40, 40))
    wrong = []
    with DtsFile(written.path) as file:

        def read(seed):
            ids = np.random.default_rng(seed).integers(0, 120, 300).tolist()
            wrong.extend(i for i in ids if content(file, [i]) != [written.samples[i]])

        threads = [threading.Thread(target=read, args=(seed,)) for seed in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not wrong


def test_what_is_no_dts_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        DtsFile(tmp_path / "missing.dts")
    with pytest.raises(IsADirectoryError):
        DtsFile(tmp_path)
    with pytest.raises(ValueError, match="extension"):
        DtsFile(tmp_path, extension="maybe")
    path = tmp_path / "a.dts"
    for data in (b"", b"\x89PNG" * 100, Header().to_bytes()[:100]):
        path.write_bytes(data)
        with pytest.raises(FormatError, match=r"a\.dts"):
            DtsFile(path)


@pytest.mark.parametrize("extension", [True, False])
@pytest.mark.parametrize("size", [144, 4096, 5000, HEADER_AREA - 1])
def test_cut_off_in_the_header_area(write_dts, extension, size):
    written = write_dts(extension=extension)
    written.truncate(size)
    with pytest.raises(FormatError, match=rf"a\.dts: file has {size} bytes, its header area"):
        DtsFile(written.path)


@pytest.mark.parametrize("extension", [True, False])
@pytest.mark.parametrize(
    ("blocks", "more", "there"),
    [(0, 0, 0), (1, 0, 3), (1, 5, 3), (2, 30, 8), (2, BLOCK_BYTES - 1, 8), (3, 0, 12)],
)
def test_cut_off_file_opens(write_dts, extension, blocks, more, there):
    written = write_dts((3, 5, 4), extension=extension)
    size = HEADER_AREA + blocks * BLOCK_BYTES + more
    written.truncate(size)
    with DtsFile(written.path) as file:
        assert len(file) == 12
        assert file.block_available.tolist() == [1] * blocks + [0] * (3 - blocks)
        assert content(file, range(there)) == written.samples[:there]
        for id in range(there, 12):
            with pytest.raises(CorruptError, match=f"ends at byte {size}") as caught:
                file[id]
            volume, block, sample = file.find(id)
            error = caught.value
            assert (error.path, error.block, error.sample) == (file.paths[volume], block, sample)
            assert error.id == id
            assert error.name == (written.names[id] if extension else None)
        if extension:
            assert file.block_counts.tolist() == [3, 5, 4]


def test_counts_of_missing_blocks_fill_them_in_order(write_dts, make_blocks):
    written = write_dts(blocks=make_blocks([3, 300, 340, 40]), extension=False)
    written.truncate(HEADER_AREA + BLOCK_BYTES)
    with DtsFile(written.path) as file:
        assert file.block_counts.tolist() == [3, 340, 340, 0]


@pytest.mark.parametrize("at", [0, 2, 4, 7, 9])
def test_a_block_with_a_damaged_head_is_one_damaged_block(write_dts, at):
    written = write_dts((3, 5, 4), extension=False)
    written.flip(HEADER_AREA + BLOCK_BYTES + at)
    check_middle_block_is_lost(written)


@pytest.mark.parametrize("count", [0, 4, 6, 339])
def test_a_count_that_lies_is_one_damaged_block(write_dts, count):
    written = write_dts((3, 5, 4), extension=False)
    written.patch(HEADER_AREA + BLOCK_BYTES + 8, count.to_bytes(4, "little"))
    check_middle_block_is_lost(written)


def check_middle_block_is_lost(written):
    with DtsFile(written.path) as file:
        assert file.block_counts.tolist() == [3, 5, 4]
        assert content(file, [0, 1, 2, 8, 9, 10, 11]) == written.samples[:3] + written.samples[8:]
        for id in range(3, 8):
            with pytest.raises(CorruptError) as caught:
                file[id]
            assert (caught.value.block, caught.value.sample, caught.value.id) == (1, id - 3, id)
        with pytest.raises(CorruptError):
            file.labels()


def test_damage_in_a_table_names_the_culprit(write_dts):
    written = write_dts((3, 5, 4))
    written.patch(HEADER_AREA + BLOCK_BYTES + 12 + 4 * 2, b"\xff\xff\xff\xff")
    with DtsFile(written.path) as file:
        for id in range(3, 8):
            with pytest.raises(CorruptError, match="lies outside its block") as caught:
                file[id]
            error = caught.value
            assert (error.block, error.sample, error.name) == (1, id - 3, written.names[id])
            assert ("picture 2: " in error.reason) == (id != 5)
        with pytest.raises(CorruptError) as caught:
            file.table(1)
        assert (caught.value.block, caught.value.sample) == (1, 2)


def test_labels_must_be_below_num_classes(write_dts):
    written = write_dts(blocks=[[(b"a", 3), (b"b", 10)]], extension=False)
    with DtsFile(written.path) as file, pytest.raises(CorruptError, match="label 10"):
        file[1]


def test_reference_says_1000_classes_whatever_there_are(write_dts):
    written = write_dts(extension=False, num_classes=1000, max_pic_area=31667328)
    with DtsFile(written.path) as file:
        assert file.num_classes == 1000
        assert content(file) == written.samples


@pytest.mark.parametrize("num_samples", [11, 13, 1020])
def test_number_of_samples_that_the_blocks_do_not_hold(write_dts, num_samples):
    written = write_dts((3, 5, 4), extension=False)
    head = written.header
    written.patch(
        0,
        head.replace(num_samples=num_samples, max_pic_per_block=min(num_samples, 340)).to_bytes(),
    )
    with pytest.raises(FormatError, match=f"num_samples is {num_samples}.* hold 12"):
        DtsFile(written.path)


@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(table=st.binary(max_size=100), number=st.integers(0, 2**32 - 1))
def test_any_block_head_opens_or_is_a_format_error(small_file, table, number):
    small_file.patch(4096, bytes(64))
    small_file.patch(HEADER_AREA, (b"LV0B" + number.to_bytes(4, "little") + table).ljust(200))
    try:
        file = DtsFile(small_file.path)
    except FormatError:
        return
    with file:
        assert len(file) == 3
        for i in range(3):
            try:
                data, label = file[i]
            except CorruptError as error:
                found = error.block
            else:
                found = 0 if len(data) <= BLOCK_BYTES and 0 <= label < 10 else None
            assert found == 0


def test_offsets_beyond_4_gib(tmp_path):
    n, picture = 260, b"far away"
    header = Header.for_pictures(
        level=0,
        is_training=False,
        num_classes=5,
        num_samples=1,
        num_blocks=n,
        source_bytes=8,
        max_pic_area=1,
        max_pic_per_block=1,
    )
    path = tmp_path / "far.dts"
    with open(path, "wb") as file:
        file.write(header.to_bytes())
        for k in range(n):
            file.seek(HEADER_AREA + k * BLOCK_BYTES)
            last = k == n - 1
            table = pack_table(0, k, [4096], [8], [4]) if last else pack_table(0, k, [], [], [])
            file.write(table if last else table[:12])
        file.write(picture)
        file.truncate(HEADER_AREA + n * BLOCK_BYTES)
    with DtsFile(path) as file:
        assert int(file.block_offset[-1]) == n * BLOCK_BYTES > 2**32
        assert content(file) == [(picture, 4)]
        assert file.find(0) == (0, n - 1, 0)


@pytest.mark.parametrize("kind", ["MNIST", "CIFAR10", "CIFAR100"])
def test_arrays(write_arrays, kind):
    path, pictures, labels = write_arrays(kind)
    with DtsFile(path) as file:
        assert len(file) == 20
        assert (file.level, file.names, file.class_names) == (None, None, None)
        assert file.labels().tolist() == labels.tolist()
        for i in (0, 7, -1):
            data, label = file[i]
            assert bytes(data) == pictures[i].tobytes()
            assert label == labels[i]
        assert file.find(5) == (0, 0, 5)
        assert file.blocks()[0].ids == range(20)
        assert file.verify().ok
        with pytest.raises(TypeError, match="no tables"):
            file.table(0)


def test_mnist_with_the_sizes_of_the_reference(write_arrays):
    wrong = 20 * (28 * 28 * 3 + 1)
    path, pictures, _ = write_arrays(
        block_bytes=wrong, bytes_per_block=wrong, total_bytes=wrong + 256, compress_level=2
    )
    with DtsFile(path) as file:
        assert bytes(file[19][0]) == pictures[19].tobytes()
        assert file.block_available.tolist() == [1]
        assert file.verify().ok


def test_arrays_cut_off(write_arrays):
    path, pictures, labels = write_arrays()
    size = 256 + 20 + 7 * 784 + 5
    path.write_bytes(path.read_bytes()[:size])
    with DtsFile(path) as file:
        assert file.block_available.tolist() == [0]
        assert bytes(file[6][0]) == pictures[6].tobytes()
        with pytest.raises(CorruptError, match=f"ends at byte {size}") as caught:
            file[7]
        assert (caught.value.sample, caught.value.id) == (7, 7)
        assert file.labels().tolist() == labels.tolist()
        assert "cut off" in str(file.verify())
    path.write_bytes(path.read_bytes()[:260])
    with DtsFile(path) as file, pytest.raises(CorruptError, match="20 labels"):
        file.labels()
