#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""einsum_attention.py FILE: attention of 4 heads with Einsum, as Keras and Flax have it: heads behind the tokens, and a mask."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "tools"))
import onnx_writer as onnx  # pylint: disable=wrong-import-position


def attention(name, scores, values):
    """The scores are of (keys, queries) or (queries, keys)."""
    operands = ["k", "q"] if scores.startswith("aecd") else ["q", "k"]
    return [onnx.node("Einsum", operands, [name + "s"], equation=scores), onnx.node("Mul", [name + "s", "scale"], [name + "t"]),
            onnx.node("Add", [name + "t", "mask"], [name + "m"]), onnx.node("Softmax", [name + "m"], [name + "p"], axis=-1),
            onnx.node("Einsum", [name + "p", "v"], [name], equation=values)]


GRAPH = onnx.graph("g", attention("y", "aecd,abcd->acbe", "acbe,aecd->abcd") + attention("z", "b q h d, b k h d -> b h q k", "bhqk,bkhd->bqhd"),
                   [onnx.value_info("q", "float", ["b", "t", 4, 16]), onnx.value_info("k", "float", ["b", "s", 4, 16]),
                    onnx.value_info("v", "float", ["b", "s", 4, 16]), onnx.value_info("mask", "float", ["b", 1, 1, "s"])],
                   [onnx.value_info("y", "float"), onnx.value_info("z", "float")], [onnx.tensor("scale", "float", [], b"\0\0\x80\x3e")])
pathlib.Path(sys.argv[1]).write_bytes(onnx.model(GRAPH, {"": 17}))
