#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# compile_module.sh TERN: how long the convolutions of ResNet-50 take as one module, on 1, 2 and 8 threads, with an empty cache of objects and with a
# warm one. The files must be the same.
set -euo pipefail
tern=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"${BASH_SOURCE[0]%/*}/resnet50_convolutions.py" >"$work/resnet50.tir"
export TERN_CACHE=1 TERN_CACHE_DIR=$work/cache TIMEFORMAT='%R s, %U s of CPU'

measure() { # NAME [VARIABLE=VALUE...]
  printf '%-28s' "$1"
  time env "${@:2}" "$tern" compile "$work/resnet50.tir" -t "llvm -mcpu=native" --prepack only -o "$work/out.so"
  sha256sum <"$work/out.so" >>"$work/hashes"
}
measure "1 thread, no cache" TERN_CACHE=0 TERN_NUM_THREADS=1
measure "2 threads, no cache" TERN_CACHE=0 TERN_NUM_THREADS=2
measure "8 threads, no cache" TERN_CACHE=0 TERN_NUM_THREADS=8
measure "all threads, cold cache"
measure "all threads, warm cache"
[[ $(sort -u "$work/hashes" | wc -l) == 1 ]] || {
  echo "the files differ" >&2
  exit 1
}
