#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# golden.sh FILE: compares standard input with FILE, or, with TERN_UPDATE_GOLDEN set, writes it there. Paths of the
# machine are taken out of it first: what stands before the name of a test's file.
set -euo pipefail
actual=$(mktemp)
trap 'rm -f "$actual"' EXIT
sed -E 's#(^|[ "(])/[^ :"]*/(test|examples)/#\1\2/#g' >"$actual"
if [[ -n ${TERN_UPDATE_GOLDEN:-} ]]; then
  cp "$actual" "$1"
else
  diff -u --label expected --label actual "$1" "$actual" || {
    echo "the output differs from $1; ./dev test --update rewrites it" >&2
    exit 1
  }
fi
