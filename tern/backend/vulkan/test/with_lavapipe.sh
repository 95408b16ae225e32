#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# with_lavapipe.sh CPUINFO_LIBRARY COMMAND...: runs the command so that Mesa's driver for the CPU works. On machines whose CPU reports
# the name of one with SVE, but has none, it would emit SVE: there it is told another name. Its cache of shaders keeps what a
# crashed process left. Exits with 77 where there is no driver.
set -euo pipefail
library=$1
shift
export MESA_SHADER_CACHE_DISABLE=true
if grep -q '0xd40' /proc/cpuinfo && ! grep -qw 'sve' /proc/cpuinfo; then
  TERN_TEST_CPUINFO=$(mktemp)
  trap 'rm -f "$TERN_TEST_CPUINFO"' EXIT
  sed 's/0xd40/0xd0c/' /proc/cpuinfo >"$TERN_TEST_CPUINFO"
  export TERN_TEST_CPUINFO LD_PRELOAD=$library
fi
if ! find "${VK_ICD_DIRECTORY:-/usr/share/vulkan/icd.d}" -name '*.json' 2>/dev/null | grep -q . && [[ -z ${VK_ICD_FILENAMES:-}${VK_DRIVER_FILES:-} ]]; then
  echo "SKIPPED: no Vulkan driver is installed"
  exit 77
fi
"$@"
