"""The demo and the bench: on few pictures, for what they do, not for how fast."""

import json

import numpy as np
import pytest
from PIL import Image

import dts
from dts import demo, measure
from dts.errors import ConfigError, DtsError

PICTURES = 2 * len(demo.CLASSES)


def test_demo_pictures_are_varied_and_always_the_same(tmp_path):
    demo.make_folder(tmp_path, 56)
    files = sorted(tmp_path.rglob("*.jpeg"))
    assert len(files) == 56
    assert sorted(p.name for p in tmp_path.iterdir()) == list(demo.CLASSES)
    modes, sizes, progressive = set(), set(), 0
    for path in files:
        with Image.open(path) as image:
            image.load()
            modes.add(image.mode)
            sizes.add(image.size)
            progressive += "progressive" in image.info
    assert modes == {"RGB", "L", "CMYK"}
    assert progressive > 2
    assert min(min(s) for s in sizes) < 16
    assert max(max(s) for s in sizes) > 1000
    assert len(sizes) > 8
    again = demo.encode_picture("rings", 3)
    assert (tmp_path / "rings" / "rings_00003.jpeg").read_bytes() == again


def test_demo_shows_the_whole_way(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, out, err = run("demo", "--pictures", PICTURES)
    assert (code, err) == (0, "")
    for part in ("images/s", "memory", "ratio", "level 0", "level 3", "dts_demo.png"):
        assert part in out
    assert [p.name for p in tmp_path.iterdir()] == ["dts_demo.png"]
    with Image.open(tmp_path / "dts_demo.png") as sheet:
        pixels = np.asarray(sheet)
    assert pixels.shape[1] > demo.SHEET_COLUMNS * 224
    assert 20 < pixels.std() < 120


def test_demo_keeps_its_files_where_told(run, tmp_path):
    folder, sheet = tmp_path / "kept", tmp_path / "sheet.png"
    code, _, err = run("demo", folder, "--pictures", PICTURES, "--sheet", sheet)
    assert (code, err) == (0, "")
    assert sheet.exists()
    names = {p.name for p in folder.iterdir()}
    made = {f"folder_{split}_lv{level}.dts" for split in ("train", "val") for level in (0, 3)}
    assert names == {"train", "val", *made}


def test_demo_mixes_nothing_with_what_is_there(run, tmp_path):
    (tmp_path / "mine").write_text("")
    code, _, err = run("demo", tmp_path, "--pictures", PICTURES)
    assert code == 1
    assert "is not empty" in err
    assert [p.name for p in tmp_path.iterdir()] == ["mine"]


def test_demo_of_too_few_pictures(run):
    code, _, err = run("demo", "--pictures", "3")
    assert code == 1
    assert "at least" in err


def test_contact_sheet_undoes_the_normalisation(tmp_path):
    mode = dts.NormMode.IMAGENET
    flat = np.zeros((3, 8, 8, 4), np.float32)
    colours = [(255, 0, 10), (0, 0, 0), (124, 116, 104)]
    for image, colour in zip(flat, colours, strict=True):
        image[..., :3] = (np.array(colour) / 255 - mode.mean) / mode.std
    demo.contact_sheet(flat.astype(np.float16), ["a", "b", "c"], tmp_path / "x.png")
    sheet = np.asarray(Image.open(tmp_path / "x.png")).astype(int)
    for number, colour in enumerate(colours):
        assert np.abs(sheet[8, 4 + number * 12 + 4] - colour).max() <= 1


def test_stream_notices_what_is_missing_or_twice():
    class Fake:
        def __init__(self, *ids):
            self.ids = np.array(ids)

    assert demo.stream([Fake(1, 0), Fake(2)], 3) > 0
    for wrong in ([Fake(1, 0)], [Fake(0, 1), Fake(1)], [Fake(0, 1), Fake(3)]):
        with pytest.raises(DtsError, match="an epoch delivered"):
            demo.stream(wrong, 3)


def test_bench_json(run, packed):
    code, out, err = run("bench", packed(level=3), "--rounds", 2, "--pictures", 9, "--json")
    assert (code, err) == (0, "")
    told = json.loads(out)
    assert told["pictures"] == 9
    assert len(told["pipeline_ms"]) == len(told["decode_ms"]) == len(told["ratios"]) == 2
    ratios = [p / d for p, d in zip(told["pipeline_ms"], told["decode_ms"], strict=True)]
    assert told["ratios"] == ratios
    assert min(ratios) <= told["ratio"] <= max(ratios)
    assert told["build"]["isa"] == dts.build_info()["isa"]


def test_bench_for_people_of_a_val_file(run, pictures, tmp_path):
    path = tmp_path / "val.dts"
    words = ("--dataset", "folder", "--split", "val", "--level", 0)
    assert run("export", pictures, path, *words)[0] == 0
    code, out, err = run("bench", path, "--rounds", 1, "--pictures", 9)
    assert (code, err) == (0, "")
    assert "ratio" in out
    assert "1 rounds of 9 pictures" in out


@pytest.mark.parametrize("pictures", [4, 20])  # less than an epoch of 9, and more than two
def test_bench_stops_after_the_pictures_asked_for(packed, pictures):
    found = measure.compare(packed(), rounds=1, pictures=pictures, batch_size=1)
    assert found.pictures == pictures


def test_a_moving_baseline_is_told():
    quiet = measure.Comparison("x", 9, [1.0, 1.2, 1.1], [2.0, 2.4, 2.2], [900.0, 950.0, 940.0])
    assert not quiet.busy
    assert quiet.ratios == [0.5, 0.5, 0.5]
    assert not any("busy" in line for line in quiet.lines())
    moved = measure.Comparison("x", 9, [1.0, 1.2], [2.0, 3.2], [900.0, 950.0], refused=1)
    assert moved.busy
    assert any("busy" in line for line in moved.lines())
    assert any("refuses" in line for line in moved.lines())


def test_one_disturbed_round_moves_nothing():
    assert measure.spread([2.0, 2.1, 9.0, 2.0, 2.1]) == pytest.approx(1.05)
    assert measure.spread([2.0, 3.0, 2.0, 3.0]) == pytest.approx(1.5)
    assert measure.spread([2.0]) == 1.0


def test_plain_decode_counts_what_simplejpeg_refuses():
    good = demo.encode_picture("rings", 0)
    plain = measure.PlainDecode()
    assert plain.cpu_seconds([good, good[: len(good) // 2], good]) > 0
    assert plain.refused == 1
    with pytest.raises(ConfigError, match="none of these"):
        plain.cpu_seconds([b"\xff\xd8\xff"])
