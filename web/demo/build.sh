#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# build.sh TERN FOLDER: compiles the kernels of the page into FOLDER, for the browser and for this machine.
set -euo pipefail
tern=$1 folder=$2
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
mkdir -p "$folder"

compile() {
  "$tern" compile "$1" -t "llvm -mtriple=wasm32-unknown-unknown -mattr=+simd128" --host llvm -o "$2"
}

for size in 256 512 1024; do
  sed "s/512/$size/g" "$here/kernels/matmul.tir" >"$folder/matmul_$size.tir"
  compile "$folder/matmul_$size.tir" "$folder/matmul_$size.tern"
done
for name in softmax filter; do
  compile "$here/kernels/$name.tir" "$folder/$name.tern"
done
