"""Fixtures: an instruction set, memory with guards around it, the obvious resize."""

import platform

import numpy as np
import pytest

from dts import kernels

ISAS = ["scalar", "neon"] if platform.machine() == "aarch64" else ["scalar", "avx2", "avx512"]


@pytest.fixture(params=ISAS)
def isa(request):
    """Run the test on each instruction set that is here; the choice is put back afterwards."""
    before = kernels.isa()
    if request.param not in kernels.available_isas():
        pytest.skip(f"no {request.param} here")
    kernels.select_isa(request.param)
    yield request.param
    kernels.select_isa(before)


@pytest.fixture
def guarded():
    """Make arrays that lie between bytes which must not change."""
    made = []

    def make(shape, dtype, misaligned=0):
        size = int(np.prod(shape)) * np.dtype(dtype).itemsize
        memory = np.full(size + 256, 0xA5, np.uint8)
        start = 128 + misaligned * np.dtype(dtype).itemsize
        made.append((memory, start, size))
        return memory[start : start + size].view(dtype).reshape(shape)

    yield make
    for memory, start, size in made:
        assert (memory[:start] == 0xA5).all()
        assert (memory[start + size :] == 0xA5).all()


class Reference:
    """The resize of dts/kernels/kernels.h, once more, with numpy and Python's integers."""

    @staticmethod
    def exact_weights(box0, box, clip0, clip1, virtual_out, out0, out, antialias=True):
        """Real weights, (out, clip1): columns are source positions."""
        scale = box / virtual_out
        support = max(1.0, scale) if antialias else 1.0
        dense = np.zeros((out, clip1))
        for i in range(out):
            centre = box0 + (out0 + i + 0.5) * scale
            low = min(max(int(max(centre - support + 0.5, clip0)), clip0), clip1 - 1)
            high = max(min(int(centre + support + 0.5), clip1), low + 1)
            for x in range(low, high):
                dense[i, x] = max(0.0, 1.0 - abs((x - centre + 0.5) * (1.0 / support)))
            if not dense[i].any():
                dense[i, low] = 1.0
        return dense / dense.sum(axis=1, keepdims=True)

    @classmethod
    def weights(cls, *axis, **options):
        """Give the same in units of 1/16384: the running sum is rounded."""
        running = np.cumsum(cls.exact_weights(*axis, **options), axis=1)
        steps = np.floor(running * 16384 + 0.5).astype(np.int64)
        return np.diff(steps, axis=1, prepend=0)

    @staticmethod
    def passes(image, vertical, horizontal):
        """Both passes of an (h, w, c) image, in units of 2^-21 of a level."""
        rows = np.tensordot(vertical, image.astype(np.int64), axes=(1, 0))
        return np.einsum("oi,yic->yoc", horizontal, (rows + 64) >> 7)


@pytest.fixture(scope="session")
def reference():
    """Give the obvious version of a resize."""
    return Reference
