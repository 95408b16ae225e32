#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# python_cases.sh TERN_ONNX_NODES [PYTHON]: the node tests of the Python package onnx; 77 where that is not installed.
set -euo pipefail
here=$(dirname "${BASH_SOURCE[0]}")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${2:-python3}" "$here/write_cases.py" "$folder"
"$1" "$folder" --known-gaps "$here/known_gaps.txt" --known-gaps "$here/known_gaps_1.23.txt"
