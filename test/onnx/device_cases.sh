#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# device_cases.sh TERN_ONNX_NODES LIB TARGET [PART]: one of PART (10) of Debian's node tests on a device, chosen by a seed; 77 without --full, and
# where the plugin is not built. LIB has the plugins; a stand-in for the driver is taken where there is one.
set -euo pipefail
here=$(dirname "${BASH_SOURCE[0]}")
kind=${3%% *}
if [[ -z ${TERN_TEST_FULL:-} ]]; then echo "SKIPPED: takes minutes; ./dev test --full runs it"; exit 77; fi
if [[ ! -e $2/libtern_runtime_$kind.so ]]; then echo "SKIPPED: libtern_runtime_$kind.so is not built"; exit 77; fi
if [[ -d $2/standin/$kind ]]; then export LD_LIBRARY_PATH=$2/standin/$kind TERN_STANDIN_STRICT=1; fi
ulimit -s 65536 2>/dev/null || true  # pocl has the private memory of a work-group on the stack of a thread, which may be more than 8 MB
exec "$1" /usr/share/libonnx-testdata/data/node -t "$3" --part "${4:-10}" --batch 40 --known-gaps "$here/known_gaps.txt" \
  --known-gaps "$here/known_gaps_1.12.txt"
