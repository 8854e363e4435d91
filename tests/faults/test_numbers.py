"""Numbers (N-cases): resizing, colours at the ends of their ranges, normalisation, labels.

N01 is in test_shapes; N03 and N05 are in test_pictures and tests/transforms/test_draws; N04 is in
tests/transforms/test_arguments.
"""

import make
import numpy as np
import pytest
from PIL import Image, ImageEnhance

from dts import (
    CenterCrop,
    ColorJitter,
    ConfigError,
    CorruptError,
    DoNothing,
    ExportError,
    FormatError,
    Pad,
    Preprocessor,
    RandomGrayscale,
    RandomInvert,
    Resize,
    apply_transforms,
)
from dts.export import export_folder
from dts.format.layout import BLOCK_BYTES, HEADER_AREA

FROM = [(1, 1), (1, 4000), (4000, 1), (2, 3), (7, 1), (31, 64), (500, 300), (4000, 60)]
TO = [(1, 1), (1, 4000), (4000, 1), (2, 3), (224, 224), (33, 1), (60, 4000)]


def picture(kind, h, w, c):
    y, x = np.mgrid[0:h, 0:w]
    if kind == "noise":
        return np.random.default_rng(h + w).integers(0, 256, (h, w, c), np.uint8)
    if kind == "steps":
        return np.where((y // 3 + x // 2) % 2 > 0, 255, 0).astype(np.uint8)[..., None].repeat(c, 2)
    planes = x * 255 // max(w - 1, 1), y * 255 // max(h - 1, 1), (x + y) * 255 // (w + h)
    return np.stack(planes[:c], -1).astype(np.uint8)


@pytest.mark.parametrize("kind", ["noise", "steps", "slopes"])
@pytest.mark.parametrize("start", FROM)
def test_n06_resize_is_within_a_level_of_pillow(start, kind):
    for c in (1, 3):
        image = picture(kind, *start, c)
        plain = Image.fromarray(image[..., 0] if c == 1 else image)
        for size in (*TO, (start[0] + 1, start[1] + 1)):
            if max(size) > 4000:
                continue
            wanted = plain.resize(size[::-1], Image.Resampling.BILINEAR)
            got = apply_transforms(image, Resize(size))
            assert got.shape == (*size, c)
            assert np.abs(got.astype(int).ravel() - np.asarray(wanted, int).ravel()).max() <= 1


@pytest.mark.parametrize("colour", [(200, 30, 90), (0, 255, 1), (128, 127, 129), (255, 255, 255)])
@pytest.mark.parametrize("factor", [0.0, 0.5, 1.0, 2.0])
@pytest.mark.parametrize("part", ["brightness", "contrast", "saturation"])
def test_n07_factors_of_constant_patches(part, factor, colour):
    patch = np.full((9, 11, 3), colour, np.uint8)
    kind = {"brightness": "Brightness", "contrast": "Contrast", "saturation": "Color"}[part]
    wanted = np.asarray(getattr(ImageEnhance, kind)(Image.fromarray(patch)).enhance(factor))
    got = apply_transforms(patch, ColorJitter(**{part: (factor, factor)}))
    assert np.abs(got.astype(int) - wanted).max() <= 2
    assert (got == got[0, 0]).all()


@pytest.mark.parametrize("op", [RandomGrayscale(1.0), ColorJitter(0.9, 0.9, (0, 2), 0.5)])
def test_n07_gray_stays_gray(op):
    gray = picture("noise", 40, 31, 1).repeat(3, 2)
    for id in range(40):
        got = apply_transforms(gray, op, id=id)
        assert (got == got[..., :1]).all()


@pytest.mark.parametrize(
    "op",
    [RandomGrayscale(1.0), ColorJitter(saturation=(0, 2), hue=0.5)],
    ids=lambda op: repr(op)[:15],
)
def test_n07_one_channel_has_neither_saturation_nor_hue(op):
    gray = picture("noise", 40, 31, 1)
    for id in range(10):
        assert np.array_equal(apply_transforms(gray, op, id=id), gray)


@pytest.fixture
def gray_128(tmp_path):
    """A file of one picture, every byte of which is 128."""
    jpeg = make.jpeg(0, 8, 8)
    return make.pack_blocks(tmp_path / "folder_train_lv0.dts", [[(jpeg, 0)]])


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_n08_a_constant_picture_by_hand(gray_128, dtype):
    """Padding that covers the picture leaves nothing but 128."""
    setup = Preprocessor.setup().dataset("folder", gray_128).batch_size(1).output(dtype, 3)
    setup.train_transforms(CenterCrop(1), Pad((6, 0, 0, 0), 128), CenterCrop((1, 1)))
    mean, std = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
    with setup.normalization(mean, std).commit() as pre:
        (batch,) = pre.train(0)
        got = batch.images.astype(np.float64).ravel()
    by_hand = (0.07406456, 0.20518207, 0.42649237)  # (128 / 255 - mean) / std
    assert got == pytest.approx(by_hand, abs=1e-6 if dtype == "float32" else 2.5e-4)


@pytest.mark.parametrize("op", [DoNothing(), RandomInvert(1.0)])
def test_a_last_resize_is_not_rounded_to_bytes(tmp_path, op):
    jpegs = [(make.jpeg(k, 60 + k, 90), 0) for k in range(8)]
    path = make.pack_blocks(tmp_path / "folder_train_lv0.dts", [jpegs])
    setup = Preprocessor.setup().dataset("folder", path).batch_size(8)
    images = {}
    for dtype in ("uint8", "float32"):
        with setup.train_transforms(Resize((24, 20)), op).output(dtype).commit() as pre:
            (batch,) = pre.train(0)
            images[dtype] = batch.images.astype(np.float64)
    far = np.abs(images["float32"] * 255 - images["uint8"]).max()
    assert far < 1e-4 if isinstance(op, RandomInvert) else 0.45 < far < 0.5001


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize(
    ("mean", "std", "fails"),
    [
        (0.406, 1e-4, ()),
        (0.406, 1e-6, ("float16",)),
        (0.5, 1e-40, ("float16", "float32")),
        (0.4, 0.0, ("float16", "float32")),
        (0.5, -1.0, ("float16", "float32")),
        (0.5, 1e39, ("float16", "float32")),
        (10**400, 1.0, ("float16", "float32")),
        (float("nan"), 1.0, ("float16", "float32")),
        (0.5, float("nan"), ("float16", "float32")),
    ],
)
def test_n09_n10_what_a_pixel_would_become(gray_128, dtype, mean, std, fails):
    setup = Preprocessor.setup().dataset("folder", gray_128).batch_size(1).output(dtype)
    setup.train_transforms(CenterCrop(8)).normalization((mean,) * 3, (std,) * 3)
    if dtype in fails:
        with pytest.raises(ConfigError, match="normalization"):
            setup.commit()
        return
    with setup.commit() as pre:
        (batch,) = pre.train(0)
        assert np.isfinite(batch.images).all()


def test_n11_labels_below_0_have_no_place_in_a_file(tmp_path):
    """A label is an unsigned number below the number of classes; -1 cannot be written or read."""
    jpeg = make.jpeg(0, 8, 8)
    with pytest.raises(FormatError, match="label"):
        make.pack_blocks(tmp_path / "minus.dts", [[(jpeg, -1)]])
    path = make.pack_blocks(tmp_path / "folder_train_lv0.dts", [[(jpeg, 0), (jpeg, 1)]])
    with open(path, "r+b") as file:  # the label of sample 1 becomes what -1 is as 32 bits
        data = file.read(HEADER_AREA + BLOCK_BYTES)
        table = data.index((0).to_bytes(4, "little") + (1).to_bytes(4, "little"), HEADER_AREA + 16)
        file.seek(table + 4)
        file.write(b"\xff" * 4)
    setup = Preprocessor.setup().dataset("folder", path).batch_size(2)
    with (
        setup.train_transforms(CenterCrop(8)).commit() as pre,
        pytest.raises(CorruptError, match="label 4294967295 is not below the 3 classes"),
    ):
        list(pre.train(0))


def test_n11_pictures_without_labels_need_a_folder(tmp_path):
    flat = tmp_path / "flat"
    flat.mkdir()
    (flat / "1.jpg").write_bytes(make.jpeg(0, 8, 8))
    with pytest.raises(ExportError, match="no pictures in class folders"):
        export_folder(flat, tmp_path / "flat.dts")
    setup = Preprocessor.setup().dataset("folder", flat).batch_size(1)
    with pytest.raises(ConfigError, match="class folders"):
        setup.train_transforms(CenterCrop(8)).commit()
    (flat / "all").mkdir()
    (flat / "1.jpg").rename(flat / "all" / "1.jpg")
    with setup.commit() as pre:
        (batch,) = pre.train(0)
        assert batch.labels.tolist() == [0]
