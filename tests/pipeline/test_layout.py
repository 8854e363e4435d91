"""What one thread writes shares no cache line with what another reads or writes."""

import itertools

import make
import pytest

from dts import LoadMode, Preprocessor, RandomResizedCrop
from dts.preprocessor import Preprocessor as Running

LINE = 64
PAIR = 128  # processors fetch lines in pairs


def pipeline_of(pre: Running):
    return pre._splits["train"].pipeline


def lines(spans, size):
    return {name: set(range(a // size, (b - 1) // size + 1)) for name, (a, b) in spans.items()}


def shared(spans, size):
    """Pairs of names that meet in a line of so many bytes."""
    held = lines(spans, size)
    return [(a, b) for a, b in itertools.combinations(held, 2) if held[a] & held[b]]


@pytest.mark.parametrize("workers", [1, 3, 64])
def test_no_line_has_two_writers(tmp_path, workers):
    path = make.small_blocks(tmp_path / "folder_train_lv0.dts", [5, 4, 7])[0]
    setup = Preprocessor.setup().dataset("folder", path).batch_size(4).prefetch_batches(5)
    setup.train_transforms(RandomResizedCrop(8)).preprocess_workers(workers)
    with setup.load_mode(LoadMode.PARTIAL).shuffle_window(1).commit() as pre:
        list(pre.train(0))
        spans = pipeline_of(pre)._layout()
        assert {"ticket", "settings", "ring", f"worker {workers - 1}"} <= set(spans)
        assert all(a < b for a, b in spans.values())
        # The struct of a batch follows the counter of its rows, and its writers hold the lock.
        assert shared(spans, PAIR) == []
        spans = pipeline_of(pre).reader._layout()
        assert {"feed", "feed's lock", f"place of worker {workers - 1}"} <= set(spans)
        assert shared(spans, PAIR) == []


def test_the_check_sees_what_it_looks_for():
    assert shared({"a": (0, 8), "b": (56, 64)}, LINE) == [("a", "b")]
    assert shared({"a": (0, 8), "b": (64, 72)}, LINE) == []
    assert shared({"a": (0, 8), "b": (64, 72)}, PAIR) == [("a", "b")]
