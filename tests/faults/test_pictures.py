"""Each picture of the fault log (J-cases), decoded, exported and streamed.

Every case goes every way at once: one export at level 0, one with ``check=True``, one at level 1,
one epoch with each policy over a file that holds them all, and each of this with a libjpeg and
with the simplejpeg fallback.
"""

import os
import re
import sys
import tempfile
import warnings
from contextlib import contextmanager
from types import SimpleNamespace

import fault_cases as cases
import make
import numpy as np
import pytest
import reference

from dts import Preprocessor, RandomErasing, RandomHorizontalFlip, RandomResizedCrop, decode
from dts.errors import CorruptError, DecodeError
from dts.export import export_folder, pictures
from dts.export.errors import PictureError
from dts.format import DtsFile
from dts.format.layout import HEADER_AREA

CASES = {**cases.jpegs(), **cases.others()}
SIZE = (48, 64)


def refusal(case, backend):
    """Pattern of the reason why a decoder refuses a case; empty: it decodes."""
    if backend == "simplejpeg" and case.fallback:
        return case.fallback
    return case.reason


def pixels_of(case):
    return case.like(case.data) if callable(case.like) else case.like


@contextmanager
def silence():
    """Whatever C code or a thread may print is an error."""
    with tempfile.TemporaryFile() as file:
        before = [os.dup(fd) for fd in (1, 2)]
        try:
            for fd in (1, 2):
                os.dup2(file.fileno(), fd)
            yield
        finally:
            for fd, old in zip((1, 2), before, strict=True):
                os.dup2(old, fd)
                os.close(old)
        file.seek(0)
        assert file.read() == b""


def epoch(path, setup, policy, size=SIZE):
    """Images and errors by id, the number of batches, and the counts afterwards."""
    chain = setup(path, size).batch_size(1).output("uint8").on_error(policy)
    with chain.commit() as pre, warnings.catch_warnings():
        warnings.filterwarnings("ignore", "batch .* is empty", RuntimeWarning)
        images, errors, turns = {}, {}, 0
        iterator = iter(pre.train(0))
        while True:
            try:
                batch = next(iterator)
            except StopIteration:
                break
            except DecodeError as error:
                errors[error.id] = error
            else:
                images |= {int(i): x.copy() for i, x in zip(batch.ids, batch.images, strict=True)}
            turns += 1
        assert turns == pre.steps_per_epoch
        return SimpleNamespace(images=images, errors=errors, stats=pre.stats()["train"])


@pytest.fixture(scope="module")
def ways(backend, setup, tmp_path_factory):
    """All cases, every way."""
    root = tmp_path_factory.mktemp("ways")
    for name, case in CASES.items():
        folder = root / "source" / ("odd" if name > "J2" else "old")
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.jpg").write_bytes(case.data)
    result = SimpleNamespace(exports={}, names={}, epochs={})
    with silence():
        for way, options in (
            ("stored", {"level": 0}),
            ("checked", {"level": 0, "check": True, "jobs": 2}),
            ("encoded", {"level": 1}),
        ):
            target = root / way / "folder_train.dts"
            target.parent.mkdir()
            done = export_folder(
                root / "source", target, on_error="skip", progress=False, **options
            )
            result.exports[way] = {os.path.basename(n)[:-4]: why for n, why in done.skipped}
            result.names[way] = done
        packed = [(case.data, k % 3) for k, case in enumerate(CASES.values())]
        path = make.pack_blocks(root / "folder_train_lv0.dts", [packed])
        for policy in ("raise", "skip", "replace"):
            result.epochs[policy] = epoch(path, setup, policy)
    return result


@pytest.mark.parametrize("name", CASES)
def test_decode(name, backend):
    case = CASES[name]
    decoder = decode.Decoder()
    wrong = refusal(case, backend)
    with silence():
        if wrong:
            for run in (decoder.decode, decoder.check, decode.decode):
                with pytest.raises(DecodeError, match=wrong):
                    run(case.data)
            return
        whole = decoder.decode(case.data)
        assert decoder.warnings == case.oddities
        assert np.abs(whole.astype(int) - pixels_of(case)).max() <= case.off
        assert decoder.check(case.data) == case.oddities
        height, width = whole.shape[:2]
        for box in ((0, 0, width, 1), (width // 3, height // 3, width - width // 2, 1)):
            x, y, w, h = box
            assert np.array_equal(decode.decode(case.data, box), whole[y : y + h, x : x + w])


@pytest.mark.parametrize("name", CASES)
def test_export_level_0(name, ways):
    """Headers are read: what no loader could decode is named, every other byte is stored."""
    case, why = CASES[name], ways.exports["stored"].get(name, "")
    assert bool(why) == bool(case.stored)
    assert re.search(case.stored, why)
    if not why:
        with DtsFile(ways.names["stored"].path) as file:
            id = next(i for i, n in enumerate(file.names) if n.endswith(f"/{name}.jpg"))
            assert bytes(file[id][0]) == case.data


@pytest.mark.parametrize("name", CASES)
def test_export_level_0_checked(name, ways, backend):
    """With check=True all that would fail in the loader is found before."""
    case, why = CASES[name], ways.exports["checked"].get(name, "")
    wrong = refusal(case, backend)
    if name == "J09":  # judged with an end marker, which the fallback wants
        wrong = ""
    assert bool(why) == bool(wrong)
    assert re.search(case.stored or wrong, why)


@pytest.mark.parametrize("name", CASES)
def test_export_level_1(name, ways, backend):
    case, why = CASES[name], ways.exports["encoded"].get(name, "")
    refused = case.encoded
    if backend == "simplejpeg" and case.fallback and name != "J09":
        refused = "cannot be decoded: simplejpeg: "
    elif refused == "FALLBACK":
        refused = ""
    assert bool(why) == bool(refused), why
    assert re.search(refused, why)
    if why:
        return
    with DtsFile(ways.names["encoded"].path) as file:
        id = next(i for i, n in enumerate(file.names) if n.endswith(f"/{name}.jpg"))
        got = decode.decode(file[id][0])
    wanted = pixels_of(case)
    if min(wanted.shape[:2]) < 8 or "J04" in name or "unnamed" in name or name == "J19":
        assert got.shape == wanted.shape  # noise, or hardly any pixels to speak of
    else:
        assert got.shape == wanted.shape
        assert np.abs(got.astype(int) - wanted).mean() < case.off + 5


@pytest.mark.parametrize("policy", ["raise", "skip", "replace"])
@pytest.mark.parametrize("name", CASES)
def test_epoch(name, policy, ways, backend):
    case, id = CASES[name], list(CASES).index(name)
    wrong = refusal(case, backend)
    run = ways.epochs[policy]
    if not wrong:
        whole = decode.decode(case.data)
        assert np.array_equal(run.images[id], reference.centre_crop(whole, *SIZE))
        return
    assert id not in run.images
    if policy == "raise":
        error = run.errors[id]
        assert re.search(wrong, error.reason)
        assert error.name.endswith(f"{id:06d}.jpg")
        assert error.path.endswith("folder_train_lv0.dts")
        assert (error.block, error.sample) == (0, id)
    else:
        assert run.errors == {}


def test_all_are_counted(ways, backend):
    wrong = [n for n, c in CASES.items() if refusal(c, backend)]
    assert ways.epochs["skip"].stats["skipped"] == len(wrong)
    assert ways.epochs["replace"].stats["replaced"] == len(wrong)
    assert len(ways.epochs["skip"].stats["errors"]) == len(wrong)
    if backend != "simplejpeg":
        # J09 and J13. Their last rows are not cropped away, so both are seen.
        assert ways.epochs["skip"].stats["decode_warnings"] == 2


def test_the_result_of_an_export_names_what_is_odd(ways, backend):
    text = str(ways.names["encoded"])
    assert "4 files are no JPEGs, and were converted: " in text
    if backend == "simplejpeg":
        assert "1 files have stray bytes or no end marker, but every pixel: old/J09.jpg" in text
    else:
        assert "2 files have stray bytes or no end marker, but every pixel: " in text
    assert "end marker, perhaps cut short" in str(ways.names["stored"])
    assert "perhaps cut short" not in str(ways.names["checked"])


@pytest.mark.parametrize("side", [224])
def test_j25_j26_every_transform_takes_every_shape(side, tmp_path):
    """Also N03 and N05: crops of at least a pixel, erase boxes that cannot fit."""
    names = [n for n in CASES if n.startswith(("J25", "J26"))]
    blocks = [[(CASES[n].data, 0) for n in names] + [(make.jpeg(0, 300, 5), 0)]]
    path = make.pack_blocks(tmp_path / "folder_train_lv0.dts", blocks)
    chain = Preprocessor.setup().dataset("folder", path).batch_size(9).labels("int64")
    chain.train_transforms(RandomResizedCrop(side), RandomHorizontalFlip(), RandomErasing(1.0))
    with chain.commit() as pre:
        for n in range(3):
            for batch in pre.train(n):
                assert batch.images.shape[1:] == (side, side, 3)
                assert np.isfinite(batch.images).all()


def test_j22_noise_in_the_scan_is_found_by_the_checksum(tmp_path, setup):
    """No decoder sees it for certain; in a .dts file the CRC does."""
    path, _ = make.pack(tmp_path, [cases.base()] * 3, classes=1)
    at = path.read_bytes().index(cases.base())
    noisy = cases.noise_inside(cases.base())
    assert len(noisy) == len(cases.base())
    with open(path, "r+b") as file:
        file.seek(at)
        file.write(noisy)
    assert at > HEADER_AREA
    with setup(path).verify_crc().batch_size(1).commit() as pre:
        iterator = iter(pre.train(0))
        with pytest.raises(CorruptError, match="CRC"):
            next(iterator)
        assert [len(b) for b in iterator] == [1, 1]


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_j37_ten_thousand_failures_keep_no_memory(backend):
    data = cases.cut(cases.rough(), 0.5)
    decoder = decode.Decoder()

    def fail(times):
        for _ in range(times):
            try:
                decoder.decode(data)
            except DecodeError:
                continue
            raise AssertionError

    fail(500)
    before = resident()
    fail(10_000)
    assert resident() - before < 10 << 20


@pytest.mark.parametrize("name", ["J30", "J30-sequential"])
def test_j30_is_found_before_pillow_is_asked(name, backend, monkeypatch):
    """Pillow decodes as many scans as there are, and each costs a pass over the picture."""
    monkeypatch.setattr(pictures, "_reencode", None)
    with pytest.raises(PictureError, match=CASES[name].encoded):
        pictures.reencode(CASES[name].data, 3)
