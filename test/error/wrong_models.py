# SPDX-License-Identifier: Apache-2.0
"""wrong_models.py TERN FOLDER: writes models that are wrong, one mistake each, and prints what the importer says of them."""
import pathlib
import struct
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
import onnx_writer as onnx

MODELS = {}


def floats(name, dims, value=0.5):
    count = 1
    for dim in dims:
        count *= dim
    return onnx.tensor(name, "float", dims, struct.pack(f"<{count}f", *[value] * count))


def add(title, nodes, inputs=None, outputs=("y",), weights=(), opset=17, **model):
    """Inputs are (name, type, dims); the model has one mistake, which the title says."""
    inputs = [("x", "float", [2, 3])] if inputs is None else inputs
    graph = onnx.graph("g", nodes, [onnx.value_info(*one) for one in inputs],
                       [onnx.value_info(name, "float") for name in outputs], list(weights))
    opsets = opset if isinstance(opset, dict) else {"": opset, "com.microsoft": 1, "ai.onnx.ml": 3}
    MODELS[title] = onnx.model(graph, opsets, **model)


def one(title, op, inputs, weights=(), data=None, domain="", opset=17, **attributes):
    add(title, [onnx.node(op, inputs, ["y"], name="n", domain=domain, **attributes)], data, weights=weights, opset=opset)


X = ["x"]
IMAGE = [("x", "float", [1, 4, 8, 8])]
VECTOR = [("x", "float", [6])]
INTS = [("x", "int64", [2, 3])]
ROWS = [("x", "float", [2, 3, 8])]

# ---- The graph
add("no outputs", [onnx.node("Relu", X, ["y"])], outputs=())
add("an output that nothing computes", [onnx.node("Relu", X, ["z"])])
add("an input that nothing computes", [onnx.node("Relu", ["z"], ["y"], name="n")])
add("two nodes of one output", [onnx.node("Relu", X, ["y"]), onnx.node("Neg", X, ["y"])])
add("a circle", [onnx.node("Add", ["x", "y"], ["z"], name="a"), onnx.node("Relu", ["z"], ["y"], name="b")])
add("unknown operators", [onnx.node("Spline", X, ["a"], name="s"), onnx.node("Warp", ["a"], ["y"], domain="other")])
add("an opset that is too new", [onnx.node("Relu", X, ["y"])], opset=99)
add("an opset that is too old", [onnx.node("BatchNormalization", X, ["y"])], opset=3)
add("a function that calls itself", [onnx.node("F", X, ["y"], domain="l")], opset={"": 17, "l": 1}, functions=[
    onnx.function("l", "F", ["a"], ["b"], [onnx.node("F", ["a"], ["b"], domain="l")], {"": 17, "l": 1})])
add("too many inputs of a function", [onnx.node("F", ["x", "x"], ["y"], domain="l", name="n")], opset={"": 17, "l": 1}, functions=[
    onnx.function("l", "F", ["a"], ["b"], [onnx.node("Relu", ["a"], ["b"])], {"": 17})])
add("an input of unknown rank", [onnx.node("Relu", X, ["y"])], [("x", "float")])
add("an input of strings", [onnx.node("Identity", X, ["y"])], [("x", "string", [2])])
add("an input of complex numbers", [onnx.node("Identity", X, ["y"])], [("x", "complex64", [2])])
add("a sequence of unknown length", [onnx.node("ConcatFromSequence", X, ["y"], axis=0)],
    [("x", onnx.sequence_type(onnx.tensor_type("float", [2])))])

# ---- Attributes and inputs
one("a missing input", "Relu", [])
one("a missing second input", "Add", X)
one("too many inputs", "Relu", ["x", "x"])
one("an attribute that is not there", "Relu", X, slope=0.5)
one("an attribute of another kind", "Transpose", X, perm="10")
one("a constant of nothing", "Constant", [])
one("a type that there is not", "Cast", X, to=77)
one("a missing type", "Cast", X)

# ---- Types and shapes
one("types that differ", "Add", ["x", "w"], [onnx.int64s("w", [1, 2, 3])])
one("shapes that do not broadcast", "Add", ["x", "w"], [floats("w", [4])])
one("integers where floats belong", "Sqrt", X, data=INTS)
one("floats where integers belong", "BitwiseAnd", ["x", "x"], opset=18)
one("floats where bools belong", "And", ["x", "x"])
one("a product of other extents", "MatMul", ["x", "w"], [floats("w", [4, 5])])
one("a product of a scalar", "MatMul", ["x", "w"], [floats("w", [])])
one("a Gemm of rank 3", "Gemm", ["x", "w"], [floats("w", [8, 5])], ROWS)
one("channels that differ", "Conv", ["x", "w"], [floats("w", [5, 3, 3, 3])], IMAGE)
one("groups that do not divide", "Conv", ["x", "w"], [floats("w", [5, 2, 3, 3])], IMAGE, group=3)
one("a kernel of another rank", "Conv", ["x", "w"], [floats("w", [5, 4, 3])], IMAGE)
one("pads of another rank", "Conv", ["x", "w"], [floats("w", [5, 4, 3, 3])], IMAGE, pads=[1, 1])
one("a stride of 0", "MaxPool", X, data=IMAGE, kernel_shape=[2, 2], strides=[0, 1])
one("no kernel_shape", "MaxPool", X, data=IMAGE)
one("an unknown auto_pad", "Conv", ["x", "w"], [floats("w", [5, 4, 3, 3])], IMAGE, auto_pad="SOME")
one("an axis out of range", "Softmax", X, axis=5)
one("a permutation with a gap", "Transpose", X, perm=[0, 2])
one("a permutation that is too long", "Transpose", X, perm=[0, 1, 2])
one("a shape of other elements", "Reshape", ["x", "s"], [onnx.int64s("s", [4, 2])])
one("a shape with two unknowns", "Reshape", ["x", "s"], [onnx.int64s("s", [-1, -1])])
one("a squeeze of an extent of 3", "Squeeze", ["x", "a"], [onnx.int64s("a", [1])])
one("an axis twice", "Unsqueeze", ["x", "a"], [onnx.int64s("a", [0, 0])])
one("a concat of other extents", "Concat", ["x", "w"], [floats("w", [3, 4])], axis=0)
one("a split of other sizes", "Split", ["x", "s"], [onnx.int64s("s", [1, 1])], axis=1)
one("a slice with a step of 0", "Slice", ["x", "a", "b", "c", "d"],
    [onnx.int64s("a", [0]), onnx.int64s("b", [2]), onnx.int64s("c", [0]), onnx.int64s("d", [0])])
one("an expansion that does not broadcast", "Expand", ["x", "s"], [onnx.int64s("s", [2, 5])])
one("a gather by floats", "Gather", ["x", "w"], [floats("w", [2])])
one("an unknown mode of Resize", "Resize", ["x", "", "s"], [floats("s", [4], 2.0)], IMAGE, mode="sharp")
one("an unknown equation", "Einsum", X, equation="ij->k")
one("a mode of Pad", "Pad", ["x", "p"], [onnx.int64s("p", [0, 1, 0, 1])], mode="fold")
one("a sort of no axis", "TopK", ["x", "k"], [onnx.int64s("k", [2])], axis=4)
one("a weight of another size", "BatchNormalization", ["x", "w", "w", "w", "w"], [floats("w", [3])], IMAGE)

# ---- Quantization and other domains
one("a scale of another size", "DequantizeLinear", ["x", "s"], [floats("s", [5])], [("x", "int8", [2, 3])], axis=1)
one("a zero point of another type", "DequantizeLinear", ["x", "s", "z"], [floats("s", []), onnx.tensor("z", "uint8", [], b"\0")],
    [("x", "int8", [2, 3])])
one("a product of integers of 64 bits", "MatMulInteger", ["x", "x"], data=[("x", "int64", [3, 3])])
one("codes of 3 bits", "MatMulNBits", ["x", "b", "s"], [onnx.tensor("b", "uint8", [4, 1, 8], bytes(32)), floats("s", [4])],
    [("x", "float", [2, 16])], "com.microsoft", K=16, N=4, bits=3, block_size=16)
one("a past without values", "MultiHeadAttention", ["x", "x", "x", "", "", "", "p"], [floats("p", [2, 2, 1, 4])], ROWS, "com.microsoft",
    num_heads=2)
one("heads that do not divide", "Attention", ["x", "w"], [floats("w", [8, 24])], ROWS, "com.microsoft", num_heads=3)
one("no number of heads", "Attention", ["x", "w"], [floats("w", [8, 24])], ROWS, "com.microsoft")
one("labels that are missing", "LinearClassifier", X, domain="ai.onnx.ml", coefficients=[1.0, 2.0, 3.0], intercepts=[0.0])
one("vectors of other classes", "SVMClassifier", X, domain="ai.onnx.ml", coefficients=[1.0, 2.0], vectors_per_class=[1, 1], rho=[0.5, 0.5],
    classlabels_ints=[0, 1], support_vectors=[1.0] * 6, kernel_params=[0.1, 0.0, 0.0])
one("a tree that does not end", "TreeEnsembleRegressor", X, domain="ai.onnx.ml", nodes_treeids=[0], nodes_nodeids=[0], nodes_featureids=[0],
    nodes_values=[0.0], nodes_modes=["BRANCH_LEQ"], nodes_truenodeids=[0], nodes_falsenodeids=[0], target_treeids=[0], target_nodeids=[0],
    target_ids=[0], target_weights=[1.0])
one("text of what is not known", "Cast", X, to=8)

# ---- Control flow
CONDITION = [("x", "float", [2, 3]), ("c", "bool", [])]


def branch(op, name="b"):
    return onnx.graph(name, [onnx.node(op, X, ["r"])], [], [onnx.value_info("r", "float")])


one("branches of other ranks", "If", ["c"], data=CONDITION, then_branch=branch("Relu"),
    else_branch=onnx.graph("b", [onnx.node("Flatten", X, ["f"]), onnx.node("Shape", X, ["r"])], [], [onnx.value_info("r", "int64")]))
one("a branch that is missing", "If", ["c"], data=CONDITION, then_branch=branch("Relu"))
one("a condition of floats", "If", X, then_branch=branch("Relu"), else_branch=branch("Neg"))
one("a body without its inputs", "Loop", ["", "c", "x"], data=CONDITION, body=branch("Relu"))
SEQUENCE = onnx.sequence_type(onnx.tensor_type("float", [2]))
add("a sequence of as many elements as an open extent", [
    onnx.node("Size", X, ["trips"]), onnx.node("SequenceEmpty", [], ["none"]),
    onnx.node("Loop", ["trips", "", "none"], ["all"], name="n", body=onnx.graph(
        "b", [onnx.node("SequenceInsert", ["s", "x"], ["longer"]), onnx.node("Identity", ["go"], ["on"])],
        [onnx.value_info("i", "int64", []), onnx.value_info("go", "bool", []), onnx.value_info("s", SEQUENCE)],
        [onnx.value_info("on", "bool", []), onnx.value_info("longer", SEQUENCE)])),
    onnx.node("ConcatFromSequence", ["all"], ["y"], axis=0)], [("x", "float", ["n"])])


def main(tern, folder):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    print(f"{len(MODELS)} wrong models")
    for title, model in MODELS.items():
        (folder / "m.onnx").write_bytes(model)
        result = subprocess.run([tern, "opt", "m.onnx", "--passes", "simplify_graph"], cwd=folder, capture_output=True, text=True)
        print(f"\n== {title}")
        print(result.stderr.strip() if result.returncode == 2 else f"ended with {result.returncode}: {result.stderr.strip()}")


if __name__ == "__main__":
    main(*sys.argv[1:])
