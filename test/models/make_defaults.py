#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""make_defaults.py DIRECTORY: writes models of y = (x + w) reshaped, whose initializers w and shape are inputs too: of IR version 3
and 8 (constant.onnx, default.onnx), and of opsets that are too old and too new (opset_5.onnx, opset_29.onnx)."""
import pathlib
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
import onnx_writer as onnx  # noqa: E402


def model(ir_version, opset):
    nodes = [onnx.node("Add", ["x", "w"], ["sum"]), onnx.node("Reshape", ["sum", "shape"], ["y"])]
    inputs = [onnx.value_info("x", "float", [2, 2]), onnx.value_info("w", "float", [2]), onnx.value_info("shape", "int64", [1])]
    weights = [onnx.tensor("w", "float", [2], struct.pack("<2f", 10, 20)), onnx.int64s("shape", [4])]
    graph = onnx.graph("defaults", nodes, inputs, [onnx.value_info("y", "float", [4])], weights)
    return onnx.model(graph, {"": opset}, ir_version=ir_version)


if __name__ == "__main__":
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, ir_version, opset in [("constant", 3, 8), ("default", 8, 17), ("opset_5", 3, 5), ("opset_29", 8, 29)]:
        (folder / f"{name}.onnx").write_bytes(model(ir_version, opset))
