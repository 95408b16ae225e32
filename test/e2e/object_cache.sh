#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# object_cache.sh TERN PROGRAM [OPTION...]: compiles the program with an empty, a warm, a damaged and without a cache of objects, and on 1, 2 and 8
# threads. The bytes must be the same.
set -euo pipefail
tern=$1 program=$2
options=("${@:3}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export TERN_CACHE=1 TERN_CACHE_DIR=$work/cache

compile() { "$tern" compile "$program" -t llvm "${options[@]}" -o "$work/$1" >/dev/null; }
is_model() { [[ $program == *.onnx ]]; }
entries() { find "$work/cache" -name '*.bin' | wc -l; }
# Those that were used since they were made old.
used() { find "$work/cache" -name '*.bin' -newermt 2002-01-01 | wc -l; }
make_old() { find "$work/cache" -name '*.bin' -exec touch -d 2001-02-03 {} +; }

compile cold.so
echo "cold: $(entries) entries"
make_old
compile warm.so
echo "warm: $(entries) entries, $(used) used"
TERN_NUM_THREADS=1 compile warm1.so
is_model || compile warm.ll
make_old
"$tern" compile "$program" -t "llvm -vector_bytes=16" -o "$work/other.so" >/dev/null
echo "another target: $(used) new"
find "$work/cache" -name '*.bin' | while read -r file; do printf 'x' | dd of="$file" bs=1 seek=100 conv=notrunc status=none; done
compile damaged.so
export TERN_CACHE=0 TERN_CACHE_DIR=$work/none
compile without.so
is_model || compile without.ll
for threads in 1 2 8; do TERN_NUM_THREADS=$threads compile "threads$threads.so"; done
[[ ! -e $work/none ]]
for file in warm warm1 damaged without threads1 threads2 threads8; do
  cmp "$work/cold.so" "$work/$file.so" && echo "the same: $file"
done
if ! is_model; then cmp "$work/warm.ll" "$work/without.ll" && echo "the same: LLVM IR"; fi
