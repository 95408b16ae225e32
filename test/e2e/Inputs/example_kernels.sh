#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# example_kernels.sh KERNELS TERN ARGS...: `TERN run KERNEL --check interp ARGS` of kernels that no rule schedules. begin.npy and column.npy
# are those of csr.tir.
set -euo pipefail
kernels=$1 tern=$2
while read -r kernel options; do
  read -ra words <<<"$options"
  "$tern" run "$kernels/$kernel.tir" --check interp "${words[@]}" "${@:3}"
done <<'END'
histogram --dim n=3001
histogram_atomic --dim n=3001
scatter_add --dim n=37 --dim m=70
scatter_add_atomic --dim n=37 --dim m=70
prefix_sum --dim n=1003
prefix_sum_exclusive --dim n=1003
top_k --dim n=3 --dim m=101
radix_sort --dim n=301
top_k_threads --dim n=2 --dim m=1001
radix_sort_threads --dim n=301
threefry --dim n=37
smith_waterman --dim pairs=3 --dim n=9
smith_waterman_warps --dim pairs=3 --dim n=9
jacobi --dim n=11 --dim m=37 --dim steps=2
mandelbrot --dim n=7 --dim m=9
spmv --input begin=begin.npy --input column=column.npy --dim rows=37 --dim nnz=185 --dim columns=23
END
