"""Whoever encodes, the bytes are the same: this process, threads, processes, a cluster."""

import importlib.util
import multiprocessing
import warnings
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import pytest

from dts.export import export_folder
from dts.export.pictures import reencode


@pytest.fixture
def whole(photos, tmp_path):
    """Give the bytes that one process makes."""
    return export_folder(photos, tmp_path / "one.dts", level=2).path


def same(photos, tmp_path, whole, **options):
    result = export_folder(photos, tmp_path / "x.dts", level=2, **options)
    with open(whole, "rb") as a, open(result.path, "rb") as b:
        return a.read() == b.read()


@pytest.mark.parametrize("workers", [1, 3])
def test_threads(photos, tmp_path, whole, workers):
    with ThreadPoolExecutor(workers) as pool:
        assert same(photos, tmp_path, whole, executor=pool)


def test_processes(photos, tmp_path, whole):
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(2, mp_context=context) as pool:
        assert same(photos, tmp_path, whole, executor=pool)


def test_jobs(photos, tmp_path, whole):
    assert same(photos, tmp_path, whole, jobs=2)


def test_volumes_and_an_executor(photos, tmp_path, monkeypatch):
    from dts.export import sources

    monkeypatch.setattr(sources, "MAX_PICTURES", (340, 7, 7, 7))
    one = export_folder(photos, tmp_path / "one.dts", level=1, volumes=3)
    with ThreadPoolExecutor(2) as pool:
        two = export_folder(photos, tmp_path / "two.dts", level=1, volumes=3, executor=pool)
    for left, right in zip(one.paths, two.paths, strict=True):
        with open(left, "rb") as a, open(right, "rb") as b:
            assert a.read() == b.read()


def test_warnings_of_pillow_stay_quiet_in_every_thread(make):
    """A palette picture with transparency as bytes makes Pillow warn; filters are process-wide."""
    import io

    from PIL import Image

    out = io.BytesIO()
    Image.open(io.BytesIO(make.png(1, 40, 30, "P"))).save(out, "PNG", transparency=b"\x00\x80")
    with pytest.warns(UserWarning, match="[Tt]ransparency"):
        Image.open(io.BytesIO(out.getvalue())).convert("RGB")
    before = list(warnings.filters)
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda _: reencode(out.getvalue(), 1), range(400)))
    assert len({result.data for result in results}) == 1
    assert list(warnings.filters) == before


@pytest.mark.filterwarnings("default")  # dask and its dependencies warn of one another
@pytest.mark.skipif(importlib.util.find_spec("distributed") is None, reason="needs dts[dask]")
def test_dask(photos, tmp_path, whole):
    from distributed import Client, LocalCluster

    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with LocalCluster(**options) as cluster, Client(cluster) as client:
        assert same(photos, tmp_path, whole, executor=client.get_executor())
