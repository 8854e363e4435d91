"""The ROI layout: pixels of the plain one, files for any decoder, parts that can be cut."""

import io
import json
from pathlib import Path

import numpy as np
import PIL.Image
import pytest
import simplejpeg

import dts
from dts import cli, decode
from dts.errors import ConfigError, ExportError
from dts.export import export_dataset, export_folder, sources
from dts.export.pictures import reencode
from dts.export.repair import repair
from dts.export.roi import has_roi_layout, restart_interval
from dts.format import DtsFile


@pytest.fixture
def pictures(tmp_path, make):
    """Make a folder of 12 larger pictures in 2 classes."""
    root = tmp_path / "pictures"
    for k in range(12):
        make.write(root / f"c{k % 2}" / f"{k:02d}.jpg", make.jpeg(k, 330 + 20 * k, 470 - 10 * k))
    return root


@pytest.fixture(scope="module")
def both(tmp_path_factory, make):
    """Pack one folder in both layouts, in one block each: ids agree."""
    root = tmp_path_factory.mktemp("both")
    for k in range(10):
        picture = make.jpeg(k, 320 + 30 * k, 480 - 20 * k)
        make.write(root / "pictures" / f"c{k % 2}" / f"{k}.jpg", picture)
    paths = []
    for roi in (False, True):
        path = root / f"{roi}.dts"
        export_folder(root / "pictures", path, level=1, roi=roi)
        paths.append(path)
    return paths


def pixels(data):
    with PIL.Image.open(io.BytesIO(data)) as image:
        return np.asarray(image)


def segments(data):
    """Markers up to the scan."""
    at, found = 2, []
    while True:
        found.append(data[at + 1])
        if data[at + 1] == 0xDA:
            return found
        at += 2 + int.from_bytes(data[at + 2 : at + 4], "big")


def test_the_interval_is_the_divisor_nearest_to_an_eighth():
    chosen = {1: 1, 2: 1, 6: 1, 13: 1, 21: 3, 24: 3, 25: 5, 32: 4, 34: 2, 35: 5, 38: 2, 96: 12}
    assert {mcus: restart_interval(mcus) for mcus in chosen} == chosen
    # Of a prime number one MCU or a whole row: whichever is nearer.
    assert [restart_interval(mcus) for mcus in (31, 37, 61, 67, 211)] == [1, 1, 1, 67, 211]
    for mcus in range(1, 300):
        n = restart_interval(mcus)
        assert mcus % n == 0
        nearer = [d for d in range(1, mcus + 1) if mcus % d == 0]
        assert all(abs(np.log(8 * n / mcus)) <= abs(np.log(8 * d / mcus)) + 1e-12 for d in nearer)


@pytest.mark.parametrize("level", [1, 2, 3])
@pytest.mark.parametrize("mode", ["RGB", "L", "CMYK", "RGBA", "LA", "P", "I;16"])
def test_every_kind_of_picture_can_be_cut(level, mode, make):
    if mode == "I;16":
        grey = np.arange(500 * 450, dtype=np.uint16).reshape(450, 500)
        out = io.BytesIO()
        PIL.Image.fromarray(grey).save(out, "PNG")
        source = out.getvalue()
    elif mode in ("RGB", "L", "CMYK"):
        source = make.jpeg(3, 500, 450, mode)
    else:
        source = make.png(3, 500, 450, mode)
    plain, roi = reencode(source, level), reencode(source, level, roi=True)
    assert roi[1:] == plain[1:]
    head = decode.header(roi.data)
    mcus = -(-head.width // head.mcu_width)
    assert head.restart_interval == restart_interval(mcus) < mcus
    assert not head.progressive
    assert segments(roi.data).count(0xC0) == 1
    assert decode.header(plain.data).restart_interval == 0
    assert np.array_equal(pixels(roi.data), pixels(plain.data))
    whole = decode.decode(plain.data)
    decoder = decode.Decoder()
    part = decoder.decode(roi.data, (200, 150, 90, 80))
    assert np.array_equal(part, whole[150:230, 200:290])
    assert decoder.spliced == (decode.library_info()["kind"] != "simplejpeg")


def test_other_readers_find_the_same_pixels(both):
    with DtsFile(both[0]) as plain, DtsFile(both[1]) as roi:
        assert plain.names == roi.names
        assert plain.header.max_pic_area == roi.header.max_pic_area
        for (a, label), (b, same) in zip(plain, roi, strict=True):
            assert label == same
            assert np.array_equal(pixels(bytes(a)), pixels(bytes(b)))
            assert np.array_equal(
                simplejpeg.decode_jpeg(bytes(a)), simplejpeg.decode_jpeg(bytes(b))
            )
            assert np.array_equal(decode.decode(a), decode.decode(b))


def test_bytes_depend_on_the_source_alone(pictures, tmp_path):
    results = [
        export_folder(pictures, tmp_path / f"{jobs}.dts", level=3, roi=True, jobs=jobs)
        for jobs in (1, 2)
    ]
    one, two = (Path(result.path).read_bytes() for result in results)
    assert one == two
    plain = export_folder(pictures, tmp_path / "plain.dts", level=3)
    assert Path(plain.path).read_bytes() != one


def test_level_0_and_arrays_have_no_layout(pictures, tmp_path):
    with pytest.raises(ConfigError, match="roi is for levels 1 to 3"):
        export_folder(pictures, tmp_path / "x.dts", level=0, roi=True)
    with pytest.raises(ConfigError, match="roi has no meaning for mnist"):
        export_dataset("mnist", pictures, tmp_path / "x.dts", roi=True)
    assert not (tmp_path / "x.dts").exists()


def test_volumes(pictures, tmp_path, monkeypatch):
    monkeypatch.setattr(sources, "MAX_PICTURES", (340, 5, 5, 5))
    result = export_folder(pictures, tmp_path / "x.dts", level=3, roi=True, volumes=2)
    assert len(result.paths) == 2
    with DtsFile(result.path) as file:
        assert all(decode.header(data).restart_interval for data, _ in file)
        assert file.verify().ok


def test_append_keeps_to_the_layout(pictures, tmp_path, make):
    more = tmp_path / "more"
    for k in range(2):
        make.write(more / f"c{k}" / f"more{k}.jpg", make.jpeg(90 + k, 300, 200))
    for roi, other in ((True, "plain"), (False, "roi")):
        path = tmp_path / f"{other}.dts"
        export_folder(pictures, path, level=2, roi=roi)
        mine = "roi" if roi else "plain"
        with pytest.raises(ExportError, match=f"its layout is {mine}, not {other}: cannot append"):
            export_folder(more, path, level=2, roi=not roi, append=True)
        export_folder(more, path, level=2, roi=roi, append=True)
        with DtsFile(path) as file:
            assert len(file) == 14
            assert {decode.header(data).restart_interval > 0 for data, _ in file} == {roi}


def test_resume_keeps_to_the_layout(pictures, tmp_path, monkeypatch):
    monkeypatch.setattr(sources, "MAX_PICTURES", (340, 4, 4, 4))
    whole = export_folder(pictures, tmp_path / "whole.dts", level=3, roi=True)
    real, done = sources.reencode, []

    def failing(data, level, **options):
        if len(done) == 10:
            raise RuntimeError
        done.append(0)
        return real(data, level, **options)

    monkeypatch.setattr(sources, "reencode", failing)
    monkeypatch.setattr(sources, "ENCODED_AT_ONCE", 1)
    with pytest.raises(RuntimeError):
        export_folder(pictures, tmp_path / "x.dts", level=3, roi=True, resume=True)
    monkeypatch.setattr(sources, "reencode", real)
    with pytest.raises(ExportError, match=r"of another export \(layout changed\)"):
        export_folder(pictures, tmp_path / "x.dts", level=3, resume=True)
    result = export_folder(pictures, tmp_path / "x.dts", level=3, roi=True, resume=True)
    assert Path(result.path).read_bytes() == Path(whole.path).read_bytes()


def test_repair_encodes_in_the_layout_of_the_file(pictures, tmp_path):
    path = export_folder(pictures, tmp_path / "x.dts", level=3, roi=True).path
    sound = Path(path).read_bytes()
    with DtsFile(path) as file:
        offsets, sizes, _ = file.table(0)
        at = (16 << 20) + int(offsets[3]) + int(sizes[3]) // 2
    with open(path, "r+b") as file:
        file.seek(at)
        byte = file.read(1)
        file.seek(at)
        file.write(bytes([byte[0] ^ 0x55]))
    with DtsFile(path) as file:
        result = repair(file, tmp_path / "new.dts", replace=pictures)
    assert [damage.id for damage in result.replaced] == [3]
    assert "byte for byte as packed" in str(result.replaced[0])
    assert Path(result.path).read_bytes()[16 << 20 :] == sound[16 << 20 :]


def test_layout_is_told_from_the_first_block_that_can_be_read(pictures, tmp_path, monkeypatch):
    monkeypatch.setattr(sources, "MAX_PICTURES", (340, 4, 4, 4))
    path = export_folder(pictures, tmp_path / "x.dts", level=1, roi=True).path
    with DtsFile(path) as file:
        assert has_roi_layout(file)
    with open(path, "r+b") as file:
        file.seek(16 << 20)
        file.write(b"nonsense")
    with DtsFile(path) as file:
        assert has_roi_layout(file)
    level0 = export_folder(pictures, tmp_path / "lv0.dts").path
    with DtsFile(level0) as file:
        assert not has_roi_layout(file)


def test_commands(pictures, tmp_path, capsys):
    path = str(tmp_path / "x.dts")
    told = ["export", str(pictures), path, "--dataset", "folder", "--split", "train"]
    assert cli.main([*told, "--level", "0", "--roi"]) == 1
    assert "roi is for levels 1 to 3" in capsys.readouterr().err
    assert cli.main([*told, "--level", "3", "--roi", "--jobs", "1"]) == 0
    assert cli.main(["verify", path]) == 0
    assert cli.main(["view", path, str(tmp_path / "sheet.png")]) == 0
    assert cli.main(["extract", path, str(tmp_path / "out")]) == 0
    assert sum(1 for p in (tmp_path / "out").rglob("*.jpg")) == 12
    capsys.readouterr()
    assert cli.main(["info", path, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["roi"] is True


@pytest.mark.parametrize("chain", [(dts.RandomResizedCrop(64),), (dts.Resize(90),
                                   dts.CenterCrop(64))])  # fmt: skip
def test_batches_are_those_of_the_plain_layout(both, chain):
    batches, spliced = [], []
    for path in both:
        setup = dts.Preprocessor.setup().dataset("folder", str(path)).batch_size(10).seed(7)
        with setup.output("uint8").train_transforms(*chain).commit() as pre:
            batches.append([
                (batch.ids.copy(), batch.images.copy()) for k in range(3) for batch in pre.train(k)
            ])  # fmt: skip
            spliced.append(pre.stats()["train"]["decode_spliced"])
            assert pre.stats()["train"]["decode_warnings"] == 0
    for (ids, images), (same_ids, same) in zip(*batches, strict=True):
        assert np.array_equal(ids, same_ids)
        assert np.array_equal(images, same)
    assert spliced[0] == 0
    if decode.library_info()["kind"] != "simplejpeg":
        assert spliced[1] > 15  # of 30
