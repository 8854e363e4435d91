"""Every operation against what torchvision and Pillow made of the same pictures (stored)."""

import math
from pathlib import Path

import numpy as np
import pytest
from oracle_cases import (
    AUGMENT_LEVELS,
    AUGMENT_MAGNITUDES,
    AUGMENT_PICTURES,
    CASES,
    augment_key,
    pictures,
)

import dts.transforms
from dts import apply_transforms
from dts.transforms import Chain

STORED = np.load(Path(__file__).parent.parent / "oracles" / "oracles.npz")
PICTURES = pictures()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_it_makes_what_they_make(case, each_isa):
    op = getattr(dts.transforms, case.op)(**case.settings)
    compared = 0
    for name in case.on:
        got = apply_transforms(PICTURES[name], op).astype(int)
        for who, levels in (("torch", case.torch_levels), ("pillow", case.pillow_levels)):
            key = f"{case.name}|{name}|{who}"
            if key in STORED:
                wanted = STORED[key]
                assert got.shape == wanted.shape, key
                assert np.abs(got - wanted).max() <= levels, key
                compared += 1
    assert compared > 0


@pytest.mark.parametrize("name", AUGMENT_PICTURES)
@pytest.mark.parametrize("magnitude", AUGMENT_MAGNITUDES)
def test_rand_augment_makes_what_torchvision_makes(magnitude, name, each_isa):
    image = PICTURES[name]
    chain = Chain([dts.transforms.RandAugment(1, magnitude)])
    signed = {
        key.split("|")[1] for key in STORED.files if key.startswith("augment|") and "|-|" in key
    }
    seen = set()
    for id in range(600):
        step = chain.describe(1, 0, 0, id, image.shape[1], image.shape[0])[0]
        (operation,), (value,) = step["operations"], step["magnitudes"]
        rest = {"Brightness": 1, "Color": 1, "Contrast": 1, "Sharpness": 1}.get(operation, 0)
        # A translation by -0 counts as negative.
        key = augment_key(
            operation, magnitude, operation in signed and math.copysign(1, value - rest) < 0, name
        )
        if key not in seen:
            seen.add(key)
            got = apply_transforms(image, chain.transforms, seed=1, id=id).astype(int)
            assert np.abs(got - STORED[key]).max() <= AUGMENT_LEVELS, key
    every = {
        k for k in STORED.files if k.startswith("augment|") and k.split("|")[2] == str(magnitude)
    }
    assert seen == {key for key in every if key.endswith(f"|{name}")}


def test_the_stored_file_is_of_these_cases():
    made = {key.split("|")[0] for key in STORED.files} - {"about", "augment"}
    assert made == {case.name for case in CASES}, "run tools/make_oracles.py again"
