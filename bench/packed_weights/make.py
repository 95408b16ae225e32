#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""make.py FOLDER: models of MatMulNBits, which run.c and peer.py time. Prints NAME and the bytes of its weights.

NAME is a stack of layers, as a decoder has them for each token, of more weights than caches hold; NAME_1 is one small layer.
"""

import pathlib
import random
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
import onnx_writer as onnx

# block, zero points, accuracy_level
KINDS = {"w4_32": (32, False, 0), "w4_128": (128, False, 0), "w4_32_zero": (32, True, 0), "w4a8_32": (32, False, 4)}
# K of each layer, and N of the last
STACK = [4096, 4096, 11008] * 8 + [4096]
ONE = [4096, 2048]


def repeated(draw, count):
    """Random bytes, the same again behind 64 KB: what they are costs no time, and the files can be packed."""
    part = draw.randbytes(min(count, 1 << 16))
    return part * (count // len(part)) + part[: count % len(part)]


def write(path, sizes, block, has_zeros, level):
    draw = random.Random(1)
    nodes, weights, total = [], [], 0
    for i, (depth, columns) in enumerate(zip(sizes, sizes[1:])):
        blocks = depth // block
        scales = b"".join(struct.pack("<f", draw.uniform(0.0001, 0.001)) for _ in range(blocks))
        data = {"b": ("uint8", [columns, blocks, block // 2], repeated(draw, columns * depth // 2)),
                "s": ("float", [columns * blocks], scales * columns)}
        if has_zeros:
            size = columns * ((blocks + 1) // 2)
            data["z"] = ("uint8", [size], repeated(draw, size))
        weights += [onnx.tensor(f"{name}{i}", *value) for name, value in data.items()]
        total += sum(len(value[2]) for value in data.values())
        nodes.append(onnx.node("MatMulNBits", [f"x{i}"] + [f"{name}{i}" for name in data], [f"x{i + 1}"], domain="com.microsoft", K=depth, N=columns,
                               bits=4, block_size=block, accuracy_level=level))
    graph = onnx.graph("g", nodes, [onnx.value_info("x0", "float", [1, sizes[0]])], [onnx.value_info(f"x{len(nodes)}", "float", [1, sizes[-1]])],
                       weights)
    path.write_bytes(onnx.model(graph, {"": 17, "com.microsoft": 1}))
    print(path.stem, total)


def main(folder):
    for name, kind in KINDS.items():
        write(pathlib.Path(folder) / f"{name}.onnx", STACK, *kind)
        write(pathlib.Path(folder) / f"{name}_1.onnx", ONE, *kind)


if __name__ == "__main__":
    main(sys.argv[1])
