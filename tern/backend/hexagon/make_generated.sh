#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# make_generated.sh [DIRECTORY]: makes codegen/llvm/builtins.ll of builtins.c and runtime/executor.inc of executor.c, here or in
# DIRECTORY, with clang and lld; to be run when one of them changes. Building Tern needs neither.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
output=${1:-.}
mkdir -p "$output"/{codegen/llvm,runtime}
# The oldest machine there is code for; what is made runs on all later ones.
flags=(--target=hexagon-unknown-linux-musl -mv65 -std=c11 -ffreestanding -fno-strict-aliasing -fno-ident -fno-unwind-tables
  -fno-asynchronous-unwind-tables -fno-vectorize -fno-slp-vectorize -fno-stack-protector)
{
  echo "; SPDX-License-Identifier: Apache-2.0"
  echo "; Made of builtins.c by make_generated.sh."
  clang-22 "${flags[@]}" -Os -fPIC -ffunction-sections -S -emit-llvm codegen/llvm/builtins.c -o - |
    sed -E -e '/^(; ModuleID|source_filename|target |!llvm\.|![0-9]+ =)/d' -e 's/ "[a-z-]+"="[^"]*"//g' \
      -e '/^; Function Attrs/d' -e 's/, ![a-z._]+ ![0-9]+//g' -e 's/ +;.*//' | cat -s
} >"$output/codegen/llvm/builtins.ll"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
clang-22 "${flags[@]}" -O1 -fno-pic -G0 -c runtime/executor.c -o "$work/executor.o"
/usr/lib/llvm-22/bin/ld.lld -m hexagonelf -static --build-id=none -s -z norelro -z nognustack -o "$work/executor" "$work/executor.o"
{
  echo "// SPDX-License-Identifier: Apache-2.0"
  echo "// Made of executor.c by make_generated.sh, with $(clang-22 --version | sed -nE '1s/.*(clang version [0-9.]+).*/\1/p')."
  od -An -v -tx1 -w24 "$work/executor" | sed -E 's/ ([0-9a-f]{2})/0x\1,/g'
} >"$output/runtime/executor.inc"
