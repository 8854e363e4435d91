"""Both passes of a resize: bits against the obvious version, levels against Pillow."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

from dts import kernels
from dts.kernels import kernels as module
from dts.kernels import norm_constants, resize

MANY = settings(
    deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def noise(h, w, c, seed=0):
    return np.random.default_rng(seed).integers(0, 256, (h, w, c), np.uint8)


def pillow(image, size, box=None):
    bands = [
        np.asarray(Image.fromarray(image[..., k]).resize(size[::-1], Image.BILINEAR, box))
        for k in range(image.shape[2])
    ]
    return np.stack(bands, axis=-1)


def most_different(a, b):
    return int(np.abs(a.astype(int) - b).max())


def fused(image, size, out, box=None, antialias=True, mean=None, std=None, flip=False):
    """Resize with the last pass's normalisation; without mean and std the values stay 0..255."""
    h, w, c = image.shape
    scale, bias = np.ones(c, np.float32), np.zeros(c, np.float32)
    if mean is not None:
        scale, bias = norm_constants(mean, std)
    box = box or (0.0, 0.0, float(w), float(h))
    flat = out.reshape(-1).view(np.uint8)
    itemsize, channels = out.dtype.itemsize, out.shape[-1]
    module._resize(
        flat, image[np.newaxis], itemsize, channels, *size, box, antialias, scale, bias, flip
    )
    return scale, bias


@MANY
@given(data=st.data())
def test_bits(isa, guarded, reference, data):
    draw = data.draw
    h, w = draw(st.integers(1, 60)), draw(st.integers(1, 120))
    size = (draw(st.integers(1, 40)), draw(st.integers(1, 90)))
    c = draw(st.sampled_from([1, 3, 3, 2, 4]))
    channels, flip = draw(st.sampled_from([c, 4])), draw(st.booleans())
    dtype = np.dtype(draw(st.sampled_from(["float16", "float32", "uint8"])))
    antialias = draw(st.booleans())
    image = noise(h, w, c, draw(st.integers(0, 1000)))
    if draw(st.booleans()):
        image = np.where(image < 128, 0, 255).astype(np.uint8)
    box = (0.0, 0.0, float(w), float(h))
    if draw(st.booleans()):
        left, top = draw(st.floats(0, w * 0.9)), draw(st.floats(0, h * 0.9))
        box = (left, top, left + (w - left) * draw(st.floats(0.1, 1)), float(h))
    out = guarded((1, *size, channels), dtype, draw(st.integers(0, 8)))
    mean, std = [0.48, 0.45, 0.4, 0.3][:c], [0.22, 0.23, 0.24, 0.25][:c]
    scale, bias = fused(image, size, out, box, antialias, mean, std, flip)

    vertical = reference.weights(
        box[1], box[3] - box[1], 0, h, size[0], 0, size[0], antialias=antialias
    )
    horizontal = reference.weights(
        box[0], box[2] - box[0], 0, w, size[1], 0, size[1], antialias=antialias
    )
    sums = reference.passes(image, vertical, horizontal)
    wanted = np.zeros((1, *size, channels), dtype)
    if dtype == np.uint8:
        wanted[0, ..., :c] = (sums + (1 << 20)) >> 21
    else:
        wanted[0, ..., :c] = (
            sums.astype(np.int32).astype(np.float32) * (scale * np.float32(2.0**-21)) - bias
        )
    if flip:
        wanted = wanted[:, :, ::-1]
    unsigned = f"u{dtype.itemsize}"
    np.testing.assert_array_equal(out.view(unsigned), np.ascontiguousarray(wanted).view(unsigned))


@pytest.mark.parametrize("c", [1, 3])
@pytest.mark.parametrize(
    ("source", "out"), [((130, 900), (5, 16)), ((3, 2000), (2, 11)), ((700, 40), (9, 300))]
)
def test_bits_of_strong_reductions(isa, reference, source, out, c):
    image = noise(*source, c)
    vertical, horizontal = (
        reference.weights(0, s, 0, s, o, 0, o) for s, o in zip(source, out, strict=True)
    )
    sums = reference.passes(image, vertical, horizontal)
    np.testing.assert_array_equal(resize(image, out), (sums + (1 << 20)) >> 21)


@MANY
@given(
    source=st.tuples(st.integers(1, 400), st.integers(1, 400)),
    size=st.tuples(st.integers(1, 400), st.integers(1, 400)),
    kind=st.sampled_from(["noise", "gradient", "edges"]),
)
def test_one_level_from_pillow(isa, source, size, kind):
    image = noise(*source, 3)
    if kind == "gradient":
        y, x = np.indices(source)
        image = np.stack([x, y, x + y], axis=-1).astype(np.uint8)
    elif kind == "edges":
        image = np.where(image < 128, 0, 255).astype(np.uint8)
    assert most_different(resize(image, size), pillow(image, size)) <= 1


@MANY
@given(data=st.data())
def test_one_level_from_pillow_in_a_box(isa, data):
    h, w = data.draw(st.integers(1, 200)), data.draw(st.integers(1, 200))
    left, top = data.draw(st.floats(0, w * 0.9)), data.draw(st.floats(0, h * 0.9))
    right = left + (w - left) * data.draw(st.floats(0.05, 1))
    bottom = top + (h - top) * data.draw(st.floats(0.05, 1))
    size = (data.draw(st.integers(1, 99)), data.draw(st.integers(1, 99)))
    box = (left, top, min(right, w), min(bottom, h))
    image = noise(h, w, 1)
    assert most_different(resize(image, size, box=box), pillow(image, size, box)) <= 1


@pytest.mark.parametrize(
    ("source", "size"),
    [((1, 1), (5, 7)), ((1, 65500), (1, 1)), ((65500, 1), (3, 2)), ((1, 1), (1, 65500)),
     ((2, 65500), (1, 224)), ((1, 3), (2, 65500)), ((65500, 2), (65499, 1))],
)  # fmt: skip
def test_extreme_sizes(isa, source, size):
    image = noise(*source, 3)
    assert most_different(resize(image, size), pillow(image, size)) <= 1


@pytest.mark.parametrize("antialias", [True, False])
@pytest.mark.parametrize(("source", "size"), [((300, 300), (224, 224)), ((90, 140), (224, 224))])
def test_float_output_is_near_the_exact_value(isa, reference, source, size, antialias):
    image = noise(*source, 3)
    out = np.empty((1, *size, 3), np.float32)
    fused(image, size, out, antialias=antialias)
    axes = [
        reference.exact_weights(0, s, 0, s, o, 0, o, antialias=antialias)
        for s, o in zip(source, size, strict=True)
    ]
    exact = np.einsum("ya,abc,xb->yxc", axes[0], image.astype(np.float64), axes[1], optimize=True)
    error = np.abs(out[0] - exact)
    assert error.mean() < 0.02
    assert error.max() < 0.1


@pytest.mark.parametrize("value", [0, 1, 127, 254, 255])
def test_constant_images_stay_constant(isa, value):
    image = np.full((37, 53, 3), value, np.uint8)
    for size in (1, 2, 36, 37, 200):
        assert (resize(image, size) == value).all()


def test_same_size_is_a_copy(isa):
    image = noise(33, 47, 3)
    np.testing.assert_array_equal(resize(image, (33, 47)), image)


def test_batch_equals_single_images(isa):
    images = np.stack([noise(9, 14, 3, seed) for seed in range(3)])
    out = resize(images, (6, 20))
    for image, one in zip(images, out, strict=True):
        np.testing.assert_array_equal(resize(image, (6, 20)), one)


def test_strided_read_only_and_empty_input(isa):
    images = noise(20, 30, 3)[:, ::2]
    images.flags.writeable = False
    np.testing.assert_array_equal(resize(images, 8), resize(images.copy(), 8))
    assert resize(np.empty((0, 4, 4, 3), np.uint8), (2, 3)).shape == (0, 2, 3, 3)


@pytest.mark.parametrize(
    ("arguments", "options", "error", "message"),
    [
        ((np.zeros((4, 4, 3)), 2), {}, TypeError, "images: uint8"),
        ((np.zeros((4, 4), np.uint8), 2), {}, ValueError, "images: shape"),
        ((np.zeros((0, 4, 3), np.uint8), 2), {}, ValueError, "images: sides"),
        ((np.zeros((1, 65501, 1), np.uint8), 2), {}, ValueError, "images: sides"),
        ((noise(4, 4, 3), 0), {}, ValueError, "size"),
        ((noise(4, 4, 3), 65501), {}, ValueError, "size"),
        ((noise(4, 4, 3), 2.5), {}, TypeError, "size"),
        ((noise(4, 4, 3), (1, 2, 3)), {}, TypeError, "size"),
        ((noise(4, 4, 3), True), {}, TypeError, "size"),
        ((noise(4, 4, 3), 2), {"box": (0, 0, 5, 4)}, ValueError, "box"),
        ((noise(4, 4, 3), 2), {"box": (2, 0, 2, 4)}, ValueError, "box"),
        ((noise(4, 4, 3), 2), {"box": (0, float("nan"), 2, 4)}, ValueError, "box"),
        ((noise(4, 4, 3), 2), {"box": (0, 0, 4)}, ValueError, "box"),
        ((noise(4, 4, 3), 2), {"box": "all"}, TypeError, "box"),
    ],
)
def test_wrong_arguments(arguments, options, error, message):
    with pytest.raises(error, match=message):
        resize(*arguments, **options)


def test_public_names():
    assert set(kernels.__all__) <= set(dir(kernels))
