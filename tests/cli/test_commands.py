"""What each command prints and returns, on small files; demo and bench have their own."""

import contextlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import make_arrays
import numpy as np
import pytest
from PIL import Image

from dts import errors
from dts.export import export_dataset
from dts.format import HEADER_DTYPE, DtsFile, Header, read_header
from dts.format.extension import Extension

FOLDER = ("--dataset", "folder", "--split", "train", "--level", "0", "--jobs", "1")
AREA = 16 << 20  # the header area, and every block


def tree(root):
    """Return {relative path as bytes: content} of all files under a folder."""
    root = os.fsencode(root)
    found = {}
    for folder, _, names in os.walk(root):
        for name in names:
            path = os.path.join(folder, name)
            found[os.path.relpath(path, root)] = Path(os.fsdecode(path)).read_bytes()
    return found


def one_line(err):
    """Check that `err` is one line of the command's own, and return it."""
    assert err.startswith("dts: ")
    assert err.count("\n") == 1
    assert err.endswith("\n")
    return err


def rename_samples(path, names):
    """Give the samples of a file other names, as someone with bad intentions would."""
    extension = Extension.from_file(path)
    extension.sample_names = names
    inside, sidecar = extension.pack()
    assert sidecar is None
    with open(path, "r+b") as file:
        file.seek(4096)
        file.write(inside)


# Usage


@pytest.mark.parametrize(
    "args",
    [
        (),
        ("nonsense",),
        ("export", "a", "b"),
        ("export", "a", "b", "--dataset", "imagenet", "--split", "train"),
        ("export", "a", "b", "--dataset", "folder", "--split", "test", "--level", "0"),
        ("export", "a", "b", "--dataset", "folder", "--split", "val", "--level", "4"),
        ("export", "a", "b", *FOLDER, "--min-blocks", "0"),
        ("export", "a", "b", *FOLDER, "--on-error", "replace"),
        ("info",),
        ("extract", "file"),
        ("bench", "file", "--rounds", "0"),
        ("demo", "--pictures", "many"),
    ],
)
def test_wrong_usage_is_2_and_says_how(run, args):
    code, out, err = run(*args)
    assert code == 2
    assert out == ""
    assert "usage: dts" in err


@pytest.mark.parametrize("args", [("--help",), ("export", "--help"), ("demo", "--help")])
def test_help_is_0(run, args):
    code, out, err = run(*args)
    assert (code, err) == (0, "")
    assert "usage: dts" in out


def test_version(run):
    from dts.version import __version__

    assert run("--version") == (0, f"dts {__version__}\n", "")


def test_python_dash_m_is_the_same_command(packed):
    done = subprocess.run(
        [sys.executable, "-m", "dts", "verify", str(packed())], capture_output=True, check=False
    )
    assert done.returncode == 0
    assert b"no damage" in done.stdout
    assert done.stderr == b""


# Failures


@pytest.mark.parametrize("command", ["info", "verify", "ls", "bench"])
def test_a_missing_file_is_1_and_one_line(run, tmp_path, command):
    code, out, err = run(command, tmp_path / "none.dts")
    assert (code, out) == (1, "")
    assert "none.dts: No such file" in one_line(err)


@pytest.mark.parametrize("command", ["info", "verify", "ls", "bench"])
def test_a_foreign_file_is_1_and_one_line(run, tmp_path, command):
    path = tmp_path / "text.dts"
    path.write_text("not a data set\n" * 20)
    code, out, err = run(command, path)
    assert (code, out) == (1, "")
    assert str(path) in one_line(err)


def test_an_unforeseen_error_is_one_line_and_the_traceback_can_be_had(run, monkeypatch, packed):
    path = packed()

    def fail(*_):
        raise ZeroDivisionError("two\nlines")

    monkeypatch.setattr("dts.cli.read_header", fail)
    code, _, err = run("info", path)
    assert code == 1
    assert "ZeroDivisionError: two lines (DTS_DEBUG_TRACEBACK=1" in one_line(err)
    monkeypatch.setenv("DTS_DEBUG_TRACEBACK", "1")
    with pytest.raises(ZeroDivisionError):
        run("info", path)


def test_ctrl_c_is_130(run, monkeypatch, packed):
    path = packed()

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("dts.cli.read_header", interrupted)
    code, _, err = run("info", path)
    assert code == 130
    assert "interrupted" in one_line(err)


def test_output_that_nobody_reads_ends_quietly(packed):
    path = packed()
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-m", "dts", "ls", str(path)],
        stdout=writer,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(writer)
    assert done.returncode == 1
    assert done.stderr == b""


# export


@pytest.mark.parametrize("level", range(4))
def test_export_tells_what_it_found_then_what_it_made(run, pictures, tmp_path, level):
    (pictures / "ants" / "notes.txt").write_text("not a picture")
    words = ("--dataset", "folder", "--split", "train", "--level", level)
    code, out, err = run("export", pictures, tmp_path / "out", *words, "--jobs", 1)
    assert (code, err) == (0, "")
    path = tmp_path / "out" / f"folder_train_lv{level}.dts"
    assert out.index("9 pictures in 3 classes") < out.index("notes.txt") < out.index(str(path))
    header = read_header(path)
    assert (header.num_samples, header.num_classes) == (9, 3)
    assert (header.compress_level, header.is_training) == (level, 1)


def test_export_overwrites_only_when_told(run, pictures, packed):
    path = packed()
    before = path.read_bytes()
    code, out, err = run("export", pictures, path, *FOLDER)
    assert (code, out) == (1, "")
    assert "exists already" in one_line(err)
    assert path.read_bytes() == before
    (pictures / "cats" / "same.jpeg").unlink()
    code, _, err = run("export", pictures, path, *FOLDER, "--overwrite")
    assert (code, err) == (0, "")
    assert read_header(path).num_samples == 8


def test_export_takes_the_classes_of_another_file(run, pictures, packed, tmp_path):
    train = packed()
    val = tmp_path / "val"
    (val / "cats").mkdir(parents=True)
    (val / "cats" / "x.jpeg").write_bytes((pictures / "cats" / "same.jpeg").read_bytes())
    words = ("--dataset", "folder", "--split", "val", "--level", 0, "--classes", train)
    code, _, err = run("export", val, tmp_path / "val.dts", *words)
    assert (code, err) == (0, "")
    with DtsFile(tmp_path / "val.dts") as file:
        assert file.class_names == ["ants", "bees", "cats"]
        assert file[0][1] == 2
    (val / "dogs").mkdir()
    (val / "dogs" / "x.jpeg").write_bytes((pictures / "cats" / "same.jpeg").read_bytes())
    code, _, err = run("export", val, tmp_path / "val2.dts", *words)
    assert code == 1
    assert "dogs" in one_line(err)
    assert not (tmp_path / "val2.dts").exists()


def test_export_leaves_out_what_cannot_be_packed_when_told(run, pictures, tmp_path):
    (pictures / "cats" / "broken.jpeg").write_bytes(b"\xff\xd8 no picture")
    path = tmp_path / "x.dts"
    words = ("--dataset", "folder", "--split", "train", "--level", 1, "--jobs", 1)
    code, _, err = run("export", pictures, path, *words)
    assert code == 1
    assert "broken.jpeg" in one_line(err)
    assert not path.exists()
    code, out, err = run("export", pictures, path, *words, "--on-error", "skip")
    assert (code, err) == (0, "")
    assert "broken.jpeg" in out
    assert read_header(path).num_samples == 9


def test_plain_files_have_no_extension(packed):
    with DtsFile(packed("--plain")) as file:
        assert file.names is None
        assert file.class_names is None


@pytest.mark.parametrize("dataset", ["mnist", "cifar10", "cifar100"])
def test_export_of_small_arrays_needs_no_level(run, tmp_path, dataset):
    words = ("--dataset", dataset, "--split", "train")
    code, _, err = run("export", tmp_path, tmp_path / "x.dts", *words)
    assert code == 1
    assert "train set there" in one_line(err)
    code, _, err = run("export", tmp_path, tmp_path / "x.dts", *words, "--level", 2)
    assert code == 1
    assert f"level has no meaning for {dataset}" in one_line(err)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("dataset", ["mnist", "cifar10", "cifar100"])
def test_small_arrays_all_the_way(run, tmp_path, dataset):
    make_arrays.write(dataset, tmp_path / "raw")
    out = tmp_path / "out"
    code, text, err = run("export", tmp_path / "raw", out, "--dataset", dataset, "--split", "val")
    path = out / f"{dataset}_test.dts"
    assert (code, err) == (0, "")
    assert "20 pictures in" in text.splitlines()[0]
    assert text.splitlines()[-1].startswith(f"{path}: 20 pictures in 1 block")
    code, text, _ = run("info", path, "--json")
    assert (code, json.loads(text)["header"]["num_samples"]) == (0, 20)
    assert run("verify", path)[0] == 0
    assert len(run("ls", path)[1].splitlines()) == 20
    code, _, err = run("export", tmp_path / "raw", out, "--dataset", dataset, "--split", "val")
    assert code == 1
    assert "exists already" in one_line(err)


# info


def test_info_prints_every_field(run, packed):
    path = packed()
    code, out, err = run("info", path)
    assert (code, err) == (0, "")
    told = dict(line.split(maxsplit=1) for line in out.splitlines())
    assert set(HEADER_DTYPE.names) <= set(told)
    header = read_header(path)
    assert told["num_samples"] == "9"
    assert told["crc_code"] == str(header.crc_code)
    assert told["version"] == "3 0 0 0"
    assert told["class_names"] == "3: ants, bees, cats"
    assert told["sample_crcs"] == "yes"


def test_info_json_holds_the_whole_header(run, packed):
    path = packed("--plain", level=2)
    code, out, err = run("info", path, "--json")
    assert (code, err) == (0, "")
    told = json.loads(out)
    assert told["header"] == read_header(path).as_dict()
    assert len(told["header"]) == 29
    assert told["file_bytes"] == path.stat().st_size
    assert told["class_names"] is None
    assert told["sample_names"] is False


def test_info_shows_the_header_of_a_file_with_a_damaged_extension(run, packed):
    path = packed()
    with open(path, "r+b") as file:
        file.seek(4096 + 6)
        file.write(b"\xff\xff\xff")
    code, out, err = run("info", path)
    assert (code, err) == (0, "")
    assert "num_samples         9\n" in out
    assert "extension" in next(s for s in out.splitlines() if s.startswith("problem"))


# verify


def flip(path, offset):
    with open(path, "r+b") as file:
        file.seek(offset)
        byte = file.read(1)[0]
        file.seek(offset)
        file.write(bytes([byte ^ 1]))


def test_verify_of_a_good_file(run, packed):
    path = packed()
    code, out, err = run("verify", path)
    assert (code, err) == (0, "")
    assert str(path) in out
    assert "9 samples" in out


def test_verify_pins_a_flipped_byte_to_its_sample(run, packed):
    path = packed()
    with DtsFile(path) as file:
        offsets, _, _ = file.table(0)
        name = ascii(file.names[7])[1:-1]
    flip(path, AREA + int(offsets[7]) + 20)
    code, out, err = run("verify", path)
    assert code == 1
    assert "1 damaged place" in one_line(err)
    (line,) = out.splitlines()
    for part in (str(path), "block 0", "sample 7", "id 7", name.split("/")[0]):
        assert part in line


def test_verify_of_a_plain_file_finds_the_flipped_byte_too(run, packed):
    path = packed("--plain")
    with DtsFile(path) as file:
        offsets, _, _ = file.table(0)
    flip(path, AREA + int(offsets[3]) + 20)
    code, out, err = run("verify", path)
    assert code == 1
    assert "without checksums of blocks and samples" in one_line(err)
    assert len(out.splitlines()) == 1


def test_verify_of_a_damaged_extension_goes_on_to_the_blocks(run, packed):
    path = packed()
    with open(path, "r+b") as file:
        file.seek(4096 + 6)
        file.write(b"\xff\xff\xff")
    code, out, err = run("verify", path)
    assert code == 1
    assert "1 damaged place" in one_line(err)
    assert "extension" in out


def test_verify_of_a_truncated_file(run, packed):
    path = packed()
    os.truncate(path, AREA + 5000)
    code, out, err = run("verify", path)
    assert code == 1
    one_line(err)
    assert "block 0" in out


# ls


def test_ls_has_one_line_a_sample(run, packed, pictures):
    code, out, err = run("ls", packed())
    assert (code, err) == (0, "")
    rows = [line.split("\t") for line in out.splitlines()]
    assert [row[0] for row in rows] == [str(i) for i in range(9)]
    assert all(row[2] == ["ants", "bees", "cats"][int(row[1])] for row in rows)
    sizes = {row[3]: int(row[4]) for row in rows}
    assert sizes["cats/same.jpeg"] == (pictures / "cats" / "same.jpeg").stat().st_size
    assert "ants/new\\nline.jpeg" in sizes
    assert "ants/bytes\\udcff.jpeg" in sizes


def test_ls_of_names_that_the_terminal_cannot_write(tmp_path):
    folder = tmp_path / "src" / "\u732b"
    folder.mkdir(parents=True)
    Image.new("RGB", (8, 8)).save(folder / "1.jpg")
    export_dataset("folder", folder.parent, tmp_path / "x.dts", progress=False)
    done = subprocess.run(
        [sys.executable, "-m", "dts", "ls", str(tmp_path / "x.dts")],
        capture_output=True,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert rb"\u732b/1.jpg" in done.stdout


def test_ls_of_a_plain_file(run, packed):
    code, out, err = run("ls", packed("--plain"))
    assert (code, err) == (0, "")
    rows = [line.split("\t") for line in out.splitlines()]
    assert len(rows) == 9
    assert {(row[2], row[3]) for row in rows} == {("-", "-")}


@pytest.fixture
def mnist_file(tmp_path):
    """Return a file of three MNIST pictures, as the reference lays them out."""
    path = tmp_path / "mnist_train.dts"
    header = Header(dataset_type="MNIST", num_samples=3, max_pic_per_block=3)
    body = bytes([7, 0, 9]) + np.arange(3 * 784, dtype=np.uint8).tobytes()
    path.write_bytes(header.to_bytes().ljust(header.header_bytes, b"\0") + body)
    return path


def test_ls_and_extract_of_pixels(run, mnist_file, tmp_path):
    code, out, err = run("ls", mnist_file)
    assert (code, err) == (0, "")
    assert out == "0\t7\t-\t-\t784\n1\t0\t-\t-\t784\n2\t9\t-\t-\t784\n"
    code, _, err = run("extract", mnist_file, tmp_path / "out")
    assert code == 1
    assert "MNIST file holds no picture files" in one_line(err)
    code, _, err = run("bench", mnist_file)
    assert code == 1
    assert "holds no JPEG pictures" in one_line(err)


# extract


def test_extract_gives_back_the_folder_byte_for_byte(run, packed, pictures, tmp_path):
    path, out = packed(), tmp_path / "out"
    code, _, err = run("extract", path, out)
    assert (code, err) == (0, "")
    assert tree(out) == tree(pictures)


def test_extract_of_a_plain_file_makes_names(run, packed, pictures, tmp_path):
    path, out = packed("--plain"), tmp_path / "out"
    code, _, err = run("extract", path, out)
    assert (code, err) == (0, "")
    found = tree(out)
    assert sorted(found.values()) == sorted(tree(pictures).values())
    with DtsFile(path) as file:
        for id in range(len(file)):
            data, label = file[id]
            assert found[b"class_%05d/%08d.jpg" % (label, id)] == data


def test_extract_overwrites_nothing(run, packed, tmp_path):
    path, out = packed(), tmp_path / "out"
    with DtsFile(path) as file:
        last = out / file.names[8]
    last.parent.mkdir(parents=True)
    last.write_bytes(b"mine")
    code, _, err = run("extract", path, out)
    assert code == 1
    assert "exists already" in one_line(err)
    assert last.read_bytes() == b"mine"


@pytest.mark.parametrize(
    "name",
    ["../../x.jpeg", "/etc/x.jpeg", "a/../../x", "..", ".", "a//b", "a/./b", "", "a/", "nul\0"],
)
def test_extract_refuses_names_that_lead_elsewhere(run, packed, tmp_path, name):
    path, out = packed(), tmp_path / "deep" / "out"
    rename_samples(path, [f"good/{i}.jpeg" for i in range(8)] + [name])
    before = tree(tmp_path)
    code, _, err = run("extract", path, out)
    assert code == 1
    assert "id 8" in one_line(err)
    assert "refused" in err
    assert tree(tmp_path) == before


def test_extract_does_not_follow_a_link_out_of_the_folder(run, packed, tmp_path):
    path, out, outside = packed(), tmp_path / "out", tmp_path / "outside"
    rename_samples(path, [f"link/{i}.jpeg" for i in range(9)])
    out.mkdir()
    outside.mkdir()
    (out / "link").symlink_to(outside)
    code, _, err = run("extract", path, out)
    assert code == 1
    assert "refused" in one_line(err)
    assert list(outside.iterdir()) == []


def test_extract_of_two_samples_with_one_name_keeps_the_first(run, packed, tmp_path):
    path, out = packed(), tmp_path / "out"
    rename_samples(path, [f"a/{i // 2}.jpeg" for i in range(9)])
    code, _, err = run("extract", path, out)
    assert code == 1
    assert "exists already" in one_line(err)
    with DtsFile(path) as file:
        assert (out / "a" / "0.jpeg").read_bytes() == file[0][0]


def test_extract_refuses_a_damaged_sample(run, packed, tmp_path):
    path = packed()
    with DtsFile(path) as file:
        offsets, _, _ = file.table(0)
    flip(path, AREA + int(offsets[4]) + 20)
    code, _, err = run("extract", path, tmp_path / "out")
    assert code == 1
    assert "sample 4" in one_line(err)
    assert len(tree(tmp_path / "out")) == 4


@pytest.mark.parametrize(
    "name", ["..\\x", "c:x", "a/con", "a/COM1.jpg", "a/b. ", "a/b.", "a?b", "a/b\x07", "../x"]
)
def test_names_that_lead_elsewhere_on_windows(name):
    from dts.extract import is_safe

    assert not is_safe(name, windows=True)
    assert is_safe(name, windows=False) == (name != "../x")


def test_ordinary_names_are_safe_everywhere():
    from dts.extract import is_safe

    for name in ("a/b.jpeg", "x", "n01/n01_1.JPEG", "console/comma.jpg", "a b/..c", "ä/…"):
        assert is_safe(name, windows=True)
        assert is_safe(name, windows=False)


@contextlib.contextmanager
def small_files_only():
    """Let no file of this process grow past 100 bytes, as if the disk were full.

    Not as a fixture: what pytest writes between a test and its teardown may go to a file.
    """
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_failed_write_leaves_no_half_a_file(run, packed, tmp_path):
    path, out = packed(), tmp_path / "out"
    with small_files_only():
        code, _, err = run("extract", path, out)
    assert code == 1
    assert re.search(rf"{re.escape(str(out))}.*: File too large", one_line(err))
    assert tree(out) == {}


def test_errors_of_the_library_are_told_as_they_are():
    from dts.cli import _explained

    assert _explained(errors.FormatError("x.dts: bad")) == "x.dts: bad"
    assert _explained(MemoryError()) == "out of memory"
    assert _explained(OSError(2, "No such file", "f")) == "f: No such file"
