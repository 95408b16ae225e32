#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# build.sh TERN FOLDER [MODEL.onnx [LABELS.txt [OPTION...]]]: compiles the kernels of the page into FOLDER, for the browser and for this machine, and models:
# that of the user, whose classes LABELS names line by line, with options of `tern compile`, and small ones of the tests.
set -euo pipefail
tern=$1 folder=$2 model=${3:-} labels=${4:-} options=("${@:5}")
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
mkdir -p "$folder"

compile() {
  "$tern" compile "$1" -t "llvm -mtriple=wasm32-unknown-unknown -mattr=+simd128" --host llvm -o "$2"
}

for size in 256 512 1024; do
  sed "s/512/$size/g" "$here/kernels/matmul.tir" >"$folder/matmul_$size.tir"
  compile "$folder/matmul_$size.tir" "$folder/matmul_$size.tern"
done
for name in softmax filter; do
  compile "$here/kernels/$name.tir" "$folder/$name.tern"
done

# ---- models

wasm="llvm -mtriple=wasm32-unknown-unknown -mattr=+simd128"
entries=()

# add FILE TITLE ABOUT LABELS [OPTION...]: the model for WebGPU and for WebAssembly, and its entry in models.json. Of a model that reads text
# LABELS are the words of its vocabulary.
add() {
  local name
  name=${#entries[@]}_$(basename "$1" .onnx)
  "$tern" compile "$1" "${@:5}" --executor=aot -t webgpu --host "$wasm" -o "$folder/$name.webgpu.tern"
  "$tern" compile "$1" "${@:5}" --executor=aot -t "$wasm" -o "$folder/$name.wasm.tern"
  entries+=("$(python3 - "$name" "$2" "$3" "$4" <<'END'
import json
import sys

name, title, about, labels = sys.argv[1:]
entry = {"name": name, "title": title, "about": about,
         "files": {place: f"kernels/{name}.{place}.tern" for place in ("webgpu", "wasm")}}
if labels:
    with open(labels, encoding="utf-8") as lines:
        entry["labels"] = entry["words"] = [line.strip() for line in lines]
print(json.dumps(entry))
END
  )")
}

small="A small network of the tests with random weights: its numbers are checked, its classes mean nothing. ./dev web --model FILE.onnx shows one of yours."
models=$here/../../test/models
[[ -z $model ]] || add "$model" "$(basename "$model" .onnx)" "" "$labels" "${options[@]}"
add "$models/squeezenet.onnx" "SqueezeNet, small" "$small" ""
add "$models/mobilenet.onnx" "MobileNet, small" "$small" ""
add "$models/mnist.onnx" "Digits, small" "$small" ""
add "$models/transformer.onnx" "Transformer on text, small" "$small" "" --dim batch=1 --dim tokens=16
(IFS=,; echo "[${entries[*]}]") >"$folder/models.json"
