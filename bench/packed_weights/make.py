#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""make.py FOLDER: models of one MatMulNBits each, which run.c and peer.py time. Prints NAME and the bytes of its weights."""

import pathlib
import random
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
import onnx_writer as onnx

# K, N, block, zero points, accuracy_level
MODELS = {
    "w4_32": (4096, 2048, 32, False, 0),
    "w4_128": (4096, 2048, 128, False, 0),
    "w4_32_zero": (4096, 2048, 32, True, 0),
    "w4a8_32": (4096, 2048, 32, False, 4),
}


def main(folder):
    draw = random.Random(1)
    for name, (depth, columns, block, has_zeros, level) in MODELS.items():
        blocks = depth // block
        weights = [onnx.tensor("b", "uint8", [columns, blocks, block // 2], draw.randbytes(columns * depth // 2)),
                   onnx.tensor("s", "float", [columns * blocks],
                               b"".join(struct.pack("<f", draw.uniform(0.001, 0.01)) for _ in range(columns * blocks)))]
        count = columns * depth // 2 + 4 * columns * blocks
        if has_zeros:
            size = columns * ((blocks + 1) // 2)
            weights.append(onnx.tensor("z", "uint8", [size], draw.randbytes(size)))
            count += size
        node = onnx.node("MatMulNBits", ["x", "b", "s"] + ["z"] * has_zeros, ["y"], domain="com.microsoft", K=depth, N=columns, bits=4,
                         block_size=block, accuracy_level=level)
        graph = onnx.graph("g", [node], [onnx.value_info("x", "float", [1, depth])], [onnx.value_info("y", "float", [1, columns])], weights)
        (pathlib.Path(folder) / f"{name}.onnx").write_bytes(onnx.model(graph, {"": 17, "com.microsoft": 1}))
        print(name, count)


if __name__ == "__main__":
    main(sys.argv[1])
