"""Files and packing (F-cases): what real folders hold, from the folder to a batch and back."""

import os
import subprocess
import sys
import textwrap

import make
import pytest

from dts import ExportError, cli
from dts.datasets.listing import ListingError, list_pictures
from dts.export import export_folder
from dts.format import DtsFile

PICTURE = make.jpeg(0, 40, 30)
POSIX = pytest.mark.skipif(sys.platform == "win32", reason="names and links of POSIX systems")
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}


@pytest.fixture
def source(tmp_path):
    """Give ``source(*names)``: files (or folders, where a name ends in a slash) below a root."""

    def of(*names):
        root = tmp_path / "source"
        for k, name in enumerate(names):
            path = root / name
            (path if name.endswith("/") else path.parent).mkdir(parents=True, exist_ok=True)
            if not name.endswith("/"):
                path.write_bytes(make.jpeg(k, 40, 30))
        return root

    return of


def packed(root, **options):
    return export_folder(root, root.parent / "x.dts", **options)


def names_in(done):
    with DtsFile(done.path) as file:
        return sorted(file.names)


def all_bytes(root):
    return {p.relative_to(root): p.read_bytes() for p in root.rglob("*") if p.is_file()}


ODD = ["caf\u00e9", "cafe\u0301", "猫", "🐈", "two words", 'it\'s "it"', "-dash", "new\nline"]


@POSIX
def test_f01_names_come_back_exactly(source, setup, capsys):
    names = [*ODD, os.fsdecode(b"not \xff utf-8 \xe9")]
    root = source(*(f"{n}/{n}.jpg" for n in names))
    done = packed(root)
    assert any("look alike, but are 2 classes" in text for text in done.report.warnings)
    with setup(done.path).commit() as pre:
        assert sorted(pre.class_names) == sorted(names)
        assert sorted(pre.names("train")) == sorted(f"{n}/{n}.jpg" for n in names)
        for batch in pre.train(0):
            for label, id in zip(batch.labels, batch.ids, strict=True):
                assert pre.names("train")[id].startswith(pre.class_names[label] + "/")
    back = root.parent / "back"
    assert cli.main(["extract", done.path, str(back)]) == 0
    capsys.readouterr()
    assert all_bytes(back) == all_bytes(root)
    with pytest.raises(ExportError, match="look alike"):
        packed(root, overwrite=True, strict=True)


@POSIX
def test_f03_names_of_255_bytes(source, setup, capsys):
    name = "n" * 251 + ".jpg"
    root = source(f"{'c' * 255}/{name}", f"{'é' * 127}/{'猫' * 83}.jpg")
    done = packed(root)
    with setup(done.path).commit() as pre:
        assert f"{'c' * 255}/{name}" in list(pre.names("train"))
    assert cli.main(["extract", done.path, str(root.parent / "back")]) == 0
    capsys.readouterr()
    assert all_bytes(root.parent / "back") == all_bytes(root)


def test_f04_dots_and_no_extension(source):
    done = packed(source("a/a.b.c.jpg", "a/22.05.jpeg", "a/img", "a/x.jpg.txt"))
    assert names_in(done) == ["a/22.05.jpeg", "a/a.b.c.jpg"]
    assert done.report.skipped.counts == {"no extension": 1, "ends in '.txt'": 1}
    assert "no extension: a/img" in str(done.report)


def test_f05_f06_what_systems_and_editors_leave(source):
    done = packed(
        source(
            "a/1.jpg",
            ".ipynb_checkpoints/1.jpg",
            "a/.ipynb_checkpoints/1-checkpoint.jpg",
            "a/._1.jpg",
            "a/Thumbs.db",
            "a/desktop.ini",
            ".DS_Store",
        )
    )
    assert names_in(done) == ["a/1.jpg"]
    assert done.report.classes == ("a",)
    assert done.report.skipped.counts == {"hidden": 4, "made by the system": 2}


def test_f07_an_empty_class_keeps_its_number(source, setup):
    root = source("a/1.jpg", "b/", "c/1.jpg")
    done = packed(root)
    assert done.report.warnings == ("1 of 3 classes hold no picture here: 1 'b'",)
    with setup(done.path).commit() as pre:
        assert pre.class_names == ["a", "b", "c"]
        assert sorted(int(x) for b in pre.train(0) for x in b.labels) == [0, 2]
    os.unlink(done.path)
    with pytest.raises(ExportError, match="1 of 3 classes hold no picture here: 1 'b'"):
        packed(root, strict=True)
    assert not os.path.exists(done.path)


def test_f08_pictures_further_down_and_whole_sets(source):
    root = source("a/x/y/1.jpg", "b/2.jpg")
    assert names_in(packed(root)) == ["a/x/y/1.jpg", "b/2.jpg"]
    whole = source("sets/train/a/1.jpg", "sets/val/a/1.jpg") / "sets"
    with pytest.raises(ExportError, match=r"give one of them as the source: .*train, .*val"):
        packed(whole)


def test_f09_extensions_in_any_case(source):
    names = ["a/1.JPG", "a/2.JpEg", "a/3.jpe", "a/4.JFIF"]
    assert names_in(packed(source(*names))) == names
    with pytest.raises(ExportError, match=r"no pictures .*seen:\s+1  ends in '.tiff'"):
        packed(source("b/none/1.tiff") / "../source/b", overwrite=True)


@POSIX
def test_f10_links(source, setup):
    root = source("real/1.jpg", "real/2.jpg")
    other = root.parent / "elsewhere"
    other.mkdir()
    (other / "3.jpg").write_bytes(make.jpeg(3, 40, 30))
    (root / "linked").symlink_to(other)
    (root / "again").symlink_to(root / "real")
    (root / "real/loop").symlink_to("..")
    (root / "real/dead.jpg").symlink_to("nowhere")
    done = packed(root)
    assert names_in(done) == ["linked/3.jpg", "real/1.jpg", "real/2.jpg"]
    assert done.report.skipped.counts == {
        "link to a folder that is listed already": 2,
        "link that leads nowhere": 1,
    }


def test_f11_val_follows_the_list_of_train(source, tmp_path):
    root = source(*(f"train/{k}/1.jpg" for k in range(1, 13)), "val/2/1.jpg", "val/10/1.jpg")
    train = export_folder(root / "train", tmp_path / "train.dts")
    val = export_folder(root / "val", tmp_path / "val.dts", split="val", classes=train.path)
    with DtsFile(train.path) as a, DtsFile(val.path) as b:
        assert a.class_names == b.class_names == sorted(map(str, range(1, 13)))
        labels = {name: a.class_names[b[id][1]] for id, name in enumerate(b.names)}
    assert labels == {"2/1.jpg": "2", "10/1.jpg": "10"}
    (root / "val/99").mkdir()
    (root / "val/99/1.jpg").write_bytes(PICTURE)
    with pytest.raises(ExportError, match="1 of its classes are not in the class list: 99"):
        export_folder(root / "val", tmp_path / "v.dts", split="val", classes=train.path)
    with pytest.raises(ListingError):
        list_pictures(root / "val", classes=[b"1"])


WATCHED = """
    import os, sys
    root, target, level = sys.argv[1:4]
    import dts.export, dts, PIL.Image
    WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT
    def watch(event, args):
        if event == "open" and args[2] and args[2] & WRITES:
            where = os.fsdecode(args[0]) if not isinstance(args[0], int) else ""
            if where and not where.startswith((target, "/dev/null")):
                os.write(2, f"writes {where}".encode())
                os._exit(3)
        if event in ("os.mkdir", "os.remove", "os.utime", "tempfile.mkstemp"):
            if event.startswith("tempfile") or not os.fsdecode(args[0]).startswith(target):
                os.write(2, f"{event} {args}".encode())
                os._exit(3)
    sys.addaudithook(watch)
    made = dts.export.export_folder(root, target + "/x.dts", level=int(level))
    target = "nothing may be written now"
    from dts import CenterCrop, Preprocessor
    setup = Preprocessor.setup().dataset("folder", made.path).batch_size(2)
    with setup.train_transforms(CenterCrop(8)).verify_crc().commit() as pre:
        print(sum(len(batch) for batch in pre.train(0)))
"""


@POSIX
@pytest.mark.parametrize("level", [0, 2])
def test_f13_packing_writes_the_target_only_and_reading_nothing(source, tmp_path, level):
    root = source("a/1.jpg", "b/2.jpg", "b/3.jpg")
    target = tmp_path / "target"
    target.mkdir()
    for path in (*root.rglob("*"), root):
        path.chmod(0o555 if path.is_dir() else 0o444)
    before = {p: p.stat().st_mtime_ns for p in (root, *root.rglob("*"))}
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(WATCHED), str(root), str(target), str(level)],
        capture_output=True,
        text=True,
        env={**ENVIRONMENT, "TMPDIR": str(tmp_path / "none"), "HOME": str(tmp_path / "none")},
        check=False,
    )
    assert (done.stderr, done.stdout, done.returncode) == ("", "3\n", 0)
    assert {p: p.stat().st_mtime_ns for p in (root, *root.rglob("*"))} == before
    for path in before:
        path.chmod(0o755)


def run_cli(*arguments, code="from dts.cli import main; sys.exit(main())"):
    return subprocess.Popen(
        [sys.executable, "-c", f"import sys; {code}", "export", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=ENVIRONMENT,
    )


ARGUMENTS = ("--dataset", "folder", "--split", "train", "--level")
FULL = (
    "import resource, signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); "
    "resource.setrlimit(resource.RLIMIT_FSIZE, (20 << 20, 20 << 20)); "
    "from dts.cli import main; sys.exit(main())"
)


@POSIX
@pytest.mark.parametrize("level", [0, 1])
def test_f14_disk_full(source, tmp_path, level):
    target = tmp_path / "x.dts"
    process = run_cli(source("a/1.jpg"), target, *ARGUMENTS, level, "--jobs", 1, code=FULL)
    _, errors = process.communicate()
    assert process.returncode == 1
    assert errors.startswith(f"dts: no room for {target}: it needs at least 33,554,432 bytes")
    assert errors.count("\n") == 1
    assert os.listdir(tmp_path) == ["source"]


def test_f16_an_existing_target_and_two_at_once(source, tmp_path):
    root, target = source(*(f"a/{k}.jpg" for k in range(40))), tmp_path / "x.dts"
    both = [run_cli(root, target, *ARGUMENTS, 1, "--jobs", 1) for _ in range(2)]
    ends = [(*process.communicate(), process.returncode) for process in both]
    assert sorted(code for _, _, code in ends) == [0, 1]
    (loser,) = [errors for _, errors, code in ends if code == 1]
    assert f"{target}" in loser
    assert "exist" in loser
    content = target.read_bytes()
    with DtsFile(target) as file:
        assert file.verify().ok
    with pytest.raises(ExportError, match="exists"):
        export_folder(root, target, level=0)
    assert target.read_bytes() == content
    assert export_folder(root, target, level=0, overwrite=True).header.num_samples == 40
    assert sorted(os.listdir(tmp_path)) == ["source", "x.dts"]


def test_check_from_the_command_line(source, tmp_path, capsys):
    """J11 at level 0: nothing decodes there unless it is asked for."""
    root = source("a/1.jpg", "a/2.jpg")
    whole = (root / "a/2.jpg").read_bytes()
    (root / "a/2.jpg").write_bytes(whole[: len(whole) * 9 // 10])
    assert cli.main(["export", str(root), str(tmp_path / "x.dts"), *ARGUMENTS, "0"]) == 0
    assert "1 files have no JPEG end marker, perhaps cut short: a/2.jpg" in capsys.readouterr().out
    arguments = ["export", str(root), str(tmp_path / "y.dts"), *ARGUMENTS, "0", "--check"]
    assert cli.main(arguments) == 1
    assert "a/2.jpg: is a JPEG file that cannot be decoded: " in capsys.readouterr().err
    assert cli.main([*arguments, "--on-error", "skip", "--jobs", "2"]) == 0
    assert "could not be packed: 1" in capsys.readouterr().out


@pytest.mark.parametrize("dataset", ["folder", "imagenet"])
def test_check_holds_for_every_data_set(source, tmp_path, dataset):
    root = source("a/1.JPEG", "a/2.JPEG", "b/3.JPEG")
    (root / "b/3.JPEG").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(50))
    with pytest.raises(ExportError, match=r"b/3\.JPEG: is a PNG file, not a JPEG"):
        export_folder(root, tmp_path / "x.dts", dataset=dataset, check=True)
    done = export_folder(
        root, tmp_path / "x.dts", dataset=dataset, check=True, on_error="skip", jobs=3
    )
    assert [name for name, _ in done.skipped] == ["b/3.JPEG"]
    plain = export_folder(root, tmp_path / "y.dts", dataset=dataset, on_error="skip")
    assert plain.header.num_samples == (2 if dataset == "folder" else 3)
