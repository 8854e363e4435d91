"""RandomErasing(value="random"): which numbers fall where, and what they are like."""

import math

import colour_reference as colour
import geometry_reference as geometry
import make_arrays
import numpy as np
import pytest
import reference

from dts import Preprocessor, RandomErasing, RandomHorizontalFlip, apply_transforms


class CountingStream(reference.Stream):
    """Knows which block is the first that a draw left alone."""

    used = 0

    def _all(self):
        for word in super()._all():
            self.used += 1
            yield word

    @property
    def next_block(self):
        return (self.used + 3) // 4


@pytest.mark.parametrize("c", [1, 3])
def test_bytes_are_the_words_after_the_draw(noise, c):
    image = noise(30, 25, c)
    op = RandomErasing(1.0, value="random")
    for id in range(30):
        stream = CountingStream(5, 1, 0, id, 0)
        top, left, h, w = reference.erase_box(stream, 25, 30, 1.0)
        groups = -(-w * c // 64)
        words = colour.philox(
            5, stream.next_block + np.arange(4 * groups * h), id, 1, stream.word3
        )
        values = np.stack(words, axis=1).astype("<u4").view(np.uint8)
        wanted = image.copy()
        wanted[top : top + h, left : left + w] = values.reshape(h, -1)[:, : w * c].reshape(h, w, c)
        got = apply_transforms(image, op, seed=5, epoch=1, id=id)
        assert np.array_equal(got, wanted)


def batches(tmp_path, **calls):
    if not (tmp_path / "cifar-10-batches-bin").exists():
        make_arrays.write("cifar10", tmp_path, n_train=400)
    s = Preprocessor.setup().dataset("cifar10", tmp_path).batch_size(400).shuffle_train(False)
    for method, value in calls.items():
        getattr(s, method)(*value)
    with s.commit() as pre:
        return next(iter(pre.train(0))).images, [pre.draws("train", 0, k) for k in range(400)]


def erased(tmp_path, **calls):
    op = RandomErasing(1.0, (0.2, 0.3), value="random")
    images, draws = batches(tmp_path, train_transforms=(op,), **calls)
    boxes = [draw.erase for draw in draws]
    parts = [im[t : t + h, x : x + w] for im, (t, x, h, w) in zip(images, boxes, strict=True)]
    return images, boxes, parts


def test_numbers_are_those_of_gaussian_noise_after_the_draw(tmp_path):
    _, boxes, parts = erased(tmp_path, seed=(77,))
    for id, (box, part) in enumerate(zip(boxes, parts, strict=True)):
        stream = CountingStream(77, 0, 0, id, 0)
        assert reference.erase_box(stream, 32, 32, 1.0, (0.2, 0.3)) == box
        n = 3 * box.width
        wanted = colour.normals(77, 0, id, 0, box.height, n, stream.next_block)
        assert np.abs(part.reshape(box.height, n) - wanted).max() < 1e-5


def test_numbers_are_normal_and_independent(tmp_path):
    values = np.concatenate([part.reshape(-1) for part in erased(tmp_path)[2]]).astype(float)[
        :100_000
    ]
    assert values.size == 100_000
    unit = np.array([0.5 * (1 + math.erf(v / 2**0.5)) for v in values])
    assert geometry.ks_uniform(unit) < 1.95
    assert len(np.unique(values)) > 95_000  # none is used twice
    for lag in (1, 3, 64, 96):
        assert abs(np.corrcoef(values[lag:], values[:-lag])[0, 1]) < 4 / np.sqrt(values.size)


def test_halves_are_the_same_numbers_rounded_and_padding_stays_0(tmp_path, each_isa):
    wide = erased(tmp_path)[2]
    images, _, halves = erased(tmp_path, amp=(True,))
    assert images.shape[-1] == 4
    assert (images[..., 3] == 0).all()
    for a, b in zip(wide, halves, strict=True):
        assert np.array_equal(a.astype(np.float16), b[..., :3])


def test_threads_and_instruction_sets_make_the_same(tmp_path):
    one, four = (
        colour.on_each_isa(lambda n=n: erased(tmp_path, preprocess_workers=(n,))[0].copy())
        for n in (1, 4)
    )
    assert np.array_equal(one, four)


def test_the_flip_comes_before(tmp_path):
    op = RandomErasing(1.0, value="random")
    straight, draws = batches(tmp_path, train_transforms=(op,))
    flipped, others = batches(tmp_path, train_transforms=(op, RandomHorizontalFlip(1.0)))
    for a, b, draw, other in zip(straight, flipped, draws, others, strict=True):
        assert draw.erase == other.erase
        top, left, h, w = draw.erase
        assert np.array_equal(a[top : top + h, left : left + w], b[top : top + h, left : left + w])


@pytest.mark.parametrize("value", ["mean", "Random", ""])
def test_values_that_are_none(value):
    with pytest.raises(ValueError, match="'random'"):
        RandomErasing(value=value)
