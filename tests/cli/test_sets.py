"""The commands on sets of volumes, on archives, and what draws and mends."""

import io
import os
import tarfile

import numpy as np
import pytest
from PIL import Image

from dts.datasets.report import printable
from dts.errors import ConfigError
from dts.format import DtsFile, Header
from dts.sheet import GAP, TEXT, draw_sheet

AREA = 16 << 20


def tree(root):
    found = {}
    for folder, _, names in os.walk(os.fsencode(root)):
        for name in names:
            path = os.path.join(folder, name)
            with open(path, "rb") as file:
                found[os.path.relpath(path, os.fsencode(root))] = file.read()
    return found


def flip(path, id):
    """Flip a byte in the middle of a sample; returns its name."""
    with DtsFile(path) as file:
        volume, block, sample = file.find(id)
        offsets, sizes, _ = file.table(int(np.searchsorted(file.block_starts, id, "right")) - 1)
        at = AREA + block * AREA + int(offsets[sample]) + int(sizes[sample]) // 2
        target, name = file.paths[volume], None if file.names is None else file.names[id]
    with open(target, "r+b") as file:
        file.seek(at)
        byte = file.read(1)[0]
        file.seek(at)
        file.write(bytes([byte ^ 1]))
    return name


@pytest.fixture
def volumes(run, pictures, tmp_path):
    """Export the pictures into two volumes; returns the path they would have as one file."""
    path = tmp_path / "set.dts"
    words = ("--dataset", "folder", "--split", "train", "--level", 0, "--min-blocks", 3)
    code, out, err = run("export", pictures, path, *words, "--volumes", 2)
    assert (code, err) == (0, "")
    assert "set_vol000.dts" in out
    assert "set_vol001.dts" in out
    return path


@pytest.mark.parametrize("name", ["set.dts", "set_vol000.dts", "set_vol001.dts"])
def test_every_command_takes_a_set_by_any_of_its_names(run, volumes, pictures, tmp_path, name):
    path = tmp_path / name
    code, out, err = run("verify", path)
    assert (code, err) == (0, "")
    assert "3 blocks, 9 samples: no damage" in out
    code, out, err = run("ls", path)
    assert (code, err) == (0, "")
    assert [line.split("\t")[0] for line in out.splitlines()] == [str(i) for i in range(9)]
    code, out, err = run("info", path)
    assert (code, err) == (0, "")
    told = dict(line.split(maxsplit=1) for line in out.splitlines())
    assert (told["files"], told["samples"], told["blocks"]) == ("2", "9", "3")
    assert told["num_volumes"] == "2"
    code, _, err = run("extract", path, tmp_path / f"out-{name}")
    assert (code, err) == (0, "")
    assert tree(tmp_path / f"out-{name}") == tree(pictures)  # names that are not UTF-8 included


def test_volume_size(run, pictures, tmp_path):
    words = ("--dataset", "folder", "--split", "train", "--level", 0, "--min-blocks", 3)
    code, _, err = run("export", pictures, tmp_path / "a.dts", *words, "--volume-size", "32M")
    assert (code, err) == (0, "")
    assert len(list(tmp_path.glob("a_vol*.dts"))) == 3
    assert all(p.stat().st_size == 32 << 20 for p in tmp_path.glob("a_vol*.dts"))


@pytest.mark.parametrize(
    ("text", "bytes"), [("4G", 4 << 30), ("64M", 64 << 20), ("1TiB", 1 << 40), ("77", 77)]
)
def test_sizes(text, bytes):
    from dts.cli import _size

    assert _size(text) == bytes


@pytest.mark.parametrize(
    "args",
    [
        ("--volume-size", "4X"),
        ("--volume-size", "-1"),
        ("--volumes", "0"),
        ("--volumes", "2", "--volume-size", "1G"),
        ("--append", "--overwrite"),
    ],
)
def test_wrong_usage(run, args):
    words = ("--dataset", "folder", "--split", "train", "--level", 0)
    code, _, err = run("export", "a", "b", *words, *args)
    assert code == 2
    assert "usage: dts" in err


def test_append(run, volumes, pictures, tmp_path):
    more = tmp_path / "more"
    (more / "bees").mkdir(parents=True)
    (more / "bees/new.jpeg").write_bytes((pictures / "bees/same.jpeg").read_bytes())
    words = ("--dataset", "folder", "--split", "train", "--level", 0)
    code, _, err = run("export", more, volumes, *words)
    assert code == 1
    assert "exists already" in err
    code, out, err = run("export", more, volumes, *words, "--append")
    assert (code, err) == (0, "")
    assert "set_vol002.dts" in out
    with DtsFile(volumes) as file:
        assert file.names[9] == "bees/new.jpeg"
        assert file[9][1] == 1


def test_resume(run, pictures, tmp_path):
    words = ("--dataset", "folder", "--split", "train", "--jobs", 1, "--resume")
    code, _, err = run("export", pictures, tmp_path / "x.dts", *words, "--level", 0)
    assert code == 1
    assert "resume is for levels 1 to 3" in err
    code, _, err = run("export", pictures, tmp_path / "x.dts", *words, "--level", 1)
    assert (code, err) == (0, "")
    assert sorted(os.listdir(tmp_path)) == ["train", "x.dts"]


def test_the_validation_archive(run, pictures, tmp_path):
    data = (pictures / "bees/same.jpeg").read_bytes()
    with tarfile.open(tmp_path / "val.tar", "w") as tar:
        info = tarfile.TarInfo("v1.JPEG")
        info.size = len(data)
        tar.addfile(info, io.BytesIO(data))
    (tmp_path / "map").write_text("v1.JPEG n7\n")
    words = ("--dataset", "imagenet", "--split", "val", "--level", 0)
    code, _, err = run("export", tmp_path / "val.tar", tmp_path, *words)
    assert code == 1
    assert "needs a map" in err
    words += ("--val-map", tmp_path / "map")
    code, _, err = run("export", tmp_path / "val.tar", tmp_path, *words)
    assert (code, err) == (0, "")
    code, out, _ = run("ls", tmp_path / "imagenet_val_lv0.dts")
    assert out == f"0\t0\tn7\tn7/v1.JPEG\t{len(data)}\n"


def test_verify_names_block_and_samples(run, volumes, tmp_path):
    name = flip(volumes, 8)
    code, out, err = run("verify", volumes)
    assert code == 1
    assert "1 damaged place(s) in 1 of 3 block(s)" in err
    assert all(part in out for part in ("set_vol001.dts", "id 8", printable(repr(name))))
    with open(tmp_path / "set_vol001.dts", "r+b") as file:
        file.seek(AREA)
        file.write(b"XXXX")
    code, out, _ = run("verify", volumes)
    assert code == 1
    first = [line for line in out.splitlines() if "(ids " in line]
    assert len(first) == 1  # a block that is lost as a whole says which samples it held
    with DtsFile(volumes) as file:
        ids = next(b.ids for b in file.blocks() if b.volume == 1 and b.number == 0)
    assert f"(ids {ids.start} to {ids.stop - 1})" in first[0]


# view


def test_view_draws_every_sample(run, packed, tmp_path):
    path, out = packed(), tmp_path / "sheet.png"
    code, text, err = run("view", path, out, "--columns", 4, "--size", 50)
    assert (code, text, err) == (0, "", "")
    with Image.open(out) as sheet:
        assert sheet.size == (4 * (50 + GAP) + GAP, 3 * (50 + TEXT + GAP) + GAP)
        pixels = np.asarray(sheet)
    for n in range(12):
        row, column = divmod(n, 4)
        top, left = GAP + row * (50 + TEXT + GAP), GAP + column * (50 + GAP)
        tile = pixels[top : top + 50, left : left + 50]
        caption = pixels[top + 50 : top + 50 + TEXT, left : left + 50]
        assert (tile.min() < 255) == (caption.min() < 255) == (n < 9)


def test_view_takes_a_part(run, packed, tmp_path):
    path, out = packed("--plain", level=1), tmp_path / "sheet.png"
    code, _, err = run("view", path, out, "--start", 7, "--count", 5, "--size", 64)
    assert (code, err) == (0, "")
    with Image.open(out) as sheet:
        assert sheet.width == 2 * (64 + GAP) + GAP
    code, _, err = run("view", path, out, "--start", 9)
    assert code == 1
    assert "the set has the ids 0 to 8" in err


def test_view_marks_and_reports_what_is_damaged(run, volumes, tmp_path):
    name = flip(volumes, 4)
    out = tmp_path / "sheet.png"
    code, text, err = run("view", volumes, out, "--size", 60)
    assert code == 1
    assert "1 damaged, marked in" in err
    assert all(part in text for part in ("id 4", "CRC-32", printable(repr(name))))
    pixels = np.asarray(Image.open(out)).astype(int)
    left = GAP + 4 * (60 + GAP)
    assert tuple(pixels[GAP + 30, left + 30]) == (255, 0, 0)  # where the cross meets
    assert tuple(pixels[GAP + 20, left + 30]) == (0xFB, 0xE3, 0xE3)


def test_view_without_checksums_marks_what_does_not_decode(run, packed, tmp_path):
    path = packed("--plain")
    with DtsFile(path) as file:
        offsets, sizes, _ = file.table(0)
    with open(path, "r+b") as file:
        file.seek(AREA + int(offsets[2]))
        file.write(bytes(int(sizes[2])))
    code, text, err = run("view", path, tmp_path / "s.png")
    assert code == 1
    assert "id 2: cannot be decoded" in text
    assert "1 damaged" in err


def test_view_of_arrays(run, tmp_path):
    path = tmp_path / "mnist_train.dts"
    header = Header(dataset_type="MNIST", num_samples=3, max_pic_per_block=3)
    body = bytes([7, 0, 9]) + np.full(3 * 784, 200, np.uint8).tobytes()
    path.write_bytes(header.to_bytes().ljust(header.header_bytes, b"\0") + body)
    code, _, err = run("view", path, tmp_path / "s.png", "--size", 60)
    assert (code, err) == (0, "")
    pixels = np.asarray(Image.open(tmp_path / "s.png"))
    assert tuple(pixels[GAP + 30, GAP + 30]) == (200, 200, 200)


def test_a_sheet_that_would_be_too_large(packed, tmp_path):
    with DtsFile(packed()) as file, pytest.raises(ConfigError, match="too large"):
        draw_sheet(file, tmp_path / "s.png", size=20_000)


# repair


def test_repair_drops_and_says_so(run, volumes, tmp_path):
    name = flip(volumes, 5)
    code, out, err = run("repair", volumes, tmp_path / "new.dts")
    assert (code, err) == (0, "")
    assert "8 pictures" in out
    assert "dropped: 1" in out
    assert printable(repr(name)) in out
    assert run("verify", tmp_path / "new.dts")[0] == 0
    code, _, err = run("repair", volumes, tmp_path / "new.dts")
    assert code == 1
    assert "exists already" in err


def test_repair_replaces(run, volumes, pictures, tmp_path):
    flip(volumes, 5)
    code, out, err = run("repair", volumes, tmp_path / "new.dts", "--replace", pictures)
    assert (code, err) == (0, "")
    assert "replaced: 1" in out
    run("extract", tmp_path / "new.dts", tmp_path / "back")
    assert tree(tmp_path / "back") == tree(pictures)


def test_repair_with_a_damaged_extension(run, packed, tmp_path):
    path = packed()
    with open(path, "r+b") as file:
        file.seek(4096 + 6)
        file.write(b"\xff\xff\xff")
    code, out, err = run("repair", path, tmp_path / "new.dts")
    assert code == 0
    assert "going on without names and checksums" in err
    assert "9 pictures" in out
