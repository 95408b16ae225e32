#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# default_schedules.sh ARGUMENTS...: tern_fuzz_default_schedules of $TERN_BUILD with the targets that a machine can run, or compile for.
# Drivers that have a stand-in are stood in for. Freed memory is overwritten, so that a use of it shows.
set -euo pipefail
build=${TERN_BUILD:-build/release}
standins=("$build"/lib/standin/*)
export LD_LIBRARY_PATH="$(IFS=:; echo "${standins[*]}")" TERN_CACHE=0 TERN_STANDIN_STRICT=1
export POCL_KERNEL_CACHE=0 MESA_SHADER_CACHE_DISABLE=true
export GLIBC_TUNABLES=glibc.malloc.perturb=165

# Small caches make small kernels take the ways of large ones.
small="-l1_bytes=1024 -l2_bytes=8192"
run=(llvm/4 "llvm -mcpu=native/4" "llvm -mcpu=native $small/4" "llvm -vector_bytes=64 -vector_registers=32 $small -threads=1/4"
  c/60 "c -vector_bytes=16 $small/60" opencl/30 "opencl -processor=1/30" vulkan/30 metal/60 cuda/120 "rocm -embed_tir=1/60")
compile=("llvm -mtriple=aarch64-linux-gnu/8" "llvm -mtriple=aarch64-linux-gnu -mcpu=neoverse-v2/8" "llvm -mtriple=x86_64-linux-gnu -mcpu=haswell/8"
  "llvm -mtriple=x86_64-linux-gnu -mcpu=sapphirerapids/8" "llvm -mtriple=riscv64-linux-gnu -mattr=+v/8" nvidia/h200/12 "rocm -arch=gfx1100/12" apple/m1/12)
exec "$build/bin/tern_fuzz_default_schedules" --targets "$(IFS=,; echo "${run[*]}")" --compile-only "$(IFS=,; echo "${compile[*]}")" "$@"
