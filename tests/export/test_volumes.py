"""One set in several files: names, counts, the same samples under the same ids, all or nothing."""

import os
from types import SimpleNamespace

import numpy as np
import pytest

from dts import Preprocessor, Resize
from dts.errors import ConfigError, ExportError
from dts.export import export_folder, sources
from dts.export.output import OutputFile
from dts.export.volumes import split_blocks
from dts.format import DtsFile, read_header
from dts.format.layout import sidecar_path

MIB16 = 16 << 20


@pytest.fixture
def small_blocks(monkeypatch):
    """Let a block of levels 1-3 hold 7 pictures, so that 30 of them make 5 blocks."""
    monkeypatch.setattr(sources, "MAX_PICTURES", (340, 7, 7, 7))


def contents(path):
    with DtsFile(path) as file:
        samples = [(bytes(data), label) for data, label in file]
        return samples, list(file.names), file.class_names, file.source_sizes.tolist()


def names(folder):
    return sorted(name for name in os.listdir(folder) if name != "photos")


@pytest.mark.parametrize("level", [0, 1])
@pytest.mark.parametrize("volumes", [2, 3, 5])
def test_volumes_hold_the_samples_of_one_file(photos, tmp_path, small_blocks, level, volumes):
    options = {"level": level, "min_blocks": 5 if level == 0 else None}
    single = export_folder(photos, tmp_path / "one.dts", **options)
    assert single.header.num_blocks == 5
    result = export_folder(photos, tmp_path / "set.dts", volumes=volumes, **options)
    wanted = [f"set_vol{v:03d}.dts" for v in range(volumes)]
    assert names(tmp_path) == ["one.dts", *wanted]
    assert [os.path.basename(path) for path in result.paths] == wanted
    blocks = [header.num_blocks for header in result.headers]
    assert sum(blocks) == 5
    assert max(blocks) - min(blocks) <= 1
    for v, path in enumerate(result.paths):
        header = read_header(path)
        assert header == result.headers[v]
        assert (header.volume_id, header.num_volumes, header.total_blocks) == (v, volumes, 5)
        assert header.total_bytes == os.path.getsize(path) == (1 + blocks[v]) * MIB16
        assert contents(path) == contents(tmp_path / "one.dts")
    assert sum(header.num_samples for header in result.headers) == 30
    with DtsFile(result.path) as file:
        report = file.verify()
    assert report.ok
    assert report.pinpointed
    assert all(path in str(result) for path in result.paths)


@pytest.mark.parametrize("level", [0, 2])
def test_volume_size(photos, tmp_path, small_blocks, level):
    options = {"level": level, "min_blocks": 5 if level == 0 else None}
    result = export_folder(photos, tmp_path / "s.dts", volume_size=3 * MIB16 + 5, **options)
    assert [header.num_blocks for header in result.headers] == [1, 2, 2]
    assert all(os.path.getsize(path) <= 3 * MIB16 for path in result.paths)
    result = export_folder(photos, tmp_path / "t.dts", volume_size=6 * MIB16, **options)
    assert names(tmp_path)[-1] == "t.dts"  # a set of one file is a file


def test_blocks_are_cut_evenly_and_in_order():
    for blocks in range(1, 40):
        for volumes in range(1, blocks + 1):
            parts = split_blocks(blocks, volumes)
            assert [k for part in parts for k in part] == list(range(blocks))
            assert max(map(len, parts)) - min(map(len, parts)) <= 1


def test_settings_that_cannot_work(photos, tmp_path):
    for options in (
        {"volumes": 0},
        {"volumes": 2, "volume_size": 1 << 30},
        {"volume_size": 2 * MIB16 - 1},
        {"append": True, "overwrite": True},
        {"resume": True},
    ):
        with pytest.raises(ConfigError):
            export_folder(photos, tmp_path / "x.dts", **options)
    with pytest.raises(ExportError, match="1 blocks cannot be cut into 2 volumes"):
        export_folder(photos, tmp_path / "x.dts", volumes=2)
    assert names(tmp_path) == []


def test_plain_volumes(photos, tmp_path):
    result = export_folder(photos, tmp_path / "x.dts", volumes=2, min_blocks=2, plain=True)
    with DtsFile(result.path) as file:
        assert len(file) == 30
        assert file.names is None
        assert file.verify().ok


@pytest.mark.parametrize("fails_at", [0, 1, 2])
def test_all_names_or_none(photos, tmp_path, monkeypatch, fails_at):
    real = OutputFile.commit
    calls = []

    def commit(self):
        calls.append(self.path)
        if len(calls) == fails_at + 1:
            raise OSError(5, "Input/output error", self.path)
        real(self)

    monkeypatch.setattr(OutputFile, "commit", commit)
    with pytest.raises(OSError, match="Input/output"):
        export_folder(photos, tmp_path / "x.dts", volumes=3, min_blocks=3)
    assert names(tmp_path) == []


def test_the_first_volume_appears_last(photos, tmp_path, monkeypatch):
    real = OutputFile.commit
    seen = []

    def commit(self):
        real(self)
        seen.append(names(tmp_path))

    monkeypatch.setattr(OutputFile, "commit", commit)
    export_folder(photos, tmp_path / "x.dts", volumes=3, min_blocks=3)
    assert seen[0] == ["x_vol002.dts"]
    assert seen[1] == ["x_vol001.dts", "x_vol002.dts"]


def test_a_name_that_is_taken_meanwhile(photos, tmp_path):
    def meanwhile(_):
        (tmp_path / "x_vol001.dts").write_bytes(b"mine")

    with pytest.raises(ExportError, match=r"x_vol001\.dts (appeared|exists)"):
        export_folder(photos, tmp_path / "x.dts", volumes=3, min_blocks=3, report=meanwhile)
    assert names(tmp_path) == ["x_vol001.dts"]
    assert (tmp_path / "x_vol001.dts").read_bytes() == b"mine"


def test_what_is_there_is_refused_in_either_form(photos, tmp_path):
    export_folder(photos, tmp_path / "x.dts", volumes=2, min_blocks=2)
    with pytest.raises(ExportError, match=r"x_vol000\.dts exists already"):
        export_folder(photos, tmp_path / "x.dts")
    export_folder(photos, tmp_path / "y.dts")
    with pytest.raises(ExportError, match=r"y\.dts exists already"):
        export_folder(photos, tmp_path / "y.dts", volumes=2, min_blocks=2)


def test_overwriting_leaves_nothing_of_the_old_set(photos, tmp_path):
    path = tmp_path / "x.dts"
    export_folder(photos, path, volumes=4, min_blocks=4)
    (tmp_path / "x_vol003.dts.dtsx").write_bytes(b"old")
    result = export_folder(photos, path, volumes=2, min_blocks=4, overwrite=True)
    assert names(tmp_path) == ["x_vol000.dts", "x_vol001.dts"]
    assert len(contents(result.path)[0]) == 30
    export_folder(photos, path, overwrite=True)
    assert names(tmp_path) == ["x.dts"]
    export_folder(photos, path, volumes=2, min_blocks=2, overwrite=True)
    assert names(tmp_path) == ["x_vol000.dts", "x_vol001.dts"]


def test_what_a_killed_export_left_is_in_the_way_until_told(photos, tmp_path):
    path = tmp_path / "x.dts"
    export_folder(photos, path, volumes=4, min_blocks=4)
    (tmp_path / "x_vol000.dts").unlink()  # a kill before the first volume got its name
    for options in ({}, {"volumes": 2, "min_blocks": 2}):
        with pytest.raises(ExportError, match=r"x_vol001\.dts exists already"):
            export_folder(photos, path, **options)
    export_folder(photos, path, volumes=2, min_blocks=2, overwrite=True)
    assert names(tmp_path) == ["x_vol000.dts", "x_vol001.dts"]


def test_each_volume_has_its_own_sidecar(photos, tmp_path, monkeypatch):
    from dts.format.extension import Extension

    real = Extension.pack
    monkeypatch.setattr(Extension, "pack", lambda self: real(self, room=280))
    result = export_folder(photos, tmp_path / "x.dts", volumes=2, min_blocks=2)
    assert all(os.path.exists(sidecar_path(path)) for path in result.paths)
    monkeypatch.undo()
    assert len(contents(result.path)[1]) == 30


def test_the_disk_must_hold_all_volumes(photos, tmp_path, monkeypatch):
    import shutil

    usage = SimpleNamespace(total=1 << 40, used=0, free=5 * MIB16)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage)
    with pytest.raises(ExportError, match=f"at least {6 * MIB16:,} bytes"):
        export_folder(photos, tmp_path / "x.dts", volumes=2, min_blocks=4)
    assert names(tmp_path) == []


def test_training_does_not_notice_the_volumes(photos, tmp_path):
    def epoch(folder):
        setup = Preprocessor.setup().dataset("folder", str(folder)).batch_size(7).seed(3)
        setup = setup.train_transforms(Resize((32, 32)))
        with setup.fully_mode(True).commit() as pre:
            return [(b.ids.tolist(), np.array(b.images), b.labels.tolist()) for b in pre.train(1)]

    for name, volumes in (("one", None), ("three", 3)):
        (tmp_path / name).mkdir()
        export_folder(photos, tmp_path / name, volumes=volumes, min_blocks=4)
    one, three = epoch(tmp_path / "one"), epoch(tmp_path / "three")
    assert len(one) == len(three)
    for (ids, images, labels), (others, pixels, classes) in zip(one, three, strict=True):
        assert (ids, labels) == (others, classes)
        assert np.array_equal(images, pixels)
