#!/usr/bin/env bash
# Set up what is missing and run the tests: bash tools/test.sh [options of pytest]
. "$(dirname "${BASH_SOURCE[0]}")/env.sh"
need_dts test
cd "$ROOT"
exec "$VENV/bin/python" -m pytest "$@"
