"""The Python of docs/batches.md runs, block after block."""

import re
import shutil
from pathlib import Path

import make
import pytest

DOC = Path(__file__).parents[2] / "docs" / "batches.md"


def test_every_block_runs(tmp_path, monkeypatch, capsys):
    if shutil.which("cc") is None:
        pytest.skip("no C compiler (cc) here")
    packed = tmp_path / "packed"
    packed.mkdir()
    make.small_blocks(packed / "folder_train_lv3.dts", [9, 8, 7], level=3)
    make.small_blocks(packed / "folder_val_lv3.dts", [5, 6], seed=1, split="val", level=3)
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```python\n(.*?)^```", DOC.read_text(), re.M | re.S)
    assert len(blocks) == 8
    names = {}
    for block in blocks:
        exec(compile(block, str(DOC), "exec"), names)
    said = capsys.readouterr().out
    assert "Lambda(fragile): ValueError: not today" in said
    assert "of batches that are kept" in said
