#!/usr/bin/env bash
# Set up what is missing and run the timed gates: bash tools/bench.sh [options of pytest]
# Results to compare later: bash tools/bench.sh --benchmark-json=new.json; tools/compare_bench.py.
. "$(dirname "${BASH_SOURCE[0]}")/env.sh"
need_dts bench
cd "$ROOT"
exec "$VENV/bin/python" -m pytest bench "$@"
