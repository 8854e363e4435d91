"""Exports of small folders: content, options, and the file's extension."""

import io
import os
import zlib
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from PIL import Image

from dts.errors import ConfigError, ExportError
from dts.export import export_dataset, export_folder
from dts.export import sources as sources_module
from dts.format.extension import Extension
from dts.format.file import DtsFile
from dts.format.header import read_header


@pytest.mark.parametrize("min_blocks", [None, 3])
def test_level_0_stores_every_byte(photos, tmp_path, read, min_blocks):
    result = export_folder(photos, tmp_path, min_blocks=min_blocks)
    assert result.path == str(tmp_path / "folder_train_lv0.dts")
    file = read(result.path)
    expected = {(path.read_bytes(), k) for k in range(3) for path in (photos / f"c{k}").iterdir()}
    assert set(file.samples) == expected
    assert len(file.samples) == 30
    assert len(file.counts) == (min_blocks or 1)
    assert file.header.max_pic_area == max((40 + k) * (60 - k) for k in range(30))
    assert (file.header.is_training, file.header.num_classes) == (1, 3)
    source = sum(len(data) for data, _ in expected)
    assert file.header.ratio == np.float32(file.header.total_bytes / source)
    assert result.header == read_header(result.path)
    assert result.skipped == result.warnings == ()


@pytest.mark.parametrize("level", [0, 3])
def test_extension(photos, tmp_path, read, level):
    path = export_folder(photos, tmp_path, level=level, split="val").path
    assert path.endswith(f"folder_val_lv{level}.dts")
    file, extension = read(path), Extension.from_file(path)
    assert file.header.is_training == 0
    assert list(extension.class_names) == ["c0", "c1", "c2"]
    assert sorted(extension.sample_names) == sorted(f"c{k % 3}/{k:02d}.jpg" for k in range(30))
    sources = [(photos / name).read_bytes() for name in extension.sample_names]
    assert extension.source_sizes.tolist() == [len(data) for data in sources]
    assert extension.sample_crcs.tolist() == [zlib.crc32(data) for data, _ in file.samples]
    assert extension.block_counts.tolist() == file.counts
    block = file.data[16 << 20 : 32 << 20]
    assert extension.block_crcs.tolist() == [zlib.crc32(block)]
    for name, (data, label), source in zip(
        extension.sample_names, file.samples, sources, strict=True
    ):
        assert name.startswith(f"c{label}/")
        if level == 0:
            assert data == source
    with DtsFile(path) as packed:
        assert packed.verify().damaged == []


def test_plain_has_no_extension(photos, tmp_path, read):
    plain = read(export_folder(photos, tmp_path / "plain.dts", plain=True).path)
    rich = read(export_folder(photos, tmp_path / "rich.dts").path)
    assert plain.data[144 : 16 << 20] == bytes((16 << 20) - 144)
    assert plain.data[:144] == rich.data[:144]
    assert plain.data[16 << 20 :] == rich.data[16 << 20 :]
    assert rich.data[4096 : 16 << 20].strip(b"\0")


def test_small_pictures_are_encoded_anew(photos, tmp_path, read):
    file = read(export_folder(photos, tmp_path, level=1).path)
    originals = {path.read_bytes() for path in photos.glob("*/*")}
    assert originals.isdisjoint(data for data, _ in file.samples)
    with Image.open(io.BytesIO(file.samples[0][0])) as picture:
        assert picture.width + picture.height == 100


def whole(path):
    with open(path, "rb") as file:
        return file.read()


def test_processes_and_threads_change_no_byte(photos, tmp_path):
    serial = whole(export_folder(photos, tmp_path / "1.dts", level=2).path)
    parallel = export_folder(photos, tmp_path / "2.dts", level=2, jobs=2, progress=False)
    assert whole(parallel.path) == serial
    with ThreadPoolExecutor(3) as pool:
        given = export_folder(photos, tmp_path / "3.dts", level=2, executor=pool)
    assert whole(given.path) == serial
    stored = [
        whole(export_folder(photos, tmp_path / f"s{jobs}.dts", min_blocks=4, jobs=jobs).path)
        for jobs in (1, 9, 0)
    ]
    assert stored[0] == stored[1] == stored[2]


def test_blocks_end_where_they_are_full(photos, tmp_path, read, monkeypatch):
    monkeypatch.setattr(sources_module, "MAX_PICTURES", (340, 12, 12, 12))
    one = read(export_folder(photos, tmp_path / "x.dts", level=1).path)
    assert one.counts == [12, 12, 6]


def test_full_tables_at_level_0(tmp_path, read, make):
    data = make.jpeg(1, 8, 8)
    for k in range(700):
        make.write(tmp_path / "src" / f"c{k % 2}" / f"{k}.jpg", data)
    result = export_folder(tmp_path / "src", tmp_path)
    assert read(result.path).counts == [340, 340, 20]
    assert result.warnings == (
        "the pictures are so small that blocks are partly empty: at level 0 one holds 340 at most",
    )


def test_a_thousand_pictures_end_a_block(tmp_path, read, make):
    data = make.jpeg(1, 8, 8)
    for k in range(1001):
        make.write(tmp_path / "src" / "c" / f"{k}.jpg", data)
    assert read(export_folder(tmp_path / "src", tmp_path, level=3).path).counts == [1000, 1]


def test_one_picture(tmp_path, read, make):
    make.write(tmp_path / "src/only/1.jpg", make.jpeg(1, 30, 20))
    for level in (0, 1):
        file = read(export_folder(tmp_path / "src", tmp_path, level=level).path)
        assert (file.header.num_samples, file.header.num_classes) == (1, 1)
        assert file.header.max_pic_area == 600


def test_more_classes_than_a_byte_or_a_thousand(tmp_path, read, make):
    data = make.jpeg(1, 8, 8)
    for k in range(1001):
        make.write(tmp_path / "src" / f"{k:04d}" / "x.jpg", data)
    file = read(export_folder(tmp_path / "src", tmp_path).path)
    assert file.header.num_classes == 1001
    assert sorted(label for _, label in file.samples) == list(range(1001))


def test_odd_names(tmp_path, make):
    names = ["café", "cafe\u0301", "猫", "a b'\"", "new\nline", "-x", os.fsdecode(b"\xff\xe9")]
    for name in names:
        make.write(tmp_path / "src" / name / (name + ".jpg"), make.jpeg(1, 9, 9))
    reports = []
    result = export_folder(tmp_path / "src", tmp_path, report=reports.append)
    extension = Extension.from_file(result.path)
    assert sorted(extension.class_names) == sorted(names)
    assert sorted(extension.sample_names) == sorted(f"{n}/{n}.jpg" for n in names)
    assert reports == [result.report]
    f"{result}\n{result.report}".encode()  # surrogates would fail


def test_class_lists(photos, tmp_path, read):
    train = export_folder(photos, tmp_path / "train.dts").path
    (photos / "c1").rename(photos / "away")
    (photos / "away").rename(tmp_path / "away")
    val = read(export_folder(photos, tmp_path / "val.dts", split="val", classes=train).path)
    assert val.header.num_classes == 3
    assert {label for _, label in val.samples} == {0, 2}
    assert list(Extension.from_file(tmp_path / "val.dts").class_names) == ["c0", "c1", "c2"]

    listed = tmp_path / "classes.txt"
    listed.write_bytes(b"\xef\xbb\xbfc2\r\nx y\r\nc0\r\n")
    file = read(export_folder(photos, tmp_path / "listed.dts", classes=listed).path)
    assert file.header.num_classes == 3
    assert {label for _, label in file.samples} == {0, 2}
    assert (photos / "c2" / "02.jpg").read_bytes() in {
        d for d, label in file.samples if label == 0
    }


def test_class_lists_that_do_not_fit(photos, tmp_path):
    with pytest.raises(ExportError, match="2 of its classes are not in the class list: c0, c2"):
        export_folder(photos, tmp_path, classes=["c1", "other"])
    with pytest.raises(ExportError, match="named twice: c1"):
        export_folder(photos, tmp_path, classes=["c1", "c1"])
    with pytest.raises(ExportError, match="no class names"):
        export_folder(photos, tmp_path, classes=[])
    with pytest.raises(FileNotFoundError):
        export_folder(photos, tmp_path, classes=tmp_path / "none.txt")
    plain = export_folder(photos, tmp_path, plain=True).path
    with pytest.raises(ExportError, match="plain file, it holds no class names"):
        export_folder(photos, tmp_path / "x.dts", classes=plain)


@pytest.mark.parametrize(
    "setting",
    [
        {"level": 4},
        {"split": "test"},
        {"min_blocks": 0},
        {"jobs": -1},
        {"on_error": "ignore"},
        {"dataset": "mnist"},
    ],
)
def test_wrong_settings(photos, tmp_path, setting):
    with pytest.raises(ConfigError, match=next(iter(setting))):
        export_folder(photos, tmp_path / "new", **setting)
    assert not (tmp_path / "new").exists()


def test_data_sets_by_name(photos, tmp_path):
    assert export_dataset("Folder", photos, tmp_path).header.num_samples == 30
    with pytest.raises(ExportError, match="no CIFAR-10 train set"):
        export_dataset("CIFAR-10", photos, tmp_path)
    with pytest.raises(ConfigError, match="none of"):
        export_dataset("coco", photos, tmp_path)


def test_the_source_is_named_when_nothing_is_in_it(tmp_path):
    (tmp_path / "src/a").mkdir(parents=True)
    with pytest.raises(ExportError, match="no pictures in class folders"):
        export_folder(tmp_path / "src", tmp_path)
    with pytest.raises(FileNotFoundError):
        export_folder(tmp_path / "nowhere", tmp_path)


def test_result_in_words(photos, tmp_path):
    result = export_folder(photos, tmp_path)
    assert str(result) == f"{result.path}: 30 pictures in 1 block, 32.0 MiB"
