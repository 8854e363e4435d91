#!/usr/bin/env bash
# Set up what is missing and run the main job: bash tools/demo.sh [options of `dts demo`]
. "$(dirname "${BASH_SOURCE[0]}")/env.sh"
need_dts
exec "$VENV/bin/dts" demo "$@"
