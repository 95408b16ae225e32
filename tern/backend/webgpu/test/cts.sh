#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# cts.sh TERN TARGET [ARGUMENTS...]: the conformance suite in a browser, by the runtime for it; exits with 77 where there is none.
# Runs on: Chromium (SwiftShader)
set -euo pipefail
tern=$1 target=$2
shift 2
browser=${TERN_CHROMIUM:-chromium}
command -v "$browser" >/dev/null || { echo "SKIPPED: $browser is not installed (Debian's package chromium)" && exit 77; }
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
exec "$tern" cts "$target" --host "llvm -mtriple=wasm32-unknown-unknown" \
  --image-runner "python3 '$here/../../../../web/test/cts_runner.py'" "$@"
