#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# cts.sh TERN TARGET [ARGUMENTS...]: the conformance suite, where there is an emulator; exits with 77 otherwise.
set -euo pipefail
command -v qemu-hexagon >/dev/null || { echo "SKIPPED: qemu-hexagon is not installed (Debian's package qemu-user)" && exit 77; }
tern=$1 target=$2
shift 2
"$tern" cts "$target" "$@"
