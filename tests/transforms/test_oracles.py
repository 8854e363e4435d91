"""Every operation against what torchvision and Pillow made of the same pictures (stored)."""

from pathlib import Path

import numpy as np
import pytest
from oracle_cases import CASES, pictures

import dts.transforms
from dts import apply_transforms
from dts.kernels import available_isas, isa, select_isa

STORED = np.load(Path(__file__).parent.parent / "oracles" / "oracles.npz")
PICTURES = pictures()


@pytest.fixture(params=available_isas())
def each_isa(request):
    before = isa()
    select_isa(request.param)
    yield request.param
    select_isa(before)


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


def test_the_stored_file_is_of_these_cases():
    made = {key.split("|")[0] for key in STORED.files} - {"about"}
    assert made == {case.name for case in CASES}, "run tools/make_oracles.py again"
