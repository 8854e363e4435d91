"""The Python side: arguments, ownership, threads."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from dts import decode


@pytest.mark.parametrize(
    "region",
    [
        (-1, 0, 4, 4),
        (0, -1, 4, 4),
        (0, 0, 0, 4),
        (0, 0, 4, 0),
        (61, 0, 4, 4),
        (0, 45, 4, 4),
        (0, 0, 2**31 - 1, 1),
    ],
)
def test_region_outside_the_picture(region, photo, backend):
    with pytest.raises(ValueError, match="is not within the picture, which is 64 x 48"):
        decode.decode(photo(), region)


def test_arguments(photo):
    file = photo()
    with pytest.raises(ValueError, match="channels must be 1 or 3, not 4"):
        decode.decode(file, channels=4)
    with pytest.raises(TypeError):
        decode.decode("not bytes")
    with pytest.raises(TypeError):
        decode.decode(file, (0, 0, 1.5, 1))
    with pytest.raises(ValueError, match="out has the shape"):
        decode.Decoder().decode(file, out=np.empty((48, 64, 1), np.uint8))
    with pytest.raises(ValueError, match="Buffer dtype mismatch"):
        decode.Decoder().decode(file, out=np.empty((48, 64, 3), np.uint16))


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview, np.frombuffer])
def test_any_bytes_like(kind, photo, backend):
    file = photo()
    data = np.frombuffer(file, np.uint8) if kind is np.frombuffer else kind(file)
    assert np.array_equal(decode.decode(data), decode.decode(file))


def test_data_is_let_go(photo, backend):
    data = bytearray(photo())
    decoder = decode.Decoder()
    decoder.decode(data)
    data.extend(b"resizing fails while a buffer is exported")
    with pytest.raises(ValueError, match="region"):
        decoder.decode(data, (0, 0, 0, 0))
    data.clear()


def test_out_is_returned(photo, backend):
    out = np.empty((5, 7, 3), np.uint8)
    assert decode.Decoder().decode(photo(), (1, 2, 7, 5), out=out) is out


def test_header_does_not_disturb(photo, backend):
    decoder = decode.Decoder()
    first, second = photo(30, 20), photo(64, 48, seed=1)
    whole = decoder.decode(first)
    assert decoder.header(second)[:2] == (64, 48)
    assert np.array_equal(decoder.decode(first), whole)


def test_many_threads_each_with_its_decoder(photo, backend):
    files = [photo(90 + i, 70, seed=i, subsampling="4:2:0") for i in range(12)]
    wholes = [decode.decode(f) for f in files]

    def work(seed):
        rng = np.random.default_rng(seed)
        decoder = decode.Decoder()
        for i in rng.integers(0, len(files), 60):
            x, y = rng.integers(0, 40, 2)
            part = decoder.decode(files[i], (x, y, 30, 25))
            if not np.array_equal(part, wholes[i][y : y + 25, x : x + 30]):
                return False
        return True

    with ThreadPoolExecutor(6) as pool:
        assert all(pool.map(work, range(6)))


def test_one_decoder_refuses_two_threads(photo):
    """The buffer hook runs while the decoder is busy, as another thread could."""
    decoder = decode.Decoder()
    file = photo()
    inner = []

    class Reenters:
        def __iter__(self):
            with pytest.raises(RuntimeError, match="in use by another thread") as caught:
                decoder.header(file)
            inner.append(caught)
            return iter((0, 0, 1, 1))

    decoder.decode(file, Reenters())
    assert len(inner) == 1
    assert decoder.decode(file).shape == (48, 64, 3)
