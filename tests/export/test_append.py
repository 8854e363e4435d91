"""Adding volumes to a set: what is there stays as it is, at every moment a set can be read."""

import contextlib
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from dts.errors import ExportError, FormatError
from dts.export import export_folder
from dts.format import DtsFile, read_header

ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}


@pytest.fixture
def more(tmp_path, make):
    """Make a second folder: 6 pictures of the classes of `photos`."""
    root = tmp_path / "more"
    for k in range(6):
        make.write(root / f"c{k % 3}" / f"more{k}.jpg", make.jpeg(100 + k, 30, 40))
    return root


def samples(path):
    with DtsFile(path) as file:
        assert file.verify().ok
        pairs = zip(file.names, file, strict=True)
        return {name: (bytes(data), label) for name, (data, label) in pairs}


def test_append_to_a_set(photos, more, tmp_path):
    first = export_folder(photos, tmp_path / "x.dts", volumes=2, min_blocks=2)
    before = samples(first.path)
    bytes_before = [Path(path).read_bytes() for path in first.paths]
    result = export_folder(more, tmp_path / "x.dts", append=True)
    assert [os.path.basename(path) for path in result.paths] == ["x_vol002.dts"]
    assert [Path(path).read_bytes() for path in first.paths] == bytes_before
    header = read_header(result.path)
    assert (header.volume_id, header.num_volumes, header.total_blocks) == (2, 3, 3)
    assert (header.num_blocks, header.num_samples) == (1, 6)
    with DtsFile(first.path) as file:
        assert (len(file), len(file.paths)) == (36, 3)
        assert [file.find(id)[0] for id in (0, 29, 30, 35)] == [0, 1, 2, 2]
    after = samples(first.path)
    assert {name: after[name] for name in before} == before
    assert len(after) == 36


def test_append_again_and_several(photos, more, tmp_path, make):
    export_folder(photos, tmp_path / "x.dts", volumes=2, min_blocks=2)
    export_folder(more, tmp_path / "x_vol001.dts", append=True, volumes=2, min_blocks=2)
    third = tmp_path / "third"
    make.write(third / "c1/z.jpg", make.jpeg(200, 20, 20))
    result = export_folder(third, tmp_path / "x.dts", append=True)
    counts = [
        (h.volume_id, h.num_volumes, h.total_blocks)
        for h in (read_header(tmp_path / f"x_vol{v:03d}.dts") for v in range(5))
    ]
    assert counts == [(0, 2, 2), (1, 2, 2), (2, 4, 4), (3, 4, 4), (4, 5, 5)]
    found = samples(result.path)
    assert len(found) == 37
    assert found["c1/z.jpg"][1] == 1


def test_append_to_a_single_file_makes_it_volume_0(photos, more, tmp_path, monkeypatch):
    from dts.format.extension import Extension

    real = Extension.pack
    monkeypatch.setattr(Extension, "pack", lambda self: real(self, room=350))
    export_folder(photos, tmp_path / "x.dts")
    monkeypatch.undo()
    data = (tmp_path / "x.dts").read_bytes()
    export_folder(more, tmp_path / "x.dts", append=True)
    names = sorted(n for n in os.listdir(tmp_path) if n.startswith("x"))
    assert names == ["x_vol000.dts", "x_vol000.dts.dtsx", "x_vol001.dts"]
    assert (tmp_path / "x_vol000.dts").read_bytes() == data
    assert len(samples(tmp_path / "x.dts")) == 36


@pytest.mark.parametrize("level", [1, 2])
def test_append_at_other_levels(photos, more, tmp_path, level):
    export_folder(photos, tmp_path / "x.dts", level=level)
    export_folder(more, tmp_path / "x.dts", level=level, append=True)
    assert len(samples(tmp_path / "x.dts")) == 36


def test_append_by_the_standard_name(photos, more, tmp_path):
    (tmp_path / "out").mkdir()
    export_folder(photos, tmp_path / "out")
    export_folder(more, tmp_path / "out", append=True)
    assert len(samples(tmp_path / "out/folder_train_lv0.dts")) == 36


def test_what_cannot_be_appended(photos, more, tmp_path, make):
    path = tmp_path / "x.dts"
    with pytest.raises(FileNotFoundError):
        export_folder(more, path, append=True)
    export_folder(photos, path)
    with pytest.raises(ExportError, match="its level is 0, not 1"):
        export_folder(more, path, append=True, level=1)
    with pytest.raises(ExportError, match="its split is train, not val"):
        export_folder(more, path, append=True, split="val")
    with pytest.raises(ExportError, match="30 names are in the set already"):
        export_folder(photos, path, append=True)
    make.write(more / "new/a.jpg", make.jpeg(1, 20, 20))
    with pytest.raises(ExportError, match="not in the class list: new"):
        export_folder(more, path, append=True)
    with pytest.raises(ExportError, match="class list differs"):
        export_folder(more, path, append=True, classes=["c0", "c1", "c2", "new"])
    assert sorted(os.listdir(tmp_path)) == ["more", "photos", "x.dts"]


def test_plain_sets_take_what_has_as_many_classes(photos, more, tmp_path, make):
    export_folder(photos, tmp_path / "x.dts", plain=True)
    make.write(more / "c3/a.jpg", make.jpeg(1, 20, 20))
    with pytest.raises(ExportError, match="cannot append 4 classes to a plain set of 3"):
        export_folder(more, tmp_path / "x.dts", append=True)
    (more / "c3/a.jpg").unlink()
    (more / "c3").rmdir()
    export_folder(more, tmp_path / "x.dts", append=True, plain=True)
    with DtsFile(tmp_path / "x.dts") as file:
        assert len(file) == 36


KILLED = """
    import os, sys
    from dts.export import export_folder
    left = int(sys.argv[3])
    def dying(name):
        real = getattr(os, name)
        def call(*args, **options):
            global left
            if left == 0:
                os._exit(9)
            left -= 1
            return real(*args, **options)
        setattr(os, name, call)
    for name in ("link", "rename", "replace", "unlink", "fsync"):
        dying(name)
    export_folder(sys.argv[1], sys.argv[2], append=True, volumes=2, min_blocks=2)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="unnamed files")
def test_a_kill_at_any_step_leaves_the_old_set_or_the_new(photos, more, tmp_path):
    steps, seen = 0, []
    while not seen or seen[-1][0]:
        out = tmp_path / f"out{steps}"
        out.mkdir()
        export_folder(photos, out / "x.dts")  # a single file: it gets another name, too
        script = textwrap.dedent(KILLED)
        done = subprocess.run(
            [sys.executable, "-c", script, str(more), str(out / "x.dts"), str(steps)],
            env=ENVIRONMENT,
            check=False,
        )
        assert done.returncode in (0, 9)
        half = pytest.warns(UserWarning, match="not there")
        with half if strays(out) else contextlib.nullcontext():
            seen.append((done.returncode, len(samples(out / "x.dts"))))
        steps += 1
    assert steps > 4
    assert {count for _, count in seen} == {30, 36}
    assert seen[-1] == (0, 36)


def strays(out):
    """Tell whether a volume lies behind a gap."""
    numbers = sorted(int(name[5:8]) for name in os.listdir(out) if "_vol" in name)
    return bool(numbers) and numbers != list(range(len(numbers)))


@pytest.mark.filterwarnings("ignore:.*volume 1 is not there")
def test_a_stopped_append_is_in_the_way_until_it_is_removed(photos, more, tmp_path):
    export_folder(photos, tmp_path / "x.dts")
    export_folder(more, tmp_path / "x.dts", append=True, volumes=2, min_blocks=2)
    (tmp_path / "x_vol001.dts").unlink()  # a kill between the two names
    with pytest.raises(ExportError, match=r"x_vol002\.dts is there, and not part of the set"):
        export_folder(more, tmp_path / "x.dts", append=True)
    (tmp_path / "x_vol002.dts").unlink()
    export_folder(more, tmp_path / "x.dts", append=True)
    assert len(samples(tmp_path / "x.dts")) == 36


def test_a_lost_volume_in_the_middle_is_not_passed_over_in_silence(photos, more, tmp_path, make):
    export_folder(photos, tmp_path / "x.dts")
    export_folder(more, tmp_path / "x.dts", append=True)
    make.write(tmp_path / "third/c1/z.jpg", make.jpeg(200, 20, 20))
    export_folder(tmp_path / "third", tmp_path / "x.dts", append=True)
    (tmp_path / "x_vol001.dts").unlink()
    with pytest.warns(UserWarning, match=r"volume 1 is not there, but x_vol002\.dts is"):
        assert len(DtsFile(tmp_path / "x_vol000.dts")) == 30
    with pytest.raises(FormatError, match=r"x_vol001\.dts: volume 1 of 3 is missing"):
        DtsFile(tmp_path / "x_vol002.dts")
