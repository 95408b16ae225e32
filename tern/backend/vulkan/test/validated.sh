#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# validated.sh TERN TERN_RUN [CTS_OPTIONS...]: runs the conformance suite with every module validated by spirv-val, and all calls of the
# driver by the validation layers, which may not say anything. Exits with 77 where either is missing.
set -euo pipefail
tern=$1 tern_run=$2
shift 2
layer=VK_LAYER_KHRONOS_validation
command -v spirv-val >/dev/null || { echo "SKIPPED: spirv-val is not installed" && exit 77; }
grep -rqs "$layer" /usr/share/vulkan/explicit_layer.d /usr/local/share/vulkan/explicit_layer.d "${VK_LAYER_PATH:-/nonexistent}" ||
  { echo "SKIPPED: $layer is not installed" && exit 77; }
export VK_INSTANCE_LAYERS=$layer
runner=$(dirname "$0")/validating_runner.py
"$tern" cts vulkan --runner "python3 '$runner' '$tern_run'" "$@"
# A target that has the least.
"$tern" cts "vulkan -int8=0 -int16=0 -storage8=0 -storage16=0 -float_controls=0 -max_push_constants=0" \
  --runner "python3 '$runner' '$tern_run'" "$@"
