"""Operations on colours in the threads: any number of them, and any instruction set, the same."""

import numpy as np
import pytest

from dts import (
    ColorJitter,
    ConfigError,
    GaussianBlur,
    GaussianNoise,
    Preprocessor,
    RandAugment,
    RandomAdjustSharpness,
    RandomAutocontrast,
    RandomEqualize,
    RandomGrayscale,
    RandomHorizontalFlip,
    RandomPosterize,
    RandomResizedCrop,
    RandomSolarize,
    TrivialAugmentWide,
    apply_transforms,
    kernels,
)
from dts.decode import decode
from dts.pipeline.apply import transforms_time

CHAIN = (
    ColorJitter(0.4, 0.4, 0.4, 0.2),
    RandomResizedCrop(24),
    RandomGrayscale(0.3),
    GaussianBlur(5, (0.1, 2.0)),
    RandomAutocontrast(),
    RandomEqualize(0.3),
    RandomPosterize(5),
    RandomSolarize(128, 0.3),
    RandomAdjustSharpness(1.7),
    RandAugment(),
    TrivialAugmentWide(),
    GaussianNoise(),
    RandomHorizontalFlip(),
)


def epoch(path, workers, channels=3, chain=CHAIN):
    setup = Preprocessor.setup().dataset("folder", path).batch_size(16).seed(9)
    setup.train_transforms(*chain).output("uint8").preprocess_workers(workers)
    with setup.color_channels(channels).commit() as pre:
        return {
            int(id): image.copy()
            for batch in pre.train(2)
            for image, id in zip(batch.images, batch.ids, strict=True)
        }


@pytest.mark.parametrize("channels", [1, 3])
def test_threads_and_instruction_sets_change_nothing(blocks, channels):
    path, samples = blocks
    before = kernels.isa()
    first = epoch(path, 1, channels)
    assert len(first) == 61
    try:
        for isa, workers in zip(kernels.available_isas(), (3, 2, 4), strict=False):
            kernels.select_isa(isa)
            other = epoch(path, workers, channels)
            assert all(np.array_equal(first[id], other[id]) for id in first)
    finally:
        kernels.select_isa(before)
    if channels == 3:
        for id, image in first.items():
            wanted = apply_transforms(decode(samples[id][0]), CHAIN, seed=9, epoch=2, id=id)
            assert np.array_equal(image, wanted)


def test_fill_values_are_checked_at_commit(blocks):
    chain = (RandomResizedCrop(24), RandAugment(fill=(1, 2, 3)))
    with pytest.raises(ConfigError, match=r"RandAugment.*3 values for 1 channel"):
        epoch(blocks[0], 1, 1, chain)


def test_draws_name_factors_and_order(blocks):
    setup = Preprocessor.setup().dataset("folder", blocks[0]).batch_size(4).seed(3)
    setup.train_transforms(RandomResizedCrop(8), ColorJitter(0.2, hue=0.1), GaussianBlur(3))
    with setup.commit() as pre:
        _, jitter, blur = pre.draws("train", 1, 5).steps
    assert 0.8 <= jitter["brightness"] <= 1.2
    assert -0.1 <= jitter["hue"] <= 0.1
    assert sorted(jitter["order"]) == ["brightness", "hue"]
    assert 0.1 <= blur["sigma"] <= 2.0


def test_time_of_a_chain():
    image = np.zeros((32, 32, 3), np.uint8)
    assert 0 < transforms_time(image, ColorJitter(0.4, hue=0.2), 50) < 1
    with pytest.raises(ValueError, match="pictures"):
        transforms_time(image, ColorJitter(0.4), 0)
