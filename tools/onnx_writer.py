# SPDX-License-Identifier: Apache-2.0
"""Writes ONNX files: protobuf's wire format with plain Python, for the models of tests and benchmarks.

A message is the bytes of its fields; a function makes one, named and numbered as in onnx.proto:

    x = value_info("x", "float", ["batch", 8])
    w = tensor("w", "float", [8, 4], struct.pack("<32f", ...))
    g = graph("g", [node("MatMul", ["x", "w"], ["y"])], [x], [value_info("y", "float", ["batch", 4])], [w])
    pathlib.Path("m.onnx").write_bytes(model(g, {"": 17}))
"""
import struct

# TensorProto.DataType.
TYPES = {
    "float": 1, "uint8": 2, "int8": 3, "uint16": 4, "int16": 5, "int32": 6, "int64": 7, "string": 8, "bool": 9, "float16": 10,
    "double": 11, "uint32": 12, "uint64": 13, "complex64": 14, "complex128": 15, "bfloat16": 16, "float8e4m3fn": 17,
    "float8e4m3fnuz": 18, "float8e5m2": 19, "float8e5m2fnuz": 20, "uint4": 21, "int4": 22, "float4e2m1": 23, "float8e8m0": 24,
    "uint2": 25, "int2": 26,
}


def varint(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while value >= 128:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def integer(number, value):
    return varint(number << 3) + varint(value)


def data(number, value):
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def real(number, value):
    return varint(number << 3 | 5) + struct.pack("<f", value)


def repeated(number, values):
    return b"".join(data(number, value) for value in values)


class Message(bytes):
    """Bytes that an attribute takes as a message of this kind."""


class Tensor(Message):
    pass


class Graph(Message):
    pass


class Type(Message):
    pass


def tensor_header(name, elem, dims):
    return b"".join(integer(1, dim) for dim in dims) + integer(2, TYPES.get(elem, elem)) + (data(8, name) if name else b"")


def tensor(name, elem, dims, raw):
    """Elements as they are in memory, row major."""
    return Tensor(tensor_header(name, elem, dims) + data(9, raw))


def int64s(name, values, dims=None):
    dims = [len(values)] if dims is None else dims
    return tensor(name, "int64", dims, struct.pack(f"<{len(values)}q", *values))


def external_tensor(name, elem, dims, location, **entries):
    """Elements in another file, at `offset`, of `length` bytes."""
    entries = {"location": location, **entries}
    return Tensor(tensor_header(name, elem, dims) +
                  b"".join(data(13, data(1, key) + data(2, str(value))) for key, value in entries.items()) + integer(14, 1))


def tensor_type(elem, dims=None):
    """Dims are numbers, names, or None for unknown ones; without any the rank is unknown."""
    shape = b"" if dims is None else data(2, b"".join(
        data(1, b"" if dim is None else data(2, dim) if isinstance(dim, str) else integer(1, dim)) for dim in dims))
    return Type(data(1, integer(1, TYPES.get(elem, elem)) + shape))


def sequence_type(element):
    return Type(data(4, data(1, element)))


def optional_type(element):
    return Type(data(9, data(1, element)))


def value_info(name, elem, dims=None):
    return data(1, name) + data(2, elem if isinstance(elem, Type) else tensor_type(elem, dims))


def attribute(name, value):
    """Of the kind that the value has; ("@", kind, outer) refers to an attribute of the function around it."""
    if isinstance(value, tuple) and value[0] == "@":
        return data(1, name) + integer(20, value[1]) + data(21, value[2])
    is_list = isinstance(value, (list, tuple))
    first = value[0] if is_list and value else 0 if is_list else value
    if isinstance(first, Tensor):
        kind, body = 4, repeated(10, value) if is_list else data(5, value)
    elif isinstance(first, Graph):
        kind, body = 5, repeated(11, value) if is_list else data(6, value)
    elif isinstance(first, Type):
        kind, body = 13, repeated(15, value) if is_list else data(14, value)
    elif isinstance(first, (str, bytes)):
        kind, body = 3, repeated(9, value) if is_list else data(4, value)
    elif isinstance(first, float):
        kind, body = 1, b"".join(real(7, v) for v in value) if is_list else real(2, value)
    else:
        kind, body = 2, b"".join(integer(8, v) for v in value) if is_list else integer(3, value)
    kind += is_list * (1 if kind == 13 else 5)
    return data(1, name) + body + integer(20, kind)


def node(op_type, inputs, outputs, name="", domain="", overload="", **attributes):
    return (repeated(1, inputs) + repeated(2, outputs) + (data(3, name) if name else b"") + data(4, op_type) +
            repeated(5, [attribute(key, value) for key, value in attributes.items()]) + (data(7, domain) if domain else b"") +
            (data(8, overload) if overload else b""))


def graph(name, nodes, inputs, outputs, initializers=(), value_infos=()):
    return Graph(repeated(1, nodes) + data(2, name) + repeated(5, initializers) + repeated(11, inputs) + repeated(12, outputs) +
                 repeated(13, value_infos))


def opset_imports(number, opsets):
    return repeated(number, [(data(1, domain) if domain else b"") + integer(2, version) for domain, version in opsets.items()])


def function(domain, name, inputs, outputs, nodes, opsets, attributes=(), defaults=None, overload=""):
    return (data(1, name) + repeated(4, inputs) + repeated(5, outputs) + repeated(6, attributes) + repeated(7, nodes) +
            opset_imports(9, opsets) + data(10, domain) +
            repeated(11, [attribute(key, value) for key, value in (defaults or {}).items()]) +
            (data(13, overload) if overload else b""))


def model(main, opsets, ir_version=8, functions=(), metadata=None, producer="tern"):
    return (integer(1, ir_version) + data(2, producer) + data(7, main) + opset_imports(8, opsets) +
            repeated(14, [data(1, key) + data(2, value) for key, value in (metadata or {}).items()]) + repeated(25, functions))
