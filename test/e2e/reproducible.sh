#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# reproducible.sh TERN TARGET PROGRAM ENDING...: compiles the program to a file of each ending, twice: in directories of different names and depths,
# with different numbers of threads, times, locales and masks. The bytes must be the same.
set -euo pipefail
tern=$1 target=$2 program=$3
shift 3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/a" "$work/some/longer/directory"
cp "$program" "$work/a/p.tir"
cp "$program" "$work/some/longer/directory/p.tir"
touch -d 2001-02-03 "$work/some/longer/directory/p.tir"
for ending in "$@"; do
  (cd "$work/a" && TERN_NUM_THREADS=1 "$tern" compile p.tir -t "$target" -o "p.$ending")
  (cd "$work/some/longer/directory" && umask 077 && TZ=Asia/Tokyo LC_ALL=C TMPDIR=$work/some TERN_NUM_THREADS=7 \
    "$tern" compile "$PWD/p.tir" -t "$target" -o "$PWD/p.$ending")
  cmp "$work/a/p.$ending" "$work/some/longer/directory/p.$ending"
  echo "the same: $target p.$ending"
done
for header in "$work"/a/*.h; do
  [[ ! -e $header ]] || cmp "$header" "$work/some/longer/directory/${header##*/}"
done
