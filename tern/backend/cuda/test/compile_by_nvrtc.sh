#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Compiles the suite by NVRTC for the oldest and the newest machines that it knows.
# usage: compile_by_nvrtc.sh TERN
set -euo pipefail
tern=$1
first=$("$tern" cts "cuda -emit=cubin" --compile-only --filter blocks/ 2>&1) || true
if [[ $first == *"is not there: none of"* ]]; then
  echo "skipped: NVRTC is not installed"
  exit 77
fi
for arch in sm_75 sm_90a; do
  "$tern" cts "cuda -emit=cubin -arch=$arch" --compile-only --full
done
