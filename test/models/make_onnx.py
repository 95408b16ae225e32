#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""make_onnx.py DIRECTORY: writes small ONNX files that together have every field the reader knows: seeds of its fuzzer, in
test/fuzz/corpus/onnx, and inputs of tests."""
import pathlib
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
import onnx_writer as onnx  # noqa: E402


def floats(*values):
    return struct.pack(f"<{len(values)}f", *values)


def attributes():
    """A node with an attribute of each kind, and values of each kind of type."""
    inner = onnx.graph("inner", [onnx.node("Identity", ["x"], ["z"])], [], [onnx.value_info("z", "float")])
    small = onnx.tensor("t", "int8", [2], b"\1\2")
    every = onnx.node(
        "Every", ["x", "", "w"], ["y"], name="every", domain="test", overload="o", f=1.5, i=-3, s="text", t=small, g=inner,
        floats=[1.0, 2.0], ints=[1, -1, 300], strings=["a", ""], tensors=[small, small], graphs=[inner, inner],
        type=onnx.tensor_type("float", [1]), types=[onnx.tensor_type("float"), onnx.sequence_type(onnx.tensor_type("int64", []))])
    types = {
        "sequence": onnx.sequence_type(onnx.tensor_type("float", [None, 3])),
        "optional": onnx.optional_type(onnx.sequence_type(onnx.tensor_type("int64"))),
        "map": onnx.Type(onnx.data(5, onnx.integer(1, 8) + onnx.data(2, onnx.tensor_type("float", [])))),
        "sparse": onnx.Type(onnx.data(8, onnx.integer(1, 1) + onnx.data(2, onnx.data(1, onnx.integer(1, 3))))),
        "opaque": onnx.Type(onnx.data(7, onnx.data(1, "test"))),
    }
    main = onnx.graph("every", [every], [onnx.value_info("x", "float", ["batch", 3, None, "unk__1"])], [onnx.value_info("y", "float")],
                      [onnx.tensor("w", "float", [2, 1], floats(1, 2))],
                      [onnx.value_info(name, value) for name, value in types.items()])
    return onnx.model(main, {"": 17, "test": 1}, metadata={"key": "value"})


def typed_data():
    """Tensors whose elements are in the field of their type, packed and not."""
    def typed(name, elem, dims, fields):
        return onnx.Tensor(onnx.tensor_header(name, elem, dims) + fields)

    def packed(number, *values):
        return onnx.data(number, b"".join(map(onnx.varint, values)))

    tensors = [
        typed("float", "float", [2], onnx.data(4, floats(1, 2))),
        typed("floats", "float", [3], onnx.real(4, 1) + onnx.data(4, floats(2, 3))),
        typed("double", "double", [1], onnx.data(10, struct.pack("<d", 0.5))),
        typed("complex", "complex64", [1], onnx.data(4, floats(1, -1))),
        typed("int8", "int8", [3], packed(5, -128, 0, 127)),
        typed("uint16", "uint16", [2], onnx.integer(5, 65535) + onnx.integer(5, 1)),
        typed("int32", "int32", [2], packed(5, -5, 1 << 30)),
        typed("int64", "int64", [2], packed(7, -5, 1 << 60)),
        typed("uint32", "uint32", [1], packed(11, (1 << 32) - 1)),
        typed("uint64", "uint64", [1], packed(11, (1 << 64) - 1)),
        typed("bool", "bool", [3], packed(5, 0, 1, 1)),
        typed("float16", "float16", [2], packed(5, 0x3c00, 0xfc00)),
        typed("float8", "float8e4m3fn", [2], packed(5, 0x38, 0x80)),
        typed("int4", "int4", [3], packed(5, 0x21, 0x0f)),
        typed("float4", "float4e2m1", [2], packed(5, 0x72)),
        typed("int2", "int2", [5], packed(5, 0xe4, 1)),
        typed("strings", "string", [2], onnx.data(6, "a") + onnx.data(6, "")),
        typed("empty", "float", [0, 4], b""),
        onnx.tensor("raw_bool", "bool", [3], b"\0\1\2"),
        onnx.tensor("raw_bfloat16", "bfloat16", [], b"\x80\x3f"),
    ]
    return onnx.model(onnx.graph("typed", [], [], [], tensors), {"": 21}, ir_version=10)


def control_flow():
    """If and Loop with graphs inside of each other, and a function with a default."""
    def branch(name, value, nodes=()):
        return onnx.graph(name, [*nodes, onnx.node("Constant", [], [name], value=onnx.tensor("", "float", [1], floats(value)))], [],
                          [onnx.value_info(name, "float", [1])])

    nested = onnx.node("If", ["c"], ["unused"], name="inner_if", then_branch=branch("a", 1.0), else_branch=branch("b", 2.0))
    choose = onnx.node("If", ["c"], ["y"], name="outer_if", then_branch=branch("t", 3.0, [nested]), else_branch=branch("e", 4.0))
    scale = onnx.node("Scaled", ["y"], ["z"], domain="local", alpha=2.0)
    body = onnx.function("local", "Scaled", ["x"], ["y"], [
        onnx.node("Constant", [], ["a"], value_float=("@", 1, "alpha")), onnx.node("Mul", ["x", "a"], ["y"])], {"": 15},
        attributes=["beta"], defaults={"alpha": 1.0})
    main = onnx.graph("control", [choose, scale], [onnx.value_info("c", "bool", [])], [onnx.value_info("z", "float", [1])])
    return onnx.model(main, {"": 15, "local": 1}, functions=[body])


def old_cnn():
    """As files of IR version 3 are: weights are inputs too, and attributes do not say their kinds."""
    kernel = onnx.tensor("w", "float", [1, 1, 2, 2], floats(1, 2, 3, 4))
    pads = onnx.data(1, "pads") + b"".join(onnx.integer(8, 0) for _ in range(4))
    conv = onnx.node("Conv", ["x", "w"], ["c"], name="conv") + onnx.data(5, pads)
    shape = onnx.int64s("shape", [1, -1])
    main = onnx.graph("cnn", [conv, onnx.node("Relu", ["c"], ["r"]), onnx.node("Reshape", ["r", "shape"], ["y"])],
                      [onnx.value_info("x", "float", [1, 1, 4, 4]), onnx.value_info("w", "float", [1, 1, 2, 2]),
                       onnx.value_info("shape", "int64", [2])],
                      [onnx.value_info("y", "float", [1, 9])], [kernel, shape])
    return onnx.model(main, {"": 8}, ir_version=3)


def external_data():
    """Twelve bytes of data.bin."""
    main = onnx.graph("external", [onnx.node("Identity", ["w"], ["y"])], [], [onnx.value_info("y", "float", [3])],
                      [onnx.external_tensor("w", "float", [3], "data.bin", offset=4, length=12)])
    return onnx.model(main, {"": 17})


def operators(name, uses, inputs, initializers=()):
    """A node for each use, (operator, inputs, attributes), of values of the model or of earlier nodes, which are called y0, y1, ..."""
    nodes = [onnx.node(operator, given, [f"y{i}"], **attributes) for i, (operator, given, attributes) in enumerate(uses)]
    return onnx.model(onnx.graph(name, nodes, inputs, [onnx.value_info(f"y{i}", "float") for i in range(len(nodes))], initializers), {"": 17})


def windows():
    image, kernel = onnx.value_info("x", "float", ["n", 4, 6, 6]), onnx.tensor("w", "float", [4, 2, 3, 3], floats(*range(72)))
    rows = [onnx.tensor(name, "float", [4], floats(1, 2, 3, 4)) for name in ("a", "b", "c", "d")]
    sizes = [onnx.tensor("scales", "float", [4], floats(1, 1, 2, 2)), onnx.tensor("none", "float", [0], b"")]
    return operators("windows", [
        ("Conv", ["x", "w", "b"], {"group": 2, "pads": [1, 1, 1, 1], "strides": [2, 1]}),
        ("MaxPool", ["x"], {"kernel_shape": [2, 3], "ceil_mode": 1, "dilations": [1, 2]}),
        ("AveragePool", ["x"], {"kernel_shape": [3, 3], "pads": [1, 0, 1, 0], "count_include_pad": 1}),
        ("GlobalAveragePool", ["x"], {}), ("GlobalMaxPool", ["x"], {}),
        ("BatchNormalization", ["x", "a", "b", "c", "d"], {"epsilon": 1e-3}), ("LRN", ["x"], {"size": 3, "alpha": 0.5}),
        ("Resize", ["x", "none", "scales"], {"mode": "linear", "coordinate_transformation_mode": "asymmetric"})],
        [image], [kernel, *rows, *sizes])


def matrices():
    values = [onnx.value_info("x", "float", [2, "n", 4]), onnx.value_info("v", "float", [3, 4])]
    weights = [onnx.tensor("w", "float", [4, 3], floats(*range(12))), onnx.tensor("b", "float", [3], floats(1, 2, 3)),
               onnx.tensor("s", "float", [4], floats(1, 2, 3, 4))]
    return operators("matrices", [
        ("MatMul", ["x", "w"], {}), ("Gemm", ["v", "w", "b"], {"alpha": 0.5, "transA": 0}), ("Gemm", ["v", "v"], {"transB": 1}),
        ("LayerNormalization", ["x", "s", "s"], {"axis": -1}), ("Softmax", ["x"], {"axis": 1}), ("LogSoftmax", ["x"], {}),
        ("Gelu", ["y0"], {}), ("Add", ["y0", "b"], {})], values, weights)


def reshapes():
    lists = [onnx.int64s("shape", [0, -1]), onnx.int64s("one", [1]), onnx.int64s("two", [2]), onnx.int64s("big", [2, 3, 4]),
             onnx.int64s("pads", [0, 1, 0, 0, 0, 2]), onnx.int64s("parts", [1, 2]), onnx.int64s("at", [2, 0, -1])]
    return operators("reshapes", [
        ("Reshape", ["x", "shape"], {}), ("Transpose", ["x"], {"perm": [2, 0, 1]}), ("Flatten", ["x"], {"axis": 2}),
        ("Unsqueeze", ["x", "one"], {}), ("Squeeze", ["y3", "one"], {}), ("Slice", ["x", "one", "two", "one", "one"], {}),
        ("Concat", ["x", "x"], {"axis": 1}), ("Split", ["x", "parts"], {"axis": 1}), ("Gather", ["x", "at"], {"axis": 1}),
        ("Expand", ["x", "big"], {}), ("Tile", ["x", "big"], {}), ("Pad", ["x", "pads"], {"mode": "reflect"}), ("Shape", ["x"], {}),
        ("Gather", ["y12", "one"], {"axis": 0}), ("ConstantOfShape", ["y13"], {}), ("Size", ["x"], {})],
        [onnx.value_info("x", "float", ["n", 3, 4])], lists)


def reductions():
    axes = onnx.int64s("axes", [1, -1])
    kinds = ("Sum", "Mean", "Max", "Min", "Prod", "LogSum", "LogSumExp", "SumSquare", "L1", "L2")
    uses = [(f"Reduce{kind}", ["x", "axes"], {"keepdims": 0}) if kind == "Sum" else (f"Reduce{kind}", ["x"], {"axes": [1, -1]}) for kind in kinds]
    uses += [("ArgMax", ["x"], {"axis": -1, "keepdims": 0}), ("ArgMin", ["x"], {"axis": 0, "select_last_index": 1})]
    return operators("reductions", uses, [onnx.value_info("x", "float", ["n", 3, 4])], [axes])


def elements():
    unary = ("Relu", "Sigmoid", "Tanh", "Exp", "Sqrt", "Erf", "LeakyRelu", "HardSwish", "Round", "Not")
    binary = ("Add", "Div", "Pow", "Max", "Less", "Equal", "And", "Mod", "PRelu")
    uses = [(name, ["c" if name == "Not" else "x"], {}) for name in unary]
    uses += [(name, ["c", "c"] if name == "And" else ["x", "z"], {"fmod": 1} if name == "Mod" else {}) for name in binary]
    uses += [("Where", ["c", "x", "z"], {}), ("Clip", ["x", "low", "high"], {}), ("Cast", ["x"], {"to": 7})]
    scalars = [onnx.tensor(name, "float", [], floats(value)) for name, value in (("low", 0), ("high", 6))]
    values = [onnx.value_info("x", "float", ["n", 3]), onnx.value_info("z", "float", [3]), onnx.value_info("c", "bool", ["n", 1])]
    return operators("elements", uses, values, scalars)


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for make in (attributes, typed_data, control_flow, old_cnn, external_data, windows, matrices, reshapes, reductions, elements):
        (folder / f"{make.__name__}.onnx").write_bytes(make())
    (folder / "tensor.pb").write_bytes(onnx.tensor("input_0", "float", [2], floats(1, 2)))


if __name__ == "__main__":
    main()
