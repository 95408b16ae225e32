#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# plain.sh TERN FOLDER MACHINE: models as plain C, on an emulated microcontroller or computer (cortex-m3, cortex-m7, riscv64) or here (host). Prints the
# static memory that each takes. On a Cortex-M the whole program, with its stack, has 200 KB of RAM. Exits with 77 where something for that is missing.
set -euo pipefail
tern=$1 folder=$2 machine=$3
here=$(cd "$(dirname "$0")" && pwd)
models=$here/.. board_files=$here/../../cts/cortex_m
case "$machine" in
  cortex-m3) cpu="-mcpu=cortex-m3" board=mps2-an385 ;;
  cortex-m7) cpu="-mcpu=cortex-m7 -mfloat-abi=hard -mfpu=fpv5-d16" board=mps2-an500 ;;
esac
mkdir -p "$folder"
case "$machine" in
  cortex-*)
    sed '/RAM (rwx)/s/LENGTH = 4M/LENGTH = 200K/' "$board_files/mps2.ld" >"$folder/small.ld"
    compiler="arm-none-eabi-gcc $cpu -mthumb --specs=rdimon.specs -nostartfiles -T $folder/small.ld $board_files/startup.c" size=arm-none-eabi-size
    emulator="qemu-system-arm -M $board -display none -monitor none -serial none -semihosting-config enable=on,target=native -kernel"
    ;;
  riscv64) compiler="riscv64-linux-gnu-gcc -static" size=riscv64-linux-gnu-size emulator=qemu-riscv64 ;;
  *) compiler=cc size=size emulator=env ;;
esac
for tool in ${compiler%% *} ${emulator%% *}; do
  command -v "$tool" >/dev/null || {
    echo "SKIPPED: $tool is not installed"
    exit 77
  }
done

while read -r model input output; do
  "$tern" compile "$models/$model.onnx" --executor=aot -t "c -api=plain" -o "$folder/$model.c"
  "$here/make_program.py" "$model" "$models/$model.$input.npy" "$models/$model.$output.npy" >"$folder/main.c"
  # shellcheck disable=SC2086
  $compiler -std=c99 -O2 -Wall -Wextra -Werror -pedantic -I "$folder" "$folder/$model.c" "$folder/main.c" -o "$folder/$model.elf"
  $emulator "$folder/$model.elf"
  "$size" "$folder/$model.elf" | awk -v model="$model" 'NR == 2 { print model ": " $2 + $3 " bytes of RAM, " $1 " of code and weights" }'
done <<END
mnist image scores
mobilenet data logits
squeezenet data probabilities
END
