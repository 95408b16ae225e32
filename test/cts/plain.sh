#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# plain.sh TERN [MACHINE] [CTS_OPTION...]: the conformance suite on plain C functions, as one program: here, or on an emulated microcontroller without an
# operating system. MACHINE: cortex-m3 (no floating-point unit), cortex-m4 (one for float32), cortex-m7. Exits with 77 where something for that is missing.
set -euo pipefail
tern=$1 machine=${2:-} directory=$(cd "$(dirname "$0")" && pwd)/cortex_m
shift
case "$machine" in
  cortex-m3) cpu="-mcpu=cortex-m3" board=mps2-an385 ;;
  cortex-m4) cpu="-mcpu=cortex-m4 -mfloat-abi=hard -mfpu=fpv4-sp-d16" board=mps2-an386 ;;
  cortex-m7) cpu="-mcpu=cortex-m7 -mfloat-abi=hard -mfpu=fpv5-d16" board=mps2-an500 ;;
  *) exec "$tern" cts "c -api=plain" "$@" ;;
esac
shift

for tool in arm-none-eabi-gcc qemu-system-arm; do
  command -v "$tool" >/dev/null || {
    echo "SKIPPED: $tool is not installed"
    exit 77
  }
done
compiler="arm-none-eabi-gcc $cpu -mthumb --specs=rdimon.specs -nostartfiles -T $directory/mps2.ld $directory/startup.c"
emulator="qemu-system-arm -M $board -display none -monitor none -serial none -semihosting-config enable=on,target=native -kernel"
exec "$tern" cts "c -api=plain -cc='$compiler'" --runner "$emulator" "$@"
