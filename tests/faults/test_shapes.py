"""Set shapes (D-cases): very small, very many, very large, and counts that do not divide."""

import io
import os
import sys

import make
import numpy as np
import pytest
from PIL import Image

from dts import ConfigError, ExportError, LoadMode, Preprocessor
from dts.export import export_folder
from dts.format import DtsFile
from dts.format.layout import BLOCK_BYTES, HEADER_AREA


def pixel(value):
    """Make a JPEG of one pixel."""
    out = io.BytesIO()
    Image.new("L", (1, 1), value).save(out, "JPEG", quality=95)
    return out.getvalue()


def ids_and_labels(pre, epoch=0):
    batches = list(pre.train(epoch))
    assert len(batches) == len(pre.train(epoch)) == pre.steps_per_epoch
    return [(int(i), int(x)) for b in batches for i, x in zip(b.ids, b.labels, strict=True)]


@pytest.mark.parametrize("order", ["global", "window"])
@pytest.mark.parametrize(
    "labels", [[0], [0] * 5, [0, 1, 1, 1]], ids=["one image", "one class", "a class of one image"]
)
def test_d01_small_sets(labels, order, setup, tmp_path):
    for k, label in enumerate(labels):
        folder = tmp_path / "source" / f"class_{label}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{k}.jpg").write_bytes(make.jpeg(k, 40, 30))
    for level in (0, 1):
        done = export_folder(tmp_path / "source", tmp_path / f"{level}.dts", level=level)
        assert done.header.num_classes == len(set(labels))
        chain = setup(done.path).shuffle_train(True).shuffle_order(order)
        if order == "global":
            chain.fully_mode()
        with chain.commit() as pre:
            for epoch in range(3):
                found = ids_and_labels(pre, epoch)
                assert sorted(label for _, label in found) == labels
                assert len({id for id, _ in found}) == len(labels)


def test_d02_a_batch_larger_than_the_set(setup, tmp_path):
    path, _ = make.small_blocks(tmp_path / "folder_train_lv0.dts", [5])
    with setup(path).commit() as pre:
        assert [len(b) for b in pre.train(0)] == [5]
    with pytest.raises(ConfigError, match=r"drop_last: 5 samples .* 0 batches"):
        setup(path).drop_last().commit()


def test_d03_a_last_batch_of_one(setup, tmp_path):
    path, _ = make.small_blocks(tmp_path / "folder_train_lv0.dts", [9])
    with setup(path).commit() as pre:
        assert [len(b) for b in pre.train(0)] == [8, 1]
    with setup(path).drop_last().commit() as pre:
        assert [len(b) for b in pre.train(0)] == [8]


@pytest.mark.parametrize("counts", [[10], [1, 2, 7], [3] * 3 + [1]])
@pytest.mark.parametrize("size", [3, 4, 7])
def test_d04_counts_that_do_not_divide(counts, size, setup, tmp_path):
    path, labelled = make.small_blocks(tmp_path / "folder_train_lv0.dts", counts)
    chain = setup(path).batch_size(size).shuffle_train().shuffle_window(2)
    with chain.preprocess_workers(3).commit() as pre:
        for epoch in range(3):
            assert len(pre.train(epoch)) == -(-10 // size)
            found = ids_and_labels(pre, epoch)
            assert sorted(found) == [(k, label) for k, (_, label) in enumerate(labelled)]


@pytest.mark.parametrize("classes", [1, 999, 1001, 65_537, 100_000])
def test_d06_labels_are_exact(classes, setup, tmp_path):
    """A list of many classes; pictures in the first, the last, and where a field could end."""
    names = [f"{k:06d}" for k in range(classes)]
    used = sorted(
        {0, 254, 255, 256, 998, 999, 1000, 65_535, 65_536, classes - 1} & set(range(classes))
    )
    for label in used:
        folder = tmp_path / "source" / names[label]
        folder.mkdir(parents=True)
        (folder / "1.jpg").write_bytes(pixel(label % 251))
    for level in (0, 3):
        path = tmp_path / f"{level}.dts"
        done = export_folder(tmp_path / "source", path, level=level, classes=names)
        assert done.header.num_classes == classes
        with setup(path, 1).commit() as pre:
            assert pre.class_names == names
            found = ids_and_labels(pre)
            assert sorted(label for _, label in found) == used
            by_id = [int(name.partition("/")[0]) for name in pre.names("train")]
            assert all(by_id[id] == label for id, label in found)


@pytest.mark.slow
def test_d06_as_many_folders(tmp_path):
    """65,537 class folders of one linked picture each are listed with exact labels."""
    from dts.datasets.listing import list_pictures

    first = [tmp_path / f"{k}.jpg" for k in range(3)]
    for k, path in enumerate(first):
        path.write_bytes(pixel(k))
    for k in range(65_537):
        folder = tmp_path / "source" / f"{k:05d}"
        folder.mkdir(parents=True)
        os.link(first[k % 3], folder / "x.jpg")
    listing = list_pictures(tmp_path / "source")
    assert len(listing.classes) == 65_537
    assert np.array_equal(listing.labels, np.arange(65_537))
    assert listing.name(65_536) == b"65536/x.jpg"


def test_d07_an_image_over_16_mib(setup, tmp_path):
    (tmp_path / "source/a").mkdir(parents=True)
    (tmp_path / "source/a/small.jpg").write_bytes(make.jpeg(0, 40, 40))
    large = tmp_path / "source/a/large.jpg"
    large.write_bytes(make.jpeg(1, 40, 40) + bytes(16 << 20))
    with pytest.raises(ExportError, match=r"a/large\.jpg: has 16,77\d,\d{3} bytes, a block holds"):
        export_folder(tmp_path / "source", tmp_path / "x.dts")
    done = export_folder(tmp_path / "source", tmp_path / "x.dts", on_error="skip")
    assert [name for name, _ in done.skipped] == ["a/large.jpg"]
    done = export_folder(tmp_path / "source", tmp_path / "y.dts", level=1)
    with setup(done.path).commit() as pre:
        assert pre.num_train_samples == 2
        assert len(ids_and_labels(pre)) == 2


def test_d08_f12_ten_thousand_tiny_files(setup, tmp_path):
    """A block takes 340 pictures at level 0: the writer splits, and says that it wastes room."""
    sources = [pixel(10 * k) for k in range(20)]
    for k, data in enumerate(sources):
        (tmp_path / f"{k}.jpg").write_bytes(data)
    for k in range(10_000):
        folder = tmp_path / "source" / f"c{k % 7}"
        if k < 7:
            folder.mkdir(parents=True)
        os.link(tmp_path / f"{k % 20}.jpg", folder / f"{k:05d}.jpg")
    done = export_folder(tmp_path / "source", tmp_path / "x.dts")
    assert done.header.num_blocks == -(-10_000 // 340)
    assert "partly empty" in str(done)
    chain = setup(done.path, 1).batch_size(256).load_mode(LoadMode.PARTIAL).output("uint8")
    with chain.shuffle_train().shuffle_window(4).commit() as pre:
        names, seen = pre.names("train"), 0
        for batch in pre.train(0):
            for image, label, id in zip(batch.images, batch.labels, batch.ids, strict=True):
                number = int(names[id][3:8])
                assert label == number % 7
                assert abs(int(image[0, 0, 0]) - 10 * (number % 20)) <= 2
                seen += 1
    assert seen == 10_000
    os.unlink(done.path)  # half a gigabyte


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="sparse files")
def test_d09_a_file_over_4_gib(setup, tmp_path):
    """257 blocks, sparse: the last ones lie past 2^32 bytes."""
    pictures = [make.jpeg(k, 33, 32) for k in range(5)]
    blocks = [[(pictures[k % 5], k % 3)] for k in range(257)]
    path = make.pack_blocks(tmp_path / "folder_train_lv0.dts", blocks, checksums=False)
    assert os.path.getsize(path) == HEADER_AREA + 257 * BLOCK_BYTES > 1 << 32
    with DtsFile(path) as file:
        assert bytes(file[256][0]) == pictures[1]
    chain = setup(path).load_mode(LoadMode.PARTIAL).shuffle_train().shuffle_window(3)
    with chain.commit() as pre:
        assert sorted(ids_and_labels(pre)) == [(k, k % 3) for k in range(257)]


def test_d10_one_name_in_two_classes(setup, tmp_path):
    for label in range(2):
        folder = tmp_path / "source" / f"c{label}"
        folder.mkdir(parents=True)
        (folder / "same.jpg").write_bytes(make.jpeg(label, 40, 40))
    done = export_folder(tmp_path / "source", tmp_path / "x.dts")
    with setup(done.path).commit() as pre:
        names = pre.names("train")
        assert sorted(names) == ["c0/same.jpg", "c1/same.jpg"]
        assert all(names[id] == f"c{label}/same.jpg" for id, label in ids_and_labels(pre))


def test_d11_class_list_and_folders_disagree(tmp_path):
    (tmp_path / "source/cat").mkdir(parents=True)
    (tmp_path / "source/cat/1.jpg").write_bytes(make.jpeg(0, 40, 40))
    with pytest.raises(ExportError, match="1 of its classes are not in the class list: cat"):
        export_folder(tmp_path / "source", tmp_path / "x.dts", classes=["dog", "bird"])


def test_n01_odd_widths_mirror_exactly(tmp_path):
    from dts import CenterCrop, RandomHorizontalFlip

    path = make.pack_blocks(tmp_path / "folder_train_lv0.dts", [[(make.jpeg(1, 7, 9), 0)]])
    images = []
    for flips in ([], [RandomHorizontalFlip(1.0)], [RandomHorizontalFlip(1.0)] * 2):
        chain = Preprocessor.setup().dataset("folder", path).batch_size(1).output("uint8")
        with chain.train_transforms(CenterCrop((9, 7)), *flips).commit() as pre:
            images.extend(batch.images.copy() for batch in pre.train(0))
    plain, once, twice = images
    assert np.array_equal(once, plain[:, :, ::-1])
    assert np.array_equal(twice, plain)
