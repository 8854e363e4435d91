"""fused_normalize: bits against numpy."""

import subprocess
import sys
import zlib

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dts.kernels import fused_normalize, norm_constants

PRESETS = {
    "NO_NORM": ([0, 0, 0], [1, 1, 1]),
    "MNIST": ([0.1307], [0.3081]),
    "CIFAR": ([0.4914, 0.4822, 0.4465], [0.2470, 0.2435, 0.2616]),
    "IMAGENET": ([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]),
    "MLPERF": ([123.68 / 255, 116.78 / 255, 103.94 / 255], [1 / 255] * 3),
}


def constants(c):
    mean = np.array([0.485, 0.456, 0.406, 0.31][:c])
    std = np.array([0.229, 0.224, 0.225, 0.27][:c])
    return mean, std


def expected(images, mean, std, dtype, channels, flip=None, erase=None):
    n, h, w, c = images.shape
    result = np.zeros((n, h, w, channels), dtype)
    if dtype == "uint8":
        result[..., :c] = images
    else:
        one, full = np.float32(1), np.float32(255)
        std = np.asarray(std, np.float32)
        scale, bias = one / (full * std), np.asarray(mean, np.float32) / std
        result[..., :c] = (images.astype(np.float32) * scale - bias).astype(dtype)
    for i in range(n):
        if flip is not None and flip[i]:
            result[i] = result[i, :, ::-1].copy()
        if erase is not None:
            top, left, height, width = erase[i]
            result[i, top : top + height, left : left + width] = 0
    return result


def assert_same_bits(ours, theirs):
    assert ours.dtype == theirs.dtype
    assert ours.shape == theirs.shape
    unsigned = f"u{ours.dtype.itemsize}"
    np.testing.assert_array_equal(ours.view(unsigned), theirs.view(unsigned))


@pytest.mark.parametrize("dtype", ["float16", "float32", "uint8"])
@pytest.mark.parametrize("c", [1, 2, 3, 4])
@pytest.mark.parametrize("preset", ["constants", "MLPERF"])
def test_every_value_in_every_channel(isa, dtype, c, preset):
    mean, std = constants(c)
    if preset == "MLPERF":
        mean, std = np.full(c, 123.68 / 255), np.full(c, 1 / 255)
    values = np.arange(256, dtype=np.uint8)
    images = np.stack([np.roll(values, 85 * k) for k in range(c)], axis=-1).reshape(1, 1, 256, c)
    for channels in {c, 4}:
        for flip in (False, True):
            ours = fused_normalize(
                images, mean, std, dtype=dtype, channels=channels, flip=np.array([flip])
            )
            assert_same_bits(ours, expected(images, mean, std, dtype, channels, [flip]))


@pytest.mark.parametrize(
    ("preset", "crc", "some"),
    [
        ("NO_NORM", 0xAC29B9EF, {1: "1C04 1C04 1C04 0000", 255: "3C00 3C00 3C00 0000"}),
        ("MNIST", 0x8DB9AAAF, {0: "B6CA 0000 0000 0000", 254: "419E 0000 0000 0000"}),
        ("CIFAR", 0x875E13AB, {0: "BFF5 BFEC BED4 0000", 127: "26E2 2C2A 324E 0000"}),
        ("IMAGENET", 0x9B94F2C6, {0: "C03C C012 BF38 0000", 128: "2CBD 3291 36D3 0000"}),
        ("MLPERF", 0x85784418, {2: "D79B D72C D65F 0000", 255: "581B 5852 58B8 0000"}),
    ],
)
def test_known_ramps_of_the_reference_system(isa, preset, crc, some):
    mean, std = PRESETS[preset]
    ramp = np.arange(256, dtype=np.uint8).reshape(1, 1, 256, 1).repeat(len(mean), axis=3)
    out = fused_normalize(ramp, mean, std)
    for value, pixel in some.items():
        assert " ".join(f"{v:04X}" for v in out.view(np.uint16)[0, 0, value]) == pixel
    assert zlib.crc32(out.tobytes()) == crc


def test_constant_image_by_hand(isa):
    images = np.full((1, 5, 7, 3), 128, np.uint8)
    out = fused_normalize(images, [0.5] * 3, [0.5] * 3, dtype="float32")
    np.testing.assert_allclose(out, (128 / 255 - 0.5) / 0.5, rtol=0, atol=1e-7)
    out = fused_normalize(images, [0.5] * 3, [0.5] * 3)
    assert (out[..., :3] == np.float16((128 / 255 - 0.5) / 0.5)).all()
    assert not out[..., 3].view(np.uint16).any()


@settings(
    deadline=None, max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_any_shape(isa, guarded, data):
    draw = data.draw
    n, h, w = draw(st.integers(0, 3)), draw(st.integers(1, 4)), draw(st.integers(1, 90))
    c, dtype = draw(st.integers(1, 4)), draw(st.sampled_from(["float16", "float32", "uint8"]))
    channels = draw(st.sampled_from([c, 4]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    images = rng.integers(0, 256, (n, h, w, c), np.uint8)
    flip = draw(st.sampled_from([None, rng.random(n) < 0.5]))
    erase = None
    if draw(st.booleans()):
        top, left = rng.integers(0, h, n), rng.integers(0, w, n)
        erase = np.stack(
            [top, left, rng.integers(0, h - top + 1), rng.integers(0, w - left + 1)], 1
        )
    mean, std = constants(c)
    out = guarded((n, h, w, channels), dtype, draw(st.integers(0, 16)))
    options = {"dtype": dtype, "channels": channels, "flip": flip, "erase": erase}
    result = fused_normalize(images, mean, std, out=out, **options)
    assert result is out
    assert_same_bits(out, expected(images, mean, std, dtype, channels, flip, erase))


@pytest.mark.parametrize("dtype", ["float16", "float32", "uint8"])
def test_every_width(isa, guarded, dtype):
    rng = np.random.default_rng(5)
    for width in range(1, 71):
        for c, channels in ((1, 1), (1, 4), (2, 2), (2, 4), (3, 3), (3, 4), (4, 4)):
            images = rng.integers(0, 256, (3, 2, width, c), np.uint8)
            mean, std = constants(c)
            flip = np.array([True, False, True])
            for some in (None, flip):
                out = guarded((3, 2, width, channels), dtype, width % 5)
                fused_normalize(
                    images, mean, std, dtype=dtype, channels=channels, flip=some, out=out
                )
                assert_same_bits(out, expected(images, mean, std, dtype, channels, some))


@pytest.mark.parametrize("dtype", ["float16", "float32", "uint8"])
@pytest.mark.parametrize("c", [1, 3])
def test_erased_boxes_at_every_edge(isa, guarded, dtype, c):
    h, w = 9, 13
    boxes = [
        (top, left, height, width)
        for top in (0, 1, h - 1)
        for left in (0, 1, w - 1)
        for height in (1, h - top)
        for width in (1, w - left)
    ]
    images = np.random.default_rng(6).integers(1, 256, (len(boxes), h, w, c), np.uint8)
    flip = np.arange(len(boxes)) % 2 == 1
    mean, std = constants(c)
    out = guarded((len(boxes), h, w, c), dtype)
    fused_normalize(images, mean, std, dtype=dtype, channels=c, flip=flip, erase=boxes, out=out)
    assert_same_bits(out, expected(images, mean, std, dtype, c, flip, boxes))


def test_flip_of_odd_width_is_a_mirror_and_its_own_inverse(isa):
    images = np.random.default_rng(0).integers(0, 256, (2, 3, 7, 3), np.uint8)
    yes = np.array([True, True])
    once = fused_normalize(images, None, None, dtype="uint8", flip=yes)
    np.testing.assert_array_equal(once, images[:, :, ::-1])
    np.testing.assert_array_equal(
        fused_normalize(once, None, None, dtype="uint8", flip=yes), images
    )


@pytest.mark.parametrize(
    "view",
    [
        lambda a: a[:, ::2],
        lambda a: a[:, :, ::-1],
        lambda a: a.transpose(0, 2, 1, 3),
        lambda a: a[::-1, 1:, 1:, :],
    ],
)
def test_strided_and_read_only_input(isa, view):
    images = view(np.random.default_rng(0).integers(0, 256, (2, 6, 9, 3), np.uint8))
    images.flags.writeable = False
    mean, std = constants(3)
    ours = fused_normalize(images, mean, std, dtype="float32")
    assert_same_bits(ours, expected(images, mean, std, "float32", 3))


def test_empty(isa):
    out = fused_normalize(
        np.empty((0, 8, 8, 3), np.uint8), [0] * 3, [1] * 3, flip=np.empty(0, bool)
    )
    assert out.shape == (0, 8, 8, 4)
    assert fused_normalize(np.empty((2, 0, 8, 3), np.uint8), [0] * 3, [1] * 3).size == 0


def test_nothing_past_the_end_of_the_input_is_read(isa):
    code = """
import ctypes, mmap, sys
import numpy as np
from dts import kernels
kernels.select_isa(sys.argv[1])
page = mmap.PAGESIZE
memory = mmap.mmap(-1, 2 * page)
start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
protect = ctypes.CDLL(None, use_errno=True).mprotect
assert protect(ctypes.c_void_p(start + page), page, 0) == 0
for c in (1, 2, 3, 4):
    for w in (1, 5, 31, 100):
        h = max(1, min(4, page // (w * c)))
        images = np.frombuffer(memory, np.uint8, h * w * c, page - h * w * c).reshape(1, h, w, c)
        for dtype in ("float16", "float32", "uint8"):
            for flip in (False, True):
                kernels.fused_normalize(
                    images, [0.5] * c, [0.5] * c, dtype=dtype, flip=np.array([flip])
                )
        kernels.resize(images, (7, 9))
print("done")
"""
    if sys.platform != "linux":
        pytest.skip("mprotect through ctypes")
    result = subprocess.run(
        [sys.executable, "-c", code, isa], capture_output=True, text=True, timeout=60
    )
    assert result.stdout.strip() == "done", result.stderr


IMAGES = np.zeros((2, 4, 5, 3), np.uint8)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"images": IMAGES.astype(np.float32)}, TypeError, "images: uint8"),
        ({"images": IMAGES[0]}, ValueError, "images: shape"),
        ({"images": np.zeros((1, 2, 2, 5), np.uint8)}, ValueError, "images: 1 to 4 channels"),
        ({"mean": [0.5]}, ValueError, "std: 1 numbers"),
        ({"mean": [0.5], "std": [0.5]}, ValueError, "mean: 3 numbers"),
        ({"mean": [np.nan, 0, 0]}, ValueError, "mean: finite"),
        ({"mean": "abc"}, TypeError, "mean: numbers"),
        ({"std": [0, 1, 1]}, ValueError, "std: finite numbers above 0"),
        ({"std": [-1, 1, 1]}, ValueError, "std: finite numbers above 0"),
        ({"std": [np.inf, 1, 1]}, ValueError, "std: finite"),
        ({"std": [1e-6, 1, 1]}, ValueError, "beyond the range of float16"),
        ({"std": [1e-45, 1, 1], "dtype": "float32"}, ValueError, "beyond the range of float32"),
        ({"dtype": "float64"}, ValueError, "dtype"),
        ({"dtype": "colour"}, TypeError, "dtype"),
        ({"channels": 2}, ValueError, "channels: 3 or 4"),
        ({"flip": [1, 0]}, TypeError, "flip: bool"),
        ({"flip": [True]}, ValueError, "flip: shape"),
        ({"erase": [[0, 0, 1, 1]]}, ValueError, "erase: shape"),
        ({"erase": np.zeros((2, 4))}, TypeError, "erase: whole numbers"),
        ({"erase": [[0, 0, 0, 0], [0, 3, 1, 3]]}, ValueError, "erase: row 1"),
        ({"erase": [[-1, 0, 2, 2], [0, 0, 0, 0]]}, ValueError, "erase: row 0"),
        ({"erase": [[2**31, 0, 1, 1], [0, 0, 0, 0]]}, ValueError, "erase: row 0"),
        ({"out": [1]}, TypeError, "out: a numpy array"),
        ({"out": np.zeros((2, 4, 5, 4), np.float32)}, TypeError, "out: float16"),
        ({"out": np.zeros((2, 4, 5, 3), np.float16)}, ValueError, "out: shape"),
        ({"out": np.zeros((2, 4, 5, 8), np.float16)[..., ::2]}, ValueError, "out: a writable"),
        ({"dtype": "uint8", "out": IMAGES}, ValueError, "out: shares memory"),
    ],
)
def test_wrong_arguments(change, error, message):
    arguments = {"images": IMAGES, "mean": [0.5] * 3, "std": [0.5] * 3, **change}
    images, mean, std = (arguments.pop(k) for k in ("images", "mean", "std"))
    with pytest.raises(error, match=message):
        fused_normalize(images, mean, std, **arguments)


def test_small_std_that_still_fits_float16():
    scale, bias = norm_constants([0.594], [1e-4], dtype="float16")
    assert abs(255 * scale[0] - bias[0]) < 65504
    with pytest.raises(ValueError, match="1 to 4"):
        norm_constants([0.5] * 5, [0.5] * 5)


def test_erase_of_height_zero_may_lie_anywhere(isa):
    images = np.full((1, 4, 4, 1), 9, np.uint8)
    out = fused_normalize(images, None, None, dtype="uint8", erase=[[7, 7, 0, 9]])
    np.testing.assert_array_equal(out, images)
