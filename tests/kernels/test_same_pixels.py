"""The kernels on colours: a C program that compares instruction sets, here and on AArch64."""

import platform
import shlex
import shutil
import subprocess
import sysconfig
from pathlib import Path

import pytest

from dts import kernels

ROOT = Path(__file__).resolve().parents[2]
SOURCES = [
    ROOT / "tests/kernels/same_pixels.c",
    ROOT / "dts/kernels/cpu.c",
    *sorted((ROOT / "dts/kernels").glob("pixels*.c")),
]
FLAGS = ["-std=gnu11", "-O2", "-ffp-contract=off"]
CHECKSUM = "scalar: 67622320"  # results depend on these bits for ever


def built(compiler, tmp_path, *flags):
    program = tmp_path / "same_pixels"
    command = [compiler, *FLAGS, *flags, f"-I{ROOT}", *SOURCES, "-o", program, "-lm"]
    subprocess.run(command, check=True, timeout=120)
    return program


def lines(command):
    result = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert result.returncode == 0, result.stderr
    return result.stdout.splitlines()


def test_every_instruction_set_of_this_cpu(tmp_path):
    compiler = shlex.split(sysconfig.get_config_var("CC") or "cc")[0]
    if shutil.which(compiler) is None:
        pytest.skip("no C compiler")
    found = lines([built(compiler, tmp_path)])
    assert found[-1] == CHECKSUM
    own = [name for name in kernels.available_isas() if name in ("avx2", "avx512")]
    assert [line.split(":")[0] for line in found[:-1]] == own


def test_another_processor(tmp_path):
    if platform.machine() == "aarch64":
        pytest.skip("this is the other processor")
    for tool in ("aarch64-linux-gnu-gcc", "qemu-aarch64"):
        if shutil.which(tool) is None:
            pytest.skip(f"no {tool}; tools/neon.sh installs it")
    program = built("aarch64-linux-gnu-gcc", tmp_path, "-static")
    assert lines(["qemu-aarch64", program]) == [CHECKSUM]
