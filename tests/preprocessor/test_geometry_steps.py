"""Geometric operations in a Preprocessor: as on an array, for any number of threads."""

import make_arrays
import numpy as np
import pytest

from dts import (
    CenterCrop,
    ConfigError,
    DoNothing,
    FastRandomResizedCrop,
    Pad,
    Preprocessor,
    RandomCrop,
    RandomErasing,
    RandomHorizontalFlip,
    RandomInvert,
    RandomResizedCrop,
    RandomRotation,
    RandomScale,
    RandomVerticalFlip,
    Resize,
    apply_transforms,
)
from dts.chains import _between
from dts.decode import decode

CHAINS = {
    "crop": (
        RandomCrop(40, padding=4, pad_if_needed=True, fill=3, padding_mode="constant"),
        RandomVerticalFlip(),
        RandomErasing(0.5, value="random"),
    ),
    "mirrored": (
        Pad((3, 50), padding_mode="reflect"),
        RandomCrop(30, pad_if_needed=True, padding_mode="symmetric"),
        RandomHorizontalFlip(),
        RandomVerticalFlip(),
    ),
    "turned": (FastRandomResizedCrop(33), RandomRotation(40, "bilinear", fill=9), DoNothing()),
    "scaled": (RandomScale(0.5, 1.5), RandomInvert(0.5), RandomScale(0.7, 2.0), CenterCrop(28)),
}


@pytest.mark.parametrize("chain", CHAINS.values(), ids=CHAINS.keys())
def test_a_preprocessor_does_what_apply_transforms_does(blocks, chain):
    path, samples = blocks
    made = []
    for workers in (1, 5):
        s = Preprocessor.setup().dataset("folder", path).batch_size(16).seed(11).output("uint8")
        s.train_transforms(*chain).preprocess_workers(workers)
        with s.commit() as pre:
            made.append(
                {
                    id: image
                    for batch in pre.train(2)
                    for id, image in zip(batch.ids.tolist(), batch.images.copy(), strict=True)
                }
            )
            plan, stats = pre.memory_plan().splits[0], pre.stats()["train"]
            assert stats["scratch_bytes"] <= workers * plan.scratch_bytes
    assert made[0].keys() == made[1].keys() == set(range(61))
    for id, image in made[0].items():
        assert np.array_equal(image, made[1][id])
        wanted = apply_transforms(decode(samples[id][0]), chain, seed=11, epoch=2, id=id)
        assert np.array_equal(image, wanted), id


def test_draws_tell_both_flips(blocks):
    s = Preprocessor.setup().dataset("folder", blocks[0]).batch_size(8)
    s.train_transforms(
        RandomCrop(9, pad_if_needed=True), RandomHorizontalFlip(0.5), RandomVerticalFlip(0.5)
    )
    with s.commit() as pre:
        draws = [pre.draws("train", 0, id) for id in range(61)]
    assert {(d.flip, d.vflip) for d in draws} == {(a, b) for a in (0, 1) for b in (0, 1)}
    for d in draws:
        assert d["vflip"] == d.steps[2]["applied"]
        assert d.crop[2:] == (9, 9)


@pytest.mark.parametrize(
    ("name", "chain", "message"),
    [
        ("cifar10", (RandomCrop(40),), r"RandomCrop.*32 x 32.*smaller than the crop of 40 x 40"),
        ("cifar10", (CenterCrop(20), RandomCrop(24, padding=1)), "22 x 22, padding included"),
        ("mnist", (RandomRotation(10, fill=(1, 2, 3)),), "fill has 3 values for 1 channels"),
        ("mnist", (Pad(1, (1, 2, 3)),), "fill has 3 values for 1 channels"),
    ],
)
def test_what_cannot_work_on_a_set_fails_in_commit(tmp_path, name, chain, message):
    make_arrays.write(name, tmp_path)
    s = Preprocessor.setup().dataset(name, tmp_path).batch_size(8).train_transforms(*chain)
    with pytest.raises(ConfigError, match=f"train_transforms: .*{message}"):
        s.commit()


@pytest.mark.parametrize(
    "chain", [(Pad(3),), (RandomScale(0.5, 1),), (RandomRotation(3),), (Resize(30), Pad(3, 1))]
)
def test_a_chain_must_end_at_one_size(blocks, chain):
    s = Preprocessor.setup().dataset("folder", blocks[0]).batch_size(8).train_transforms(*chain)
    with pytest.raises(ConfigError, match="differ in size"):
        s.commit()


@pytest.mark.parametrize(
    ("chain", "pictures"),
    [
        # sides of the two largest pictures that are held at once
        ((RandomCrop(32, padding=4),), [(32, 32)]),
        ((RandomCrop(32, padding=4, fill=1),), [(32, 32), (50, 60)]),
        ((Pad(10), Resize((20, 20))), [(70, 80)]),
        ((Pad(10, padding_mode="edge"), CenterCrop(20)), [(70, 80), (50, 60)]),
        ((CenterCrop(20), RandomRotation(5)), [(20, 20), (20, 20)]),
        ((RandomScale(0.5, 2), RandomScale(0.5, 2)), [(50, 60), (50, 60)]),
        (
            (RandomResizedCrop(40), RandomResizedCrop(20), FastRandomResizedCrop(10)),
            [(40, 40), (20, 20)],
        ),
        ((RandomResizedCrop(40), DoNothing()), []),
    ],
)
def test_pictures_in_between_are_planned(chain, pictures):
    assert _between(chain, (50, 60, 3), 3, 3000) == sum(3 * h * w for h, w in pictures)


def test_a_padded_picture_of_unknown_size_is_estimated_from_above():
    wide, tall = 120, 30  # four times as long as high
    planned = _between((Pad((1, 9, 3, 7)), Resize((5, 5))), None, 1, wide * tall)
    assert planned >= (wide + 4) * (tall + 16)
    assert planned >= (tall + 4) * (wide + 16)
