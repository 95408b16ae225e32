#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Makes tern/backend/cpu/codegen/llvm/ffi_host.ll of ffi_host.c and host_abi.inc, with clang: to be
# run when one of them changes. The result serves every 64-bit ELF machine: riscv64 is the one whose
# convention says of integers how they are extended, which means nothing to the others, and what is
# left that names a machine is removed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../tern/backend/cpu/codegen"
{
  echo "; SPDX-License-Identifier: Apache-2.0"
  echo "; Made of ffi_host.c by tools/make_ffi_host.sh."
  clang-22 --target=riscv64-linux-gnu -std=c99 -Oz -fPIC -ffreestanding -fno-strict-aliasing -fno-ident \
    -fno-unwind-tables -fno-asynchronous-unwind-tables -fno-vectorize -S -emit-llvm \
    -include stdint.h -include host_abi.inc ffi_host.c -o - |
    sed -E -e '/^(; ModuleID|source_filename|target |!llvm\.|![0-9]+ =)/d' -e 's/ "[a-z-]+"="[^"]*"//g' \
      -e '/^; Function Attrs/d' -e 's/, ![a-z._]+ ![0-9]+//g' -e 's/ +;.*//' | cat -s
} >llvm/ffi_host.ll
