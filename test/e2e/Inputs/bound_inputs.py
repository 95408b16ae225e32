#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bound_inputs.py FILE: a model whose input `mode` says which rank the result has."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "tools"))
import onnx_writer as onnx  # pylint: disable=wrong-import-position


def branch(*nodes):
    return onnx.graph("b", list(nodes), [], [onnx.value_info("r", "float")])


NODES = [
    onnx.node("Equal", ["mode", "two"], ["is_two"]), onnx.node("Squeeze", ["is_two", "zero"], ["c"]),
    onnx.node("If", ["c"], ["y"], name="choice", then_branch=branch(onnx.node("ReduceMax", ["x"], ["r"], axes=[1], keepdims=0)),
              else_branch=branch(onnx.node("Neg", ["x"], ["r"])))]
GRAPH = onnx.graph("g", NODES, [onnx.value_info("x", "float", ["n", 4]), onnx.value_info("mode", "int8", [1])], [onnx.value_info("y", "float")],
                   [onnx.tensor("two", "int8", [1], b"\2"), onnx.int64s("zero", [0])])
pathlib.Path(sys.argv[1]).write_bytes(onnx.model(GRAPH, {"": 17}))
