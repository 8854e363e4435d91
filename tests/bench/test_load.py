"""Counting the CPU time of others, on a /proc that is made up."""

import load
import pytest


def stat(folder, pid, parent, *ticks, name="python"):
    (folder / str(pid)).mkdir()
    fields = ["S", parent, *[0] * 9, *ticks, *[0] * 30]
    (folder / str(pid) / "stat").write_text(f"{pid} ({name}) {' '.join(map(str, fields))}\n")


@pytest.fixture
def proc(tmp_path):
    (tmp_path / "stat").write_text("cpu  100 1 20 5000 300 3 4 50 0 0\ncpu0 1 1 1 1 1 1 1 1 0 0\n")
    (tmp_path / "meminfo").write_text("")
    stat(tmp_path, 1, 0, 9, 9, 9, 9)
    stat(tmp_path, 10, 1, 5, 3, 2, 1)
    stat(tmp_path, 11, 10, 7, 0, 0, 0, name="a) b (c")  # names may be anything
    stat(tmp_path, 12, 11, 0, 4, 0, 0)
    stat(tmp_path, 20, 1, 70, 0, 0, 0)
    return tmp_path


def test_all_but_idle_and_waiting(proc):
    assert load.used_by_all(proc) == 100 + 1 + 20 + 3 + 4 + 50


def test_ours_are_those_below_us_too(proc):
    assert load.used_by_us(proc, 10) == (5 + 3 + 2 + 1) + 7 + 4
    assert load.used_by_us(proc, 20) == 70


def test_a_process_that_ended_meanwhile_is_left_out(proc):
    (proc / "30").mkdir()
    assert load.used_by_us(proc, 20) == 70


def test_others_are_the_rest_a_second(monkeypatch):
    now = iter([(0.0, 1000), (2.0, 1000 + load.os.sysconf("SC_CLK_TCK"))])
    monkeypatch.setattr(load.Load, "_now", lambda self: next(now))
    assert load.Load().others() == pytest.approx(0.5)


def test_a_moment_tells_nothing(monkeypatch):
    now = iter([(0.0, 1000), (0.05, 1010)])
    monkeypatch.setattr(load.Load, "_now", lambda self: next(now))
    assert load.Load().others() == 0.0
