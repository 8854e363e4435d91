"""Small folders of pictures, and .dts files made from them by the command itself."""

import contextlib
import io
import shutil

import numpy as np
import pytest
from PIL import Image


def jpeg(rng, width, height):
    """Return the bytes of a JPEG of smooth noise."""
    coarse = Image.fromarray(rng.integers(0, 256, (8, 8, 3), np.uint8))
    out = io.BytesIO()
    coarse.resize((width, height), Image.Resampling.BICUBIC).save(out, "JPEG", quality=90)
    return out.getvalue()


@pytest.fixture
def run(capsys):
    """Run a command in this process: returns exit code, stdout, stderr."""
    from dts.cli import main

    def go(*args):
        capsys.readouterr()
        try:
            code = main([str(a) for a in args])
        except SystemExit as stop:  # argparse
            code = stop.code
        out, err = capsys.readouterr()
        return code, out, err

    return go


@pytest.fixture(scope="session")
def originals(tmp_path_factory):
    """Return a folder of 3 classes with 4, 3 and 2 pictures, with names that are no fun."""
    rng = np.random.default_rng(5)
    root = tmp_path_factory.mktemp("cli") / "train"
    names = {
        "ants": ["a b.jpeg", "ä'\".jpeg", "new\nline.jpeg", b"bytes\xff.jpeg"],
        "bees": ["sub/inner/x.jpeg", "same.jpeg", "tab\t.jpeg"],
        "cats": ["same.jpeg", "-n.jpeg"],
    }
    for folder, files in names.items():
        for name in files:
            raw = name if isinstance(name, bytes) else name.encode()
            path = root / folder / raw.decode("utf-8", "surrogateescape")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(jpeg(rng, *rng.integers(16, 80, 2)))
    return root


@pytest.fixture
def pictures(originals, tmp_path):
    """Return a copy of `originals` that a test may change."""
    return shutil.copytree(originals, tmp_path / "train")


@pytest.fixture(scope="session")
def exported(originals):
    """Return a function: options of `dts export` -> the file it made, once for all tests."""
    from dts.cli import main

    made = {}

    def export(level, *options):
        if (level, *options) not in made:
            path = originals.parent / f"{len(made)}.dts"
            words = ["--dataset", "folder", "--split", "train", "--level", str(level)]
            with contextlib.redirect_stdout(io.StringIO()):
                assert main(["export", str(originals), str(path), *words, *options]) == 0
            made[level, *options] = path
        return made[level, *options]

    return export


@pytest.fixture
def packed(exported, tmp_path):
    """Return a function: options of `dts export` -> a file that a test may change."""

    def copy(*options, level=0):
        path = tmp_path / f"packed{len(list(tmp_path.glob('packed*.dts')))}.dts"
        shutil.copyfile(exported(level, *options), path)
        return path

    return copy
