"""Every order and mode delivers every id exactly once an epoch, for sizes that do not divide."""

import make
import numpy as np
import pytest

from dts import ConfigError, LoadMode


def epochs(setup, n=3):
    with setup.commit() as pre:
        for epoch in range(n):
            batches = [(b.ids.copy(), b.labels.copy(), b.index) for b in pre.train(epoch)]
            assert len(batches) == len(pre.train(epoch)) == pre.steps_per_epoch
            yield batches


@pytest.mark.parametrize("batch", [1, 8, 60, 61, 62])
@pytest.mark.parametrize(
    ("mode", "order", "window"),
    [
        (LoadMode.FULLY, "global", 32),
        (LoadMode.FULLY, "window", 2),
        (LoadMode.FULLY, "window", 100),
        (LoadMode.PARTIAL, "window", 1),
        (LoadMode.PARTIAL, "window", 2),
        (LoadMode.PARTIAL, "window", 4),
        (LoadMode.PARTIAL, "window", 9),
        (LoadMode.PARTIAL, "window", 100),
        (LoadMode.AUTO, None, 4),
    ],
)
def test_every_id_once(blocks, setup_of, batch, mode, order, window):
    path, content = blocks
    setup = setup_of(path, batch_size=batch, load_mode=mode, shuffle_window=window)
    setup.load_workers(2).preprocess_workers(3)
    if order:
        setup.shuffle_order(order)
    seen = []
    for batches in epochs(setup):
        ids = [int(i) for b in batches for i in b[0]]
        assert sorted(ids) == list(range(61))
        assert [len(b[0]) for b in batches[:-1]] == [batch] * (len(batches) - 1)
        assert [b[2] for b in batches] == list(range(len(batches)))
        for got, labels, _ in batches:
            assert list(labels) == [content[i][1] for i in got]
        seen.append(tuple(ids))
    assert len(set(seen)) == 3


@pytest.mark.parametrize("mode", [LoadMode.FULLY, LoadMode.PARTIAL])
def test_without_shuffle_it_is_the_file_order(blocks, setup_of, mode):
    setup = setup_of(blocks[0], shuffle_train=False, load_mode=mode, load_workers=3)
    for batches in epochs(setup):
        assert [int(i) for b in batches for i in b[0]] == list(range(61))


def test_drop_last(blocks, setup_of):
    for batches in epochs(setup_of(blocks[0], batch_size=8, drop_last=True)):
        ids = [int(i) for b in batches for i in b[0]]
        assert len(batches) == 7
        assert len(ids) == len(set(ids)) == 56
    with pytest.raises(ConfigError, match="0 batches"):
        setup_of(blocks[0], batch_size=62, drop_last=True).commit()


@pytest.mark.parametrize("counts", [[1], [1, 1, 1], [5]])
def test_tiny_sets(tmp_path, setup_of, counts):
    path, _ = make.small_blocks(tmp_path / "folder_train_lv0.dts", counts)
    for mode in (LoadMode.FULLY, LoadMode.PARTIAL):
        for batches in epochs(setup_of(path, load_mode=mode, preprocess_workers=9)):
            assert sorted(int(i) for b in batches for i in b[0]) == list(range(sum(counts)))


def test_volumes_are_one_set(tmp_path, setup_of):
    """Two files of one set: ids run over both."""
    paths = [tmp_path / f"folder_train_lv0_vol00{k}.dts" for k in range(2)]
    content = []
    for k, path in enumerate(paths):
        _, part = make.small_blocks(path, [3, 4], seed=k)
        content += part
        with open(path, "r+b") as f:
            header = _header(f)
            f.seek(0)
            f.write(header.replace(num_volumes=2, volume_id=k, total_blocks=4).to_bytes())
    for batches in epochs(setup_of(tmp_path)):
        ids = [int(i) for b in batches for i in b[0]]
        assert sorted(ids) == list(range(14))
        for got, labels, _ in batches:
            assert list(labels) == [content[i][1] for i in got]


def _header(f):
    from dts.format import Header

    return Header.from_bytes(f.read(144))


def test_epoch_numbers(blocks, setup_of):
    with setup_of(blocks[0]).commit() as pre:
        assert next(iter(pre.train())).epoch == 0
        assert next(iter(pre.train())).epoch == 1
        assert next(iter(pre.train(7))).epoch == 7
        assert len(pre.train()) == 8
        assert next(iter(pre.train())).epoch == 8
        assert next(iter(pre.train(np.uint32(2**32 - 1)))).epoch == 2**32 - 1
        for wrong in (-1, 2**32, 2**63, None):  # None: the one after the last
            with pytest.raises(ValueError, match="an epoch is 0 to"):
                pre.train(wrong)
        for wrong in (-1, 2**32, 2**63):
            with pytest.raises(ValueError, match="an epoch is 0 to"):
                pre.draws("train", wrong, 0)
        assert pre.draws("train", np.int64(3), 0) == pre.draws("train", 3, 0)
        with pytest.raises(TypeError):
            pre.train(1.5)
