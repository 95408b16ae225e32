#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""make_few_bits.py DIRECTORY: writes models whose inputs, outputs and weights have elements of 4 bits: for TYPE of int4, uint4 and float4e2m1

    in_TYPE.onnx      y = Cast(x) to float32, x of the type
    out_TYPE.onnx     y = Cast(x) to the type, x of float32
    moved_TYPE.onnx   y = Transpose(x), both of the type
    weights_TYPE.onnx y = DequantizeLinear(Transpose(w), s), w a constant, s one for each of its columns
"""
import pathlib
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
import onnx_writer as onnx  # noqa: E402


def write(path, nodes, x, y, weights=()):
    inputs = [onnx.value_info("x", *x)] if x else []
    graph = onnx.graph("few_bits", nodes, inputs, [onnx.value_info("y", *y)], list(weights))
    path.write_bytes(onnx.model(graph, {"": 23}, ir_version=11))


if __name__ == "__main__":
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for elem in ("int4", "uint4", "float4e2m1"):
        write(folder / f"in_{elem}.onnx", [onnx.node("Cast", ["x"], ["y"], to=onnx.TYPES["float"])], (elem, [3, 5]), ("float", [3, 5]))
        write(folder / f"out_{elem}.onnx", [onnx.node("Cast", ["x"], ["y"], to=onnx.TYPES[elem])], ("float", ["n", 5]), (elem, ["n", 5]))
        write(folder / f"moved_{elem}.onnx", [onnx.node("Transpose", ["x"], ["y"], perm=[1, 0])], (elem, [3, 5]), (elem, [5, 3]))
        # Codes 1 to 6, in rows of 3; scales 1, 10 and 100.
        weights = [onnx.tensor("w", elem, [2, 3], bytes([0x21, 0x43, 0x65])), onnx.tensor("s", "float", [3], struct.pack("<3f", 1, 10, 100))]
        nodes = [onnx.node("Transpose", ["w"], ["t"], perm=[1, 0]), onnx.node("DequantizeLinear", ["t", "s"], ["y"], axis=0)]
        write(folder / f"weights_{elem}.onnx", nodes, None, ("float", [3, 2]), weights)
