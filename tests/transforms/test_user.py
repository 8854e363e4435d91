"""Transforms of a user's own: Python functions, compiled ones, and what they may not do."""

import ctypes
import shutil
import subprocess
import textwrap

import numpy as np
import pytest
import reference

from dts import (
    CFunction,
    Lambda,
    RandomHorizontalFlip,
    Resize,
    TransformError,
    apply_transforms,
    get_include,
)

C_SOURCE = """
    #include "dts/transforms/user_transform.h"
    #include <string.h>

    dts_user_transform check;   /* the compiler compares the signatures */

    int brighten(const uint8_t *src, int64_t src_stride, int src_width, int src_height,
                 uint8_t *dst, int64_t dst_stride, int dst_width, int dst_height, int channels,
                 const uint32_t *random, void *user_data) {
        const int add = user_data ? *(const int32_t *)user_data : 10;
        check = brighten;
        for (int y = 0; y < src_height; ++y)
            for (int x = 0; x < src_width * channels; ++x) {
                const int v = src[y * src_stride + x] + add;
                dst[y * dst_stride + x] = (uint8_t)(v > 255 ? 255 : v);
            }
        return 0;
    }

    int words(const uint8_t *src, int64_t src_stride, int src_width, int src_height,
              uint8_t *dst, int64_t dst_stride, int dst_width, int dst_height, int channels,
              const uint32_t *random, void *user_data) {
        memcpy(dst, random, 16);
        return 0;
    }

    int fails(const uint8_t *src, int64_t src_stride, int src_width, int src_height,
              uint8_t *dst, int64_t dst_stride, int dst_width, int dst_height, int channels,
              const uint32_t *random, void *user_data) {
        return 7;
    }
"""


def noise(h, w, c=3, seed=0):
    return np.random.default_rng(seed).integers(0, 256, (h, w, c), np.uint8)


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    """A library compiled from C_SOURCE against the header in the package."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler (cc) here")
    place = tmp_path_factory.mktemp("user")
    (place / "user.c").write_text(textwrap.dedent(C_SOURCE))
    subprocess.run(
        [compiler, "-Wall", "-Werror", "-O2", "-shared", "-fPIC", "-I", get_include(),
         str(place / "user.c"), "-o", str(place / "user.so")],
        check=True,
    )  # fmt: skip
    return ctypes.CDLL(str(place / "user.so"))


def capsule(function, name):
    new = ctypes.pythonapi.PyCapsule_New
    new.restype = ctypes.py_object
    new.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    return new(ctypes.cast(function, ctypes.c_void_p), name, None)


CYTHON_NAME = (
    b"int (uint8_t const *, int64_t, int, int, uint8_t *, int64_t, int, int, int, "
    b"uint32_t const *, void *)"
)


# Python


@pytest.mark.parametrize("c", [1, 3])
@pytest.mark.parametrize("shape", [(1, 1), (7, 5), (64, 33)])
def test_a_function_gets_and_gives_pixels(shape, c):
    image = noise(*shape, c)
    kept = image.copy()
    seen = []

    def invert(x):
        seen.append(x)
        np.subtract(255, x, out=x)
        return x

    got = apply_transforms(image, Lambda(invert))
    assert np.array_equal(got, 255 - kept)
    assert np.array_equal(image, kept)
    assert (seen[0].shape, seen[0].dtype) == (image.shape, np.uint8)
    assert seen[0].flags.owndata
    assert seen[0].flags.writeable


def test_a_function_may_change_the_size_in_the_midst_of_a_chain():
    image = noise(40, 30)
    shrink = Lambda(lambda x: np.ascontiguousarray(x[::2, ::2]), size=(10, 8))
    got = apply_transforms(image, [Resize((20, 16)), shrink, Resize((5, 4))])
    half = apply_transforms(image, Resize((20, 16)))[::2, ::2]
    assert np.array_equal(got, apply_transforms(half, Resize((5, 4))))


def test_what_is_returned_need_not_be_contiguous_or_own_its_memory():
    image = noise(9, 9)
    got = apply_transforms(image, Lambda(lambda x: x.transpose(1, 0, 2)[::-1]))
    assert np.array_equal(got, image.transpose(1, 0, 2)[::-1])
    gray = noise(9, 7, 1)
    assert np.array_equal(apply_transforms(gray, Lambda(lambda x: x[:, :, 0])), gray)


def test_the_generator_is_a_function_of_the_sample():
    def draw(x, rng):
        return rng.integers(0, 256, x.shape, np.uint8)

    chain = [RandomHorizontalFlip(0.0), Lambda(draw, random=True)]
    image = noise(4, 6)
    for key in ({"id": 3}, {"id": 4}, {"id": 3, "epoch": 1}, {"id": 3, "split": "val"}):
        got = apply_transforms(image, chain, seed=5, **key)
        split = 1 if key.get("split") == "val" else 0
        stream = reference.Stream(5, key.get("epoch", 0), split, key["id"], 1)
        words = [next(stream.words) for _ in range(4)]
        wanted = np.random.Generator(
            np.random.Philox(key=sum(w << (32 * k) for k, w in enumerate(words)))
        )
        assert np.array_equal(got, wanted.integers(0, 256, image.shape, np.uint8))


@pytest.mark.parametrize(
    ("function", "text", "cause"),
    [
        (lambda x: x.astype(np.float32), "returned an array of float32, not uint8", TypeError),
        (lambda x: x[:-1], r"returned an array of shape \(7, 8, 3\), not \(8, 8, 3\)", ValueError),
        (lambda x: x[:, :, 0], r"shape \(8, 8\), not", ValueError),
        (lambda x: None, "returned NoneType, not an array", TypeError),
        (lambda x: x.tolist(), "returned list, not an array", TypeError),
        (lambda x: {}["no such"], "KeyError: 'no such'", KeyError),
        (lambda: None, "positional argument", TypeError),
        (lambda x: (_ for _ in ()).throw(SystemExit("out")), "SystemExit: out", SystemExit),
    ],
)
def test_what_goes_wrong_inside_is_an_error_of_the_sample(function, text, cause):
    with pytest.raises(TransformError, match=text) as caught:
        apply_transforms(noise(8, 8), Lambda(function))
    assert "Lambda(<lambda>)" in str(caught.value)
    assert isinstance(caught.value.__cause__, cause)


def test_an_exception_without_words():
    class Mute(Exception):
        def __str__(self):
            raise RuntimeError("not even this")

    def fail(x):
        raise Mute

    with pytest.raises(TransformError, match="cannot be shown"):
        apply_transforms(noise(4, 4), Lambda(fail))


def test_long_and_strange_texts_are_cut_and_kept_readable():
    def fail(x):
        raise ValueError("\udc80 é" + "x" * 1000)

    with pytest.raises(TransformError, match=r"\\udc80 é") as caught:
        apply_transforms(noise(4, 4), Lambda(fail))
    assert 200 < len(str(caught.value)) < 224


# Compiled


def test_a_ctypes_function_runs(library):
    image = noise(31, 17)
    kept = image.copy()
    wanted = np.minimum(image.astype(int) + 10, 255)
    assert np.array_equal(apply_transforms(image, CFunction(library.brighten)), wanted)
    assert np.array_equal(image, kept)


@pytest.mark.parametrize("name", [None, b"dts_user_transform", CYTHON_NAME])
def test_a_capsule_runs(library, name):
    image = noise(5, 6, 1)
    wrapped = CFunction(capsule(library.brighten, name))
    wanted = np.minimum(image.astype(int) + 10, 255)
    assert np.array_equal(apply_transforms(image, wrapped), wanted)


def test_an_address_and_what_has_one_run(library):
    address = ctypes.cast(library.brighten, ctypes.c_void_p).value

    class Compiled:
        pass

    compiled = Compiled()
    compiled.address = address
    image = noise(5, 6)
    wanted = np.minimum(image.astype(int) + 10, 255)
    for function in (address, np.uint64(address), compiled):
        assert np.array_equal(apply_transforms(image, CFunction(function)), wanted)


def test_numba_compiles_one():
    numba = pytest.importorskip("numba", reason="numba is not installed")
    t = numba.types
    pixels, words = t.CPointer(t.uint8), t.CPointer(t.uint32)
    signature = t.int32(
        pixels, t.int64, t.int32, t.int32, pixels, t.int64, t.int32, t.int32, t.int32, words,
        t.voidptr,
    )  # fmt: skip

    @numba.cfunc(signature)
    def invert(src, src_stride, width, height, dst, dst_stride, dw, dh, channels, random, data):
        for y in range(height):
            for x in range(width * channels):
                dst[y * dst_stride + x] = 255 - src[y * src_stride + x]
        return 0

    image = noise(6, 5)
    assert np.array_equal(apply_transforms(image, CFunction(invert)), 255 - image)


@pytest.mark.parametrize(
    "data",
    [
        np.array([77], np.int32),
        np.array([77], np.int32).tobytes(),
        ctypes.c_int32(77),
        (ctypes.c_int32 * 2)(77, 1),
    ],
)
def test_user_data_is_handed_over_and_kept(library, data):
    image = noise(4, 4)
    transform = CFunction(library.brighten, user_data=data)
    del data
    wanted = np.minimum(image.astype(int) + 77, 255)
    assert np.array_equal(apply_transforms(image, transform), wanted)


def test_an_address_is_user_data_too(library):
    data = np.array([3], np.int32)
    image = noise(4, 4)
    got = apply_transforms(image, CFunction(library.brighten, user_data=data.ctypes.data))
    assert np.array_equal(got, np.minimum(image.astype(int) + 3, 255))


def test_the_words_are_those_of_the_stream(library):
    image = noise(2, 8, 1)
    random = apply_transforms(image, CFunction(library.words, random=True), seed=9, id=1 << 40)
    stream = reference.Stream(9, 0, 0, 1 << 40, 0)
    assert random.tobytes() == np.array([next(stream.words) for _ in range(4)], "<u4").tobytes()
    assert not apply_transforms(image, CFunction(library.words), seed=9).any()


def test_a_number_returned_is_an_error(library):
    with pytest.raises(TransformError, match=r"CFunction\(fails\): the function returned 7"):
        apply_transforms(noise(4, 4), CFunction(library.fails))
    with pytest.raises(TransformError, match=r"CFunction\(mine\)"):
        apply_transforms(noise(4, 4), CFunction(library.fails, name="mine"))


def test_names_are_told(library):
    def soften(x, rng):
        return x

    soft = Lambda(soften, size=8, random=True)
    assert "soften, size=(8, 8), random=True" in repr(soft)
    assert soft.drawn((), (1, -1, 2, 3, 0)) == {
        "function": soft.function.__qualname__,
        "key": (1, 0xFFFFFFFF, 2, 3),
    }
    assert repr(CFunction(library.words)) == "CFunction(words, size=None, random=False)"
    assert CFunction(library.words).drawn((), ()) == {"function": "words"}
    assert CFunction(library.words) == CFunction(library.words)
    assert CFunction(library.words) != CFunction(library.words, random=True)
    assert len({CFunction(library.words), CFunction(library.words)}) == 1


@pytest.mark.parametrize("function", [None, True, "f", len, object(), 1.5, b"f"])
def test_what_is_no_compiled_function(function):
    with pytest.raises(TypeError, match="function"):
        CFunction(function)


def test_addresses_and_capsules_that_cannot_be(library):
    for address in (0, -1, 1 << 64):
        with pytest.raises(ValueError, match="address"):
            CFunction(address)
    for name in (b"numpy.core.multiarray._ARRAY_API", b"int (int, int)"):
        with pytest.raises(ValueError, match="capsule of another kind"):
            CFunction(capsule(library.brighten, name))
    library.fails.argtypes = [ctypes.c_int]
    with pytest.raises(ValueError, match="takes 1 arguments, not 11"):
        CFunction(library.fails)
    library.fails.argtypes = None
    for data in (1.5, object(), [1, 2]):
        with pytest.raises(TypeError, match="user_data"):
            CFunction(library.brighten, user_data=data)
    with pytest.raises(TypeError, match="name"):
        CFunction(library.brighten, name=3)


@pytest.mark.parametrize("function", [None, 3, "f"])
def test_what_cannot_be_called(function):
    with pytest.raises(TypeError, match="callable"):
        Lambda(function)


@pytest.mark.parametrize("size", [0, "8", (1, 2, 3), 65_501])
def test_sizes(size):
    with pytest.raises(ValueError, match="size"):
        Lambda(len, size=size)
    with pytest.raises(ValueError, match="size"):
        CFunction(1, size=size)
