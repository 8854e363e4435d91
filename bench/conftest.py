"""The file that every gate measures: made here, or named by the environment."""

import os

import pytest

import dts
from dts import demo
from dts.export import export_folder


@pytest.fixture(scope="session")
def dts_file(tmp_path_factory):
    """Return a function: level -> path of a .dts file of that level.

    ``DTS_BENCH_FOLDER`` names a class folder tree to pack; without it 400 pictures are made.
    """
    folder = os.environ.get("DTS_BENCH_FOLDER")
    room = tmp_path_factory.mktemp("gates")
    if folder is None:
        folder = room / "train"
        demo.make_folder(folder, 400)
    files = {}

    def packed(level):
        if level not in files:
            path = room / f"folder_train_lv{level}.dts"
            export_folder(folder, path, level=level, split="train")
            files[level] = path
        return files[level]

    return packed


@pytest.fixture
def described(benchmark):
    """Return the benchmark fixture, with what it ran on in its extra_info."""
    benchmark.extra_info.update({k: str(v) for k, v in dts.build_info().items()})
    return benchmark
