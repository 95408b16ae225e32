#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""make_custom_model.py FILE: a model with a node of a domain that Tern does not know."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
import onnx_writer as onnx  # noqa: E402

node = onnx.node("Smoothstep", ["x"], ["y"], name="step", domain="com.example", low=-1.0, high=3.0)
graph = onnx.graph("custom", [node], [onnx.value_info("x", "float", [5])], [onnx.value_info("y", "float", [5])])
pathlib.Path(sys.argv[1]).write_bytes(onnx.model(graph, {"": 17, "com.example": 1}))
