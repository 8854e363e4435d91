#!/usr/bin/env bash
# Set up what is missing and run the timed gates: bash tools/bench.sh [options of pytest]
#   -k kernels                 some of them
#   --benchmark-json=new.json  raw results, for tools/compare_bench.py and tools/draw_bench.py
#   --gate-seconds 3           a quick look
. "$(dirname "${BASH_SOURCE[0]}")/env.sh"
need_dts bench
cd "$ROOT"
exec "$VENV/bin/python" -m pytest bench -q "$@"
