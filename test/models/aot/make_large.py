#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""make_large.py FOLDER: large.onnx with 1.1 GB of weights in a file beside it, which has no blocks on disk."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "tools"))
import onnx_writer as onnx  # noqa: E402

ROWS, COLUMNS = 270000, 1024

folder = pathlib.Path(sys.argv[1])
folder.mkdir(parents=True, exist_ok=True)
table = onnx.external_tensor("table", "float", [ROWS, COLUMNS], "table.bin")
graph = onnx.graph("large", [onnx.node("Gather", ["table", "rows"], ["y"])], [onnx.value_info("rows", "int64", [3])],
                   [onnx.value_info("y", "float", [3, COLUMNS])], [table])
(folder / "large.onnx").write_bytes(onnx.model(graph, {"": 17}))
with open(folder / "table.bin", "wb") as file:
    file.truncate(ROWS * COLUMNS * 4)
