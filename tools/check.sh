#!/usr/bin/env bash
# Everything that reads the code and does not run it: lint, layout, layers, types, stubs.
. "$(dirname "${BASH_SOURCE[0]}")/env.sh"
need_dts lint
cd "$ROOT"
export PATH="$VENV/bin:$PATH" # cython-lint calls pycodestyle
say "ruff"
"$VENV/bin/ruff" check
"$VENV/bin/ruff" format --check
say "cython-lint"
"$VENV/bin/cython-lint" dts
say "layers"
"$VENV/bin/python" tools/check_layers.py
say "mypy"
"$VENV/bin/python" -m mypy
say "stubs"
"$VENV/bin/python" tools/check_stubs.py
