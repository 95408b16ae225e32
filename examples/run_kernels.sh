#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# run_kernels.sh BUILD [CROSS_BUILD]: runs every example kernel on every target, each time compared with the interpreter, and
# prints a table: the time of a call, and the largest error of all. CROSS_BUILD holds tern-run for another architecture, run
# under qemu.
set -euo pipefail
build=$1 cross=${2:-}
examples=$(cd "$(dirname "$0")" && pwd)
tern=$build/bin/tern
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export POCL_CACHE_DIR=$work/pocl TERN_CACHE=0

# Sizes that are no multiple of anything; what a kernel does not name here has its sizes in the program.
declare -A dims=([add]="n=1031" [argmax]="n=61 m=71" [attention]="n=61 m=71" [attention_threads]="n=61 m=71" [batched_matmul]="batch=5" [bias_gelu]="n=61 m=71" [depthwise]="channels=19"
  [gather]="rows=37 n=61" [layernorm]="n=61" [matmul]="n=61 k=67 m=71" [matmul_tiled]="n=61 k=67 m=71" [row_sum]="n=61 m=71" [scan]="n=61 m=71"
  [softmax]="n=61 m=71" [softmax_fused]="n=61 m=71" [transpose]="n=61 m=71" [histogram]="n=3001" [histogram_atomic]="n=3001" [scatter_add]="n=37 m=70"
  [scatter_add_atomic]="n=37 m=70" [prefix_sum]="n=1003" [prefix_sum_exclusive]="n=1003" [top_k]="n=7 m=101" [radix_sort]="n=301" [threefry]="n=61" [smith_waterman]="pairs=3 n=9"
  [jacobi]="n=11 m=37 steps=2" [mandelbrot]="n=19 m=23")
# The machine that a cross build is for: cross-aarch64 -> aarch64.
machine=${cross##*cross-}

# The targets, and how a kernel runs on each: run NAME KERNEL_FILE OPTIONS...
targets=(llvm c opencl "opencl, a file" vulkan)
[[ -z $cross ]] || targets+=("$machine (qemu)")
run() {
  local target=$1 file=$2
  shift 2
  case "$target" in
    "opencl, a file")
      "$tern" compile "$file" -t opencl -o "$work/kernel.so"
      "$build/bin/tern-run" "$work/kernel.so" "$@" --check "$output=$work/expected.npy"
      ;;
    *"(qemu)")
      "$tern" compile "$file" -t "llvm -mtriple=$machine-linux-gnu" -o "$work/kernel.so"
      "qemu-$machine" -L "/usr/$machine-linux-gnu" "$cross/bin/tern-run" "$work/kernel.so" "$@" --check "$output=$work/expected.npy"
      ;;
    vulkan) "$examples/../tern/backend/vulkan/test/with_lavapipe.sh" "$build" "$tern" run "$file" -t vulkan "$@" --check interp ;;
    *) "$tern" run "$file" -t "$target" "$@" --check interp ;;
  esac
}

printf '%-16s' kernel
printf '%16s' "${targets[@]}"
printf '   %s\n' "largest error against the interpreter"
failures=()
for file in "$examples"/kernels/*.tir; do
  kernel=$(basename "$file" .tir)
  [[ $kernel != spmv ]] || continue # a sparse matrix is not random; test/e2e/example_kernels.test
  options=()
  for dim in ${dims[$kernel]:-}; do options+=(--dim "$dim"); done
  # The interpreter says which tensor is the result; "C: 61x71 float32 sum=12.5" ends its line.
  output=$("$tern" run "$file" -t interp "${options[@]}" | sed -nE '1s/.*  ([A-Za-z_]+): [^:]*$/\1/p')
  "$tern" run "$file" -t interp "${options[@]}" --output "$output=$work/expected.npy" >/dev/null
  printf '%-16s' "$kernel"
  errors=
  for target in "${targets[@]}"; do
    if [[ $target == vulkan && $kernel == *_atomic ]]; then
      printf '%16s' "no atomics"
    elif text=$(run "$target" "$file" "${options[@]}" 2>"$work/stderr"); then
      printf '%16s' "$(sed -nE '1s/.*  ([0-9.e+]+ [mu]?s)  .*/\1/p' <<<"$text")"
      errors+=$(sed -nE 's/.*largest error ([^ ]+) absolute.*/\1/p' <<<"$text")$'\n'
    else
      printf '%16s' FAILED
      failures+=("$kernel on $target: $(tail -n 1 "$work/stderr")$(tail -n 1 <<<"$text")")
    fi
  done
  printf '   %s\n' "$(sort -g <<<"$errors" | tail -n 1)"
done
((${#failures[@]} == 0)) || printf 'FAILED: %s\n' "${failures[@]}"
exit $((${#failures[@]} > 0))
