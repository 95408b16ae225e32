#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# wasm.sh TERN [CTS_OPTION...]: the conformance suite on WebAssembly, in node. Exits with 77 where there is none.
set -euo pipefail
tern=$1
shift
command -v node >/dev/null || {
  echo "SKIPPED: node is not installed"
  exit 77
}
exec "$tern" cts "llvm -mtriple=wasm32-unknown-unknown" --image-runner "node '$(dirname "${BASH_SOURCE[0]}")/wasm_runner.mjs'" "$@"
