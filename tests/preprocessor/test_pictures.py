"""A batch holds what Pillow makes of the same pictures with the same crop and flip."""

import make
import numpy as np
import pytest
import reference

from dts import CenterCrop, NormMode, Preprocessor, RandomHorizontalFlip, RandomResizedCrop, Resize
from dts.format import DtsFile

MEAN, STD = NormMode.IMAGENET.mean, NormMode.IMAGENET.std


@pytest.fixture(scope="module")
def packed(tmp_path_factory):
    """The same 40 pictures, packed at each level."""
    root = tmp_path_factory.mktemp("packed")
    pictures = [*make.varied(38, 3, (60, 700)), make.jpeg(1, 1, 1), make.jpeg(2, 300, 2)]
    found = {}
    for level in range(4):
        directory = root / str(level)
        directory.mkdir()
        found[level] = make.pack(directory, pictures, level=level)
    return found


@pytest.mark.parametrize("level", [0, 1, 2, 3])
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_train_epoch(packed, level, dtype):
    path, names = packed[level]
    setup = Preprocessor.setup().dataset("folder", path.parent).using_dts_format(True, level)
    setup.batch_size(7).seed(5).output(dtype).normalization(NormMode.IMAGENET)
    setup.train_transforms(RandomResizedCrop((64, 48)), RandomHorizontalFlip())
    ids, labels = [], {}
    with setup.commit() as pre, DtsFile(path) as file:
        for batch in pre.train(0):
            assert batch.images.shape[1:] == (64, 48, 4 if dtype == "float16" else 3)
            if dtype == "float16":
                assert not batch.images[..., 3].any()
            ids.extend(batch.ids)
            pictures = reference.denormalise(batch.images, MEAN, STD)
            for got, label, id in zip(pictures, batch.labels, batch.ids, strict=True):
                draws = pre.draws("train", 0, id)
                labels[pre.names("train")[id]] = label
                image = reference.open_rgb(bytes(file[id][0]))
                assert draws.image_size == image.size[::-1]
                wanted = reference.crop_resize(image, draws.crop, (64, 48))
                wanted = np.asarray(wanted, np.float64)[:, :: -1 if draws.flip else 1]
                assert np.abs(got - wanted).mean() < 1.0
                # CMYK differs from Pillow by up to 2 levels before the resize.
                assert np.abs(got - wanted).max() < (4 if dtype == "float16" else 3.6)
    assert sorted(ids) == list(range(40))
    assert labels == {name: label for name, (_, label) in names.items()}


@pytest.mark.parametrize("size", [(64, 48), (300, 200), (7, 9), (1, 1)])
def test_resize_alone_is_at_most_one_level_off(tmp_path, size):
    pictures = [make.jpeg(k, 40 + 31 * k, 400 - 29 * k, subsampling=k % 3) for k in range(12)]
    path, _ = make.pack(tmp_path, pictures)
    setup = Preprocessor.setup().dataset("folder", path).batch_size(5).output("uint8")
    with setup.train_transforms(Resize(size)).commit() as pre, DtsFile(path) as file:
        for batch in pre.train(0):
            for got, id in zip(batch.images, batch.ids, strict=True):
                image = reference.open_rgb(bytes(file[id][0]))
                wanted = np.asarray(reference.crop_resize(image, (0, 0, *image.size[::-1]), size))
                assert np.abs(got.astype(int) - wanted).max() <= 1


@pytest.mark.parametrize(("size", "crop"), [(80, 70), (60, 90), (40, (40, 90)), (33, 21)])
def test_resize_then_centre_crop_equals_both_steps(tmp_path, size, crop):
    pictures = [make.jpeg(k, 45 + 37 * k, 420 - 31 * k) for k in range(11)]
    path, _ = make.pack(tmp_path, pictures, split="val")
    setup = Preprocessor.setup().dataset("folder", path).batch_size(4).output("uint8")
    h, w = crop if isinstance(crop, tuple) else (crop, crop)
    with (
        setup.val_transforms(Resize(size), CenterCrop(crop)).commit() as pre,
        DtsFile(path) as file,
    ):
        order = []
        for batch in pre.val():
            order.extend(batch.ids)
            for got, id in zip(batch.images, batch.ids, strict=True):
                image = reference.resize_short(reference.open_rgb(bytes(file[id][0])), size)
                wanted = reference.centre_crop(np.asarray(image), h, w)
                assert np.abs(got.astype(int) - wanted).max() <= 1
    assert order == list(range(11))


def test_centre_crop_alone_is_exact(tmp_path):
    pictures = [make.jpeg(k, 20 + 13 * k, 150 - 11 * k) for k in range(10)]
    path, _ = make.pack(tmp_path, pictures, split="val")
    setup = Preprocessor.setup().dataset("folder", path).batch_size(10).output("uint8", 4)
    with setup.val_transforms(CenterCrop((60, 71))).commit() as pre, DtsFile(path) as file:
        (batch,) = pre.val()
        for got, id in zip(batch.images, batch.ids, strict=True):
            image = np.asarray(reference.open_rgb(bytes(file[id][0])))
            assert np.array_equal(got[..., :3], reference.centre_crop(image, 60, 71))
        assert not batch.images[..., 3].any()


@pytest.mark.parametrize(
    "chain",
    [
        (CenterCrop(50), Resize((30, 20))),
        (Resize((90, 80)), RandomResizedCrop(24)),
        (Resize(70), CenterCrop(40), CenterCrop(60), Resize((33, 31))),
        (RandomResizedCrop(50), CenterCrop(30), RandomResizedCrop(20), CenterCrop(26)),
    ],
)
def test_chains_that_need_a_picture_in_between(tmp_path, chain):
    pictures = [make.jpeg(k, 60 + 17 * k, 200 - 9 * k) for k in range(9)]
    path, _ = make.pack(tmp_path, pictures)
    setup = Preprocessor.setup().dataset("folder", path).batch_size(3).output("uint8").seed(1)
    with setup.train_transforms(*chain).commit() as pre, DtsFile(path) as file:
        for batch in pre.train(2):
            for got, id in zip(batch.images, batch.ids, strict=True):
                image = np.asarray(reference.open_rgb(bytes(file[id][0])))
                for step in pre.draws("train", 2, id).steps:
                    image = _step(image, step)
                # Each resize rounds to whole levels once more than a fused one does.
                assert np.abs(got.astype(int) - image).max() <= len(chain)


def _step(image, step):
    from PIL import Image

    if isinstance(step["transform"], CenterCrop):
        return reference.centre_crop(image, *step["output_size"])
    cut = reference.crop_resize(Image.fromarray(image), step["box"], step["output_size"])
    return np.asarray(cut)


def test_grey_output(tmp_path):
    pictures = [make.jpeg(k, 70, 60, "L") for k in range(4)]
    path, _ = make.pack(tmp_path, pictures)
    setup = Preprocessor.setup().dataset("folder", path).batch_size(4).output("uint8")
    with setup.color_channels(1).train_transforms(CenterCrop(50)).commit() as pre:
        (batch,) = pre.train(0)
        assert batch.images.shape == (4, 50, 50, 1)
        with DtsFile(path) as file:
            for got, id in zip(batch.images, batch.ids, strict=True):
                grey = np.asarray(reference.open_rgb(bytes(file[id][0])))[..., :1]
                assert np.array_equal(got, reference.centre_crop(grey, 50, 50))


def test_normalisation_is_exact_to_the_bit(tmp_path):
    path, _ = make.pack(tmp_path, [make.jpeg(k, 64, 64) for k in range(4)])
    for dtype, channels in (("float32", 3), ("float32", 4), ("float16", 4), ("float16", 3)):
        setup = Preprocessor.setup().dataset("folder", path).batch_size(4).output(dtype, channels)
        setup.normalization((0.4, 0.5, 0.6), (0.2, 0.3, 0.25)).train_transforms(CenterCrop(33))
        with setup.commit() as pre, DtsFile(path) as file:
            (batch,) = pre.train(0)
            for got, id in zip(batch.images, batch.ids, strict=True):
                image = np.asarray(reference.open_rgb(bytes(file[id][0])))
                wanted = reference.normalise(
                    reference.centre_crop(image, 33, 33),
                    (0.4, 0.5, 0.6),
                    (0.2, 0.3, 0.25),
                    dtype,
                    channels,
                )
                assert got.tobytes() == wanted.tobytes()


def test_erasing_fills_its_box_after_the_flip(tmp_path):
    from dts import RandomErasing

    path, _ = make.pack(tmp_path, [make.jpeg(k, 90, 80) for k in range(12)])

    def epoch(*more):
        setup = Preprocessor.setup().dataset("folder", path).batch_size(12).seed(3)
        setup.train_transforms(RandomResizedCrop(40), RandomHorizontalFlip(), *more)
        with setup.commit() as pre:
            (batch,) = pre.train(1)
            return batch, [pre.draws("train", 1, id) for id in batch.ids]

    plain, _ = epoch()
    erased, draws = epoch(RandomErasing(0.8, value=(1.5, -2.0, 0.25)))
    assert np.array_equal(plain.ids, erased.ids)
    assert 2 < sum(d.erase is not None for d in draws) < 12
    for before, after, d in zip(plain.images, erased.images, draws, strict=True):
        wanted = before.copy()
        if d.erase is not None:
            top, left, height, width = d.erase
            wanted[top : top + height, left : left + width] = (1.5, -2.0, 0.25)
        assert np.array_equal(after, wanted)
