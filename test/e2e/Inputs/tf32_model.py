#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tf32_model.py FILE: a model of one MatMul, of 72 x 128 by 128 x 96."""
import pathlib
import random
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "tools"))
import onnx_writer as onnx  # pylint: disable=wrong-import-position

DRAW = random.Random(1)
WEIGHTS = b"".join(struct.pack("<f", DRAW.uniform(-1, 1)) for _ in range(128 * 96))
GRAPH = onnx.graph("g", [onnx.node("MatMul", ["x", "w"], ["y"])], [onnx.value_info("x", "float", [72, 128])],
                   [onnx.value_info("y", "float", [72, 96])], [onnx.tensor("w", "float", [128, 96], WEIGHTS)])
pathlib.Path(sys.argv[1]).write_bytes(onnx.model(GRAPH, {"": 17}))
