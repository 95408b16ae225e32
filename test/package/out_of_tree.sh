#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# out_of_tree.sh CMAKE SOURCE BUILD: installs Tern into a prefix, moves it, and uses nothing else: a project that calls the runtime and
# the compiler, the backend of examples/out_of_tree_backend, up to the conformance suite on it, and the operator of
# examples/out_of_tree_operator in an ONNX model.
. "$(dirname "$0")/library.sh"
cmake=$1 source=$2 build=$3

quietly "$cmake" --install "$build" --prefix "$directory/first"
mv "$directory/first" "$directory/prefix"
prefix=$directory/prefix
tern=$prefix/bin/tern
cp -r "$source/test/package/consumer" "$source/examples/out_of_tree_backend" "$source/examples/out_of_tree_operator" "$source/examples/kernels/add.tir" "$directory"

# Another project.
quietly "$cmake" -S "$directory/consumer" -B "$directory/consumer-build" -DCMAKE_PREFIX_PATH="$prefix" -DWITH_COMPILER=ON
quietly "$cmake" --build "$directory/consumer-build"
expect 6 "$directory/consumer-build/compile_and_run"
quietly "$tern" compile "$directory/add.tir" -o "$directory/add.so"
expect 4 "$directory/consumer-build/run_artifact" "$directory/add.so" add
refused "Tern has no component Nosuch; it has Runtime and Compiler" \
  "$cmake" -S "$source/test/package/wrong_component" -B "$directory/wrong" -DCMAKE_PREFIX_PATH="$prefix"

# The backend.
quietly "$cmake" -S "$directory/out_of_tree_backend" -B "$directory/emu" -DCMAKE_PREFIX_PATH="$prefix"
quietly "$cmake" --build "$directory/emu"
expect "[  PASSED  ]" "$directory/emu/emu_test"
refused "unknown target 'emu'" "$tern" run "$directory/add.tir" -t emu
refused "unknown function emu.mac" "$tern" opt "$directory/out_of_tree_backend/mac.tir"

export XDG_DATA_HOME="$directory/data"
mkdir -p "$XDG_DATA_HOME/tern/backends"
cp "$directory/emu/emu.json" "$XDG_DATA_HOME/tern/backends"
expect "emu  an emulated device with a bytecode of its own" "$tern" targets
expect "device     emu:0  emulated device" "$tern" targets
expect "detected   emu:0  emu -max_threads=1024" "$tern" targets
expect "tag        example/emu-small" "$tern" targets
expect "emu.mac(A[i], B[i], C[i])" "$tern" opt "$directory/out_of_tree_backend/mac.tir"
for target in emu example/emu-small interp; do
  quietly "$tern" run "$directory/out_of_tree_backend/mac.tir" -t "$target" --check interp
done
quietly "$tern" compile "$directory/out_of_tree_backend/mac.tir" -t emu -o "$directory/mac.so"
quietly "$tern" compile "$directory/out_of_tree_backend/mac.tir" -t emu --keep-source -o "$directory/kept.tern"
expect "module     emu, kernels: mac_kernel" "$tern" inspect "$directory/kept.tern"
expect "Mac.F32" "$tern" inspect "$directory/kept.tern" --format asm
quietly "$prefix/bin/tern-run" "$directory/mac.so" --dim n=9
quietly "$tern" cts emu
tail -n 1 "$directory/log"

# Matmuls of a model by a unit of the device, whose programs have a format of their own.
model="$source/test/models/transformer.onnx" extents="--dim batch=1 --dim tokens=7"
# shellcheck disable=SC2086
{
  expect "hidden: largest error" "$tern" run "$model" -t emu $extents --offload emu_matrix --check host
  quietly "$tern" compile "$model" -t emu $extents --offload emu_matrix -o "$directory/matrix.tern"
  expect "module     emu, kernels: emu_matrix" "$tern" inspect "$directory/matrix.tern"
  expect "emu_matmul" "$prefix/bin/tern-run" "$directory/matrix.tern" --profile
  refused "offload emu_matrix: no such library" "$tern" compile "$model" $extents --offload emu_matrix -o "$directory/no.so"
}
sed 's/tile 8/tile 0/' "$directory/matrix.tern" >"$directory/altered.tern"
refused "was altered" "$prefix/bin/tern-run" "$directory/altered.tern"

# An operator of another domain.
quietly "$cmake" -S "$directory/out_of_tree_operator" -B "$directory/operator" -DCMAKE_PREFIX_PATH="$prefix"
quietly "$cmake" --build "$directory/operator"
quietly "$source/test/package/make_custom_model.py" "$directory/custom.onnx"
refused "com.example.Smoothstep (1 node: step)" "$tern" run "$directory/custom.onnx"
library="$directory/operator/libtern_codegen_com_example.so"
expect "y: float32[5] = com_example_Smoothstep(x) {high = 3" "$tern" opt "$directory/custom.onnx" --custom-op-library "$library"
quietly "$tern" run "$directory/custom.onnx" --custom-op-library "$library"
refused "expected a library of the name libtern_codegen_<name>.so" "$tern" run "$directory/custom.onnx" --custom-op-library "$directory/custom.onnx"
cp "$directory/operator/com_example.json" "$XDG_DATA_HOME/tern/backends"
expect "y: float32[5] = com_example_Smoothstep(x) {high = 3" "$tern" opt "$directory/custom.onnx"
quietly "$tern" debug "$directory/custom.onnx"

# Without its library: an error that names the file, and nothing worse.
mv "$directory/emu/libtern_runtime_emu.so" "$directory/emu/away.so"
absent="the emu runtime is not loaded: $directory/emu/libtern_runtime_emu.so, which $XDG_DATA_HOME/tern/backends/emu.json names, does not exist"
refused "$absent" "$prefix/bin/tern-run" "$directory/mac.so" --dim n=9
expect "runtime    absent: $absent" "$tern" targets
mv "$directory/emu/away.so" "$directory/emu/libtern_runtime_emu.so"
# Of another Tern.
sed -i 's/TERN_HEADER_HASH "/TERN_HEADER_HASH "0/' "$prefix/include/tern/codegen/header_hash.h"
quietly "$cmake" --build "$directory/emu"
expect "libtern_codegen_emu.so: built with another Tern (headers 0" "$tern" targets
