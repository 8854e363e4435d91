"""Which files become samples, with which label, in which order."""

import os
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dts.datasets.listing import ListingError, list_pictures


def names_of(listing):
    return [listing.name(i) for i in range(len(listing))]


def test_folder_order_labels_and_sizes(tree):
    root = tree(b"b/2.jpg", b"a/sub/1.jpg", b"b/10.JPG", b"a/9.jpeg", b"a/sub/deep/0.JpEg")
    listing = list_pictures(root)
    assert listing.classes == (b"a", b"b")
    assert names_of(listing) == [
        b"a/9.jpeg",
        b"a/sub/1.jpg",
        b"a/sub/deep/0.JpEg",
        b"b/10.JPG",
        b"b/2.jpg",
    ]
    assert listing.labels.tolist() == [0, 0, 0, 1, 1]
    assert listing.sizes.tolist() == [3, 1, 4, 2, 0]
    assert listing.path(4) == root + b"/b/2.jpg"
    assert listing.report.counts.tolist() == [3, 2]
    assert listing.report.num_bytes == 10


def test_folder_extensions(tree):
    taken = [b"a/%d.%s" % (k, e) for k, e in enumerate((b"jpe", b"JFIF", b"png", b"WebP", b"BMP"))]
    listing = list_pictures(tree(*taken, b"a/t.txt", b"a/a.b.c.jpg", b"a/img", b"a/.jpg"))
    assert names_of(listing) == sorted([*taken, b"a/a.b.c.jpg"])
    assert listing.report.skipped.counts == {"ends in '.txt'": 1, "no extension": 1, "hidden": 1}


def test_what_the_system_leaves_about(tree):
    listing = list_pictures(
        tree(
            b"a/1.jpg",
            b"a/Thumbs.db",
            b"a/desktop.ini",
            b"a/._1.jpg",
            b".DS_Store",
            b"a/.ipynb_checkpoints/1.jpg",
            b".ipynb_checkpoints/2.jpg",
            b"__MACOSX/a/1.jpg",
            b"0.jpg",
        )
    )
    assert names_of(listing) == [b"a/1.jpg"]
    assert listing.classes == (b"a",)
    assert listing.report.skipped.counts == {
        "hidden": 4,
        "made by the system": 3,
        "not in a class folder": 1,
    }


def test_folder_keeps_the_number_of_an_empty_class(tree):
    listing = list_pictures(tree(b"a/1.jpg", b"b/", b"c/1.jpg", b"d/notes.txt"))
    assert listing.classes == (b"a", b"b", b"c", b"d")
    assert listing.labels.tolist() == [0, 2]
    assert listing.report.warnings == ("2 of 4 classes hold no picture here: 1 'b', 3 'd'",)


def test_imagenet_rules(tree):
    root = tree(
        b"n2/b_1.JPEG",
        b"n1/b_0.jpeg",
        b"n1/a.JPEG",
        b"n2/a.JPEG",
        b"n1/c.jpg",
        b"n3/",
        b"group/n4/a.JPEG",
        b".n0/a.JPEG",
        b"top.JPEG",
    )
    listing = list_pictures(root, dataset="imagenet")
    assert listing.classes == (b"n1", b"n2", b"n4")
    assert names_of(listing) == [
        b"n1/a.JPEG",
        b"n2/a.JPEG",
        b"group/n4/a.JPEG",
        b"n1/b_0.jpeg",
        b"n2/b_1.JPEG",
    ]
    assert listing.labels.tolist() == [0, 1, 2, 0, 1]


def test_imagenet_reads_the_split_it_is_asked_for(tree):
    root = tree(b"train/n1/1.JPEG", b"val/n1/2.JPEG")
    assert names_of(list_pictures(root, dataset="imagenet", split="val")) == [b"n1/2.JPEG"]
    inner = list_pictures(root + b"/train", dataset="imagenet", split="train")
    assert names_of(inner) == [b"n1/1.JPEG"]
    os.rename(root + b"/val", root + b"/elsewhere")
    with pytest.raises(ListingError, match="holds train, but no folder 'val'"):
        list_pictures(root, dataset="imagenet", split="val")


def test_a_root_of_whole_data_sets_is_refused(tree):
    root = tree(b"train/cat/1.jpg", b"val/cat/1.jpg", b"notes/a.txt", b"LICENSE")
    with pytest.raises(ListingError, match=r"give one of them as the source: .*train, .*val"):
        list_pictures(root)


def test_a_class_may_be_called_train(tree):
    assert list_pictures(tree(b"train/1.jpg")).classes == (b"train",)


def test_class_list(tree):
    root = tree(b"b/1.jpg", b"c/1.jpg")
    listing = list_pictures(root, classes=[b"c", b"a", b"b"])
    assert listing.classes == (b"c", b"a", b"b")
    assert dict(zip(names_of(listing), listing.labels.tolist(), strict=True)) == {
        b"b/1.jpg": 2,
        b"c/1.jpg": 0,
    }
    assert listing.report.warnings == ("1 of 3 classes hold no picture here: 1 'a'",)
    with pytest.raises(ListingError, match="2 of its classes are not in the class list: b, c"):
        list_pictures(root, classes=[b"a"])


ODD = ["caf\u00e9", "cafe\u0301", "猫", "🐈", "two words", 'it\'s "it"', "-dash", "new\nline"]
ODD.append("x" * 250)


def test_odd_names_come_back_exactly(tree):
    odd = [*(name.encode() for name in ODD), b"not \xff utf-8 \xe9"]
    listing = list_pictures(tree(*(c + b"/" + c[:240] + b".jpg" for c in odd)))
    assert sorted(listing.classes) == sorted(odd)
    assert sorted(names_of(listing)) == sorted(c + b"/" + c[:240] + b".jpg" for c in odd)
    assert all(os.path.exists(listing.path(i)) for i in range(len(listing)))
    text = str(listing.report)
    text.encode("utf-8")  # nothing that a terminal could choke on
    assert "new\nline" not in text
    assert "look alike" in text


def test_names_of_255_bytes_are_not_cut(tree):
    name = b"a/" + b"n" * 251 + b".jpg"
    assert names_of(list_pictures(tree(name))) == [name]


@pytest.mark.skipif(sys.platform == "win32", reason="symbolic links")
def test_links(tree):
    root = tree(b"real/1.jpg", b"pic/")
    other = os.path.join(os.path.dirname(root), b"other")
    os.makedirs(other + b"/in")
    with open(other + b"/in/2.jpg", "wb"):
        pass
    os.symlink(other, root + b"/linked")
    os.symlink(b"real", root + b"/alias")
    os.symlink(b"..", root + b"/real/loop")
    os.symlink(b"gone", root + b"/real/dead.jpg")
    os.symlink(b"../real/1.jpg", root + b"/pic/link.jpg")
    listing = list_pictures(root)
    assert names_of(listing) == [b"linked/in/2.jpg", b"pic/link.jpg", b"real/1.jpg"]
    assert listing.classes == (b"linked", b"pic", b"real")
    assert listing.report.skipped.counts == {
        "link to a folder that is listed already": 2,
        "link that leads nowhere": 1,
    }


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="named pipes")
def test_a_pipe_is_no_picture(tree):
    root = tree(b"a/1.jpg")
    os.mkfifo(root + b"/a/pipe.jpg")
    listing = list_pictures(root)
    assert listing.report.skipped.counts == {"neither file nor folder": 1}


def test_nothing_found_says_what_was_seen(tree):
    with pytest.raises(ListingError, match=r"looked for .*\.jpg.*seen:\s+2  ends in '.tif'"):
        list_pictures(tree(b"a/1.tif", b"b/2.TIF"))


def test_a_missing_root(tmp_path):
    with pytest.raises(FileNotFoundError):
        list_pictures(tmp_path / "nowhere")
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(NotADirectoryError):
        list_pictures(tmp_path / "file")


def test_report_text(tree):
    listing = list_pictures(tree(b"a/0.jpg", b"a/1.jpg", b"b/2.jpg", b"b/notes.txt", b"c/"))
    assert str(listing.report).splitlines() == [
        f"{os.fsdecode(listing.root)}: 3 pictures in 3 classes, 3 bytes",
        "  smallest class: c (0), largest: a (2)",
        "  left out: 1",
        "        1  ends in '.txt': b/notes.txt",
        "  warning: 1 of 3 classes hold no picture here: 2 'c'",
    ]


def test_select(tree):
    listing = list_pictures(tree(b"a/0.jpg", b"a/1.jpg", b"b/2.jpg"))
    some = listing.select(np.array([True, False, True]))
    assert names_of(some) == [b"a/0.jpg", b"b/2.jpg"]
    assert some.labels.tolist() == [0, 1]
    assert some.sizes.tolist() == [0, 2]
    assert len(listing) == 3


class Shuffled:
    """os.scandir in an order of our choice."""

    def __init__(self, entries, reverse):
        with entries:
            self.entries = sorted(entries, key=lambda e: e.name, reverse=reverse)

    def __enter__(self):
        return iter(self.entries)

    def __exit__(self, *error):
        pass


@pytest.mark.parametrize("dataset", ["folder", "imagenet"])
def test_the_file_system_decides_nothing(tree, monkeypatch, dataset):
    root = tree(*(b"n%d/s%d/%d.jpeg" % (k % 3, k % 2, k % 4) for k in range(24)))
    real = os.scandir
    seen = []
    for reverse in (False, True):
        monkeypatch.setattr(os, "scandir", lambda p, r=reverse: Shuffled(real(p), r))
        listing = list_pictures(root, dataset=dataset)
        seen.append((names_of(listing), listing.labels.tolist(), str(listing.report)))
    assert seen[0] == seen[1]


file_names = st.lists(
    st.tuples(st.sampled_from([b"n1", b"n2", b"n3"]), st.binary(min_size=1, max_size=20)).filter(
        lambda t: not set(t[1]) & {0, 47} and t[1][0] != 46
    ),
    min_size=1,
    max_size=40,
    unique=True,
)


@settings(max_examples=40, deadline=None)
@given(file_names)
def test_imagenet_order_is_by_file_name_then_class(tmp_path_factory, pairs):
    root = os.fsencode(tmp_path_factory.mktemp("root"))
    for folder, name in pairs:
        os.makedirs(os.path.join(root, folder), exist_ok=True)
        with open(os.path.join(root, folder, name + b".jpeg"), "wb"):
            pass
    listing = list_pictures(root, dataset="imagenet")
    expected = sorted(pairs, key=lambda pair: (pair[1] + b".jpeg", pair[0]))
    assert names_of(listing) == [c + b"/" + n + b".jpeg" for c, n in expected]
