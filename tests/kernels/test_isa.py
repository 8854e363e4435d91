"""Which instruction set is in use, and how it is chosen."""

import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from dts import kernels

AVX2 = {"avx", "avx2", "f16c"}
AVX512 = AVX2 | {"avx512f", "avx512dq", "avx512bw", "avx512vl", "avx512vbmi", "avx512_vnni"}


def run_with(isa):
    code = "import dts.kernels; print(dts.kernels.isa())"
    return subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "DTS_ISA": isa},
        capture_output=True,
        text=True,
        timeout=60,
    )


@pytest.mark.skipif(platform.machine() != "x86_64", reason="x86 flags")
def test_probe_agrees_with_the_kernel():
    cpuinfo = Path("/proc/cpuinfo")
    if not cpuinfo.exists():
        pytest.skip("no /proc/cpuinfo")
    line = next(line for line in cpuinfo.read_text().splitlines() if line.startswith("flags"))
    flags = set(line.split(":")[1].split())
    expected = ["avx512"] * (flags >= AVX512) + ["avx2"] * (flags >= AVX2) + ["scalar"]
    assert kernels.available_isas() == tuple(expected)


def test_best_is_the_default():
    result = run_with("")
    assert result.stdout.strip() == kernels.available_isas()[0]


def test_environment_forces(isa):
    result = run_with(isa)
    assert result.returncode == 0, result.stderr
    assert result.stdout.strip() == isa


@pytest.mark.parametrize("wrong", ["avx9", "AVX2 ", "neon\N{SNOWMAN}", "scalar,avx2"])
def test_unknown_name_is_an_import_error(wrong):
    result = run_with(wrong)
    assert result.returncode == 1
    assert "ImportError: DTS_ISA" in result.stderr


def test_select(isa):
    assert kernels.isa() == isa
    with pytest.raises(ValueError, match="name: 'sse9'"):
        kernels.select_isa("sse9")
    with pytest.raises(TypeError, match="name"):
        kernels.select_isa(None)
    assert kernels.isa() == isa
