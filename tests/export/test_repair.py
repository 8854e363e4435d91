"""Repair: what is sound stays, byte for byte; what is not is told, and dropped or replaced."""

import os
import shutil

import pytest

from dts.errors import ExportError
from dts.export import export_folder
from dts.export.repair import repair
from dts.format import DtsFile, Header, read_header
from dts.format.block import parse_table
from dts.format.layout import BLOCK_BYTES, HEADER_AREA


def by_name(path):
    with DtsFile(path) as file:
        report = file.verify()
        assert report.ok, str(report)
        pairs = zip(file.names, file, strict=True)
        return {name: (bytes(data), label) for name, (data, label) in pairs}


def write_at(path, offset, data):
    with open(path, "r+b") as file:
        file.seek(offset)
        file.write(data)


def damage_sample(path, block, sample):
    with DtsFile(path) as file:
        offsets, _, _ = file.table(block)
        at = int(file.block_offset[block]) + int(offsets[sample]) + 30
        target = file.paths[file.block_volume[block]]
    with open(target, "rb") as source:
        source.seek(at)
        byte = source.read(1)[0]
    write_at(target, at, bytes([byte ^ 0x55]))


def mend(path, out, **options):
    with DtsFile(path) as file:
        return repair(file, out, **options)


@pytest.fixture(params=[0, 2])
def packed(request, photos, tmp_path):
    """Export 30 pictures; at level 0 in three blocks."""
    blocks = 3 if request.param == 0 else None
    return export_folder(photos, tmp_path / "x.dts", level=request.param, min_blocks=blocks).path


def test_a_sound_file_comes_out_as_it_was(packed, tmp_path):
    result = mend(packed, tmp_path / "out.dts")
    with open(packed, "rb") as a, open(result.path, "rb") as b:
        assert a.read() == b.read()
    assert (result.dropped, result.replaced, result.mended, result.notes) == ([], [], [], [])


def test_damaged_samples_are_dropped_and_named(packed, tmp_path):
    before = by_name(packed)
    damage_sample(packed, 0, 1)
    damage_sample(packed, 0, 0)
    with DtsFile(packed) as file:
        lost = [file.names[0], file.names[1]]
    result = mend(packed, tmp_path / "out.dts")
    assert [damage.name for damage in result.dropped] == lost
    assert [damage.id for damage in result.dropped] == [0, 1]
    assert all("was packed" in damage.reason for damage in result.dropped)
    assert all(name in str(result) for name in lost)
    after = by_name(result.path)
    assert after == {name: sample for name, sample in before.items() if name not in lost}
    assert result.header.num_samples == 28
    with DtsFile(packed) as old, DtsFile(result.path) as new:
        assert new.class_names == old.class_names
        assert new.header.max_pic_area == old.header.max_pic_area or new.level == 0


def test_they_can_be_taken_from_the_source(packed, photos, tmp_path):
    before = by_name(packed)
    damage_sample(packed, 0, 2)
    result = mend(packed, tmp_path / "out.dts", replace=photos)
    assert result.dropped == []
    (damage,) = result.replaced
    assert "byte for byte as packed" in damage.reason
    assert by_name(result.path) == before


def test_a_replacement_that_differs_is_told(packed, photos, tmp_path, make):
    before = by_name(packed)
    damage_sample(packed, 0, 2)
    with DtsFile(packed) as file:
        name = file.names[2]
    make.write(photos / name, make.jpeg(99, 90, 80))
    result = mend(packed, tmp_path / "out.dts", replace=photos)
    assert "not the packed bytes" in result.replaced[0].reason
    after = by_name(result.path)
    assert after[name][0] != before[name][0]
    assert after[name][1] == before[name][1]
    before.pop(name)
    after.pop(name)
    assert after == before


def test_a_replacement_that_is_not_there_or_no_picture(packed, photos, tmp_path):
    damage_sample(packed, 0, 2)
    damage_sample(packed, 0, 3)
    with DtsFile(packed) as file:
        gone, bad = file.names[2], file.names[3]
    (photos / gone).unlink()
    (photos / bad).write_bytes(b"<html>")
    result = mend(packed, tmp_path / "out.dts", replace=photos)
    assert result.replaced == []
    assert "no replacement: No such file" in result.dropped[0].reason
    assert "no replacement:" in result.dropped[1].reason
    assert len(by_name(result.path)) == 28


def test_a_larger_replacement_goes_to_another_block(photos, tmp_path, make):
    for k in range(3):
        make.write(photos / f"c0/big{k}.jpg", make.jpeg(k, 30, 30) + os.urandom(5_500_000))
    path = export_folder(photos, tmp_path / "x.dts").path
    before = by_name(path)
    with DtsFile(path) as file:
        (b,) = [b for b in file.blocks() if any("big" in file.names[i] for i in b.ids)][:1]
        small = next(i for i in b.ids if "big" not in file.names[i])
        name = file.names[small]
    damage_sample(path, b.number, small - b.ids.start)
    make.write(photos / name, make.jpeg(5, 30, 30) + os.urandom(6_000_000))
    result = mend(path, tmp_path / "out.dts", replace=photos)
    after = by_name(result.path)
    assert set(after) == set(before)
    assert after[name][0] == (photos / name).read_bytes()


@pytest.mark.parametrize("left", [5000, BLOCK_BYTES, BLOCK_BYTES + 100, 2 * BLOCK_BYTES + 4500])
def test_truncated_files(photos, tmp_path, left):
    path = export_folder(photos, tmp_path / "x.dts", min_blocks=3).path
    before = by_name(path)
    with DtsFile(path) as file:
        whole = [
            file.names[i]
            for b in file.blocks()
            for i, offset, size in zip(b.ids, *file.table(b.number)[:2], strict=True)
            if b.offset + int(offset) + int(size) <= HEADER_AREA + left
        ]
    os.truncate(path, HEADER_AREA + left)
    if not whole:
        with pytest.raises(ExportError, match="no sample is left"):
            mend(path, tmp_path / "out.dts")
    else:
        result = mend(path, tmp_path / "out.dts")
        assert by_name(result.path) == {name: before[name] for name in whole}
        assert len(result.dropped) == 30 - len(whole)
    result = mend(path, tmp_path / "all.dts", replace=photos)
    assert by_name(result.path) == before
    assert len(result.replaced) + len(result.mended) >= 30 - len(whole) > 0


def test_a_lost_table_of_level_0_is_made_anew(photos, tmp_path):
    path = export_folder(photos, tmp_path / "x.dts", min_blocks=3).path
    before = by_name(path)
    write_at(path, HEADER_AREA, os.urandom(400))
    result = mend(path, tmp_path / "out.dts")
    assert by_name(result.path) == before
    assert result.dropped == []
    assert result.mended[0].block == 0


def test_a_lost_table_of_other_levels_loses_the_block(photos, tmp_path):
    path = export_folder(photos, tmp_path / "x.dts", level=1).path
    before = by_name(path)
    write_at(path, HEADER_AREA, b"XXXX")
    with pytest.raises(ExportError, match="no sample is left"):
        mend(path, tmp_path / "out.dts")
    assert not (tmp_path / "out.dts").exists()
    result = mend(path, tmp_path / "out.dts", replace=photos)
    assert by_name(result.path) == before


def test_a_wrong_label_and_wrong_padding_are_mended(packed, tmp_path):
    before = by_name(packed)
    with DtsFile(packed) as file:
        offsets, sizes, labels = file.table(0)
        n = len(labels)
        padding = HEADER_AREA + int(offsets[0]) + int(sizes[0])
    assert int(sizes[0]) % 64
    write_at(packed, HEADER_AREA + 12 + 8 * n + 4, bytes([(int(labels[1]) + 1) % 3]))
    write_at(packed, padding, b"\x99")
    result = mend(packed, tmp_path / "out.dts")
    assert by_name(result.path) == before
    assert "its name says" in str(result)


def test_a_damaged_extension(packed, tmp_path):
    with DtsFile(packed) as file:
        samples = [(bytes(data), label) for data, label in file]
    damage_sample(packed, 0, 0)
    write_at(packed, 4096 + 6, b"\xff\xff")
    with DtsFile(packed, extension="ignore") as file:
        result = repair(file, tmp_path / "out.dts")
    with DtsFile(result.path) as file:
        kept = [(bytes(data), label) for data, label in file]
        assert file.names is None
    # A picture without a checksum counts as sound if it decodes: see docs/format.md.
    assert kept[1:] == samples[1:] or kept == samples[1:]


def test_pictures_without_checksums_must_decode(photos, tmp_path):
    path = export_folder(photos, tmp_path / "x.dts", plain=True, min_blocks=2).path
    with DtsFile(path) as file:
        samples = [(bytes(data), label) for data, label in file]
        offsets, sizes, _ = file.table(0)
    write_at(path, HEADER_AREA + int(offsets[1]), bytes(int(sizes[1])))
    result = mend(path, tmp_path / "out.dts")
    assert "cannot be decoded" in result.dropped[0].reason
    with DtsFile(result.path) as file:
        assert [(bytes(data), label) for data, label in file] == samples[:1] + samples[2:]
        assert file.block_crcs is None


def test_a_set_of_volumes_becomes_one_file(photos, tmp_path):
    first = export_folder(photos, tmp_path / "x.dts", volumes=3, min_blocks=4).path
    before = by_name(first)
    damage_sample(first, 2, 0)
    with DtsFile(first) as file:
        lost = file.names[int(file.block_starts[2])]
        volume = file.paths[int(file.block_volume[2])]
    result = mend(tmp_path / "x.dts", tmp_path / "out.dts")
    (damage,) = result.dropped
    assert (damage.path, damage.name) == (volume, lost)
    before.pop(lost)
    assert by_name(result.path) == before
    header = read_header(result.path)
    # The damaged picture was alone in its block, which goes with it.
    assert (header.num_volumes, header.num_blocks, header.total_blocks) == (1, 3, 3)


def test_the_target_appears_complete_or_not_at_all(packed, tmp_path):
    (tmp_path / "out.dts").write_bytes(b"mine")
    with pytest.raises(ExportError, match="exists already"):
        mend(packed, tmp_path / "out.dts")
    assert (tmp_path / "out.dts").read_bytes() == b"mine"
    mend(packed, tmp_path / "out.dts", overwrite=True)
    assert len(by_name(tmp_path / "out.dts")) == 30
    damage_sample(packed, 0, 0)
    mend(packed, packed, overwrite=True)  # in place of itself
    assert len(by_name(packed)) == 29


def test_names_that_lead_elsewhere_are_not_followed(packed, photos, tmp_path):
    from dts.format.extension import Extension

    extension = Extension.from_file(packed)
    extension.sample_names = ["c0/../../secret.jpg", *extension.sample_names[1:]]
    write_at(packed, 4096, extension.pack()[0])
    shutil.copy(photos / "c0/00.jpg", tmp_path / "secret.jpg")
    damage_sample(packed, 0, 0)
    result = mend(packed, tmp_path / "out.dts", replace=photos)
    assert "leads out of the folder" in result.dropped[0].reason


def test_arrays_are_refused(tmp_path):
    path = tmp_path / "mnist_train.dts"
    header = Header(dataset_type="MNIST", num_samples=3, max_pic_per_block=3)
    path.write_bytes(header.to_bytes().ljust(256, b"\0") + bytes(3 * 785))
    with DtsFile(path) as file, pytest.raises(NotImplementedError, match="MNIST file"):
        repair(file, tmp_path / "out.dts")


def test_labels_that_cannot_be_known_are_not_made_up(photos, tmp_path):
    """Without names a table whose block's checksum is wrong may hold any label."""
    from dts.format.extension import Extension
    from dts.format.layout import EXTENSION_ROOM

    path = export_folder(photos, tmp_path / "x.dts", min_blocks=2).path
    extension = Extension.from_file(path)
    extension.sample_names = None
    write_at(path, 4096, extension.pack()[0].ljust(EXTENSION_ROOM, b"\0"))
    with open(path, "rb") as file:
        file.seek(HEADER_AREA)
        head = file.read(4096)
    offsets, _, labels = parse_table(head, level=0)
    n = len(offsets)
    write_at(path, HEADER_AREA + 12 + 8 * n, bytes([(int(labels[0]) + 1) % 3]))
    result = mend(path, tmp_path / "out.dts")
    assert len(result.dropped) == n
    assert "labels may be wrong" in result.dropped[0].reason
