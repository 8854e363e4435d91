"""Small folders of pictures, and .dts files made from them by the command itself."""

import io

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


@pytest.fixture
def pictures(tmp_path):
    """Return a folder of 3 classes with 4, 3 and 2 pictures, with names that are no fun."""
    rng = np.random.default_rng(5)
    root = tmp_path / "train"
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
def packed(run, pictures, tmp_path):
    """Return a function: options of `dts export` -> the file it made of `pictures`."""

    def export(*options, level=0):
        path = tmp_path / f"packed{len(list(tmp_path.glob('packed*.dts')))}.dts"
        words = ("--dataset", "folder", "--split", "train", "--level", level, "--jobs", 1)
        code, _, err = run("export", pictures, path, *words, *options)
        assert (code, err) == (0, "")
        return path

    return export
