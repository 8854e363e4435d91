import numpy as np
import pytest

from dts.format import DtsFile
from dts.format.layout import BLOCK_BYTES, EXTENSION_OFFSET, HEADER_AREA


def damage(written, **options):
    with DtsFile(written.path, **options) as file:
        report = file.verify()
    assert report.ok == (not report.damaged)
    return report.damaged


@pytest.mark.parametrize("threads", [None, 1, 3])
@pytest.mark.parametrize("extension", [True, False])
def test_whole_file(write_dts, extension, threads):
    seen = []
    with DtsFile(write_dts((3, 0, 4), level=2, extension=extension).path) as file:
        report = file.verify(threads, progress=seen.append)
    assert report.ok
    assert (report.blocks, report.samples, report.pinpointed) == (3, 7, extension)
    assert str(report) == "3 blocks, 7 samples: no damage"
    assert seen == [BLOCK_BYTES] * 3


@pytest.mark.parametrize("seed", range(6))
def test_flipped_byte_in_a_picture_is_pinned_to_the_sample(write_dts, seed):
    rng = np.random.default_rng(seed)
    written = write_dts((3, 5, 4), level=seed % 4)
    block = int(rng.integers(3))
    sample = int(rng.integers(len(written.blocks[block])))
    size = len(written.blocks[block][sample][0])
    written.flip(written.offset_of(block, sample) + int(rng.integers(size)))
    (found,) = damage(written)
    id = [0, 3, 8][block] + sample
    assert (found.path, found.block, found.sample) == (str(written.path), block, sample)
    assert (found.id, found.name) == (id, written.names[id])
    assert "CRC-32 of the sample" in found.reason
    for part in (str(written.path), f"block {block}", f"sample {sample}", written.names[id]):
        assert part in str(found)


def test_several_damaged_samples(write_dts):
    written = write_dts((3, 5, 4))
    for block, sample in [(0, 2), (2, 0), (2, 3)]:
        written.flip(written.offset_of(block, sample))
    assert [(d.block, d.sample) for d in damage(written)] == [(0, 2), (2, 0), (2, 3)]


def test_flipped_byte_in_padding_or_label_is_pinned_to_the_block(write_dts):
    written = write_dts((3, 5, 4))
    last = HEADER_AREA + BLOCK_BYTES - 1
    written.flip(last)
    (found,) = damage(written)
    assert (found.block, found.sample) == (0, None)
    assert "table or padding" in found.reason
    written.flip(last)
    written.flip(HEADER_AREA + BLOCK_BYTES + 12 + 8 * 5)
    (found,) = damage(written)
    assert (found.block, found.sample) == (1, None)


def test_damaged_table_is_pinned(write_dts):
    written = write_dts((3, 5, 4))
    written.patch(HEADER_AREA + BLOCK_BYTES + 12 + 4, b"\xff\xff\xff\xff")
    written.flip(HEADER_AREA + 2 * BLOCK_BYTES)
    bad_table, bad_magic = damage(written)
    assert (bad_table.block, bad_table.sample, bad_table.id) == (1, 1, 4)
    assert (bad_magic.block, bad_magic.sample) == (2, None)
    assert "magic" in bad_magic.reason


@pytest.mark.parametrize("options", [{}, {"extension": "ignore"}])
def test_plain_file_is_told_as_a_file(write_dts, options):
    written = write_dts((3, 5, 4), extension=bool(options))
    written.flip(written.offset_of(1, 2))
    (found,) = damage(written, **options)
    assert (found.path, found.block, found.sample) == (str(written.path), None, None)
    assert "CRC-32 of the file" in found.reason


def test_plain_file_pins_what_its_tables_show(write_dts):
    written = write_dts((3, 5, 4), extension=False)
    written.patch(HEADER_AREA + BLOCK_BYTES + 12, b"\xff\xff\xff\xff")
    in_table, in_file = damage(written)
    assert (in_table.block, in_table.sample) == (1, 0)
    assert in_file.block is None


def test_checksum_in_the_header_is_checked_too(write_dts):
    written = write_dts((3, 5, 4))
    written.flip(140)
    (found,) = damage(written)
    assert found.block is None
    assert "CRC-32 of the file" in found.reason


def test_cut_off_blocks_are_told(write_dts):
    written = write_dts((3, 5, 4))
    written.flip(written.offset_of(0, 1))
    written.truncate(HEADER_AREA + BLOCK_BYTES + 7)
    found = damage(written)
    assert [(d.block, d.sample) for d in found] == [(0, 1), (1, None), (2, None)]
    assert "cut off" in found[1].reason


def test_bytes_after_the_end(write_dts):
    written = write_dts((3, 5, 4))
    written.truncate(HEADER_AREA + 3 * BLOCK_BYTES + 5)
    (found,) = damage(written)
    assert "5 bytes after its last block" in found.reason


def test_damaged_names_are_told_and_do_not_hide_the_rest(write_dts):
    written = write_dts((3, 5, 4))
    data = written.read(EXTENSION_OFFSET, 1 << 16)
    written.flip(EXTENSION_OFFSET + len(data.rstrip(b"\0")) - 60)
    written.flip(written.offset_of(0, 1))
    in_names, in_sample = damage(written)
    assert "extension: section 'NAME'" in in_names.reason
    assert (in_sample.block, in_sample.sample, in_sample.name) == (0, 1, None)


def test_unreadable_block_is_told(write_dts, monkeypatch):
    written = write_dts((3, 5, 4))

    def broken(fd, offset, length):
        raise OSError(5, "Input/output error")

    monkeypatch.setattr("dts.format.verify.crc32_at", broken)
    found = damage(written)
    assert [d.block for d in found] == [0, 1, 2]
    assert "cannot be read: Input/output error" in found[0].reason


def test_arrays(write_arrays):
    path, _, _ = write_arrays(crc=1)
    with DtsFile(path) as file:
        report = file.verify()
    assert [d.path for d in report.damaged] == [str(path)]
    assert "00000001 was packed" in str(report)
    assert not report.pinpointed
