#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# cortex_m3.sh TERN [ARGS]: the conformance suite (ARGS go to it) on an emulated Cortex-M3: plain C, compiled by the bare-metal gcc, no operating system,
# no floating-point unit. Exit code 77: the tools are not installed.
set -euo pipefail
tern=$1
shift
here=$(cd "$(dirname "$0")" && pwd)
for tool in arm-none-eabi-gcc qemu-system-arm; do
  command -v "$tool" >/dev/null || {
    echo "SKIPPED: $tool is not installed (packages gcc-arm-none-eabi libnewlib-arm-none-eabi qemu-system-arm)"
    exit 77
  }
done
exec "$tern" cts "c -api=plain -cc='arm-none-eabi-gcc -mcpu=cortex-m3 -mthumb --specs=rdimon.specs -nostartfiles -T $here/mps2.ld $here/startup.c'" \
  --runner "qemu-system-arm -M mps2-an385 -display none -monitor none -serial none -semihosting-config enable=on,target=native -kernel" "$@"
