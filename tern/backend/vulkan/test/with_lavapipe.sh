#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# with_lavapipe.sh BUILD COMMAND...: runs the command so that Mesa's driver for the CPU works. On machines whose CPU reports the name of
# one with SVE, but has none, it would emit SVE: there it is told another name. Its cache of shaders keeps what a crashed process
# left. Exits with 77 where there is no device.
set -euo pipefail
build=$1
shift
export MESA_SHADER_CACHE_DISABLE=true
if grep -q 0xd40 /proc/cpuinfo && ! grep -qw sve /proc/cpuinfo; then
  TERN_TEST_CPUINFO=$(mktemp)
  trap 'rm -f "$TERN_TEST_CPUINFO"' EXIT
  sed 's/0xd40/0xd0c/' /proc/cpuinfo >"$TERN_TEST_CPUINFO"
  export TERN_TEST_CPUINFO LD_PRELOAD=$build/lib/libtern_test_cpuinfo.so
fi
targets=$("$build/bin/tern" targets)
if [[ $targets != *" vulkan:0 "* ]]; then
  echo "SKIPPED: no Vulkan device"
  exit 77
fi
"$@"
