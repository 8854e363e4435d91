"""A file appears complete or not at all: failures, interrupts, races, full disks."""

import errno
import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from concurrent.futures import Executor, Future
from concurrent.futures.process import BrokenProcessPool
from types import SimpleNamespace

import pytest
from processes import heed_ctrl_c

from dts.errors import ExportError, FormatError
from dts.export import export_folder, run
from dts.export.flow import processes as pool_of_processes
from dts.export.output import OutputFile
from dts.format.extension import Extension
from dts.format.layout import sidecar_path


@pytest.fixture(params=["unnamed", "hidden", "without hard links"])
def way(request, monkeypatch):
    """Run a test for each way a file can come to its name."""
    if request.param == "unnamed":
        if not hasattr(os, "O_TMPFILE"):
            pytest.skip("unnamed files are Linux only")
        return request.param
    monkeypatch.delattr(os, "O_TMPFILE", raising=False)
    if request.param == "without hard links":

        def refuse(*_, **__):
            raise OSError(errno.EPERM, "Operation not permitted")

        monkeypatch.setattr(os, "link", refuse)
    return request.param


def test_complete_or_not_at_all(tmp_path, way):
    path = tmp_path / "x.dts"
    with OutputFile(str(path), overwrite=False) as file:
        file.write(4, b"body")
        file.write(0, b"head")
        names = os.listdir(tmp_path)
        assert names == [] if way == "unnamed" else names[0].startswith(".dts-")
        file.commit()
    assert path.read_bytes() == b"headbody"
    assert os.listdir(tmp_path) == ["x.dts"]
    mask = os.umask(0)
    os.umask(mask)
    assert path.stat().st_mode & 0o777 == 0o666 & ~mask


def test_an_error_leaves_nothing(tmp_path, way):
    def interrupted():
        with OutputFile(str(tmp_path / "x.dts"), overwrite=False) as file:
            file.write(0, b"data")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert os.listdir(tmp_path) == []


def test_an_existing_file_is_kept_until_the_new_one_is_complete(tmp_path, way):
    path = tmp_path / "x.dts"
    path.write_bytes(b"old")
    with pytest.raises(ExportError, match=r"x\.dts exists already"):
        OutputFile(str(path), overwrite=False)
    with OutputFile(str(path), overwrite=True) as file:
        file.write(0, b"new!")
        assert path.read_bytes() == b"old"
        file.commit()
    assert path.read_bytes() == b"new!"
    assert os.listdir(tmp_path) == ["x.dts"]


def test_of_two_writers_one_wins_and_the_other_says_so(tmp_path, way):
    path = tmp_path / "x.dts"
    with OutputFile(str(path), overwrite=False) as late:
        late.write(0, b"late")
        with OutputFile(str(path), overwrite=False) as early:
            early.write(0, b"early")
            early.commit()
        with pytest.raises(ExportError, match="appeared while this export ran"):
            late.commit()
    assert path.read_bytes() == b"early"
    assert os.listdir(tmp_path) == ["x.dts"]


def test_restart(tmp_path, way):
    with OutputFile(str(tmp_path / "x.dts"), overwrite=False) as file:
        file.write(100, b"much that is not wanted")
        file.restart()
        file.write(2, b"b")
        file.commit()
    assert (tmp_path / "x.dts").read_bytes() == b"\0\0b"


def test_a_linked_target_stays_a_link(tmp_path):
    (tmp_path / "real.dts").write_bytes(b"old")
    (tmp_path / "link.dts").symlink_to("real.dts")
    with OutputFile(str(tmp_path / "link.dts"), overwrite=True) as file:
        file.write(0, b"new")
        file.commit()
    assert (tmp_path / "link.dts").is_symlink()
    assert (tmp_path / "real.dts").read_bytes() == b"new"


def test_too_little_room_is_seen_beforehand(photos, tmp_path, monkeypatch):
    monkeypatch.setattr(
        shutil, "disk_usage", lambda _: SimpleNamespace(total=1 << 30, used=0, free=30 << 20)
    )
    monkeypatch.setattr(run.Run, "_write", None)
    with pytest.raises(ExportError, match=r"x\.dts: it needs at least 33,554,432 .* 30\.0 MiB"):
        export_folder(photos, tmp_path / "x.dts")
    assert os.listdir(tmp_path) == ["photos"]


FULL = """
    import resource, signal, sys
    from dts.errors import ExportError
    from dts.export import export_folder
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20 << 20, 20 << 20))
    try:
        export_folder(sys.argv[1], sys.argv[2], level=int(sys.argv[3]))
    except ExportError as error:
        print(error)
"""


ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}


@pytest.mark.skipif(sys.platform == "win32", reason="limits of a process")
@pytest.mark.parametrize("level", [0, 2])
def test_a_disk_that_fills_up(photos, tmp_path, level):
    target = str(tmp_path / "x.dts")
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(FULL), str(photos), target, str(level)],
        capture_output=True,
        text=True,
        check=True,
        env=ENVIRONMENT,
    )
    assert done.stdout.startswith(f"no room for {target}: it needs at least 33,554,432 bytes")
    assert done.stderr == ""
    assert os.listdir(tmp_path) == ["photos"]


LONG = """
    import sys
    from dts.export import export_folder
    if __name__ == "__main__":
        print("go", flush=True)
        export_folder(sys.argv[1], sys.argv[2], level=1, jobs=int(sys.argv[3]))
"""


@pytest.fixture
def long_export(tmp_path, make):
    """Start an export of 200 large pictures, in a process group of its own."""
    first = tmp_path / "src/a/0.jpg"
    make.write(first, make.jpeg(0, 1500, 1500))
    for k in range(1, 200):
        os.link(first, tmp_path / f"src/a/{k}.jpg")
    file = tmp_path / "long.py"
    file.write_text(textwrap.dedent(LONG))

    def start(jobs):
        process = subprocess.Popen(
            [sys.executable, str(file), str(tmp_path / "src"), str(tmp_path / "out"), str(jobs)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            env=ENVIRONMENT,
            preexec_fn=heed_ctrl_c,
        )
        assert process.stdout.readline() == "go\n"
        return process

    return start


@pytest.mark.skipif(sys.platform == "win32", reason="process groups")
@pytest.mark.parametrize(("jobs", "wait"), [(1, 0.3), (2, 0.0), (2, 0.2), (2, 1.0)])
def test_interrupt(long_export, tmp_path, jobs, wait):
    process = long_export(jobs)
    time.sleep(wait)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: every process gets it
    _, errors = process.communicate(timeout=20)
    assert process.returncode == -signal.SIGINT
    assert errors.count("Traceback (most recent call last)") == 1
    assert errors.endswith("KeyboardInterrupt\n")
    assert sorted(os.listdir(tmp_path)) == ["long.py", "src"]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="unnamed files")
def test_kill_leaves_no_file(long_export, tmp_path):
    process = long_export(2)
    while not (tmp_path / "out").exists():
        time.sleep(0.01)
    time.sleep(0.5)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate(timeout=20)
    assert os.listdir(tmp_path / "out") == []


@pytest.mark.parametrize("level", [0, 1])
def test_two_exports_one_target(photos, tmp_path, read, level):
    target = tmp_path / "x.dts"
    inner = []

    def meanwhile(_):
        if not inner:
            inner.append(None)
            export_folder(photos, target, level=level)

    with pytest.raises(ExportError, match=r"exists already|appeared while"):
        export_folder(photos, target, level=level, report=meanwhile)
    assert read(target).header.num_samples == 30


def test_existing_targets(photos, tmp_path):
    (tmp_path / "folder_train_lv0.dts").write_bytes(b"old")
    scanned = []
    with pytest.raises(ExportError, match="exists already"):
        export_folder(photos, tmp_path, report=scanned.append)
    assert scanned == []  # seen before any work
    assert (tmp_path / "folder_train_lv0.dts").read_bytes() == b"old"
    assert export_folder(photos, tmp_path, overwrite=True).header.num_samples == 30


def test_a_folder_that_is_not_there(photos, tmp_path):
    with pytest.raises(FileNotFoundError) as error:
        export_folder(photos, tmp_path / "no/x.dts")
    assert error.value.filename == str(tmp_path / "no")


@pytest.mark.parametrize("dataset", ["folder", "imagenet"])
def test_a_source_that_is_not_there(tmp_path, dataset):
    with pytest.raises(FileNotFoundError) as error:
        export_folder(tmp_path / "no", tmp_path / "x.dts", dataset=dataset)
    assert os.path.samefile(os.path.dirname(error.value.filename.rstrip("/")), tmp_path)
    assert os.listdir(tmp_path) == []


def test_sidecar(photos, tmp_path, monkeypatch):
    path = str(tmp_path / "x.dts")
    real = Extension.pack
    monkeypatch.setattr(Extension, "pack", lambda self: real(self, room=350))
    export_folder(photos, path)
    assert sorted(os.listdir(tmp_path)) == ["photos", "x.dts", "x.dts.dtsx"]
    assert len(Extension.from_file(path).sample_names) == 30
    monkeypatch.undo()
    export_folder(photos, path, overwrite=True)
    assert not os.path.exists(sidecar_path(path))
    assert len(Extension.from_file(path).sample_names) == 30


def test_names_too_long_for_the_extension(photos, tmp_path, monkeypatch):
    def refuse(self):
        raise FormatError("sample_names have more than 1 KiB on average")

    monkeypatch.setattr(Extension, "pack", refuse)
    with pytest.raises(ExportError, match=r"1 KiB on average \(plain stores no names\)"):
        export_folder(photos, tmp_path / "x.dts")
    assert os.listdir(tmp_path) == ["photos"]


def test_a_read_only_source_is_enough(photos, tmp_path):
    before = sorted(photos.rglob("*"))
    for path in before:
        path.chmod(0o555 if path.is_dir() else 0o444)
    export_folder(photos, tmp_path / "x.dts")
    assert sorted(photos.rglob("*")) == before
    for path in before:
        path.chmod(0o755)


class Dying(Executor):
    """Answers as a pool does that has lost a process."""

    def submit(self, *_):
        future = Future()
        future.set_exception(BrokenProcessPool("a process ended abruptly"))
        return future


def test_processes_end_at_once_with_an_exception():
    """Also those that still start up, or are at something that takes long."""

    def interrupted():
        with pool_of_processes(2) as pool:
            futures = [pool.submit(time.sleep, 60) for _ in range(2)]
            while not all(future.running() for future in futures):
                time.sleep(0.01)
            raise KeyboardInterrupt

    begin = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert time.monotonic() - begin < 30
    assert multiprocessing.active_children() == []


def test_without_shared_memory_one_process_encodes(photos, tmp_path, monkeypatch):
    class Context:
        def Event(self):
            raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    export_folder(photos, tmp_path / "a.dts", level=3)
    monkeypatch.setattr(multiprocessing, "get_context", lambda _: Context())
    with pytest.warns(UserWarning, match="this one encodes"):
        export_folder(photos, tmp_path / "b.dts", level=3, jobs=2)
    assert (tmp_path / "b.dts").read_bytes() == (tmp_path / "a.dts").read_bytes()


def test_an_encoding_process_that_dies(photos, tmp_path):
    with pytest.raises(ExportError, match="an encoding process died"):
        export_folder(photos, tmp_path / "x.dts", level=1, executor=Dying())
    assert os.listdir(tmp_path) == ["photos"]


def test_a_program_that_is_imported_anew_by_each_process_is_told_so(photos, tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "from dts.export import export_folder\n"
        f"export_folder({str(photos)!r}, {str(tmp_path / 'x.dts')!r}, level=1, jobs=2)\n"
    )
    run = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, timeout=60, env=ENVIRONMENT
    )
    assert run.returncode == 1
    assert 'outside of `if __name__ == "__main__":`' in run.stderr.splitlines()[-1]
    assert sorted(os.listdir(tmp_path)) == ["photos", "script.py"]


def test_the_bar_is_drawn_only_when_asked(photos, tmp_path, capfd):
    export_folder(photos, tmp_path / "x.dts")
    assert capfd.readouterr().err == ""
    export_folder(photos, tmp_path / "y.dts", progress=True)
    assert "packing: 100%" in capfd.readouterr().err
