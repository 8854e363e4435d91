#!/usr/bin/env bash
# Hold the NEON kernels to the bits of the scalar ones: compile both for AArch64, run them under qemu.
# Installs the cross compiler and qemu where they are missing (Debian's packages).
. "$(dirname "${BASH_SOURCE[0]}")/env.sh"
cd "$ROOT"
compiler=aarch64-linux-gnu-gcc
emulator=qemu-aarch64
if [ "$(uname -m)" = aarch64 ]; then
    compiler=${CC:-cc}
    emulator=
elif ! command -v "$compiler" "$emulator" >/dev/null; then
    apt_install gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# The flags of setup.py. Static, so that qemu needs no library of the other machine.
$compiler -std=gnu11 -O3 -ffp-contract=off -Wall -Wextra -Wno-unused-parameter -Werror -static -I. \
    tests/kernels/same_bits.c dts/kernels/*.c -o "$work/same_bits" -lm
$emulator "$work/same_bits" neon
