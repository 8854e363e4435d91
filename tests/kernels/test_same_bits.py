"""The C program that compares instruction sets, on this CPU and on an emulated AArch64."""

import platform
import shlex
import shutil
import subprocess
import sysconfig
from pathlib import Path

import pytest

from dts import kernels

ROOT = Path(__file__).resolve().parents[2]
SOURCES = [ROOT / "tests/kernels/same_bits.c", *sorted((ROOT / "dts/kernels").glob("*.c"))]
FLAGS = ["-std=gnu11", "-O2", "-ffp-contract=off"]


def test_every_instruction_set_of_this_cpu(tmp_path):
    compiler = shlex.split(sysconfig.get_config_var("CC") or "cc")[:1]
    if shutil.which(compiler[0]) is None:
        pytest.skip("no C compiler")
    program = tmp_path / "same_bits"
    command = [*compiler, *FLAGS, f"-I{ROOT}", *SOURCES, "-o", program, "-lm"]
    subprocess.run(command, check=True, timeout=120)
    result = subprocess.run([program], capture_output=True, text=True, timeout=120)
    assert result.returncode == 0, result.stderr
    tried = [line.split(":")[0] for line in result.stdout.splitlines()]
    assert [*tried, "scalar"] == list(kernels.available_isas())


def test_neon():
    if platform.machine() != "aarch64":
        for tool in ("aarch64-linux-gnu-gcc", "qemu-aarch64"):
            if shutil.which(tool) is None:
                pytest.skip(f"no {tool}; tools/neon.sh installs it")
    result = subprocess.run(
        ["bash", ROOT / "tools/neon.sh"], capture_output=True, text=True, timeout=300
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith("neon: ")
