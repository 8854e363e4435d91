"""ImageNet from its tar files, without unpacking: the bytes are those of the class folders."""

import io
import os
import random
import tarfile

import pytest

from dts.datasets.archives import ArchiveError, members, read_map
from dts.datasets.listing import list_archive, list_pictures
from dts.errors import ConfigError, ExportError
from dts.export import export_folder
from dts.format import DtsFile


@pytest.fixture
def folders(tmp_path, make):
    """Make 24 pictures in 4 class folders named like ImageNet's."""
    root = tmp_path / "train"
    for k in range(24):
        synset = f"n{1000 + k % 4:08d}"
        make.write(root / synset / f"{synset}_{k * 7 % 24}.JPEG", make.jpeg(k, 60 + k, 50))
    return root


def add(tar, name, data, **fields):
    info = tarfile.TarInfo(name)
    info.size = len(data)
    for key, value in fields.items():
        setattr(info, key, value)
    tar.addfile(info, io.BytesIO(data))


def inner_tar(folder, names, **options):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", **options) as tar:
        for name in names:
            add(tar, name, (folder / name).read_bytes())
    return out.getvalue()


@pytest.fixture(params=[tarfile.GNU_FORMAT, tarfile.USTAR_FORMAT, tarfile.PAX_FORMAT])
def train_tar(request, folders, tmp_path):
    """Make the tar of class tars, in an order that is not that of the names."""
    path = tmp_path / "ILSVRC2012_img_train.tar"
    synsets = sorted(os.listdir(folders), reverse=True)
    with tarfile.open(path, "w", format=request.param) as tar:
        for synset in synsets:
            names = sorted(os.listdir(folders / synset))
            random.Random(1).shuffle(names)
            data = inner_tar(folders / synset, names, format=request.param)
            add(tar, f"{synset}.tar", data)
    return path


@pytest.fixture
def val(folders, tmp_path):
    """Make the tar of validation pictures, its class folders and its map."""
    root, path, map_file = tmp_path / "val", tmp_path / "val.tar", tmp_path / "map.txt"
    pictures = sorted(folders.rglob("*.JPEG"))
    lines = ["# picture class", ""]
    with tarfile.open(path, "w") as tar:
        for k, picture in enumerate(pictures, 1):
            name, synset = f"ILSVRC2012_val_{k:08d}.JPEG", picture.parent.name
            (root / synset).mkdir(parents=True, exist_ok=True)
            (root / synset / name).write_bytes(picture.read_bytes())
            add(tar, name, picture.read_bytes())
            lines.append(f"{name} {synset}")
    map_file.write_text("\n".join(lines) + "\r\n")
    return root, path, map_file


@pytest.mark.parametrize("level", [0, 1])
@pytest.mark.parametrize("volumes", [None, 2])
def test_the_training_archive_gives_the_bytes_of_its_folders(
    folders, train_tar, tmp_path, level, volumes
):
    if volumes and level:
        pytest.skip("one block")
    options = {"dataset": "imagenet", "level": level, "volumes": volumes, "min_blocks": volumes}
    one = export_folder(folders.parent, tmp_path / "a.dts", **options)
    two = export_folder(train_tar, tmp_path / "b.dts", **options)
    for left, right in zip(one.paths, two.paths, strict=True):
        with open(left, "rb") as a, open(right, "rb") as b:
            assert a.read() == b.read()
    assert two.report.num_pictures == 24
    assert os.listdir(tmp_path / "train") == os.listdir(folders)


@pytest.mark.parametrize("jobs", [1, 2])
def test_the_validation_archive_gives_the_bytes_of_its_folders(val, tmp_path, jobs):
    root, path, map_file = val
    for level in (0, 3):
        options = {"dataset": "imagenet", "split": "val", "level": level, "jobs": jobs}
        options["overwrite"] = True
        export_folder(root, tmp_path / "a.dts", **options)
        export_folder(path, tmp_path / "b.dts", val_map=map_file, **options)
        assert (tmp_path / "a.dts").read_bytes() == (tmp_path / "b.dts").read_bytes()


def test_validation_labels_follow_the_training_set(folders, val, tmp_path, make):
    _, path, map_file = val
    make.write(folders / "n00000001/n00000001_1.JPEG", make.jpeg(1, 20, 20))
    export_folder(folders.parent, tmp_path / "train.dts", dataset="imagenet")
    options = {"dataset": "imagenet", "split": "val", "classes": tmp_path / "train.dts"}
    result = export_folder(path, tmp_path / "val.dts", val_map=map_file, **options)
    with DtsFile(result.path) as file:
        assert file.class_names[0] == "n00000001"
        assert set(file.labels().tolist()) == {1, 2, 3, 4}


def test_the_listing_is_that_of_the_folders(folders, train_tar):
    one, two = list_pictures(folders, dataset="imagenet"), list_archive(train_tar)
    assert [one.name(i) for i in range(24)] == [two.name(i) for i in range(24)]
    assert one.classes == two.classes
    assert one.labels.tolist() == two.labels.tolist()
    assert one.sizes.tolist() == two.sizes.tolist()
    data = train_tar.read_bytes()
    for i in range(24):
        path, offset, size = two.place(i)
        assert path == os.fsencode(train_tar)
        assert data[offset : offset + size] == (folders / os.fsdecode(one.name(i))).read_bytes()
    part = two.select(two.labels == 2)
    assert len(part) == 6
    assert part.place(0).offset in two.offsets.tolist()


def test_other_members_are_told(folders, tmp_path):
    path = tmp_path / "t.tar"
    with tarfile.open(path, "w") as tar:
        add(tar, "README.txt", b"hello")
        add(tar, "sub", b"", type=tarfile.DIRTYPE)
        add(tar, "link.JPEG", b"", type=tarfile.SYMTYPE, linkname="README.txt")
        picture = next(folders.rglob("*.JPEG"))
        add(tar, "./n1/a" + "b" * 150 + ".JPEG", picture.read_bytes())  # a name of two headers
    listing = list_archive(path)
    assert listing.name(0) == b"n1/a" + b"b" * 150 + b".JPEG"
    assert listing.report.skipped.counts == {"ends in '.txt'": 1}


@pytest.mark.parametrize("cut", [3, 511, 512, 700, 5000, 1024])
def test_an_archive_that_is_cut_off(train_tar, tmp_path, cut):
    size = end_of_data(train_tar) + 1024
    os.truncate(train_tar, size - cut if cut > 1024 else end_of_data(train_tar) - cut)
    with pytest.raises(ArchiveError, match=r"img_train\.tar.*(cut off|damaged)"):
        export_folder(train_tar, tmp_path / "x.dts", dataset="imagenet")
    assert not (tmp_path / "x.dts").exists()


def end_of_data(path):
    with tarfile.open(path) as tar:
        last = tar.getmembers()[-1]
    return last.offset_data + -(-last.size // 512) * 512


def test_an_archive_that_ends_between_two_members(val, tmp_path):
    _, path, map_file = val
    with tarfile.open(path) as tar:
        middle = tar.getmembers()[12].offset
    os.truncate(path, middle)
    with pytest.raises(ArchiveError, match="the end mark of a tar is missing"):
        export_folder(path, tmp_path / "x.dts", dataset="imagenet", val_map=map_file)


def test_a_damaged_header_is_named(train_tar, tmp_path):
    with tarfile.open(train_tar) as tar:
        outer = tar.getmembers()[2]
    for at in (outer.offset + 10, outer.offset_data + 10):
        data = bytearray(train_tar.read_bytes())
        data[at] ^= 0xFF
        broken = tmp_path / "broken.tar"
        broken.write_bytes(data)
        with pytest.raises(ArchiveError, match=r"broken\.tar.*damaged"):
            list_archive(broken)


def test_what_is_no_archive(tmp_path, folders):
    path = tmp_path / "x.tar"
    path.write_bytes(b"no archive at all" * 100)
    with pytest.raises(ArchiveError, match=r"x\.tar: damaged, or not a tar archive"):
        export_folder(path, tmp_path / "x.dts", dataset="imagenet")
    with tarfile.open(path, "w:gz") as tar:
        add(tar, "a/b.JPEG", b"data")
    with pytest.raises(ArchiveError, match="not a tar archive"):
        export_folder(path, tmp_path / "x.dts", dataset="imagenet")
    with pytest.raises(NotADirectoryError):
        export_folder(path, tmp_path / "x.dts")
    with pytest.raises(ConfigError, match="val_map is for an archive"):
        export_folder(folders, tmp_path / "x.dts", dataset="imagenet", val_map=path)
    with tarfile.open(path, "w") as tar:
        add(tar, "notes.txt", b"data")
    with pytest.raises(ExportError, match="no pictures"):
        export_folder(path, tmp_path / "x.dts", dataset="imagenet")


def test_pictures_without_a_class(val, tmp_path):
    _, path, map_file = val
    with pytest.raises(ArchiveError, match=r"24 pictures have no class.*needs a map"):
        export_folder(path, tmp_path / "x.dts", dataset="imagenet", split="val")
    lines = map_file.read_text().splitlines()
    map_file.write_text("\n".join(lines[:-2]))
    with pytest.raises(ArchiveError, match=r"2 pictures have no class in the map: ILSVRC2012_val"):
        export_folder(path, tmp_path / "x.dts", dataset="imagenet", split="val", val_map=map_file)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("a.JPEG\n", "line 1: not a file name and a class"),
        ("a.JPEG n1\n\nb.JPEG n1\na.JPEG n2\n", r"line 4: a\.JPEG has two classes"),
        ("# nothing\n", "names no picture"),
    ],
)
def test_maps_that_cannot_be_read(tmp_path, text, error):
    path = tmp_path / "map.txt"
    path.write_text(text)
    with pytest.raises(ArchiveError, match=error):
        read_map(path)


def test_maps_that_can(tmp_path):
    path = tmp_path / "map.txt"
    path.write_bytes(b"\xef\xbb\xbfa b.JPEG\tn1\r\n # no\nc\xff.JPEG   n2")
    assert read_map(path) == {b"a b.JPEG": b"n1", b"c\xff.JPEG": b"n2"}


def test_an_archive_that_shrinks_meanwhile(train_tar, tmp_path):
    def meanwhile(_):
        os.truncate(train_tar, 2048)

    for level in (0, 1):
        data = train_tar.read_bytes()
        with pytest.raises(ExportError, match=r"JPEG: changed its size since it was listed"):
            export_folder(
                train_tar,
                tmp_path / "x.dts",
                dataset="imagenet",
                level=level,
                report=meanwhile,
            )
        train_tar.write_bytes(data)


def test_members_of_a_tar_inside_a_file(tmp_path, folders):
    synset = folders / "n00001001"
    data = inner_tar(synset, sorted(os.listdir(synset)))
    path = tmp_path / "outer"
    path.write_bytes(b"x" * 777 + data + b"y" * 99)
    found = list(members(os.fsencode(path), 777, len(data), "inner"))
    whole = path.read_bytes()
    assert [name for name, _, _ in found] == [n.encode() for n in sorted(os.listdir(synset))]
    for name, offset, size in found:
        assert whole[offset : offset + size] == (synset / os.fsdecode(name)).read_bytes()
