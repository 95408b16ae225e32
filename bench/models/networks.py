# SPDX-License-Identifier: Apache-2.0
"""The networks that speed is measured on, as ModelBuilders."""
import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
from model_builder import ModelBuilder  # noqa: E402


def resnet50(seed, batch=1):
    """Strides are on the 3x3 convolutions, as usual since 2016. The last normalization of a block is small, so that 16 residuals do not
    blow up what random weights compute."""
    b = ModelBuilder("resnet50", opset=17, seed=seed)

    def conv_norm(x, name, channels, filters, kernel, stride=1, pads=0, scale=1.0):
        x = b.conv(x, f"{name}.conv", channels, filters, kernel, stride, pads, bias=False)
        return b.batch_norm(x, f"{name}.norm", filters, scale)

    x = b.input("data", [batch, 3, 224, 224])
    x = b.relu(conv_norm(x, "stem", 3, 64, 7, 2, 3))
    x = b.op("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    channels = 64
    for stage, (width, blocks) in enumerate([(64, 3), (128, 4), (256, 6), (512, 3)]):
        for block in range(blocks):
            name, stride = f"stages.{stage}.{block}", 2 if stage > 0 and block == 0 else 1
            y = b.relu(conv_norm(x, f"{name}.reduce", channels, width, 1))
            y = b.relu(conv_norm(y, f"{name}.middle", width, width, 3, stride, 1))
            y = conv_norm(y, f"{name}.expand", width, 4 * width, 1, scale=0.25)
            if block == 0:
                x = conv_norm(x, f"{name}.project", channels, 4 * width, 1, stride)
            x = b.relu(b.op("Add", y, x))
            channels = 4 * width
    x = b.op("Flatten", b.op("GlobalAveragePool", x), axis=1)
    weight = b.weight("head.weight", [1000, channels], fan_in=channels)
    b.output(b.op("Gemm", x, weight, b.bias("head.bias", 1000), transB=1), "logits", [batch, 1000])
    return b


def bert_base(seed):
    """12 layers of 768, 12 heads; batch and tokens are dynamic, and shapes are computed as exporters have it."""
    b = ModelBuilder("bert_base", opset=17, seed=seed)
    size, heads, epsilon = 768, 12, 1e-12
    ids = b.input("input_ids", ["batch", "tokens"], "int64")
    mask = b.input("attention_mask", ["batch", "tokens"], "int64")
    kinds = b.input("token_type_ids", ["batch", "tokens"], "int64")

    def embedding(name, rows):
        return b.weight(f"{name}.weight", [rows, size], low=-1, high=1)

    positions = b.op("Slice", embedding("positions", 512), b.ints(0), b.dim(ids, 1), b.ints(0))
    x = b.op("Add", b.op("Gather", embedding("words", 30522), ids, axis=0), b.op("Gather", embedding("kinds", 2), kinds, axis=0))
    x = b.layer_norm(b.op("Add", x, positions), "norm", size, epsilon)
    wide = b.op("Cast", b.op("Unsqueeze", mask, b.ints(1, 2)), to=1)
    bias = b.op("Mul", b.op("Sub", b.number(1.0), wide), b.number(float(np.finfo(np.float32).min)))
    for i in range(12):
        name = f"layers.{i}"
        x = b.layer_norm(b.op("Add", b.attention(x, f"{name}.attention", size, heads, bias), x), f"{name}.norm1", size, epsilon)
        y = b.linear(b.gelu(b.linear(x, f"{name}.up", size, 4 * size)), f"{name}.down", 4 * size, size)
        x = b.layer_norm(b.op("Add", y, x), f"{name}.norm2", size, epsilon)
    b.output(x, "last_hidden_state", ["batch", "tokens", size])
    first = b.op("Gather", "last_hidden_state", b.scalar(0), axis=1)
    b.output(b.op("Tanh", b.linear(first, "pooler", size, size)), "pooler_output", ["batch", size])
    return b


def vit_b16(seed, batch=1):
    """Patches of 16 x 16 of an image of 224 x 224, 12 layers of 768."""
    b = ModelBuilder("vit_b16", opset=17, seed=seed)
    size, heads = 768, 12
    x = b.input("pixels", [batch, 3, 224, 224])
    x = b.conv(x, "patches", 3, size, 16, 16)
    x = b.op("Transpose", b.op("Reshape", x, b.ints(0, size, 196)), perm=[0, 2, 1])
    x = b.op("Concat", b.op("Expand", b.weight("class_token", [1, 1, size], low=-1, high=1), b.ints(batch, 1, size)), x, axis=1)
    x = b.op("Add", x, b.weight("positions", [1, 197, size], low=-1, high=1))
    for i in range(12):
        name = f"layers.{i}"
        x = b.op("Add", x, b.attention(b.layer_norm(x, f"{name}.norm1", size, 1e-6), f"{name}.attention", size, heads))
        y = b.gelu(b.linear(b.layer_norm(x, f"{name}.norm2", size, 1e-6), f"{name}.up", size, 4 * size))
        x = b.op("Add", x, b.linear(y, f"{name}.down", 4 * size, size))
    x = b.op("Gather", b.layer_norm(x, "norm", size, 1e-6), b.scalar(0), axis=1)
    b.output(b.linear(x, "head", size, 1000), "logits", [batch, 1000])
    return b


def rotary_tables(longest, each):
    """Cosines and sines of position / 500000^(2i / each), twice beside each other. By sums and products alone: those of the system's
    library differ in the last bit from machine to machine."""
    assert each == 64
    ratio = 0.6636012376960885  # 500000^(-1/32)
    angles = np.ones(each // 2)
    for i in range(1, each // 2):
        angles[i] = angles[i - 1] * ratio
    cos, sin, term = np.zeros_like(angles), np.zeros_like(angles), np.ones_like(angles)
    for i in range(30):
        part = cos if i % 2 == 0 else sin
        part += term if i % 4 < 2 else -term
        term = term * angles / (i + 1)
    rows = [(np.ones_like(cos), np.zeros_like(sin))]
    for _ in range(longest - 1):
        c, s = rows[-1]
        rows.append((c * cos - s * sin, s * cos + c * sin))
    return [np.tile(np.array([row[k] for row in rows]), 2).astype(np.float32) for k in (0, 1)]


def llama_block(seed):
    """One layer of 2048: 32 heads that share 8 of keys and values, rotary positions, a cache that grows, a gated MLP of 8192. Batch,
    tokens and the cache's length are dynamic; `mask` is added to the scores."""
    b = ModelBuilder("llama_block", opset=17, seed=seed)
    size, heads, groups, each, inner, longest = 2048, 32, 8, 64, 8192, 4096
    x = b.input("hidden", ["batch", "tokens", size])
    positions = b.input("position_ids", ["batch", "tokens"], "int64")
    mask = b.input("mask", ["batch", 1, "tokens", "total"])
    past_key = b.input("past_key", ["batch", groups, "past", each])
    past_value = b.input("past_value", ["batch", groups, "past", each])
    batch, tokens = b.dim(x, 0), b.dim(x, 1)

    def rms_norm(x, name):
        mean = b.op("ReduceMean", b.op("Pow", x, b.number(2.0)), axes=[-1], keepdims=1)
        x = b.op("Div", x, b.op("Sqrt", b.op("Add", mean, b.number(1e-5))))
        return b.op("Mul", x, b.weight(f"{name}.weight", [size], low=0.5, high=1.5))

    cos, sin = (b.op("Unsqueeze", b.op("Gather", b.constant(name, table), positions, axis=0), b.ints(1))
                for name, table in zip(("cos", "sin"), rotary_tables(longest, each)))

    def split(x, name, count):
        rows = b.reshape(b.linear(x, name, size, count * each, bias=False), batch, tokens, count, each)
        return b.op("Transpose", rows, perm=[0, 2, 1, 3])

    def rotate(x):
        low = b.op("Slice", x, b.ints(0), b.ints(each // 2), b.ints(3))
        high = b.op("Slice", x, b.ints(each // 2), b.ints(each), b.ints(3))
        turned = b.op("Concat", b.op("Neg", high), low, axis=3)
        return b.op("Add", b.op("Mul", x, cos), b.op("Mul", turned, sin))

    def repeat(x):
        """A group's keys or values for each of its heads."""
        total = b.dim(x, 2)
        shape = b.op("Concat", batch, b.ints(groups), b.ints(heads // groups), total, b.ints(each), axis=0)
        return b.reshape(b.op("Expand", b.op("Unsqueeze", x, b.ints(2)), shape), batch, heads, total, each)

    y = rms_norm(x, "norm1")
    q, k, v = rotate(split(y, "query", heads)), rotate(split(y, "key", groups)), split(y, "value", groups)
    k, v = b.op("Concat", past_key, k, axis=2), b.op("Concat", past_value, v, axis=2)
    scores = b.op("MatMul", q, b.op("Transpose", repeat(k), perm=[0, 1, 3, 2]))
    scores = b.op("Add", b.op("Mul", scores, b.number(each ** -0.5)), mask)
    mixed = b.op("MatMul", b.op("Softmax", scores, axis=-1), repeat(v))
    mixed = b.reshape(b.op("Transpose", mixed, perm=[0, 2, 1, 3]), batch, tokens, size)
    x = b.op("Add", x, b.linear(mixed, "output", size, size, bias=False))
    y = rms_norm(x, "norm2")
    gate = b.linear(y, "gate", size, inner, bias=False)
    y = b.op("Mul", b.op("Mul", gate, b.op("Sigmoid", gate)), b.linear(y, "up", size, inner, bias=False))
    b.output(b.op("Add", x, b.linear(y, "down", inner, size, bias=False)), "out", ["batch", "tokens", size])
    b.output(k, "key", ["batch", groups, "total", each])
    b.output(v, "value", ["batch", groups, "total", each])
    return b


NETWORKS = {make.__name__: make for make in (resnet50, bert_base, vit_b16, llama_block)}


def example_inputs(name, tokens=128, past=16):
    """What a measurement feeds: the same numbers for everyone."""
    random = np.random.RandomState(7)

    def floats(*shape):
        return (2 * random.random_sample(shape) - 1).astype(np.float32)

    if name in ("resnet50", "vit_b16"):
        return {"data" if name == "resnet50" else "pixels": floats(1, 3, 224, 224)}
    if name == "bert_base":
        ids = random.randint(0, 30522, [1, tokens]).astype(np.int64)
        return {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
    causal = np.where(np.arange(past + tokens)[None, :] <= past + np.arange(tokens)[:, None], 0, np.finfo(np.float32).min)
    return {"hidden": floats(1, tokens, 2048), "position_ids": past + np.arange(tokens, dtype=np.int64)[None, :],
            "mask": causal.astype(np.float32)[None, None], "past_key": floats(1, 8, past, 64), "past_value": floats(1, 8, past, 64)}
