#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# run_kernels.sh BUILD [CROSS_BUILD]: compiles every example kernel for every target of the skeleton, runs it, and prints the
# largest error against the interpreter. CROSS_BUILD holds tern-run for another architecture, run under qemu.
set -euo pipefail
build=$1 cross=${2:-}
examples=$(cd "$(dirname "$0")" && pwd)
tern=$build/bin/tern
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export POCL_CACHE_DIR=$work/pocl

# Sizes that are no multiple of anything.
declare -A dims=([add]="--dim n=1031" [matmul]="--dim n=61 --dim k=67 --dim m=71")
declare -A output=([add]=C [matmul]=C)
# The machine that a cross build is for: cross-aarch64 -> aarch64.
machine=${cross##*cross-}

failed=0
# row KERNEL TARGET COMMAND...: one row of the table, from what the command printed.
row() {
  local kernel=$1 target=$2 text
  shift 2
  if text=$("$@" 2>"$work/stderr"); then
    printf '%-8s %-40s %10s   %s\n' "$kernel" "$target" "$(sed -nE '1s/.*  ([0-9.]+ [mu]?s)  .*/\1/p' <<<"$text")" \
      "$(sed -nE 's/.*largest error ([^ ]+ absolute, [^ ]+ relative).*/\1/p' <<<"$text")"
  else
    failed=1
    printf '%-8s %-40s FAILED: %s\n' "$kernel" "$target" "$(tail -n 1 "$work/stderr")$(tail -n 1 <<<"$text")"
  fi
}

run_cross() {
  local kernel=$1
  "$tern" compile "$examples/kernels/$kernel.tir" -t "llvm -mtriple=$machine-linux-gnu" -o "$work/$kernel-other.so"
  "qemu-$machine" -L "/usr/$machine-linux-gnu" "$cross/bin/tern-run" "$work/$kernel-other.so" ${dims[$kernel]} \
    --check "${output[$kernel]}=$work/$kernel.npy"
}

run_file() {
  local kernel=$1
  "$tern" compile "$examples/kernels/$kernel.tir" -t opencl -o "$work/$kernel.so"
  "$tern" inspect "$work/$kernel.so" >/dev/null
  "$build/bin/tern-run" "$work/$kernel.so" ${dims[$kernel]} --check "${output[$kernel]}=$work/$kernel.npy"
}

printf '%-8s %-40s %10s   %s\n' kernel target time "largest error against the interpreter"
for kernel in add matmul; do
  "$tern" run "$examples/kernels/$kernel.tir" -t interp ${dims[$kernel]} --output "${output[$kernel]}=$work/$kernel.npy" >/dev/null
  for target in llvm c opencl; do
    row "$kernel" "$target" "$tern" run "$examples/kernels/$kernel.tir" -t "$target" ${dims[$kernel]} --check interp
  done
  [[ -z $cross ]] || row "$kernel" "llvm -mtriple=$machine-linux-gnu (qemu)" run_cross "$kernel"
  row "$kernel" "opencl, exported, by tern-run" run_file "$kernel"
done
exit $failed
