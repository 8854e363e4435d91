"""fast_decode: a smaller scale where the box allows, the same geometry, nothing elsewhere."""

import io

import make
import numpy as np
import pytest
from PIL import Image

from dts import CenterCrop, RandomResizedCrop, Resize, decode
from dts.decode import jpeg

SIZE = (40, 40)
KINDS = [{"subsampling": 0}, {"subsampling": 2}, {"progressive": True, "subsampling": 1}]


@pytest.fixture(autouse=True)
def real_library():
    if decode.library_info()["kind"] == "simplejpeg":
        pytest.skip("with simplejpeg fast_decode does nothing")


def ramps(width, height, orientation, **options):
    """A picture whose colours tell where a pixel lies: red rises to the right, green downwards."""
    y, x = np.mgrid[0:height, 0:width]
    pixels = np.stack([20 + 200 * x / width, 20 + 200 * y / height, 120 + 0 * x], -1)
    exif = Image.Exif()
    exif[0x0112] = orientation
    file = io.BytesIO()
    Image.fromarray(np.rint(pixels).astype(np.uint8)).save(
        file, "JPEG", quality=99, exif=exif, **options
    )
    return file.getvalue()


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    """24 pictures of odd sizes, each orientation with each kind."""
    files = [ramps(301 + 11 * k, 517 - 9 * k, k % 8 + 1, **KINDS[k // 8]) for k in range(24)]
    path = tmp_path_factory.mktemp("ramps") / "folder_train_lv0.dts"
    return make.pack_blocks(path, [[(f, 0) for f in files]])


def images(setup, *chain, fast, exif=True):
    setup = setup.train_transforms(*chain).exif_orientation(exif).fast_decode(fast)
    with setup.batch_size(5).output("uint8").commit() as pre:
        found = {}
        for batch in pre.train(0):
            found |= {int(i): x.copy() for i, x in zip(batch.ids, batch.images, strict=True)}
    return [found[id].astype(float) for id in sorted(found)]


@pytest.mark.parametrize("exif", [False, True])
@pytest.mark.parametrize("chain", [[RandomResizedCrop(SIZE, scale=(0.3, 1))], [Resize(SIZE)]])
def test_geometry_is_exact(pictures, setup, chain, exif):
    """Half a pixel of the smaller picture is 0.7 to 3 levels of the ramps, in most boxes."""
    full = images(setup(pictures), *chain, fast=False, exif=exif)
    fast = images(setup(pictures), *chain, fast=True, exif=exif)
    used = 0
    for a, b in zip(full, fast, strict=True):
        used += not np.array_equal(a, b)
        inner = (b - a)[2:-2, 2:-2]
        assert np.abs(inner.mean((0, 1))).max() < 0.45
        assert np.abs(inner).max() <= 2
        assert np.abs(b - a).max() <= 4
    assert used > len(full) // 2


def test_each_scale_is_used_where_the_box_allows(pictures, setup):
    """Whole pictures to a side of `size`: the scale that is still as large as that."""
    with_box = {}
    for size in (330, 120, 60, 30):
        full = images(setup(pictures), Resize((size, size)), fast=False, exif=False)
        fast = images(setup(pictures), Resize((size, size)), fast=True, exif=False)
        with_box[size] = [not np.array_equal(a, b) for a, b in zip(full, fast, strict=True)]
    sides = [(301 + 11 * k, 517 - 9 * k) for k in range(24)]
    for size, changed in with_box.items():
        for (width, height), different in zip(sides, changed, strict=True):
            if min(width, height) < 2 * size:
                assert not different, (size, width, height)
    assert not any(with_box[330])
    assert all(with_box[120])
    assert all(with_box[30])


def test_off_is_the_default_and_changes_nothing(pictures, setup):
    chain = [Resize(SIZE)]
    with setup(pictures).train_transforms(*chain).batch_size(24).output("uint8").commit() as pre:
        batch = next(iter(pre.train(0)))
        found = dict(zip(batch.ids.tolist(), batch.images.copy(), strict=True))
    full = images(setup(pictures), *chain, fast=False, exif=False)
    assert all(np.array_equal(found[id], full[id]) for id in found)


def test_without_antialiasing_or_resize_it_does_nothing(pictures, setup):
    for chain in ([Resize(SIZE, antialias=False)], [CenterCrop(SIZE)]):
        full = images(setup(pictures), *chain, fast=False)
        fast = images(setup(pictures), *chain, fast=True)
        assert all(np.array_equal(a, b) for a, b in zip(full, fast, strict=True))


def test_the_error_on_detail_is_bounded(tmp_path, setup):
    """Noise and edges, the worst there is: the mean error stays small."""
    files = [make.jpeg(k, 640, 480, quality=90, subsampling=2) for k in range(4)]
    path = make.pack_blocks(tmp_path / "folder_train_lv0.dts", [[(f, 0) for f in files]])
    full = images(setup(path), Resize((100, 100)), fast=False)
    fast = images(setup(path), Resize((100, 100)), fast=True)
    for a, b in zip(full, fast, strict=True):
        assert 0 < np.abs(a - b).mean() < 3
        assert np.abs((a - b).mean()) < 0.5


def test_damage_is_told_at_a_smaller_scale_too(tmp_path, setup):
    file = make.jpeg(0, 640, 480)
    path = make.pack_blocks(tmp_path / "folder_train_lv0.dts", [[(file[: len(file) // 2], 0)]])
    with pytest.raises(Exception, match="data ends after row") as full:
        images(setup(path), Resize(SIZE), fast=False)
    with pytest.raises(type(full.value)) as fast:
        images(setup(path), Resize(SIZE), fast=True)
    assert str(fast.value) == str(full.value)


def test_a_flag_is_needed(pictures, setup):
    with pytest.raises(TypeError, match="fast_decode"):
        setup(pictures).fast_decode(2)


@pytest.mark.parametrize("scale", [2, 4, 8])
@pytest.mark.parametrize("own", [True, False])
def test_a_region_is_a_slice_at_every_scale(scale, own):
    before = jpeg.set_own_entropy(own)
    try:
        rng = np.random.default_rng(scale)
        for kind in [*KINDS, {"mode": "L"}]:
            for width, height in ((200, 131), (33, 40), (17, 9), (1, 1), (64, 5)):
                file = make.jpeg(1, width, height, **kind)
                whole = decode.decode(file, scale=scale)
                assert whole.shape == (-(-height // scale), -(-width // scale), 3)
                h, w = whole.shape[:2]
                for _ in range(12):
                    x, y = int(rng.integers(w)), int(rng.integers(h))
                    box = x, y, int(rng.integers(1, w - x + 1)), int(rng.integers(1, h - y + 1))
                    part = decode.decode(file, box, scale=scale)
                    assert np.array_equal(part, whole[y : y + box[3], x : x + box[2]])
    finally:
        jpeg.set_own_entropy(before)


def test_scales_that_do_not_exist():
    with pytest.raises(ValueError, match="scale must be 1, 2, 4 or 8"):
        decode.decode(make.jpeg(0, 8, 8), scale=3)


def test_simplejpeg_refuses_a_scale():
    before = decode.library_info()["path"]
    decode.use_backend("simplejpeg")
    try:
        with pytest.raises(ValueError, match="scale 1 only"):
            decode.decode(make.jpeg(0, 8, 8), scale=2)
    finally:
        decode.use_backend(before)
