#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# validate.sh TERN: every shader of the conformance suite, with float16 as the language has it, is compiled by Dawn, which runs nothing.
# TERN_WEBGPU_NPM is the folder of the npm package `webgpu`, which has it; exits with 77 where it is not said.
#
#     npm install --prefix FOLDER webgpu && TERN_WEBGPU_NPM=FOLDER/node_modules/webgpu ctest -R cts.webgpu-f16
set -euo pipefail
tern=$1
command -v node >/dev/null || { echo "SKIPPED: node is not installed" && exit 77; }
[[ -n ${TERN_WEBGPU_NPM:-} ]] || { echo "SKIPPED: TERN_WEBGPU_NPM does not say where the npm package webgpu is" && exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$tern" cts "webgpu -float16=1" --host "llvm -mtriple=wasm32-unknown-unknown" --full --export "$work/suite"
node "$(dirname "${BASH_SOURCE[0]}")/validate.mjs" "$TERN_WEBGPU_NPM" "$work"/suite/*.tern
