#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# generated.sh DIRECTORY: builtins.ll and executor.inc are what make_generated.sh makes of their sources. Exits with 77, having said why,
# where there is no clang or another one.
set -euo pipefail
backend=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
skip() {
  echo "SKIPPED: $*"
  exit 77
}
command -v clang-22 >/dev/null || skip "clang-22 is not installed"
[[ -x /usr/lib/llvm-22/bin/ld.lld ]] || skip "ld.lld of LLVM 22 is not installed"
version=$(clang-22 --version | sed -nE '1s/.*(clang version [0-9.]+).*/\1/p')
grep -q "with $version\.$" "$backend/runtime/executor.inc" || skip "the files were made by another clang than $version"
"$backend/make_generated.sh" "$1"
for file in codegen/llvm/builtins.ll runtime/executor.inc; do
  cmp "$backend/$file" "$1/$file" || { echo "FAILED: run $backend/make_generated.sh" && exit 1; }
done
