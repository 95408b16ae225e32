#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""make_models.py DIRECTORY: small models of the kinds that people have, with random weights: NAME.onnx, what goes in,
NAME.INPUT.npy, and what comes out, NAME.OUTPUT.npy, computed by reference.py. Needs numpy; the tests need only the files."""
import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
import reference  # noqa: E402
from model_builder import ModelBuilder, uniform, write_npy  # noqa: E402

SEED = 21


def mnist():
    """Two convolutions and a product, as old files have them: padding by name, biases added apart, weights that are inputs."""
    b = ModelBuilder("mnist", opset=8, seed=SEED, ir_version=3, weights_are_inputs=True)
    x = b.input("image", [1, 1, 28, 28])
    for i, (channels, filters, pool) in enumerate([(1, 8, 2), (8, 16, 3)]):
        w = b.weight(f"conv{i}", [filters, channels, 5, 5], fan_in=channels * 25)
        x = b.op("Conv", x, w, kernel_shape=[5, 5], strides=[1, 1], auto_pad="SAME_UPPER", group=1, dilations=[1, 1])
        x = b.relu(b.op("Add", x, b.weight(f"bias{i}", [filters, 1, 1], low=-0.1, high=0.1)))
        x = b.op("MaxPool", x, kernel_shape=[pool, pool], strides=[pool, pool], pads=[0, 0, 0, 0], auto_pad="NOTSET")
    w = b.reshape(b.weight("fc", [16, 4, 4, 10], fan_in=256), 256, 10)
    x = b.op("Add", b.op("MatMul", b.reshape(x, 1, 256), w), b.weight("fc_bias", [1, 10], low=-0.1, high=0.1))
    b.output(x, "scores", [1, 10])
    return b


def resnet():
    """Batch normalisation, residuals, strides; bottlenecks with and without a projection; any batch."""
    b = ModelBuilder("resnet", opset=13, seed=SEED)
    x = b.input("data", ["batch", 3, 32, 32])
    x = b.relu(b.batch_norm(b.conv(x, "stem.conv", 3, 16, 7, 2, 3, bias=False), "stem.bn", 16))
    x = b.op("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])

    def bottleneck(x, name, inputs, width, outputs, stride):
        y = b.relu(b.batch_norm(b.conv(x, f"{name}.conv1", inputs, width, 1, bias=False), f"{name}.bn1", width))
        y = b.relu(b.batch_norm(b.conv(y, f"{name}.conv2", width, width, 3, stride, 1, bias=False), f"{name}.bn2", width))
        y = b.batch_norm(b.conv(y, f"{name}.conv3", width, outputs, 1, bias=False), f"{name}.bn3", outputs, scale=0.5)
        if inputs != outputs:
            x = b.batch_norm(b.conv(x, f"{name}.down", inputs, outputs, 1, stride, bias=False), f"{name}.down_bn", outputs)
        return b.relu(b.op("Add", y, x))

    x = bottleneck(x, "a", 16, 16, 32, 1)
    x = bottleneck(x, "b", 32, 16, 32, 1)
    x = bottleneck(x, "c", 32, 24, 64, 2)
    x = b.op("Flatten", b.op("GlobalAveragePool", x), axis=1)
    w = b.weight("fc.weight", [10, 64], fan_in=64)
    b.output(b.op("Gemm", x, w, b.bias("fc.bias", 10), alpha=1.0, beta=1.0, transB=1), "logits", ["batch", 10])
    return b


def squeezenet():
    """Branches that are concatenated, pooling with a border, Dropout, Softmax over channels."""
    b = ModelBuilder("squeezenet", opset=12, seed=SEED)
    x = b.input("data", [1, 3, 37, 37])
    x = b.relu(b.conv(x, "conv1", 3, 24, 3, 2))

    def fire(x, name, inputs, squeeze, expand):
        x = b.relu(b.conv(x, f"{name}.squeeze", inputs, squeeze, 1))
        left, right = b.conv(x, f"{name}.left", squeeze, expand, 1), b.conv(x, f"{name}.right", squeeze, expand, 3, pads=1)
        return b.op("Concat", b.relu(left), b.relu(right), axis=1)

    x = b.op("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[0, 0, 0, 0], ceil_mode=1)
    x = fire(fire(x, "fire2", 24, 8, 24), "fire3", 48, 8, 24)
    x = b.op("AveragePool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1], count_include_pad=0)
    x = b.op("Dropout", fire(x, "fire4", 48, 16, 32))
    x = b.op("GlobalAveragePool", b.relu(b.conv(x, "conv10", 64, 20, 1)))
    b.output(b.op("Softmax", b.op("Reshape", x, b.ints(0, -1)), axis=1), "probabilities", [1, 20])
    return b


def mobilenet():
    """Depthwise convolutions, Clip, HardSwish, a gate by channels."""
    b = ModelBuilder("mobilenet", opset=14, seed=SEED)
    x = b.input("data", [1, 3, 24, 24])
    x = b.op("HardSwish", b.batch_norm(b.conv(x, "stem", 3, 16, 3, 2, 1, bias=False), "stem_bn", 16))

    def clip(x):
        return b.op("Clip", x, b.number(0.0), b.number(6.0))

    def block(x, name, inputs, wide, outputs, stride):
        y = clip(b.conv(x, f"{name}.expand", inputs, wide, 1))
        y = clip(b.conv(y, f"{name}.depthwise", wide, wide, 3, stride, 1, group=wide))
        gate = b.relu(b.conv(b.op("GlobalAveragePool", y), f"{name}.gate1", wide, 8, 1))
        y = b.op("Mul", y, b.op("Sigmoid", b.conv(gate, f"{name}.gate2", 8, wide, 1)))
        y = b.conv(y, f"{name}.project", wide, outputs, 1)
        return b.op("Add", x, y) if inputs == outputs and stride == 1 else y

    x = block(x, "a", 16, 32, 24, 2)
    x = block(x, "b", 24, 48, 24, 1)
    x = b.op("ReduceMean", x, axes=[2, 3], keepdims=0)
    b.output(b.linear(x, "fc", 24, 10), "logits", [1, 10])
    return b


def transformer():
    """Embeddings, two layers, a mask made of integers; any batch and number of tokens, so that shapes are computed."""
    b = ModelBuilder("transformer", opset=17, seed=SEED)
    size, heads, vocabulary, longest = 48, 4, 100, 32
    tokens = b.input("input_ids", ["batch", "tokens"], "int64")
    mask = b.input("attention_mask", ["batch", "tokens"], "int64")
    positions = b.op("Slice", b.weight("positions", [longest, size], low=-0.5, high=0.5), b.ints(0), b.dim(tokens, 1), b.ints(0))
    x = b.op("Gather", b.weight("embeddings", [vocabulary, size], low=-1, high=1), tokens, axis=0)
    x = b.layer_norm(b.op("Add", x, positions), "embedding_norm", size)
    hidden = b.op("Cast", b.op("Unsqueeze", mask, b.ints(1, 2)), to=1)
    hidden = b.op("Mul", b.op("Sub", b.number(1.0), hidden), b.number(-10000.0))
    for i in range(2):
        y = b.attention(b.layer_norm(x, f"layer{i}.norm1", size), f"layer{i}", size, heads, hidden)
        x = b.op("Add", x, y)
        y = b.gelu(b.linear(b.layer_norm(x, f"layer{i}.norm2", size), f"layer{i}.up", size, 96))
        x = b.op("Add", x, b.linear(y, f"layer{i}.down", 96, size))
    b.output(x, "hidden", ["batch", "tokens", size])
    pooled = b.op("Tanh", b.linear(b.op("Gather", "hidden", b.scalar(0), axis=1), "pooler", size, size))
    b.output(pooled, "pooled", ["batch", size])
    return b


def feeds_of(builder):
    """What goes in: two images where the batch is free, or two texts of which one is shorter."""
    if builder.name == "transformer":
        ids = (uniform(SEED, "ids", [2, 7], 0, 100)).astype(np.int64)
        return {"input_ids": ids, "attention_mask": (np.arange(7) < np.array([[7], [5]])).astype(np.int64)}
    (name, _, dims), = builder.inputs
    return {name: uniform(SEED, f"{builder.name}/{name}", [2 if dim == "batch" else dim for dim in dims], -1, 1)}


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for make in (mnist, resnet, squeezenet, mobilenet, transformer):
        builder = make()
        builder.write(folder / f"{builder.name}.onnx")
        feeds = feeds_of(builder)
        for name, array in {**feeds, **reference.run(builder, feeds)}.items():
            write_npy(folder / f"{builder.name}.{name}.npy", array)


if __name__ == "__main__":
    main()
