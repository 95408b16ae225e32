#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""open_image.py FILE: a 3 x 3 convolution of images of any size, whose extents have names with dots."""
import pathlib
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "tools"))
import onnx_writer as onnx  # pylint: disable=wrong-import-position

WEIGHTS = onnx.tensor("w", "float", [16, 8, 3, 3], struct.pack("<1152f", *[0.01] * 1152))
GRAPH = onnx.graph("g", [onnx.node("Conv", ["x", "w"], ["y"], pads=[1, 1, 1, 1])], [onnx.value_info("x", "float", [1, 8, "in.h", "in.w"])],
                   [onnx.value_info("y", "float")], [WEIGHTS])
pathlib.Path(sys.argv[1]).write_bytes(onnx.model(GRAPH, {"": 17}))
