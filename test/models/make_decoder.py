#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""make_decoder.py FOLDER: a decoder of two layers with random weights, as decoder.onnx, which keeps keys and values in caches, and the same
weights as whole.onnx, which reads all tokens each time. No packages are needed."""
import pathlib
import random
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
import onnx_writer as onnx

VOCABULARY, SIZE, HEADS, LAYERS, POSITIONS = 40, 16, 2, 2, 64


def decoder(cached):
    rng = random.Random(5)
    weights, nodes = [], []

    def weight(name, *dims, scale=1.0):
        count = 1
        for dim in dims:
            count *= dim
        raw = struct.pack(f"<{count}f", *(rng.gauss(0, scale) for _ in range(count)))
        weights.append(onnx.tensor(name, "float", dims, raw))
        return name

    def add(op, inputs, output, **attributes):
        nodes.append(onnx.node(op, inputs, [output] if isinstance(output, str) else output, **attributes))
        return output if isinstance(output, str) else output[0]

    ids = onnx.value_info("input_ids", "int64", [1, "tokens"])
    positions = onnx.value_info("position_ids", "int64", [1, "tokens"])
    inputs, outputs = [ids, positions], [onnx.value_info("logits", "float", [1, "tokens", VOCABULARY])]
    words = add("Gather", [weight("words", VOCABULARY, SIZE), "input_ids"], "words_at")
    x = add("Add", [words, add("Gather", [weight("places", POSITIONS, SIZE), "position_ids"], "places_at")], "x")
    ones = onnx.tensor("ones", "float", [SIZE], struct.pack(f"<{SIZE}f", *[1.0] * SIZE))
    weights.append(ones)
    for layer in range(LAYERS):
        def name(what):
            return f"{what}_{layer}"
        normed = add("LayerNormalization", [x, "ones"], name("normed"), axis=-1)
        qkv = [add("MatMul", [normed, weight(name("w" + what), SIZE, SIZE, scale=0.4)], name(what)) for what in "qkv"]
        y = [name("attended")]
        if cached:
            past, present = [f"past_key_values.{layer}.{w}" for w in ("key", "value")], [f"present.{layer}.{w}" for w in ("key", "value")]
            for lists, names, length in ((inputs, past, "past"), (outputs, present, "all")):
                lists += [onnx.value_info(one, "float", [1, HEADS, length, SIZE // HEADS]) for one in names]
            qkv, y = qkv + [""] + past, y + present
        attended = add("Attention", qkv, y, is_causal=1, q_num_heads=HEADS, kv_num_heads=HEADS)
        x = add("Add", [x, add("MatMul", [attended, weight(name("wo"), SIZE, SIZE, scale=0.4)], name("o"))], name("sum"))
        up = add("MatMul", [add("LayerNormalization", [x, "ones"], name("normed2"), axis=-1), weight(name("up"), SIZE, 4 * SIZE, scale=0.3)], name("u"))
        down = add("MatMul", [add("Gelu", [up], name("g")), weight(name("down"), 4 * SIZE, SIZE, scale=0.3)], name("d"))
        x = add("Add", [x, down], name("next"))
    add("MatMul", [x, weight("out", SIZE, VOCABULARY, scale=0.5)], "logits")
    return onnx.model(onnx.graph("decoder", nodes, inputs, outputs, weights), {"": 23}, ir_version=10)


if __name__ == "__main__":
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "decoder.onnx").write_bytes(decoder(True))
    (folder / "whole.onnx").write_bytes(decoder(False))
