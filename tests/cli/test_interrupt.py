"""Ctrl-C while a command works: exit code 130, one line, nothing half written."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import processes
import pytest
from PIL import Image

pytestmark = pytest.mark.skipif(os.name == "nt", reason="POSIX signals")


@pytest.fixture
def many_pictures(tmp_path):
    """Return a folder whose export at level 1 takes much longer than the test waits."""
    folder = tmp_path / "train" / "a"
    folder.mkdir(parents=True)
    pixels = np.random.default_rng(0).integers(0, 256, (1500, 1500, 3), np.uint8)
    Image.fromarray(pixels).save(folder / "0.jpeg", quality=50)
    for number in range(1, 300):
        os.link(folder / "0.jpeg", folder / f"{number}.jpeg")
    return folder.parent


@pytest.mark.parametrize("jobs", [1, 2])
def test_ctrl_c_during_export(many_pictures, tmp_path, jobs):
    out = tmp_path / "out"
    out.mkdir()
    command = [sys.executable, "-m", "dts", "export", str(many_pictures), str(out / "x.dts")]
    options = ["--dataset", "folder", "--split", "train", "--level", "1", "--jobs", str(jobs)]
    process = subprocess.Popen(
        command + options,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,  # the signal goes to the whole group, as from a terminal
        preexec_fn=processes.heed_ctrl_c,
    )
    try:
        assert b"300 pictures" in process.stdout.readline()  # the scan is told, work begins
        time.sleep(0.5)
        begin = time.monotonic()
        os.killpg(process.pid, signal.SIGINT)
        _, err = process.communicate(timeout=60)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
    assert err.decode() == "dts: interrupted\n"
    assert process.returncode == 130
    assert time.monotonic() - begin < 5
    assert list(out.iterdir()) == []
