"""Pictures that cannot be packed: named when raised, counted when skipped, the rest intact."""

import io
import os
import re

import numpy as np
import pytest
import simplejpeg
from PIL import Image

from dts.errors import ExportError
from dts.export import blocks, export_folder, sources
from dts.export.errors import PictureError
from dts.export.jpeg_head import NeedMore, read_head
from dts.export.pictures import check_file, reencode
from dts.format.extension import Extension


def patched(data, bits=8, height=None):
    """Change the frame header of a JPEG."""
    at = data.index(b"\xff\xc0")
    data = bytearray(data)
    data[at + 4] = bits
    if height is not None:
        data[at + 5 : at + 7] = height.to_bytes(2, "big")
    return bytes(data)


@pytest.fixture
def bad(make):
    """Make name, bytes, and what is said of each at level 0 and at level 1 (None: packed)."""
    good = make.jpeg(7, 64, 48)
    return {
        "empty.jpg": (b"", "has 0 bytes", "has 0 bytes"),
        "two.jpg": (b"\xff\xd8", "ends in its header", "ends in its header"),
        "page.jpg": (b"<html>404</html>", "not a picture of", "not a picture of"),
        "head.jpg": (good[:100], "ends in its header", "ends in its header"),
        "late.jpg": (b"\r\n" + good, "2 bytes before its JPEG start", "2 bytes before its JPEG"),
        "deep.jpg": (patched(good, bits=12), "12 bits", "12 bits"),
        "flat.jpg": (patched(good, height=0), "64x0 pixels", "64x0 pixels"),
        "png.jpg": (make.png(1, 9, 9, "RGB"), "is a PNG file, not a JPEG", None),
        "true.png": (make.png(1, 9, 9, "RGB"), "is a PNG file, not a JPEG", None),
        "half.jpg": (good[: len(good) // 2], None, "data ends after row|Premature end"),
        "no_end.jpg": (good[:-2], None, None),
    }


@pytest.mark.parametrize("level", [0, 1])
def test_each_is_named(bad, photos, tmp_path, make, level):
    for name, (data, *reasons) in bad.items():
        path = photos / "c1" / name
        make.write(path, data)
        if reasons[level] is None:
            export_folder(photos, tmp_path / f"{name}.dts", level=level)
        else:
            with pytest.raises(ExportError, match=reasons[level]) as error:
                export_folder(photos, tmp_path / "out.dts", level=level)
            assert str(path) in str(error.value)
        path.unlink()
    left = {name for name in os.listdir(tmp_path) if not name.endswith(".dts")}
    assert left == {"photos"}
    assert not (tmp_path / "out.dts").exists()


@pytest.mark.parametrize(("level", "jobs"), [(0, 1), (1, 1), (1, 2)])
def test_all_are_skipped_and_counted(bad, photos, tmp_path, make, read, level, jobs):
    for name, (data, *_) in bad.items():
        make.write(photos / "c1" / name, data)
    result = export_folder(photos, tmp_path, level=level, on_error="skip", jobs=jobs)
    expected = {f"c1/{name}": reasons[level] for name, (_, *reasons) in bad.items()}
    expected = {name: reason for name, reason in expected.items() if reason is not None}
    skipped = dict(result.skipped)
    assert skipped.keys() == expected.keys()
    assert all(re.search(expected[name], reason) for name, reason in skipped.items())
    file = read(result.path)
    assert file.header.num_samples == 30 + len(bad) - len(expected)
    assert file.header.num_classes == 3
    names = set(Extension.from_file(result.path).sample_names)
    assert names.isdisjoint(skipped)
    assert len(names) == file.header.num_samples
    assert f"could not be packed: {len(expected)}" in str(result)
    if level == 0:
        assert result.warnings == (
            "2 files have no JPEG end marker, perhaps cut short: c1/half.jpg, c1/no_end.jpg",
        )


def test_the_error_names_the_first_few_of_many(photos, tmp_path, make):
    for k in range(9):
        make.write(photos / "c0" / f"x{k}.jpg", b"")
    with pytest.raises(ExportError, match=r"9 pictures cannot be packed: .*x4.jpg: .*; \.\.\.$"):
        export_folder(photos, tmp_path)


def test_nothing_left(tmp_path, make):
    for level, data in ((0, b""), (1, b"no picture")):
        make.write(tmp_path / "src/a/1.jpg", data)
        with pytest.raises(ExportError, match=r"a/1\.jpg: "):
            export_folder(tmp_path / "src", tmp_path / "out", level=level, on_error="skip")
    assert os.listdir(tmp_path) == ["src"]


@pytest.mark.parametrize("on_error", ["raise", "skip"])
def test_larger_than_a_block(photos, tmp_path, make, read, monkeypatch, on_error):
    room = (16 << 20) - 4096
    make.write(photos / "c0/fits.jpg", make.jpeg(1, 9, 9).ljust(room, b"\0"))
    make.write(photos / "c0/large.jpg", make.jpeg(1, 9, 9).ljust(room + 1, b"\0"))
    if on_error == "skip":
        result = export_folder(photos, tmp_path, on_error="skip")
        assert [name for name, _ in result.skipped] == ["c0/large.jpg"]
        assert read(result.path).header.num_samples == 31
        return
    monkeypatch.setattr(blocks, "read_files", None)  # nothing is read, nothing written
    with pytest.raises(ExportError, match=r"large.jpg: has 16,773,121 bytes, a block holds"):
        export_folder(photos, tmp_path / "x.dts")
    assert not (tmp_path / "x.dts").exists()


def test_larger_than_a_block_once_encoded(photos, tmp_path, make, read, monkeypatch):
    monkeypatch.setattr(sources, "capacity", lambda _: 20_000)
    noise = np.random.default_rng(0).integers(0, 256, (200, 200), np.uint8)
    out = io.BytesIO()
    Image.fromarray(noise).save(out, "PNG")
    make.write(photos / "c0/noise.png", out.getvalue())
    with pytest.raises(ExportError, match=r"noise\.png: takes .* bytes, a block has 20,000"):
        export_folder(photos, tmp_path / "x.dts", level=1)
    result = export_folder(photos, tmp_path / "x.dts", level=1, on_error="skip")
    assert [name for name, _ in result.skipped] == ["c0/noise.png"]
    assert read(result.path).header.num_samples == 30


def vanish(path):
    os.unlink(path)


def shrink(path):
    os.truncate(path, 10)


def grow(path):
    with open(path, "ab") as file:
        file.write(b"x")


@pytest.mark.parametrize("change", [vanish, shrink, grow])
@pytest.mark.parametrize("on_error", ["raise", "skip"])
def test_a_file_changes_after_the_scan(photos, tmp_path, read, change, on_error):
    paths = [photos / "c2/05.jpg", photos / "c0/00.jpg"]

    def later(_):
        for path in paths:
            change(path)

    settings = {"dataset": "imagenet", "on_error": on_error, "min_blocks": 5, "report": later}
    for path in list(photos.glob("*/*.jpg")):
        path.rename(path.with_suffix(".JPEG"))
    paths = [path.with_suffix(".JPEG") for path in paths]
    if on_error == "raise":
        with pytest.raises(ExportError, match=r"0[05]\.JPEG: (cannot be read|changed its size)"):
            export_folder(photos, tmp_path / "x.dts", **settings)
        assert sorted(os.listdir(tmp_path)) == ["photos"]
        return
    result = export_folder(photos, tmp_path / "x.dts", **settings)
    assert sorted(name for name, _ in result.skipped) == ["c0/00.JPEG", "c2/05.JPEG"]
    file = read(result.path)
    assert file.header.num_samples == 28
    assert len(set(Extension.from_file(result.path).sample_names)) == 28


def test_sixteen_bits_are_scaled_not_clipped(make):
    ramp = np.linspace(0, 65535, 64).astype(np.uint16)[None].repeat(16, 0)
    out = io.BytesIO()
    Image.fromarray(ramp).save(out, "PNG")
    encoded = reencode(out.getvalue(), 1)
    pixels = simplejpeg.decode_jpeg(encoded.data, colorspace="gray")[..., 0]
    assert np.abs(pixels.astype(int) - ramp / 257).max() < 8
    assert pixels[:, :8].max() < 40


def test_a_picture_without_its_end_loses_nothing(make):
    good = make.jpeg(3, 64, 48)
    assert reencode(good[:-2], 1)[:3] == reencode(good, 1)[:3]
    assert (reencode(good[:-2], 1).odd, reencode(good, 1).odd) == (True, False)


@pytest.mark.filterwarnings("error")
def test_claims_of_many_pixels_are_refused(make):
    data = bytearray(make.jpeg(3, 64, 48))
    at = data.index(b"\xff\xc0")
    data[at + 5 : at + 9] = b"\xea\x60\xea\x60"  # 60000 x 60000
    with pytest.raises(PictureError, match="60000x60000 pixels, over the limit"):
        reencode(bytes(data), 1)


def test_head_behind_long_segments(tmp_path, make):
    data = make.jpeg(3, 64, 48, exif=b"Exif\0\0" + bytes(60000), comment=b"c" * 30000)
    path = tmp_path / "x.jpg"
    path.write_bytes(data)
    assert check_file(os.fsencode(path))[:2] == (64, 48)
    assert read_head(b"?" + data, 1)[:2] == (64, 48)
    with pytest.raises(NeedMore):
        read_head(data[:50000])


def test_fill_bytes_and_lone_markers(make):
    data = make.jpeg(3, 64, 48)
    assert read_head(data[:2] + b"\xff\xff\xff" + data[2:])[:2] == (64, 48)
    with pytest.raises(PictureError, match="without a frame header"):
        read_head(b"\xff\xd8\xff\x01\xff\xda" + bytes(20))
