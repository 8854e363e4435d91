import numpy as np
import pytest

from dts.kernels import available_isas, isa, select_isa


@pytest.fixture(params=available_isas())
def each_isa(request):
    """Each instruction set in turn."""
    before = isa()
    select_isa(request.param)
    yield request.param
    select_isa(before)


@pytest.fixture
def noise():
    """Make a picture of noise."""

    def make(h, w, c=3, seed=0):
        return np.random.default_rng(seed).integers(0, 256, (h, w, c), np.uint8)

    return make
