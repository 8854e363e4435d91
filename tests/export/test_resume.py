"""An export that was stopped goes on, to the same bytes, and never with what is not its own."""

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
import zlib

import pytest

from dts.errors import ExportError
from dts.export import export_folder, sources
from dts.format import DtsFile

MIB16 = 16 << 20
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """Let a block of levels 1-3 hold 7 pictures, so that 30 of them make 5 blocks."""
    monkeypatch.setattr(sources, "MAX_PICTURES", (340, 7, 7, 7))


class Stop(Exception):
    """What stops an export in these tests."""


@pytest.fixture
def stop_after(monkeypatch):
    """Let the encoder stop after so many pictures; count those that are encoded."""
    real = sources.reencode
    done = []

    def reencode(data, level, **options):
        if done and len(done) == done[0]:
            raise Stop
        done.append(0)
        return real(data, level, **options)

    monkeypatch.setattr(sources, "reencode", reencode)

    def after(count):
        done[:] = [0] if count is None else [count]

    return after, done


def left(folder):
    return sorted(n for n in os.listdir(folder) if n.startswith(".") or n.endswith(".dts"))


PARTS = [".x.dts.part", ".x.dts.part.journal"]


@pytest.mark.parametrize(("count", "volumes"), [(3, None), (20, None), (30, 2)])
def test_a_stopped_export_goes_on_to_the_same_bytes(photos, tmp_path, stop_after, count, volumes):
    after, done = stop_after
    options = {"level": 2, "volumes": volumes}
    after(None)
    wanted = export_folder(photos, tmp_path / "whole.dts", **options)
    after(count)
    with pytest.raises(Stop):
        export_folder(photos, tmp_path / "x.dts", resume=True, **options)
    assert [n for n in left(tmp_path) if "whole" not in n] == PARTS
    after(None)
    result = export_folder(photos, tmp_path / "x.dts", resume=True, **options)
    came = (count - 1) // sources.ENCODED_AT_ONCE * sources.ENCODED_AT_ONCE
    finished = max(0, came - 1) // 7  # a block is written when a picture does not fit any more
    assert len(done) - 1 == 30 - 7 * finished
    for one, two in zip(wanted.paths, result.paths, strict=True):
        with open(one, "rb") as a, open(two, "rb") as b:
            assert a.read() == b.read()
    assert [n for n in left(tmp_path) if "whole" not in n and n.startswith(".")] == []


@pytest.mark.parametrize("volumes", [None, 2])
def test_a_stop_at_the_very_end(photos, tmp_path, stop_after, monkeypatch, volumes):
    after, done = stop_after
    after(None)
    options = {"level": 1, "volumes": volumes}
    whole = export_folder(photos, tmp_path / "whole.dts", **options)

    def stop(*_):
        raise Stop

    with monkeypatch.context() as patched:
        patched.setattr("dts.export.volumes.Target.commit", stop)
        with pytest.raises(Stop):
            export_folder(photos, tmp_path / "x.dts", resume=True, **options)
    after(None)
    result = export_folder(photos, tmp_path / "x.dts", resume=True, **options)
    # What was in the file of the last block, or had been moved to the second volume, is made anew.
    assert len(done) - 1 == {None: 0, 2: 16}[volumes]
    for one, two in zip(whole.paths, result.paths, strict=True):
        with open(one, "rb") as a, open(two, "rb") as b:
            assert a.read() == b.read()


def test_without_resume_nothing_is_left(photos, tmp_path, stop_after):
    after, _ = stop_after
    after(20)
    with pytest.raises(Stop):
        export_folder(photos, tmp_path / "x.dts", level=1)
    assert left(tmp_path) == []


def stopped(photos, path, stop_after, count=20, **options):
    after, _ = stop_after
    after(count)
    with pytest.raises(Stop):
        export_folder(photos, path, level=1, resume=True, **options)
    after(None)


@pytest.mark.parametrize("what", ["bytes", "table", "short", "gone"])
def test_blocks_are_checked_before_they_are_used(photos, tmp_path, stop_after, what):
    whole = export_folder(photos, tmp_path / "whole.dts", level=1)
    stopped(photos, tmp_path / "x.dts", stop_after)
    part = tmp_path / PARTS[0]
    if what == "short":
        os.truncate(part, 2 * MIB16 + 5)
    elif what == "gone":
        part.unlink()
    else:
        with open(part, "r+b") as file:
            file.seek(MIB16 + {"bytes": 17000, "table": 13}[what])
            file.write(b"\xaa\xbb")
    result = export_folder(photos, tmp_path / "x.dts", level=1, resume=True)
    with open(whole.path, "rb") as a, open(result.path, "rb") as b:
        assert a.read() == b.read()


@pytest.mark.parametrize("cut", [1, 60, 10_000])
def test_a_journal_that_is_cut_off_counts_as_far_as_it_goes(photos, tmp_path, stop_after, cut):
    whole = export_folder(photos, tmp_path / "whole.dts", level=1)
    stopped(photos, tmp_path / "x.dts", stop_after)
    journal = tmp_path / PARTS[1]
    os.truncate(journal, max(0, journal.stat().st_size - cut))
    result = export_folder(photos, tmp_path / "x.dts", level=1, resume=True)
    with open(whole.path, "rb") as a, open(result.path, "rb") as b:
        assert a.read() == b.read()


def test_a_journal_of_another_source_is_never_used(photos, tmp_path, stop_after, make):
    path = tmp_path / "x.dts"
    stopped(photos, path, stop_after)
    make.write(photos / "c0/00.jpg", make.jpeg(77, 40, 60))
    with pytest.raises(ExportError, match=r"\.journal is of another export \(source changed\)"):
        export_folder(photos, path, level=1, resume=True)
    with pytest.raises(ExportError, match=r"\((source, )?level changed\): remove it and"):
        export_folder(photos, path, level=2, resume=True)
    assert left(tmp_path) == PARTS
    for name in PARTS:
        (tmp_path / name).unlink()
    assert export_folder(photos, path, level=1, resume=True).header.num_samples == 30


def test_the_time_of_a_file_counts_too(photos, tmp_path, stop_after):
    stopped(photos, tmp_path / "x.dts", stop_after)
    os.utime(photos / "c1/01.jpg", ns=(1, 1))
    with pytest.raises(ExportError, match="source changed"):
        export_folder(photos, tmp_path / "x.dts", level=1, resume=True)


def test_another_pillow_begins_anew_only_when_told(photos, tmp_path, stop_after, monkeypatch):
    stopped(photos, tmp_path / "x.dts", stop_after)
    monkeypatch.setattr("PIL.__version__", "0.1")
    with pytest.raises(ExportError, match="pillow changed"):
        export_folder(photos, tmp_path / "x.dts", level=1, resume=True)


def test_an_export_without_resume_leaves_the_parts_alone(photos, tmp_path, stop_after):
    stopped(photos, tmp_path / "x.dts", stop_after)
    before = {name: (tmp_path / name).read_bytes() for name in PARTS}
    export_folder(photos, tmp_path / "x.dts", level=1)
    assert {name: (tmp_path / name).read_bytes() for name in PARTS} == before


def test_pictures_that_were_left_out_stay_left_out(photos, tmp_path, stop_after):
    for k in (4, 11, 17):
        (photos / f"c{k % 3}/{k:02d}.jpg").write_bytes(b"\xff\xd8 no picture")
    options = {"level": 1, "on_error": "skip"}
    whole = export_folder(photos, tmp_path / "whole.dts", **options)
    stopped(photos, tmp_path / "x.dts", stop_after, count=22, on_error="skip")
    result = export_folder(photos, tmp_path / "x.dts", resume=True, **options)
    assert len(result.skipped) == 3
    assert set(result.skipped) == set(whole.skipped)
    with open(whole.path, "rb") as a, open(result.path, "rb") as b:
        assert a.read() == b.read()


@pytest.mark.skipif(sys.platform == "win32", reason="file locks")
def test_two_exports_do_not_share_a_part(photos, tmp_path):
    inner = []

    def meanwhile(_):
        if not inner:
            inner.append(None)
            with pytest.raises(ExportError, match="another export is at work on it"):
                export_folder(photos, tmp_path / "x.dts", level=1, resume=True)

    class Executor(sources.ThreadPoolExecutor):
        def submit(self, *args):
            meanwhile(None)
            return super().submit(*args)

    with Executor(1) as pool:
        export_folder(photos, tmp_path / "x.dts", level=1, resume=True, executor=pool)
    assert inner == [None]


KILLED = """
    import sys, time
    from dts.export import export_folder, sources
    sources.MAX_PICTURES = (340, 7, 7, 7)
    real = sources.reencode
    def slow(data, level, **options):
        time.sleep(0.02)
        return real(data, level, **options)
    sources.reencode = slow
    export_folder(sys.argv[1], sys.argv[2], level=1, resume=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL")
def test_kill_and_go_on(photos, tmp_path):
    whole = export_folder(photos, tmp_path / "whole.dts", level=1)
    journal = tmp_path / PARTS[1]
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(KILLED), str(photos), str(tmp_path / "x.dts")],
        env=ENVIRONMENT,
    )
    deadline = time.monotonic() + 60
    while not (journal.exists() and journal.read_bytes().count(b"\n") >= 3):
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    lines = journal.read_bytes().splitlines()
    assert all(int(line[-8:], 16) == zlib.crc32(line[:-9]) for line in lines)
    assert json.loads(lines[1][:-9])["next"] == 7
    result = export_folder(photos, tmp_path / "x.dts", level=1, resume=True)
    with open(whole.path, "rb") as a, open(result.path, "rb") as b:
        assert a.read() == b.read()
    assert left(tmp_path) == ["whole.dts", "x.dts"]
    with DtsFile(result.path) as file:
        assert file.verify().ok
