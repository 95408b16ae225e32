#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# large_cases.sh TERN_ONNX_NODES ARGUMENTS...: with the models of large_cases.py.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 "$(dirname "${BASH_SOURCE[0]}")/large_cases.py" "$folder"
"$1" "$folder" "${@:2}"
