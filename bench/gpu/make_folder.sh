#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# make_folder.sh TERN BUILD FOLDER [KERNEL...]: makes FOLDER, which is carried to an x86-64 machine with a GPU and run there (run.sh).
# TERN is this machine's compiler, which makes the kernels (all, or those named); BUILD is a build for x86-64 without LLVM: runtime,
# plugins, tern-run, and a compiler for the conformance suite.
set -euo pipefail
tern=$1 build=$2 folder=$3
shift 3
wanted=" $* "
here=$(cd "$(dirname "$0")" && pwd)
strip=x86_64-linux-gnu-strip
command -v "$strip" >/dev/null || strip=strip

rm -rf "$folder"
mkdir -p "$folder"/{bin,lib,kernels,reference}
cp "$here"/{run.sh,compare.py,check_python.py} "$folder"
cp "$build"/bin/{tern,tern-run,tern_bench_launch} "$folder/bin"
cp "$build"/lib/libtern_{runtime,compiler}.so "$build"/lib/libtern_runtime_*.so "$folder/lib"
"$strip" "$folder"/bin/* "$folder"/lib/*
# The loader of a driver that machines with it may lack.
for library in vulkan; do
  file=/usr/lib/x86_64-linux-gnu/lib$library.so.1
  [[ ! -e $file || ! -e $build/lib/libtern_runtime_$library.so ]] || cp -L "$file" "$folder/lib"
done

# What such a machine has; those without a plugin have nothing to run them.
kinds="cuda opencl vulkan"
# What each is compiled for: a tag that says more than the kind, where there is one.
target_of() {
  case "$1" in
    cuda) echo nvidia/h200 ;;
    *) echo "$1" ;;
  esac
}

# instance FILE TYPE SIZE: the program of a template.
instance() { sed "s/\$T/$2/g; s/\$N/$3/g" "$1"; }

# compile PROGRAM FILE: for all kinds, FILE of each.
compile() {
  local kind
  for kind in $kinds; do
    [[ -e $build/lib/libtern_runtime_$kind.so ]] || continue
    mkdir -p "$folder/kernels/$kind"
    "$tern" compile "$1" -t "$(target_of "$kind")" --host "llvm -mtriple=x86_64-linux-gnu" -o "$folder/kernels/$kind/$2.tern" ||
      echo "make_folder: $2 is not there for $kind" >&2
  done
}

# reference PROGRAM NAME: what the interpreter made of random inputs: reference/NAME/in.X.npy, out.Y.npy.
reference() {
  local into=$folder/reference/$2 tensor options=() outputs
  mkdir -p "$into"
  for tensor in $(grep '^func ' "$1" | grep -oE '[A-Za-z_]+: [a-z0-9]+\[' | cut -d: -f1); do
    options+=(--output "$tensor=$into/in.$tensor.npy")
  done
  # "softmax  cpu:0  1.2 ms  Y: 256x256 float32 sum=256"
  outputs=$("$tern" run "$1" -t interp "${options[@]}" | grep -oE '[A-Za-z_]+: [0-9x]+ ' | cut -d: -f1)
  for tensor in $outputs; do mv "$into/in.$tensor.npy" "$into/out.$tensor.npy"; done
}

program=$folder/program.tir
for file in "$here"/kernels/*.tir; do
  name=$(basename "$file" .tir)
  types="float32 float16"
  [[ $name != *.* ]] || types=${name##*.} name=${name%%.*}
  [[ $wanted == "  " || $wanted == *" $name "* ]] || continue
  for type in $types; do
    large=8192 small=256
    case "$name" in
      matmul) large=4096 ;;
      trivial) large=32 ;;
    esac
    instance "$file" "$type" "$large" >"$program"
    compile "$program" "$name.$type.$large"
    [[ $name != trivial ]] || continue
    instance "$file" "$type" "$small" >"$program"
    compile "$program" "$name.$type.$small"
    reference "$program" "$name.$type.$small"
  done
done
rm "$program"
echo "$folder: $(du -sh "$folder" | cut -f1), $(find "$folder/kernels" -name '*.tern' | wc -l) compiled files"
