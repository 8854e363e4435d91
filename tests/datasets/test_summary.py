"""summary.bin: the reference's layout, and when an index still holds."""

import os
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest

from dts.datasets.listing import list_pictures
from dts.datasets.summary import (
    list_with_summary,
    parts_of,
    read_summary,
    shuffled_index,
    summary_bytes,
    write_summary,
)
from dts.errors import DtsError, FormatError

OLD = 1_600_000_000


def age(root):
    """Make folders and files older than any index."""
    for folder, _, files in os.walk(root):
        for name in (folder, *(os.path.join(folder, f) for f in files)):
            os.utime(name, (OLD, OLD))


@pytest.fixture
def make_tree(tmp_path):
    def make(n_files, n_classes, name="set"):
        root = tmp_path / name
        for k in range(n_classes):
            (root / f"n{k:08d}").mkdir(parents=True)
        for k in range(n_files):
            path = root / f"n{k * 7 % n_classes:08d}" / f"p_{k:03d}.JPEG"
            path.write_bytes(bytes([k % 256]) * (1 + k * k % 997))
        age(root)
        return root

    return make


@pytest.fixture
def tree(make_tree):
    return make_tree(100, 5)


def philox0(seed, offset):
    """First word of Philox4x32-10, written down again from its definition."""
    c, k = [offset & 0xFFFFFFFF, offset >> 32, 0, 0], [seed & 0xFFFFFFFF, seed >> 32]
    for _ in range(10):
        p0, p1 = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(p1 >> 32) ^ c[1] ^ k[0], p1 & 0xFFFFFFFF, (p0 >> 32) ^ c[3] ^ k[1], p0 & 0xFFFFFFFF]
        k = [(k[0] + 0x9E3779B9) & 0xFFFFFFFF, (k[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return c[0]


def reference_summary(root, is_training):
    """What the reference writes, from the description of its layout, one field at a time."""
    classes = sorted(os.listdir(root))
    files = [(c, f) for c in classes for f in sorted(os.listdir(root / c))]
    sizes = [os.path.getsize(root / c / f) for c, f in files]
    order = list(range(len(files)))
    for i in range(len(order) - 1, 0, -1):
        j = philox0(42, i) % (i + 1)
        order[i], order[j] = order[j], order[i]
    part, cur, target, part_of = 0, 0, sum(sizes) // 16, []
    for i in order:
        if part < 15 and cur >= target:
            part, cur = part + 1, 0
        part_of.append(part)
        cur += sizes[i]
    counts = [part_of.count(p) for p in range(16)]
    table = 256 + sum(len(c) + 1 for c in classes)
    body = b"".join(c.encode() + b"\0" for c in classes) + b"\0" * (1000 - len(classes))
    at = 0
    for i, p in zip(order, part_of, strict=True):
        label = classes.index(files[i][0])
        name = len(files[i][1])
        body += struct.pack("<IHHIHHIIQ", at, name, label, sizes[i], p, 0, label, i, 0)
        at += name
    head = b"RAWS\1\0\0\0" + struct.pack("<5IQ", is_training, 1000, len(files), 16, 42, sum(sizes))
    head += struct.pack("<16Q", *(32 * sum(counts[:p]) for p in range(16)))
    head += struct.pack("<16I", *counts) + struct.pack("<3Q4x", 256, table, 256 + len(body))
    return head + body + "".join(files[i][1] for i in order).encode()


@pytest.mark.parametrize("n_classes", [1000, 5])
def test_version_1_is_the_references(make_tree, n_classes):
    root = make_tree(1500, n_classes)
    written = summary_bytes(list_pictures(root), version=1)
    assert written == reference_summary(root, 1)
    assert summary_bytes(list_pictures(root, dataset="imagenet"), version=1) == written
    val = summary_bytes(list_pictures(root), version=1, is_training=False)
    assert val == reference_summary(root, 0)
    assert (summary_bytes(list_pictures(root)) == written) == (n_classes == 1000)


def test_other_class_counts_are_version_2(tree):
    data = summary_bytes(list_pictures(tree))
    assert data[4:8] == b"\2\0\0\0"
    assert struct.unpack_from("<II", data, 12) == (5, 100)
    table, pool = struct.unpack_from("<QQ", data, 236)
    assert table == 256 + 5 * 10
    assert pool == table + 32 * 100


@pytest.mark.parametrize("version", [1, 2])
def test_comes_back_as_the_same_listing(tree, tmp_path, version):
    (tree / "n00000004" / "below").mkdir()
    (tree / "n00000004" / "below" / "a\udcffb.jpg").write_bytes(b"deep")
    listing = list_pictures(tree)
    write_summary(listing, tmp_path / "s.bin", is_training=False, version=version)
    summary = read_summary(tmp_path / "s.bin")
    assert not summary.is_training
    back = summary.listing(tree)
    assert back.classes == listing.classes
    assert [back.name(i) for i in range(101)] == [listing.name(i) for i in range(101)]
    np.testing.assert_array_equal(back.labels, listing.labels)
    np.testing.assert_array_equal(back.sizes, listing.sizes)
    assert back.report.num_bytes == listing.report.num_bytes
    assert Path(os.fsdecode(back.path(100))).read_bytes() == b"deep"


def test_more_classes_than_16_bits(tmp_path, make_tree):
    listing = list_pictures(make_tree(3, 3))
    many = type(listing).of_names(
        b"/x",
        tuple(b"c%d" % k for k in range(70_000)),
        np.array([0, 65_536, 69_999], np.int32),
        listing.sizes,
        b"abc",
        np.arange(3),
        np.ones(3, np.uint16),
    )
    write_summary(many, tmp_path / "s.bin")
    back = read_summary(tmp_path / "s.bin").listing("/x")
    assert back.labels.tolist() == [0, 65_536, 69_999]
    assert back.name(2) == b"c69999/c"
    with pytest.raises(DtsError, match="70000"):
        summary_bytes(many, version=1)


def test_shuffle_and_parts():
    assert sorted(shuffled_index(1000)) == list(range(1000))
    assert shuffled_index(0).tolist() == []
    assert shuffled_index(1).tolist() == [0]
    assert parts_of(np.full(32, 10)).tolist() == [k // 2 for k in range(32)]
    assert parts_of(np.array([1000, *[1] * 20])).tolist()[:2] == [0, 1]
    assert max(parts_of(np.ones(500, np.int64))) == 15


def test_writing_leaves_nothing_half_done(tree, tmp_path):
    listing = list_pictures(tree)
    with pytest.raises(FileNotFoundError):
        write_summary(listing, tmp_path / "missing" / "s.bin")
    target = tmp_path / "taken.bin"
    target.mkdir()
    with pytest.raises(IsADirectoryError):
        write_summary(listing, target)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["set", "taken.bin"]


FIELDS = [0, 4, 8, 12, 16, 20, 24, 28, 228, 236, 244]


@pytest.mark.parametrize("value", [0, 1, 0x7FFFFFFF, 0xFFFFFFFF])
@pytest.mark.parametrize("at", [*FIELDS, "record"])
def test_hostile_bytes_are_refused_or_harmless(tree, tmp_path, at, value):
    listing = list_pictures(tree)
    good = summary_bytes(listing)
    places = [at] if at != "record" else [306 + k for k in range(0, 28, 4)]
    for place in places:
        data = bytearray(good)
        data[place : place + 4] = struct.pack("<I", value)
        (tmp_path / "s.bin").write_bytes(data)
        try:
            back = read_summary(tmp_path / "s.bin").listing(tree)
        except FormatError:
            continue
        assert [back.name(i) for i in range(len(back))]
        assert back.labels.max() < len(back.classes)


@pytest.mark.parametrize("length", [0, 3, 255, 256, 300, 3000, -1])
def test_cut_files_are_refused(tree, tmp_path, length):
    data = summary_bytes(list_pictures(tree))[:length]
    (tmp_path / "s.bin").write_bytes(data)
    with pytest.raises(FormatError, match=r"s\.bin"):
        read_summary(tmp_path / "s.bin")


def spoil_nothing(root):
    pass


def add(root):
    (root / "n00000002" / "new.jpeg").write_bytes(b"new")


def add_below(root):
    (root / "n00000002" / "deep").mkdir()


def add_class(root):
    (root / "zebra").mkdir()


def remove(root):
    (root / "n00000000" / "p_000.JPEG").unlink()


def rename(root):
    (root / "n00000000" / "p_000.JPEG").rename(root / "n00000000" / "q.JPEG")


def remove_class(root):
    for path in (root / "n00000001").iterdir():
        path.unlink()
    (root / "n00000001").rmdir()


def grow(root):
    with open(root / "n00000000" / "p_000.JPEG", "ab") as file:
        file.write(b"more")


def rewrite(root):
    path = root / "n00000000" / "p_000.JPEG"
    with open(path, "r+b") as file:
        file.write(b"X")


@pytest.mark.parametrize(
    ("change", "seen_by_folders"),
    [
        (add, True),
        (add_below, True),
        (add_class, True),
        (remove, True),
        (rename, True),
        (remove_class, True),
        (grow, False),
        (rewrite, False),
    ],
)
def test_changes_are_noticed(tree, monkeypatch, change, seen_by_folders):
    index = tree / "train_summary.bin"
    write_summary(list_pictures(tree), index)
    scans = []
    monkeypatch.setattr(
        "dts.datasets.summary.list_pictures",
        lambda *a, **k: scans.append(1) or list_pictures(*a, **k),
    )
    before = list_with_summary(tree, index)
    assert len(before) == 100
    assert scans == []
    change(tree)
    held = list_with_summary(tree, index, check_files=False)
    assert (len(scans) == 1) == seen_by_folders
    after = list_with_summary(tree, index)
    assert len(scans) == 1 + seen_by_folders
    fresh = list_pictures(tree)
    assert after.classes == fresh.classes
    assert [after.name(i) for i in range(len(after))] == [fresh.name(i) for i in range(len(fresh))]
    np.testing.assert_array_equal(after.sizes, fresh.sizes)
    if not seen_by_folders:
        assert len(held) == 100


def test_classes_of_train_hold_for_an_index_of_val(tree, make_tree):
    val = make_tree(10, 3, "val")
    train = list_pictures(tree).classes
    write_summary(list_pictures(val, classes=train), val / "s.bin", is_training=False)
    listing = list_with_summary(val, val / "s.bin", classes=train)
    assert listing.classes == train
    assert list_with_summary(val, val / "s.bin").classes == train[:3]


@pytest.mark.parametrize("damage", ["missing", "empty", "noise"])
def test_a_useless_index_is_never_required(tree, damage):
    if damage != "missing":
        (tree / "s.bin").write_bytes(b"" if damage == "empty" else zlib.compress(b"x" * 9999))
    assert len(list_with_summary(tree, tree / "s.bin")) == 100
    assert (tree / "s.bin").exists() == (damage != "missing")


def test_what_the_layout_cannot_hold(tmp_path):
    (tmp_path / "a" / "n1").mkdir(parents=True)
    (tmp_path / "a" / "n1" / "p.jpeg").write_bytes(b"x")
    (tmp_path / "a" / "n0").mkdir()
    listing = list_pictures(tmp_path, dataset="imagenet")
    with pytest.raises(DtsError, match="class folder"):
        summary_bytes(listing)
    with open(tmp_path / "a" / "huge.jpg", "wb") as file:
        file.truncate(1 << 32)
    with pytest.raises(DtsError, match="4 GiB"):
        summary_bytes(list_pictures(tmp_path))
