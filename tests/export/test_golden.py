"""Files whose bytes are known: what older exporters made of inputs that are rebuilt here."""

import hashlib
import io

import numpy as np
import PIL
import pytest
from PIL import Image, features

from dts.export import export_dataset, export_folder

# SHA-256 of all bytes after the header area, and the 144 bytes of the header in hex.
OPAQUE = (
    "017f70927e8a572a7e984c2f7f80cf0ada456f3749d9f7861d58c6755f2595ca",
    "2e44545303000000494d4147454e4554010000000000000000000000e80300004e485743000000000000000003000000"
    "20524742a401000001000000000000000300000003000000000000040000000000000001000000030000000000000001"
    "00100000400000008034e3019e000000e364c63f000000000000000000000000000000000000000000000000d97be40f",
)
SPECIAL = {
    1: (
        "8f1ebe9d0f024f4571d5ca17e3db564af0737a19d7100b648f75911b552be3a5",
        "2e44545303000000494d4147454e4554010000000100000000000000e80300004e485743000000000000000003000000"
        "205247422400000001000000000000000100000001000000000000020000000000000001000000010000000000000001"
        "004000004000000000c4090000000000eb66c041000000000000000000000000000000000000000000000000c97750ea",
    ),
    2: (
        "5ff0d8a84ccee6c3dcc6fdfa940f2f43fa0636b1c539c281c3e1875b97ec1151",
        "2e44545303000000494d4147454e4554010000000200000000000000e80300004e485743000000000000000003000000"
        "205247422400000001000000000000000100000001000000000000020000000000000001000000010000000000000001"
        "004000004000000080a9030000000000eb66c041000000000000000000000000000000000000000000000000a57339f2",
    ),
    3: (
        "6e458d01b712f4982e12bea4f1f1dc7bf89108d7a054d5a9bbff041ebe91d106",
        "2e44545303000000494d4147454e4554010000000300000000000000e80300004e485743000000000000000003000000"
        "205247422400000001000000000000000100000001000000000000020000000000000001000000010000000000000001"
        "004000004000000080a9030000000000eb66c041000000000000000000000000000000000000000000000000cc6ddcd6",
    ),
}
# Where the older exporter writes a constant or leaves something out, by byte; ours are true.
NUM_CLASSES, MAX_AREA, MAX_PER_BLOCK = slice(28, 32), slice(104, 108), slice(108, 112)

BYTE_EXACT = pytest.mark.skipif(
    PIL.__version__ != "13.0.0" or features.version("libjpeg_turbo") != "3.2.0",
    reason="the golden bytes are those of Pillow 13.0.0 with libjpeg-turbo 3.2.0",
)


@pytest.fixture(scope="module")
def opaque(tmp_path_factory, make):
    """Make 420 files of random bytes with ImageNet's names: level 0 never decodes."""
    root = tmp_path_factory.mktemp("opaque")
    rs = np.random.RandomState(4001)
    sizes = np.clip(np.exp(rs.normal(11.4, 0.6, 420)), 700, 1_500_000).astype(int)
    for k, size in enumerate(sizes):
        name = f"n{1000 + k % 7:08d}"
        make.write(root / name / f"{name}_{k * 211 % 1009}.JPEG", rs.bytes(int(size)))
    return root


@pytest.fixture(scope="module")
def special(tmp_path_factory, make):
    """Make 36 pictures at the size limits and in odd modes, and files that are not taken."""
    root = tmp_path_factory.mktemp("special") / "train"
    jpeg, png = make.jpeg, make.png
    sizes = [(400, 400), (401, 401), (440, 440), (441, 441), (600, 400), (601, 400), (600, 401)]
    sizes += [(601, 401), (400, 600), (400, 601), (401, 600), (441, 700), (700, 441), (440, 700)]
    sizes += [(700, 440), (1000, 399), (399, 1000), (2000, 500), (500, 2000), (1, 1), (7, 900)]
    sizes += [(900, 7), (613, 467), (467, 613), (800, 533)]
    for k, (width, height) in enumerate(sizes):
        make.write(root / f"n00000001/n00000001_{k:03d}.JPEG", jpeg(5000 + k, width, height))
    exif = Image.Exif()
    exif[274] = 6
    second = {
        "000.JPEG": jpeg(5100, 500, 450, "L"),
        "001.JPEG": jpeg(5101, 500, 450, "CMYK"),
        "002.JPEG": png(5102, 500, 450, "RGBA"),
        "003.JPEG": png(5103, 500, 450, "LA"),
        "004.JPEG": png(5104, 500, 450, "P"),
        "005.JPEG": png(5105, 300, 200, "RGBA"),
        "006.JPEG": jpeg(5106, 500, 450, comment=b"kept comment"),
        "007.JPEG": jpeg(5107, 500, 450, exif=exif, dpi=(300, 300)),
        "008.JPEG": jpeg(5108, 300, 200, icc_profile=b"x" * 200, dpi=(72, 72)),
        "009.jpeg": jpeg(5109, 300, 200),
        "010.jpg": jpeg(5110, 300, 200),
    }
    for name, data in second.items():
        make.write(root / f"n00000002/n00000002_{name}", data)
    make.write(root / "n00000002/.n00000002_011.JPEG", jpeg(5111, 300, 200))
    make.write(root / "n00000002/notes.txt", b"ignored")
    (root / "n00000003").mkdir()
    make.write(root / "n00000004/n00000004_000.JPEG", jpeg(5200, 320, 240))
    return root


def check(file, golden, *, num_classes, max_area=None):
    body, header = golden[0], bytearray.fromhex(golden[1])
    assert hashlib.sha256(file.data[16 << 20 :]).hexdigest() == body
    header[NUM_CLASSES] = num_classes.to_bytes(4, "little")
    header[MAX_PER_BLOCK] = max(file.counts).to_bytes(4, "little")
    if max_area is not None:
        header[MAX_AREA] = max_area.to_bytes(4, "little")
    assert file.data[:144] == header


def test_level_0(opaque, tmp_path, read):
    result = export_dataset("imagenet", opaque, tmp_path, min_blocks=2)
    assert result.path == str(tmp_path / "imagenet_train_lv0.dts")
    file = read(result.path)
    assert file.counts == [156, 158, 106]
    check(file, OPAQUE, num_classes=7, max_area=0)
    assert result.warnings[0].startswith("420 files are no JPEGs, stored as they are: n0000")


@BYTE_EXACT
@pytest.mark.parametrize("level", [1, 2, 3])
def test_levels_1_to_3(special, tmp_path, read, level):
    root = special.parent if level == 2 else special  # the split's folder is found either way
    result = export_dataset("Image-Net", root, tmp_path / "new", level=level)
    check(read(result.path), SPECIAL[level], num_classes=3)


@pytest.mark.parametrize("level", [1, 2, 3])
def test_sizes_and_labels_with_any_pillow(special, tmp_path, read, level):
    path = tmp_path / "x.dts"
    export_folder(special, path, level=level, dataset="imagenet")
    file = read(path)
    assert sorted(label for _, label in file.samples) == [0] * 25 + [1] * 10 + [2]
    sizes = []
    for data, _ in file.samples:
        with Image.open(io.BytesIO(data)) as picture:
            assert picture.format == "JPEG"
            sizes.append(picture.size)
    assert file.header.max_pic_area == max(w * h for w, h in sizes)
    if level == 1:
        assert (400, 634) in sizes  # 441x700, scaled and not cropped
    else:
        assert all((w <= 600 and h <= 400) or (w <= 400 and h <= 600) for w, h in sizes)
        assert (400, 600) in sizes
    assert (1, 1) in sizes
