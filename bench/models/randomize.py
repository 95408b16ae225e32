# SPDX-License-Identifier: Apache-2.0
"""Gives a model whose weights are ConstantOfShape nodes random ones, He-scaled, by what reads them."""
import math
import pathlib
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
import onnx_writer as onnx  # noqa: E402
from model_builder import uniform  # noqa: E402


def read_varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def fields(data):
    """(number, value) of each field: a number, or a part of `data`."""
    at = 0
    while at < len(data):
        tag, at = read_varint(data, at)
        if tag & 7 == 0:
            value, at = read_varint(data, at)
        else:
            size, at = {1: (8, at), 5: (4, at)}.get(tag & 7) or read_varint(data, at)
            value, at = data[at:at + size], at + size
        yield tag >> 3, tag & 7, value


def written(number, kind, value):
    if kind == 0:
        return onnx.integer(number, value)
    return onnx.data(number, value) if kind == 2 else onnx.varint(number << 3 | kind) + bytes(value)


def all_of(message, number):
    return [value for n, _, value in fields(message) if n == number]


def text_of(message, number):
    return b"".join(bytes(value) for value in all_of(message, number)[-1:]).decode()


def int64s_in(message, number):
    """The numbers of a repeated field, packed or not."""
    values = []
    for _, kind, value in (field for field in fields(message) if field[0] == number):
        at = 0
        if kind == 0:
            values.append(value)
        while kind == 2 and at < len(value):
            one, at = read_varint(value, at)
            values.append(one)
    return values


def int64s_of(tensor):
    raw = all_of(tensor, 9)
    return list(struct.unpack(f"<{len(raw[0]) // 8}q", raw[0])) if raw else int64s_in(tensor, 7)


def name_of(node, number):
    """The first input (1) or output (2) of a node."""
    return bytes((all_of(node, number) or [b""])[0]).decode()


class Uses:
    """Who makes a value, and who reads it first; through what changes the shape alone."""
    VIEWS = ("Unsqueeze", "Reshape", "Identity", "Flatten", "Dropout", "Transpose")
    KEEP_SIGN = (*VIEWS, "MaxPool", "AveragePool", "GlobalAveragePool", "Concat", "LRN")

    def __init__(self, graph):
        self.readers, self.makers = {}, {}
        for node in all_of(graph, 1):
            for position, name in enumerate(all_of(node, 1)):
                self.readers.setdefault(bytes(name).decode(), (node, position))
            self.makers[name_of(node, 2)] = node

    def reader(self, name):
        """The operator, the input's number, and the node."""
        node, position = self.readers.get(name, (b"", 0))
        return self.reader(name_of(node, 2)) if text_of(node, 4) in self.VIEWS else (text_of(node, 4), position, node)

    def is_after_relu(self, name):
        node = self.makers.get(name, b"")
        return text_of(node, 4) == "Relu" or (text_of(node, 4) in self.KEEP_SIGN and self.is_after_relu(name_of(node, 1)))


def range_of(shape, name, uses):
    """Such that what a layer gives is about as large as what it takes."""
    reader, position, node = uses.reader(name)
    after = uses.reader(name_of(node, 2))[0]
    if reader == "BatchNormalization":
        # A residual doubles what it is added to, block by block, unless it is small.
        scale = (0.1, 0.4) if after in ("Sum", "Add") else (0.5, 1.5)
        return [None, scale, (-0.1, 0.1), (-0.1, 0.1), (0.5, 1.5)][position]
    if len(shape) < 2 or position == 2:
        return (0.5, 1.5) if reader == "Mul" else (-0.1, 0.1)
    attributes = {text_of(a, 1): (all_of(a, 3) or [0])[0] for a in all_of(node, 5)}
    is_turned = reader == "MatMul" or (reader == "Gemm" and not attributes.get("transB"))
    fan_in = shape[0] if is_turned else math.prod(shape[1:])
    limit = math.sqrt((6 if uses.is_after_relu(name_of(node, 1)) else 3) / fan_in)
    if after == "Softmax":
        limit *= 0.3  # else one class takes all, and hides the others
    return (-limit, limit)


def fills(model):
    """(node, name, shape) of each node that makes a constant fill; shape and name are None of the others."""
    graph = all_of(model, 7)[0]
    shapes = {text_of(tensor, 8): tensor for tensor in all_of(graph, 5)}
    for node in all_of(graph, 1):
        is_fill = text_of(node, 4) == "ConstantOfShape" and name_of(node, 1) in shapes
        yield (node, name_of(node, 2), int64s_of(shapes[name_of(node, 1)])) if is_fill else (node, None, None)


def weights(seed, source):
    """(name, array) of each weight that randomize() makes."""
    model = memoryview(source.read_bytes())
    uses = Uses(all_of(model, 7)[0])
    for _, name, shape in fills(model):
        if name:
            yield name, uniform(seed, name, shape, *range_of(shape, name, uses))


def randomize(seed, source, target):
    """Returns how many weights it made."""
    model = memoryview(source.read_bytes())
    graph = all_of(model, 7)[0]
    made = dict(weights(seed, source))
    nodes, used = [], set()
    for node, name, _ in fills(model):
        if name:
            used.add(name_of(node, 1))
        else:
            nodes.append(onnx.data(1, bytes(node)))
    tensors = [onnx.data(5, onnx.tensor(name, "float", array.shape, array.tobytes())) for name, array in made.items()]
    rest = [written(*field) for field in fields(graph) if field[0] != 1 and
            not (field[0] == 5 and text_of(field[2], 8) in used) and not (field[0] == 11 and text_of(field[2], 1) in used)]
    # In files before IR version 4 weights are inputs too, but need not be: newer readers take both.
    head = [onnx.integer(1, max(value, 4)) if number == 1 else written(number, kind, value)
            for number, kind, value in fields(model) if number != 7]
    target.write_bytes(b"".join(head) + onnx.data(7, b"".join(nodes + tensors + rest)))
    return len(made)
