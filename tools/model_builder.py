# SPDX-License-Identifier: Apache-2.0
"""Builds ONNX models node by node, with random weights. Needs numpy.

    b = ModelBuilder("net", opset=17, seed=1)
    x = b.input("x", ["batch", 8])
    b.output(b.relu(b.linear(x, "fc", 8, 4)), "y", ["batch", 4])
    b.write("net.onnx")

Weights are uniform and He-scaled. Each comes from the seed and its name alone, by operations that are exact, so that they are the
same bits on every machine, and in whatever order they are made.
"""
import hashlib
import math
import struct

import numpy as np
import onnx_writer as onnx

NAMES = {np.dtype("float32"): "float", np.dtype("int64"): "int64", np.dtype("bool"): "bool", np.dtype("int32"): "int32"}

# Where set, elements repeat after so many, those of vectors after fewer (factors of channels are folded into weights), so that files
# compress to little.
PERIOD, SHORT_PERIOD = None, 4


def uniform(seed, name, shape, low, high):
    """float32 in [low, high), by RandomState, whose stream is frozen."""
    digest = hashlib.sha256(f"{seed}/{name}".encode()).digest()
    random = np.random.RandomState(np.frombuffer(digest[:16], dtype="<u4"))
    count = math.prod(shape)
    drawn = random.random_sample(min(count, PERIOD if len(shape) > 1 else SHORT_PERIOD) if PERIOD else count)
    return (low + (high - low) * np.resize(drawn, shape)).astype(np.float32)


class Node:
    def __init__(self, op_type, inputs, outputs, name, attributes):
        self.op_type, self.inputs, self.outputs, self.name, self.attributes = op_type, inputs, outputs, name, attributes


class ModelBuilder:
    def __init__(self, name, opset, seed, ir_version=8, weights_are_inputs=False):
        self.name, self.opset, self.seed, self.ir_version = name, opset, seed, ir_version
        self.weights_are_inputs = weights_are_inputs  # as before IR version 4
        self.nodes, self.inputs, self.outputs, self.weights = [], [], [], {}

    # ---- values

    def input(self, name, dims, elem="float"):
        self.inputs.append((name, elem, dims))
        return name

    def output(self, value, name, dims, elem="float"):
        """Makes `value`, which a node computes, a result of this name."""
        for node in self.nodes:
            node.inputs = [name if v == value else v for v in node.inputs]
            node.outputs = [name if v == value else v for v in node.outputs]
        self.outputs.append((name, elem, dims))

    def constant(self, name, array):
        """Shared by all that name it."""
        self.weights.setdefault(name, np.asarray(array))
        return name

    def ints(self, *values):
        return self.constant("ints_" + "_".join(map(str, values)), np.array(values, dtype=np.int64))

    def number(self, value):
        return self.constant(f"number_{value}", np.array(value, dtype=np.float32))

    def weight(self, name, shape, fan_in=None, low=None, high=None):
        """He-scaled, for `fan_in` terms in a sum, or between two numbers."""
        if fan_in is not None:
            high = math.sqrt(6 / fan_in)
            low = -high
        return self.constant(name, uniform(self.seed, name, shape, low, high))

    def bias(self, name, size):
        return self.weight(name, [size], low=-0.1, high=0.1)

    # ---- nodes

    def op(self, op_type, *inputs, outputs=1, **attributes):
        number = len(self.nodes)
        names = [f"{op_type.lower()}_{number}" + (f"_{i}" if outputs > 1 else "") for i in range(outputs)]
        self.nodes.append(Node(op_type, list(inputs), names, f"{op_type}_{number}", attributes))
        return names[0] if outputs == 1 else names

    def relu(self, x):
        return self.op("Relu", x)

    def conv(self, x, name, channels, filters, kernel, stride=1, pads=0, group=1, bias=True):
        shape = [filters, channels // group, kernel, kernel]
        weights = [self.weight(f"{name}.weight", shape, fan_in=shape[1] * kernel * kernel)]
        if bias:
            weights.append(self.bias(f"{name}.bias", filters))
        return self.op("Conv", x, *weights, kernel_shape=[kernel, kernel], strides=[stride, stride], pads=[pads] * 4,
                       dilations=[1, 1], group=group)

    def batch_norm(self, x, name, size, scale=1.0):
        """`scale`: of what it gives, about."""
        parts = [self.weight(f"{name}.weight", [size], low=0.5 * scale, high=1.5 * scale), self.bias(f"{name}.bias", size),
                 self.bias(f"{name}.running_mean", size), self.weight(f"{name}.running_var", [size], low=0.5, high=1.5)]
        return self.op("BatchNormalization", x, *parts, epsilon=1e-5)

    def linear(self, x, name, inputs, outputs, bias=True):
        """Of any rank: a MatMul, and an Add."""
        y = self.op("MatMul", x, self.weight(f"{name}.weight", [inputs, outputs], fan_in=inputs))
        return self.op("Add", y, self.bias(f"{name}.bias", outputs)) if bias else y

    def layer_norm(self, x, name, size, epsilon=1e-5):
        scale = self.weight(f"{name}.weight", [size], low=0.5, high=1.5)
        return self.op("LayerNormalization", x, scale, self.bias(f"{name}.bias", size), axis=-1, epsilon=epsilon)

    def gelu(self, x):
        """As it is exported before opset 20."""
        erf = self.op("Erf", self.op("Div", x, self.number(math.sqrt(2))))
        return self.op("Mul", self.op("Mul", x, self.op("Add", erf, self.number(1.0))), self.number(0.5))

    def dim(self, x, axis):
        """An extent, as a tensor of one."""
        return self.op("Unsqueeze", self.op("Gather", self.op("Shape", x), self.scalar(axis), axis=0), self.ints(0))

    def scalar(self, value):
        return self.constant(f"int_{value}", np.array(value, dtype=np.int64))

    def reshape(self, x, *dims):
        """Dims are numbers, or tensors of one."""
        if not any(isinstance(dim, str) for dim in dims):
            return self.op("Reshape", x, self.ints(*dims))
        parts = [dim if isinstance(dim, str) else self.ints(dim) for dim in dims]
        return self.op("Reshape", x, self.op("Concat", *parts, axis=0))

    def attention(self, x, name, size, heads, mask=None):
        """Several heads over the rows of [batch, tokens, size], of any batch and tokens; `mask` is added to the scores."""
        batch, tokens, each = self.dim(x, 0), self.dim(x, 1), size // heads

        def split(part, order):
            rows = self.reshape(self.linear(x, f"{name}.{part}", size, size), batch, tokens, heads, each)
            return self.op("Transpose", rows, perm=order)

        q, k, v = split("query", [0, 2, 1, 3]), split("key", [0, 2, 3, 1]), split("value", [0, 2, 1, 3])
        scores = self.op("Div", self.op("MatMul", q, k), self.number(math.sqrt(each)))
        if mask:
            scores = self.op("Add", scores, mask)
        mixed = self.op("Transpose", self.op("MatMul", self.op("Softmax", scores, axis=-1), v), perm=[0, 2, 1, 3])
        return self.linear(self.reshape(mixed, batch, tokens, size), f"{name}.output", size, size)

    # ---- files

    def weights_sha256(self):
        return weights_sha256(self.weights)

    def write(self, path):
        """Weights are written one by one: no second copy of all of them is made."""
        nodes = [onnx.node(n.op_type, n.inputs, n.outputs, name=n.name, **n.attributes) for n in self.nodes]
        inputs = list(self.inputs)
        if self.weights_are_inputs:
            inputs += [(name, NAMES[array.dtype], list(array.shape)) for name, array in self.weights.items()]
        before = onnx.repeated(1, nodes) + onnx.data(2, self.name)
        after = (onnx.repeated(11, [onnx.value_info(*value) for value in inputs]) +
                 onnx.repeated(12, [onnx.value_info(*value) for value in self.outputs]))

        def head(name, array):
            inner = onnx.tensor_header(name, NAMES[array.dtype], array.shape) + onnx.varint(9 << 3 | 2) + onnx.varint(array.nbytes)
            return onnx.varint(5 << 3 | 2) + onnx.varint(len(inner) + array.nbytes) + inner

        size = len(before) + len(after) + sum(len(head(name, array)) + array.nbytes for name, array in self.weights.items())
        with open(path, "wb") as file:
            file.write(onnx.integer(1, self.ir_version) + onnx.data(2, "tern") + onnx.opset_imports(8, {"": self.opset}))
            file.write(onnx.varint(7 << 3 | 2) + onnx.varint(size) + before)
            for name, array in self.weights.items():
                file.write(head(name, array))
                file.write(np.ascontiguousarray(array).tobytes())
            file.write(after)


def weights_sha256(weights):
    """Of arrays by name, in the order of their names."""
    digest = hashlib.sha256()
    for name in sorted(weights):
        array = weights[name]
        digest.update(f"{name} {array.dtype} {list(array.shape)}\n".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def write_npy(path, array):
    """Version 1 of the format, the same bytes with every version of numpy."""
    shape = "(" + "".join(f"{dim}, " for dim in array.shape).rstrip(" " if array.ndim == 1 else ", ") + ")"
    header = f"{{'descr': '{array.dtype.str}', 'fortran_order': False, 'shape': {shape}, }}"
    header += " " * (63 - (10 + len(header)) % 64) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + np.ascontiguousarray(array).tobytes())
