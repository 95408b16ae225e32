#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# object_cache.sh TERN PROGRAM: compiles the program with an empty, a warm, a damaged and without a cache of objects. The bytes must be the same.
set -euo pipefail
tern=$1 program=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export TERN_CACHE=1 TERN_CACHE_DIR=$work/cache

compile() { "$tern" compile "$program" -t llvm -o "$work/$1.so"; }
entries() { find "$work/cache" -name '*.bin' | wc -l; }
# Those that were used since they were made old.
used() { find "$work/cache" -name '*.bin' -newermt 2002-01-01 | wc -l; }
make_old() { find "$work/cache" -name '*.bin' -exec touch -d 2001-02-03 {} +; }

compile cold
echo "cold: $(entries) entries"
make_old
compile warm
echo "warm: $(entries) entries, $(used) used"
make_old
"$tern" compile "$program" -t "llvm -vector_bytes=16" -o "$work/other.so"
echo "another target: $(used) new"
find "$work/cache" -name '*.bin' | while read -r file; do printf 'x' | dd of="$file" bs=1 seek=100 conv=notrunc status=none; done
compile damaged
TERN_CACHE=0 TERN_CACHE_DIR=$work/none compile without
[[ ! -e $work/none ]]
for file in warm damaged without; do cmp "$work/cold.so" "$work/$file.so" && echo "the same: $file"; done
