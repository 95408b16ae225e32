#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# same_bits.sh TERN FOLDER TARGET MODEL...: compiles models for the runtime's machine and ahead of time, and compares the results, bit by bit. Inputs are
# random. A MODEL may be followed by options of `tern compile`, behind colons: bert.onnx:--dim:tokens=7
set -euo pipefail
tern=$1 folder=$2 target=$3
shift 3
mkdir -p "$folder"
for model in "$@"; do
  IFS=: read -r -a words <<<"$model"
  file=${words[0]} options=("${words[@]:1}") name=$(basename "${words[0]}" .onnx)
  if ! "$tern" compile "$file" "${options[@]}" -t "$target" --executor=aot -o "$folder/$name.aot.so" >"$folder/$name.log" 2>&1; then
    echo "$name: $(sed 's/^tern: //' "$folder/$name.log")"
    continue
  fi
  "$tern" compile "$file" "${options[@]}" -t "$target" -o "$folder/$name.vm.so" >/dev/null
  for kind in vm aot; do
    rm -rf "$folder/$name.$kind"
    mkdir -p "$folder/$name.$kind"
    outputs=()
    for output in $("$tern" inspect --format vm "$folder/$name.$kind.so" | sed -n 's/^output \([^ ]*\): .*/\1/p' | tr -d '"'); do
      outputs+=(--output "$output=$folder/$name.$kind/${output//\//_}.npy")
    done
    "$tern" run "$folder/$name.$kind.so" --seed 3 "${outputs[@]}" >/dev/null
  done
  diff -r "$folder/$name.vm" "$folder/$name.aot" >/dev/null && echo "$name: the same bits" || echo "$name: DIFFERENT"
done
