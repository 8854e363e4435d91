import hashlib

import make
import pytest

from dts import Preprocessor, RandomErasing, RandomHorizontalFlip, RandomResizedCrop


@pytest.fixture(scope="session")
def blocks(tmp_path_factory):
    """A file of 9 uneven blocks, 61 pictures, and its content by id."""
    path = tmp_path_factory.mktemp("blocks") / "folder_train_lv0.dts"
    return make.small_blocks(path, [7, 1, 12, 5, 9, 3, 11, 6, 7])


@pytest.fixture
def setup_of():
    """Make a Setup for a file with the usual settings; keyword arguments are calls on it."""

    def make_setup(path, name="folder", **calls):
        setup = Preprocessor.setup().dataset(name, path).batch_size(8).seed(42)
        setup.train_transforms(RandomResizedCrop(32), RandomHorizontalFlip(), RandomErasing(0.5))
        for method, arguments in calls.items():
            arguments = arguments if isinstance(arguments, tuple) else (arguments,)
            getattr(setup, method)(*arguments)
        return setup

    return make_setup


@pytest.fixture
def digest():
    """Hash of all that an epoch hands out."""

    def of(iterator):
        h = hashlib.sha256()
        for batch in iterator:
            for array in (batch.images, batch.labels, batch.ids):
                h.update(array.tobytes())
        return h.hexdigest()

    return of
