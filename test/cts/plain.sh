#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# plain.sh TERN [MACHINE] [CTS_OPTION...]: the conformance suite on plain C functions, as one program. MACHINE cortex-m3: on an emulated microcontroller
# without an operating system and without a floating-point unit; else here. Exits with 77 where something for that is missing.
set -euo pipefail
tern=$1 machine=${2:-} directory=$(cd "$(dirname "$0")" && pwd)/cortex_m
shift
gaps=()
for program in kernels/argmax kernels/layernorm kernels/softmax workspace zero_size; do
  gaps+=(--known-gap "$program/*: memory whose size is not constant needs a heap")
done
[[ $machine == cortex-m3 ]] || exec "$tern" cts "c -api=plain" "${gaps[@]}" "$@"
shift

for tool in arm-none-eabi-gcc qemu-system-arm; do
  command -v "$tool" >/dev/null || {
    echo "SKIPPED: $tool is not installed"
    exit 77
  }
done
compiler="arm-none-eabi-gcc -mcpu=cortex-m3 -mthumb --specs=rdimon.specs -nostartfiles -T $directory/mps2.ld $directory/startup.c"
emulator="qemu-system-arm -M mps2-an385 -display none -monitor none -serial none -semihosting-config enable=on,target=native -kernel"
exec "$tern" cts "c -api=plain -cc='$compiler'" --runner "$emulator" "${gaps[@]}" "$@"
