"""Every way to decode, and the shortest way to an epoch."""

from contextlib import suppress

import pytest

from dts import CenterCrop, Preprocessor, decode


def _restore(info):
    decode.use_backend("simplejpeg" if info["kind"] == "simplejpeg" else info["path"])


def _usable():
    before, names = decode.library_info(), []
    for name in ("libjpeg", "simplejpeg"):
        with suppress(OSError):
            decode.use_backend(name)
            names.append(name)
    _restore(before)
    return names


@pytest.fixture(params=_usable(), scope="module")
def backend(request):
    """Run a test with a libjpeg and with the fallback."""
    before = decode.library_info()
    decode.use_backend(request.param)
    yield request.param
    _restore(before)


@pytest.fixture(scope="session")
def setup():
    """Give ``setup(path)``: a Setup of one file, unshuffled, that lacks only its output."""

    def of(path, size=32):
        made = Preprocessor.setup().dataset("folder", path).batch_size(8).seed(1)
        return made.shuffle_train(False).preprocess_workers(2).train_transforms(CenterCrop(size))

    return of
