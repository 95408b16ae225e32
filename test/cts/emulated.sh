#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# emulated.sh TERN BUILDS ARCH TARGET [QEMU_OPTION...] [-- CTS_OPTION...]: the conformance suite on TARGET, compiled here and run by
# tern-run of the build BUILDS/cross-ARCH under qemu. Exits with 77 where something for that is missing.
set -euo pipefail
tern=$1 builds=$2 arch=$3 target=$4
shift 4
runner=$builds/cross-$arch/bin/tern-run libraries=/usr/$arch-linux-gnu
qemu=(qemu-"$arch" -L "$libraries")
while (($#)) && [[ $1 != -- ]]; do
  qemu+=("$1")
  shift
done
(($# == 0)) || shift

skip() {
  echo "SKIPPED: $*"
  exit 77
}
command -v "qemu-$arch" >/dev/null || skip "qemu-$arch is not installed"
[[ -d $libraries ]] || skip "$libraries, the C library for $arch, is not installed"
[[ -x $runner ]] || skip "$runner is not built (./dev build cross-$arch)"

# What the emulator, not the target, gets wrong.
gaps=()
case "$("qemu-$arch" --version | sed -nE '1s/.* version ([0-9]+)\..*/\1/p') $target" in
  7*riscv64*+v*)
    reason="QEMU 7 fails an assertion of its own on vfcvt.rtz (decode_save_opc)"
    gaps=(--known-gap "add/*float*/n=[1-9]*: $reason" --known-gap "convert/*float*: $reason" --known-gap "math_vectorized/*: $reason")
    ;;
esac
exec "$tern" cts "$target" --runner "${qemu[*]} '$runner'" "${gaps[@]}" "$@"
