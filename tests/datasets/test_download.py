"""Downloads, from a server on this machine that is slow, lies, breaks off, or knows no ranges."""

import gzip
import io
import logging
import tarfile
import threading
import time
import zlib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import make_arrays
import pytest

from dts.datasets import download as module
from dts.datasets.catalog import ARRAY_SETS
from dts.datasets.download import Archive, add_mirror, download, fetch, mirrors, say_what_to_fetch
from dts.errors import ConfigError, DtsError

DATA = bytes(range(256)) * 1000
ARCHIVE = Archive("data.bin", len(DATA), zlib.crc32(DATA))


class Server:
    """Serves `files` under http://127.0.0.1:PORT/; `requests` has path and Range of each."""

    def __init__(self):
        self.files = {}
        self.requests = []
        self.ranges = True
        self.cut = None  # bytes of each answer before the connection ends
        self.delay = 0.0  # seconds between pieces
        self.stall = 0.0  # seconds before an answer
        self.length = True  # tell Content-Length
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                outer.answer(self)

            def log_message(self, *args):
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.http.server_port}/"
        self.thread = threading.Thread(target=self.http.serve_forever, args=(0.01,))
        self.thread.start()

    def answer(self, request):
        wanted = request.headers.get("Range")
        self.requests.append((request.path, wanted))
        time.sleep(self.stall)
        data = self.files.get(request.path.lstrip("/"))
        if data is None:
            request.send_error(404, "Not here")
            return
        start = 0
        if wanted and self.ranges:
            start = int(wanted.removeprefix("bytes=").removesuffix("-"))
            if start >= len(data):
                request.send_error(416)
                return
            request.send_response(206)
            request.send_header("Content-Range", f"bytes {start}-{len(data) - 1}/{len(data)}")
        else:
            request.send_response(200)
        body = data[start:]
        if self.length:
            request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        body = body if self.cut is None else body[: self.cut]
        step = 65536 if self.delay else len(body) or 1
        for k in range(0, len(body), step):
            try:
                request.wfile.write(body[k : k + step])
            except OSError:
                return
            time.sleep(self.delay)

    def close(self):
        self.http.shutdown()
        self.http.server_close()
        self.thread.join()


@pytest.fixture
def server():
    made = Server()
    made.files["data.bin"] = DATA
    yield made
    made.close()


@pytest.fixture
def other():
    made = Server()
    made.files["data.bin"] = DATA
    yield made
    made.close()


@pytest.fixture
def target(tmp_path):
    return tmp_path / "data.bin"


def left(path):
    return sorted(p.name for p in path.parent.iterdir())


def test_a_file(server, target):
    seen = []
    fetch(ARCHIVE, str(target), [server.url], progress=seen.append)
    assert target.read_bytes() == DATA
    assert left(target) == ["data.bin"]
    assert sum(seen) == len(DATA)
    assert server.requests == [("/data.bin", None)]


def test_what_is_there_is_not_fetched_again(server, target):
    target.write_bytes(DATA)
    fetch(ARCHIVE, str(target), [server.url])
    assert server.requests == []


def test_another_file_of_that_name_is_left_alone(server, target):
    target.write_bytes(b"mine")
    with pytest.raises(ConfigError, match=r"data\.bin is there, but is not the right file"):
        fetch(ARCHIVE, str(target), [server.url])
    assert target.read_bytes() == b"mine"
    assert server.requests == []


def test_a_part_is_continued(server, target):
    (target.parent / "data.bin.part").write_bytes(DATA[:1234])
    fetch(ARCHIVE, str(target), [server.url])
    assert target.read_bytes() == DATA
    assert server.requests == [("/data.bin", "bytes=1234-")]
    assert left(target) == ["data.bin"]


def test_a_part_that_is_complete(server, target):
    (target.parent / "data.bin.part").write_bytes(DATA)
    fetch(ARCHIVE, str(target), [server.url])
    assert target.read_bytes() == DATA
    assert server.requests == []


@pytest.mark.parametrize("part", [b"wrong" * 100, b"wrong" * 100_000, b"\0" * len(DATA)])
def test_a_part_that_is_wrong(server, target, part):
    (target.parent / "data.bin.part").write_bytes(part)
    fetch(ARCHIVE, str(target), [server.url])
    assert target.read_bytes() == DATA
    assert server.requests[-1] == ("/data.bin", None)


@pytest.mark.parametrize("length", [True, False])
def test_a_server_that_breaks_off(server, target, length):
    server.cut, server.length = 50_000, length
    fetch(ARCHIVE, str(target), [server.url])
    assert target.read_bytes() == DATA
    assert server.requests == [
        ("/data.bin", None),
        *(("/data.bin", f"bytes={k}-") for k in range(50_000, len(DATA), 50_000)),
    ]


def test_a_server_that_breaks_off_and_knows_no_ranges(server, other, target):
    server.cut, server.ranges = 50_000, False
    fetch(ARCHIVE, str(target), [server.url, other.url])
    assert target.read_bytes() == DATA
    assert len(server.requests) <= 4
    assert other.requests == [("/data.bin", "bytes=50000-")]


def test_a_server_without_ranges(server, target):
    server.ranges = False
    (target.parent / "data.bin.part").write_bytes(DATA[:1234])
    fetch(ARCHIVE, str(target), [server.url])
    assert target.read_bytes() == DATA


def test_what_has_arrived_is_kept_for_the_next_try(server, target):
    server.cut, server.ranges = 50_000, False
    with pytest.raises(DtsError, match=r"ended after 50000 of 256000 bytes.*next try goes on"):
        fetch(ARCHIVE, str(target), [server.url])
    assert left(target) == ["data.bin.part"]
    server.cut, server.ranges = None, True
    server.requests.clear()
    fetch(ARCHIVE, str(target), [server.url])
    assert server.requests == [("/data.bin", "bytes=50000-")]
    assert target.read_bytes() == DATA


def test_a_slow_server_is_waited_for(server, target):
    server.delay = 0.1
    fetch(ARCHIVE, str(target), [server.url], timeout=5.0)
    assert target.read_bytes() == DATA


def test_a_server_that_stalls_is_asked_for_the_rest(server, target):
    server.delay = 3.0
    begin = time.monotonic()
    fetch(ARCHIVE, str(target), [server.url], timeout=0.2)
    assert time.monotonic() - begin < 6
    assert target.read_bytes() == DATA
    assert [wanted for _, wanted in server.requests[:2]] == [None, "bytes=65536-"]


def test_a_server_that_does_not_answer_is_given_up(server, other, target, caplog):
    server.stall = 3.0
    begin = time.monotonic()
    with caplog.at_level(logging.WARNING, "dts"):
        fetch(ARCHIVE, str(target), [server.url, other.url], timeout=0.2)
    assert time.monotonic() - begin < 6
    assert target.read_bytes() == DATA
    assert "timed out" in caplog.text
    assert len(server.requests) == 2


WRONG = {
    "wrong bytes": (b"\0" * len(DATA), "wrong content, CRC-32"),
    "short": (DATA[:-1], "has 255999 bytes, not 256000"),
    "long": (DATA + b"x", "has 256001 bytes, not 256000"),
    "page": (b"<html>log in</html>", "has 19 bytes"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_files(server, other, target, case):
    server.files["data.bin"], reason = WRONG[case]
    with pytest.raises(DtsError, match=reason) as error:
        fetch(ARCHIVE, str(target), [server.url])
    assert server.url in str(error.value)
    assert not target.exists()
    fetch(ARCHIVE, str(target), [server.url, other.url])
    assert target.read_bytes() == DATA


def test_a_long_file_without_a_length(server, target):
    server.files["data.bin"], server.length = DATA * 3, False
    with pytest.raises(DtsError, match="sends more than 256000 bytes"):
        fetch(ARCHIVE, str(target), [server.url])
    assert not target.exists()


def test_all_mirrors_are_named(server, other, target):
    server.files.clear()
    other.close()
    with pytest.raises(DtsError) as error:
        fetch(ARCHIVE, str(target), [server.url, other.url])
    assert f"{server.url}: HTTP 404" in str(error.value)
    assert f"{other.url}: " in str(error.value)


def test_several_at_once_fetch_once(server, target):
    server.delay = 0.02
    failures = []

    def work():
        try:
            fetch(ARCHIVE, str(target), [server.url])
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert failures == []
    assert server.requests == [("/data.bin", None)]
    assert left(target) == ["data.bin"]


# Sets


def packed(root, name):
    """Return the archives of a small set: {name: bytes}, and its table by split."""
    sets = make_arrays.write(name, root)
    if name == "mnist":
        files = {p.name + ".gz": gzip.compress(p.read_bytes()) for p in root.iterdir()}
        by_split = {
            split: [n for n in files if n.startswith("t10k") == (split == "val")]
            for split in ("train", "val")
        }
    else:
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w:gz") as tar:
            tar.add(root / make_arrays.FOLDERS[name], make_arrays.FOLDERS[name])
        file = {"cifar10": "cifar-10-binary.tar.gz", "cifar100": "cifar-100-binary.tar.gz"}[name]
        files = {file: out.getvalue()}
        by_split = {"train": [file], "val": [file]}
    table = {
        split: tuple(Archive(n, len(files[n]), zlib.crc32(files[n])) for n in names)
        for split, names in by_split.items()
    }
    return files, table, sets


@pytest.fixture
def served(server, tmp_path, monkeypatch):
    """Serve a small set in place of the real one."""

    def serve(name):
        files, table, sets = packed(tmp_path / f"source_{name}", name)
        monkeypatch.setitem(module.ARCHIVES, name, table)
        monkeypatch.setitem(module.MIRRORS, name, (server.url,))
        server.files.update(files)
        return sets

    return serve


@pytest.mark.parametrize("name", list(ARRAY_SETS))
def test_a_set(server, served, tmp_path, name):
    sets = served(name)
    root = tmp_path / "new" / "folder"
    download(name, root)
    for split, (pictures, labels) in sets.items():
        raw = ARRAY_SETS[name].open(root, split)
        flat, got = raw.read()
        assert flat[: pictures.size].tobytes() == pictures.tobytes()
        assert got.tolist() == labels.tolist()
        assert raw.class_names is not None
    n = len(server.requests)
    assert n == (4 if name == "mnist" else 1)
    download(name, root)
    assert len(server.requests) == n
    assert not list(root.rglob("*.part"))


def test_only_what_is_missing(server, served, tmp_path):
    served("mnist")
    download("mnist", tmp_path / "new", splits=["val"])
    assert sorted(path for path, _ in server.requests) == [
        "/t10k-images-idx3-ubyte.gz",
        "/t10k-labels-idx1-ubyte.gz",
    ]
    served("cifar10")
    download("cifar10", tmp_path / "new")
    batch = tmp_path / "new" / "cifar-10-batches-bin" / "data_batch_3.bin"
    content = batch.read_bytes()
    batch.unlink()
    n = len(server.requests)
    download("cifar10", tmp_path / "new")  # from the archive, which is still there
    assert batch.read_bytes() == content
    assert len(server.requests) == n


def test_an_archive_writes_nowhere_else(server, served, tmp_path, monkeypatch):
    served("cifar100")
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as tar:
        for name in ("../../evil", "/tmp/evil_of_dts", "a/../../train.bin", "test.bin"):
            member = tarfile.TarInfo(name)
            member.size = 3074
            tar.addfile(member, io.BytesIO(bytes(3074)))
        link = tarfile.TarInfo("cifar-100-binary/fine_label_names.txt")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        tar.addfile(link)
    data = out.getvalue()
    archive = Archive("cifar-100-binary.tar.gz", len(data), zlib.crc32(data))
    monkeypatch.setitem(module.ARCHIVES, "cifar100", {"train": (archive,), "val": (archive,)})
    server.files[archive.name] = data
    root = tmp_path / "new"
    download("cifar100", root)
    found = sorted(str(p.relative_to(root)) for p in root.rglob("*") if p.is_file())
    assert found == [
        "cifar-100-binary.tar.gz",
        "cifar-100-binary/test.bin",
        "cifar-100-binary/train.bin",
    ]


def test_an_archive_without_the_files(server, served, tmp_path, monkeypatch):
    served("cifar10")
    for data, reason in ((gzip.compress(b"x" * 2000), "unpacked"), (b"", "unpacked")):
        archive = Archive("cifar-10-binary.tar.gz", len(data), zlib.crc32(data))
        monkeypatch.setitem(module.ARCHIVES, "cifar10", {"train": (archive,), "val": (archive,)})
        server.files[archive.name] = data
        root = tmp_path / f"new{len(data)}"
        with pytest.raises(DtsError, match=reason):
            download("cifar10", root)
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as tar:
        tar.addfile(tarfile.TarInfo("test_batch.bin"))
    archive = Archive("cifar-10-binary.tar.gz", len(out.getvalue()), zlib.crc32(out.getvalue()))
    monkeypatch.setitem(module.ARCHIVES, "cifar10", {"train": (archive,), "val": (archive,)})
    server.files[archive.name] = out.getvalue()
    with pytest.raises(DtsError, match=r"holds no data_batch_1\.bin, "):
        download("cifar10", tmp_path / "other")


# Mirrors


def test_mirrors(monkeypatch):
    monkeypatch.setattr(module, "_added", {})
    monkeypatch.setenv("DTS_MIRRORS", "mnist=http://one cifar10=http://two/ mnist=http://three/x")
    add_mirror("mnist", "http://four")
    add_mirror("mnist", "http://five/")
    assert mirrors("mnist")[:4] == [
        "http://five/",
        "http://four/",
        "http://one/",
        "http://three/x/",
    ]
    assert mirrors("mnist")[4:] == list(module.MIRRORS["mnist"])
    assert mirrors("cifar10")[0] == "http://two/"
    assert mirrors("cifar100") == list(module.MIRRORS["cifar100"])


@pytest.mark.parametrize("value", ["http://one", "coco=http://one"])
def test_mirrors_that_are_none(monkeypatch, value):
    monkeypatch.setenv("DTS_MIRRORS", value)
    with pytest.raises(ConfigError, match="DTS_MIRRORS"):
        mirrors("mnist")


def test_sets_that_cannot_be_fetched(tmp_path):
    with pytest.raises(ConfigError, match="imagenet"):
        add_mirror("imagenet", "http://one")
    with pytest.raises(ConfigError, match="folder"):
        download("folder", tmp_path)


def test_the_table_is_that_of_the_makers():
    """Sizes and checksums of the files as they are given out."""
    crcs = {a.name: a.crc for t in module.ARCHIVES.values() for s in t.values() for a in s}
    assert crcs == {
        "train-images-idx3-ubyte.gz": 0xEB392171,
        "train-labels-idx1-ubyte.gz": 0x28EE680A,
        "t10k-images-idx3-ubyte.gz": 0xDF9322EE,
        "t10k-labels-idx1-ubyte.gz": 0x5C1CF43B,
        "cifar-10-binary.tar.gz": 0xF709D4BA,
        "cifar-100-binary.tar.gz": 0xB2274685,
    }
    assert all(url.startswith("https://") for urls in module.MIRRORS.values() for url in urls)


def test_what_imagenet_needs(tmp_path):
    with pytest.raises(ConfigError, match=r"ILSVRC2012_img_train\.tar") as error:
        say_what_to_fetch("imagenet", tmp_path)
    assert str(tmp_path / "val") in str(error.value)
    with pytest.raises(ConfigError, match="your own"):
        say_what_to_fetch("folder", tmp_path / "nowhere")
    (tmp_path / "imagenet_train_lv3.dts").touch()
    say_what_to_fetch("imagenet", tmp_path)
    say_what_to_fetch("imagenet", tmp_path / "imagenet_train_lv3.dts")
