"""Operations on pixels among those on the view: same result as step by step in numpy."""

import numpy as np
import pytest
import reference
from PIL import Image

from dts import (
    CenterCrop,
    ConfigError,
    Preprocessor,
    RandomErasing,
    RandomHorizontalFlip,
    RandomInvert,
    RandomResizedCrop,
    Resize,
    Transform,
    apply_transforms,
)
from dts.decode import decode


def noise(h, w, c=3, seed=0):
    return np.random.default_rng(seed).integers(0, 256, (h, w, c), np.uint8)


@pytest.mark.parametrize("c", [1, 3])
def test_pixels_come_where_they_stand(c):
    image = noise(40, 30, c)
    kept = image.copy()
    got = apply_transforms(image, [RandomInvert(1.0), CenterCrop((50, 20)), RandomInvert(1.0)])
    wanted = np.full((50, 20, c), 255, np.uint8)  # padded with 0, then inverted
    wanted[5:45] = image[:, 5:25]
    assert np.array_equal(got, wanted)
    assert np.array_equal(image, kept)


def test_not_applied_changes_nothing():
    image = noise(20, 20)
    assert np.array_equal(apply_transforms(image, RandomInvert(0.0)), image)
    plain = apply_transforms(image, [Resize(15)])
    assert np.array_equal(apply_transforms(image, [RandomInvert(0.0), Resize(15)]), plain)


def test_many_steps_use_two_pictures_in_turn():
    image = noise(64, 48)
    chain = [Resize((60, 50)), RandomInvert(1.0), Resize((30, 25)), RandomInvert(1.0)]
    first = np.asarray(Image.fromarray(image).resize((50, 60), Image.Resampling.BILINEAR))
    second = np.asarray(Image.fromarray(255 - first).resize((25, 30), Image.Resampling.BILINEAR))
    got = apply_transforms(image, chain)
    assert np.abs(got.astype(int) - (255 - second)).max() <= 2


def test_gray_pictures_keep_their_dimensions():
    image = noise(9, 7)[:, :, 0]
    got = apply_transforms(image, RandomInvert(1.0))
    assert got.shape == (9, 7)
    assert np.array_equal(got, 255 - image)


def test_draws_and_carriers_are_those_of_the_sample():
    image = noise(33, 31)
    flips = [
        apply_transforms(
            image, [RandomHorizontalFlip(), RandomErasing(0.5, value=7)], seed=3, id=i
        )
        for i in range(20)
    ]
    for i, got in enumerate(flips):
        wanted = image
        if reference.Stream(3, 0, 0, i, 0).uniform() < 0.5:
            wanted = wanted[:, ::-1]
        wanted = wanted.copy()
        box = reference.erase_box(reference.Stream(3, 0, 0, i, 1), 31, 33, 0.5)
        if box is not None:
            top, left, h, w = box
            wanted[top : top + h, left : left + w] = 7
        assert np.array_equal(got, wanted)


def test_a_preprocessor_does_the_same(blocks):
    path, samples = blocks
    chain = (RandomResizedCrop(24), RandomInvert(0.5), RandomHorizontalFlip())
    setup = Preprocessor.setup().dataset("folder", path).batch_size(16).seed(9)
    setup.train_transforms(*chain).output("uint8").preprocess_workers(3)
    seen = 0
    with setup.commit() as pre:
        for batch in pre.train(2):
            for image, id in zip(batch.images, batch.ids, strict=True):
                decoded = decode(samples[int(id)][0])
                wanted = apply_transforms(decoded, chain, seed=9, epoch=2, id=int(id))
                assert np.array_equal(image, wanted)
                seen += 1
    assert seen == 61


class OnlyColour(Transform):
    def check_channels(self, channels):
        if channels != 3:
            raise ValueError("it needs 3 channels")


def test_channels_are_checked_before_anything_runs(blocks):
    setup = Preprocessor.setup().dataset("folder", blocks[0]).batch_size(4).color_channels(1)
    setup.train_transforms(CenterCrop(8), OnlyColour())
    with pytest.raises(ConfigError, match=r"train_transforms: OnlyColour.*needs 3 channels"):
        setup.commit()


@pytest.mark.parametrize(
    ("image", "kind"),
    [
        (np.zeros((4, 4, 3), np.float32), TypeError),
        (np.zeros((4, 4, 2), np.uint8), ValueError),
        (np.zeros((0, 4, 3), np.uint8), ValueError),
        (np.zeros((4,), np.uint8), ValueError),
    ],
)
def test_what_is_no_picture(image, kind):
    with pytest.raises(kind):
        apply_transforms(image, RandomInvert())


@pytest.mark.parametrize(
    "key", [{"seed": -1}, {"seed": 1 << 64}, {"epoch": 1 << 32}, {"id": -1}, {"split": "test"}]
)
def test_numbers_out_of_range(key):
    with pytest.raises(ValueError, match=next(iter(key))):
        apply_transforms(noise(4, 4), RandomInvert(), **key)
