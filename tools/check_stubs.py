#!/usr/bin/env python3
"""Check the stubs: every .pyx has its .pyi, and each agrees with the module that was built.

Needs the built modules (``python setup.py build_ext --inplace``, or an editable install) and mypy.

Usage: ``python tools/check_stubs.py``. Exit code 1 if a stub is missing, alone, or wrong.
"""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ALLOWED = ROOT / "tools" / "stubtest_allow.txt"


def unpaired(root):
    """Return a line for each .pyx without a stub, and for each stub without a module."""
    modules = {p.with_suffix("") for p in (root / "dts").rglob("*.pyx")}
    stubs = {p.with_suffix("") for p in (root / "dts").rglob("*.pyi")}
    missing = [f"{m.relative_to(root)}.pyx: has no .pyi" for m in sorted(modules - stubs)]
    alone = [f"{s.relative_to(root)}.pyi: no .pyx beside it" for s in sorted(stubs - modules)]
    return missing + alone


def module_names(root):
    """Return the dotted names of all Cython modules."""
    names = (p.relative_to(root).with_suffix("") for p in (root / "dts").rglob("*.pyx"))
    return sorted(".".join(name.parts) for name in names)


def main():
    """Print what is wrong; return 1 if anything is."""
    problems = unpaired(ROOT)
    for problem in problems:
        print(problem)
    modules = module_names(ROOT)
    if not modules:
        print("stubs: no Cython modules")
        return 1
    command = [sys.executable, "-m", "mypy.stubtest", "--allowlist", str(ALLOWED)]
    command += ["--mypy-config-file", "pyproject.toml"]
    done = subprocess.run(
        [*command, "--ignore-unused-allowlist", *modules],
        cwd=ROOT,
        env={**os.environ, "MYPYPATH": str(ROOT)},
        check=False,
    )
    return 1 if problems or done.returncode else 0


if __name__ == "__main__":
    sys.exit(main())
