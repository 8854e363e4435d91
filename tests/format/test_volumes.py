import os

import pytest

from dts.errors import CorruptError, FormatError
from dts.format import DtsFile, read_header
from dts.format.extension import Extension
from dts.format.layout import (
    BLOCK_BYTES,
    EXTENSION_OFFSET,
    HEADER_AREA,
    file_name,
    split_volume_path,
    volume_path,
)


def test_names():
    assert file_name("imagenet", True, 0) == "imagenet_train_lv0.dts"
    assert file_name("folder", False, 3) == "folder_val_lv3.dts"
    assert file_name("mnist", False) == "mnist_test.dts"
    assert volume_path("/data/x.y/a_train_lv0.dts", 7) == "/data/x.y/a_train_lv0_vol007.dts"
    assert split_volume_path("/x.y/a_vol1234.dts") == ("/x.y/a.dts", 1234)
    assert split_volume_path("a_vol000_vol001.dts") == ("a_vol000.dts", 1)
    for other in ("a.dts", "a_vol1.dts", "a_vol000.x/b.dts", "vol000.dts"):
        assert split_volume_path(other) is None
    for k in (0, 12, 1000):
        assert split_volume_path(volume_path("a b.dts", k)) == ("a b.dts", k)


@pytest.mark.parametrize("extension", [True, False])
@pytest.mark.parametrize("opened", [0, 2])
def test_a_set_opens_by_any_of_its_volumes(write_volumes, extension, opened):
    volumes = write_volumes([[3, 5], [4], [0, 2]], extension=extension)
    samples = [sample for volume in volumes for sample in volume.samples]
    with DtsFile(volumes[opened].path) as file:
        assert [(bytes(data), label) for data, label in file] == samples
        assert file.paths == [str(volume.path) for volume in volumes]
        assert [header.volume_id for header in file.headers] == [0, 1, 2]
        assert file.block_counts.tolist() == [3, 5, 4, 0, 2]
        assert file.block_starts.tolist() == [0, 3, 8, 12, 12, 14]
        assert file.block_volume.tolist() == [0, 0, 1, 2, 2]
        assert file.block_number.tolist() == [0, 1, 0, 0, 1]
        assert file.block_offset[2] == HEADER_AREA
        assert file.find(13) == (2, 1, 1)
        assert file.labels().tolist() == [label for _, label in samples]
        if extension:
            assert file.names == [name for volume in volumes for name in volume.names]
            assert file.class_names[9] == "class9"
            assert len(file.sample_crcs) == 14
            assert len(file.block_crcs) == 5
            assert file.source_sizes.tolist() == [len(data) for data, _ in samples]
        report = file.verify()
        assert report.ok
        assert (report.blocks, report.samples, report.pinpointed) == (5, 14, extension)


def test_missing_volume(write_volumes):
    volumes = write_volumes([[3], [4], [2]])
    os.remove(volumes[1].path)
    with pytest.raises(FormatError, match=r"set_vol001\.dts: volume 1 of 3 is missing"):
        DtsFile(volumes[0].path)


def test_volume_of_another_set(write_volumes):
    volumes = write_volumes([[3], [4]])
    header = read_header(volumes[1].path)
    for change in ({"num_classes": 11}, {"is_training": 0}, {"compress_level": 1}):
        changed = header.replace(**change)
        if "compress_level" in change:
            changed = changed.replace(block_header_size=16384)
        volumes[1].patch(0, changed.to_bytes())
        with pytest.raises(FormatError, match=rf"set_vol001\.dts: {next(iter(change))} is"):
            DtsFile(volumes[0].path)
    volumes[1].patch(0, header.replace(volume_id=0).to_bytes())
    with pytest.raises(FormatError, match=r"set_vol001\.dts: volume_id is 0"):
        DtsFile(volumes[0].path)


def test_volumes_that_lack_blocks(write_volumes):
    volumes = write_volumes([[3], [4]])
    for volume in volumes:
        volume.patch(0, read_header(volume.path).replace(total_blocks=3).to_bytes())
    with pytest.raises(FormatError, match="2 volumes have 2 blocks, their headers say 3"):
        DtsFile(volumes[0].path)


@pytest.mark.parametrize("name", ["other.dts", "set_vol003.dts"])
def test_volume_under_a_wrong_name(write_volumes, tmp_path, name):
    volumes = write_volumes([[3], [4]])
    path = tmp_path / name
    os.rename(volumes[1].path, path)
    with pytest.raises(FormatError, match=rf"{name}: is volume 1 of 2.*_vol001"):
        DtsFile(path)


def test_volumes_with_different_class_names(write_volumes):
    volumes = write_volumes([[3], [4]])
    inside, _ = Extension(class_names=[f"other{i}" for i in range(10)]).pack()
    volumes[1].patch(EXTENSION_OFFSET, inside)
    with (
        DtsFile(volumes[0].path) as file,
        pytest.raises(FormatError, match=r"vol001.*class names"),
    ):
        print(file.class_names)


def test_no_names_if_one_volume_has_none(write_volumes):
    volumes = write_volumes([[3], [4]])
    volumes[1].patch(4096, bytes(1 << 16))
    with DtsFile(volumes[0].path) as file:
        assert file.names is None
        assert file.sample_crcs is None
        assert len(file) == 7


def test_errors_name_the_volume(write_volumes):
    volumes = write_volumes([[3, 3], [4, 4]])
    volumes[1].truncate(HEADER_AREA + BLOCK_BYTES)
    with DtsFile(volumes[0].path) as file:
        assert file.block_available.tolist() == [1, 1, 1, 0]
        with pytest.raises(CorruptError) as caught:
            file[11]
        error = caught.value
        assert (error.path, error.block, error.sample) == (str(volumes[1].path), 1, 1)
        assert error.name == volumes[1].names[5]
        (damage,) = file.verify().damaged
        assert (damage.path, damage.block) == (str(volumes[1].path), 1)


@pytest.fixture
def appended(write_dts, make_blocks):
    """Write two volumes that count each other, and a third one that was added later."""
    return [
        write_dts(
            name=f"set_vol{k:03d}.dts",
            blocks=make_blocks(counts, seed=k),
            volume_id=k,
            num_volumes=n,
            total_blocks=total,
        )
        for k, (counts, n, total) in enumerate([([3, 5], 2, 3), ([4], 2, 3), ([2], 3, 4)])
    ]


@pytest.mark.parametrize("name", ["set.dts", "set_vol000.dts", "set_vol002.dts"])
def test_volumes_that_were_added_later(appended, tmp_path, name):
    samples = [sample for volume in appended for sample in volume.samples]
    with DtsFile(tmp_path / name) as file:
        assert [(bytes(data), label) for data, label in file] == samples
        assert file.paths == [str(volume.path) for volume in appended]
        assert file.verify().ok


def test_counts_of_a_group_that_contradict_it(appended, tmp_path):
    header = read_header(appended[1].path)
    appended[1].patch(0, header.replace(total_blocks=4).to_bytes())
    with pytest.raises(FormatError, match="2 volumes have 3 blocks, their headers say 4"):
        DtsFile(appended[2].path)
    appended[1].patch(0, header.replace(num_volumes=3, total_blocks=4).to_bytes())
    with pytest.raises(FormatError, match=r"set_vol001\.dts: num_volumes is 3"):
        DtsFile(appended[0].path)
    appended[1].patch(0, header.to_bytes())
    last = read_header(appended[2].path)
    appended[2].patch(0, last.replace(total_blocks=5).to_bytes())
    with pytest.raises(FormatError, match="3 volumes have 4 blocks, their headers say 5"):
        DtsFile(appended[0].path)


def test_a_volume_behind_a_gap_is_told(appended):
    os.rename(appended[2].path, str(appended[2].path).replace("002", "003"))
    with pytest.warns(UserWarning, match=r"volume 2 is not there, but set_vol003\.dts is"):
        assert len(DtsFile(appended[0].path)) == 12
    os.remove(appended[1].path)
    with pytest.raises(FormatError, match="volume 1 of 2 is missing"):
        DtsFile(appended[0].path)
