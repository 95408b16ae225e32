#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Makes the LLVM IR that is linked into compiled code of the C sources beside it, with clang: to be
# run when one of them changes. ffi_host.ll serves every 64-bit ELF machine: riscv64 is the one
# whose convention says of integers how they are extended, which means nothing to the others, and
# what is left that names a machine is removed. check_arguments has pointers of 4 bytes in a second
# form.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# make SOURCE RESULT TARGET [OPTION...]
make() {
  local source=$1 result=tern/backend/cpu/codegen/llvm/$2 target=$3
  shift 3
  {
    echo "; SPDX-License-Identifier: Apache-2.0"
    echo "; Made of $(basename "$source") by tools/make_linked_ir.sh."
    clang-22 "--target=$target" -std=c99 -fPIC -ffreestanding -fno-strict-aliasing -fno-ident \
      -fno-unwind-tables -fno-asynchronous-unwind-tables -fno-vectorize -fno-slp-vectorize -S -emit-llvm \
      -include stdint.h -include tern/ffi/host_abi.inc "$@" "$source" -o - |
      sed -E -e '/^(; ModuleID|source_filename|target |!llvm\.|![0-9]+ =)/d' -e 's/ "[a-z-]+"="[^"]*"//g' \
        -e '/^; Function Attrs/d' -e 's/, ![a-z._]+ ![0-9]+//g' -e 's/ +;.*//' | cat -s
  } >"$result"
}

make tern/backend/cpu/codegen/ffi_host.c ffi_host.ll riscv64-linux-gnu -Oz
hidden='-DTERN_CHECK_ARGUMENTS_LINKAGE=__attribute__((visibility("hidden")))'
make tern/tir/check_arguments.c check_arguments_64.ll riscv64-linux-gnu -O2 -fno-unroll-loops "$hidden"
make tern/tir/check_arguments.c check_arguments_32.ll wasm32-unknown-unknown -O2 -fno-unroll-loops "$hidden"
