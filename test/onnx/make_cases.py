#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes test/onnx/cases: models of one node of com.microsoft and ai.onnx.ml, small ones with functions and sequences, and operators of
ONNX where its text leaves something open, with what ONNX Runtime makes of random inputs.

Needs the Python packages numpy, onnx and onnxruntime; the files are committed.
"""

import os
import shutil
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

MS, ML = "com.microsoft", "ai.onnx.ml"
FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "cases")
random = np.random.default_rng(7)


def f(*shape):
    return random.standard_normal(shape).astype(np.float32)


def q(low, high, dtype, *shape):
    return random.integers(low, high, shape).astype(dtype)


def scalar(value, dtype=np.float32):
    return np.array(value, dtype=dtype)


def case(name, domain, op, inputs, outputs=1, constants=(), dims=None, same_as=None, **attributes):
    """Inputs are arrays or None; those in `constants` are initializers. An output of type None is not asked for. `dims` are those of the
    first input, where they are not its own. `same_as`: inputs with which ONNX Runtime computes the same."""
    if same_as:
        case(name, domain, op, same_as, outputs, constants, dims, **attributes)
        values = [numpy_helper.to_array(onnx.load_tensor(os.path.join(FOLDER, name, "test_data_set_0", "output_0.pb")))]
        shutil.rmtree(os.path.join(FOLDER, name))
    else:
        values = None
    names = ["" if value is None else f"x{i}" for i, value in enumerate(inputs)]
    results = [f"y{i}" for i in range(outputs)] if isinstance(outputs, int) else outputs
    node = helper.make_node(op, names, results, domain=domain, **attributes)
    infos, initializers, feeds = [], [], {}
    for i, value in enumerate(inputs):
        if value is None:
            continue
        if i in constants:
            initializers.append(numpy_helper.from_array(value, names[i]))
        else:
            infos.append(helper.make_tensor_value_info(names[i], helper.np_dtype_to_tensor_dtype(value.dtype), dims if dims and i == 0 else value.shape))
            feeds[names[i]] = value
    asked = [result for result in results if result]
    graph = helper.make_graph([node], name, infos, [onnx.ValueInfoProto(name=result) for result in asked], initializers)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid(MS, 1), helper.make_opsetid(ML, 3)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
    del graph
    write(name, model, asked, feeds, values)


def write(name, model, asked, feeds, values=None):
    values = values or onnxruntime.InferenceSession(model.SerializeToString()).run(asked, feeds)
    del model.graph.output[:]
    for result, value in zip(asked, values):
        model.graph.output.append(helper.make_tensor_value_info(result, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape))
    data = os.path.join(FOLDER, name, "test_data_set_0")
    os.makedirs(data)
    onnx.save(model, os.path.join(FOLDER, name, "model.onnx"))
    for kind, tensors in (("input", list(feeds.values())), ("output", values)):
        for i, value in enumerate(tensors):
            with open(os.path.join(data, f"{kind}_{i}.pb"), "wb") as file:
                file.write(numpy_helper.from_array(value).SerializeToString())


def activations():
    case("gelu", MS, "Gelu", [f(2, 5)])
    case("fast_gelu", MS, "FastGelu", [f(2, 5), f(5)])
    case("bias_gelu", MS, "BiasGelu", [f(2, 5), f(5)])
    case("quick_gelu", MS, "QuickGelu", [f(2, 5)], alpha=1.5)


def linear():
    case("fused_matmul", MS, "FusedMatMul", [f(2, 5, 3), f(2, 4, 5)], alpha=0.5, transA=1, transB=1)
    case("fused_conv", MS, "FusedConv", [f(1, 2, 5, 5), f(3, 2, 3, 3), f(3)], pads=[1, 1, 1, 1], activation="Relu")
    case("fused_conv_clip", MS, "FusedConv", [f(1, 2, 5, 5), f(3, 2, 3, 3)], activation="Clip", activation_params=[-0.5, 0.5])


def normalizations():
    case("simplified_layer_norm", "", "SimplifiedLayerNormalization", [f(2, 3, 8), f(8)], epsilon=1e-3)
    case("skip_layer_norm", MS, "SkipLayerNormalization", [f(2, 3, 8), f(2, 3, 8), f(8), f(8), f(8)], ["y", "", "", "sum"], epsilon=1e-3)
    case("skip_simplified_layer_norm", MS, "SkipSimplifiedLayerNormalization", [f(2, 3, 8), f(2, 3, 8), f(8)], ["y", "", "", "sum"], epsilon=1e-3)
    ids, segments = q(0, 9, np.int32, 2, 4), q(0, 2, np.int32, 2, 4)
    case("embed_layer_norm", MS, "EmbedLayerNormalization", [ids, segments, f(9, 8), f(6, 8), f(2, 8), f(8), f(8)], ["y", ""], epsilon=1e-3)


def attention():
    rotary = [f(2, 4, 8), q(0, 6, np.int64, 2, 4), f(6, 2), f(6, 2)]
    case("rotary_embedding", MS, "RotaryEmbedding", rotary, num_heads=2)
    case("rotary_embedding_interleaved", MS, "RotaryEmbedding", [f(2, 3, 4, 4), np.array([1], np.int64), f(6, 2), f(6, 2)], interleaved=1)
    case("multi_head_attention", MS, "MultiHeadAttention", [f(2, 3, 8), f(2, 5, 8), f(2, 5, 8), f(24)], num_heads=2)
    case("multi_head_attention_bias", MS, "MultiHeadAttention", [f(1, 3, 8), f(1, 5, 8), f(1, 5, 8), None, None, f(1, 2, 3, 5)], num_heads=2)
    case("attention", MS, "Attention", [f(2, 3, 6), f(6, 24), f(24)], num_heads=2, unidirectional=1)


def grouped():
    """Attention with a cache: two of the batch with 3 and 5 keys before."""
    heads = {"num_heads": 4, "kv_num_heads": 2}
    lengths, total = np.array([2, 2], np.int32), scalar(3, np.int32)
    case("group_query_prompt", MS, "GroupQueryAttention", [f(2, 3, 32), f(2, 3, 16), f(2, 3, 16), None, None, lengths, total], 3,
         constants=(6,), **heads)
    cache, rotation = [f(2, 2, 8, 16), f(2, 2, 8, 16)], [f(16, 8), f(16, 8)]
    for past in cache:  # what is behind is not said
        past[0, :, 3:], past[1, :, 5:] = 0, 0
    lengths, total = np.array([3, 5], np.int32), scalar(6, np.int32)
    step = [f(2, 1, 64), f(2, 1, 32), f(2, 1, 32)] + cache + [lengths, total]
    case("group_query_step", MS, "GroupQueryAttention", step, 3, constants=(6,), **heads)
    case("group_query_rotary", MS, "GroupQueryAttention", step + rotation, 3, constants=(6,), do_rotary=1, **heads)
    case("group_query_window", MS, "GroupQueryAttention", step, 3, constants=(6,), local_window_size=2, softcap=5.0, **heads)
    packed = [f(2, 1, 128), None, None] + cache + [lengths, total] + rotation
    case("group_query_packed", MS, "GroupQueryAttention", packed, 3, constants=(6,), do_rotary=1, rotary_interleaved=1, **heads)


def packed_weights(rows, depth, bits, block):
    blocks = -(-depth // block)
    return q(0, 256, np.uint8, rows, blocks, block * bits // 8), np.abs(f(rows * blocks)) / 8 + 0.01


def quantized():
    for bits, name in ((4, "matmul_nbits"), (8, "matmul_8bits")):
        weights, scales = packed_weights(5, 40, bits, 16)
        case(name, MS, "MatMulNBits", [f(3, 40), weights, scales], constants=(1, 2), K=40, N=5, bits=bits, block_size=16)
    weights, scales = packed_weights(5, 40, 4, 16)
    points = q(0, 256, np.uint8, 5 * 2)
    case("matmul_nbits_zero_points", MS, "MatMulNBits", [f(2, 3, 40), weights, scales, points], constants=(1, 2, 3), K=40, N=5, bits=4, block_size=16)
    a, b = q(0, 255, np.uint8, 3, 4), q(-127, 127, np.int8, 4, 5)
    scale, zero = scalar(0.1), scalar(120, np.uint8)
    case("matmul_integer_to_float", MS, "MatMulIntegerToFloat", [a, b, scale, np.abs(f(5)), zero, None, f(5)])
    case("dynamic_quantize_matmul", MS, "DynamicQuantizeMatMul", [f(3, 4), b, scale, scalar(0, np.int8), f(5)])
    x, y = q(0, 255, np.uint8, 2, 6), q(0, 255, np.uint8, 2, 6)
    pair = [x, scalar(0.02), zero, y, scalar(0.03), scalar(100, np.uint8), scalar(0.05), scalar(128, np.uint8)]
    case("qlinear_add", MS, "QLinearAdd", pair)
    case("qlinear_mul", MS, "QLinearMul", pair)
    case("qlinear_sigmoid", MS, "QLinearSigmoid", [x, scalar(0.02), zero, scalar(1 / 256), scalar(0, np.uint8)], constants=(1, 2, 3, 4))
    case("qlinear_concat", MS, "QLinearConcat", [scalar(0.05), scalar(128, np.uint8), x, scalar(0.02), zero, y, scalar(0.03), zero],
         constants=(0, 1, 3, 4, 6, 7), axis=1)
    image = q(0, 255, np.uint8, 1, 3, 4, 4)
    case("qlinear_global_average_pool", MS, "QLinearGlobalAveragePool", [image, scalar(0.02), zero, scalar(0.01), scalar(5, np.uint8)])
    gemm = [a, scalar(0.02), zero, q(-127, 127, np.int8, 5, 4), scalar(0.03), scalar(0, np.int8), q(-500, 500, np.int32, 5)]
    case("qgemm", MS, "QGemm", gemm + [scalar(0.05), scalar(3, np.uint8)], constants=(4, 5), transB=1)


def preprocessing():
    case("scaler", ML, "Scaler", [f(3, 4)], offset=[0.1, 0.2, 0.3, 0.4], scale=[1.0, 2.0, 3.0, 4.0])
    case("normalizer_l1", ML, "Normalizer", [f(3, 4)], norm="L1")
    case("normalizer_l2", ML, "Normalizer", [f(3, 4)], norm="L2")
    case("normalizer_max", ML, "Normalizer", [np.abs(f(3, 4))], norm="MAX")
    case("binarizer", ML, "Binarizer", [f(3, 4)], threshold=0.2)
    case("one_hot_encoder", ML, "OneHotEncoder", [q(0, 4, np.int64, 3)], cats_int64s=[0, 2, 3], zeros=1)
    case("label_encoder", ML, "LabelEncoder", [q(0, 5, np.int64, 6)], keys_int64s=[1, 2, 4], values_floats=[0.5, 1.5, 2.5], default_float=-1.0)
    x = f(3, 4)
    x[1, 2] = np.nan
    case("imputer", ML, "Imputer", [x], imputed_value_floats=[1.0, 2.0, 3.0, 4.0], replaced_value_float=float("nan"))
    case("feature_vectorizer", ML, "FeatureVectorizer", [f(3, 2), f(3, 1)], inputdimensions=[2, 1])
    case("array_feature_extractor", ML, "ArrayFeatureExtractor", [f(3, 5), np.array([[3, 0]], np.int64)])


def models():
    case("linear_regressor", ML, "LinearRegressor", [f(3, 4)], coefficients=list(map(float, f(8))), intercepts=[0.5, -0.5], targets=2)
    for transform in ("NONE", "SOFTMAX", "LOGISTIC"):
        case("linear_classifier_" + transform.lower(), ML, "LinearClassifier", [f(4, 3)], 2, coefficients=list(map(float, f(9))),
             intercepts=[0.1, 0.2, 0.3], classlabels_ints=[5, 6, 7], multi_class=1, post_transform=transform)
    for kernel in ("LINEAR", "RBF", "POLY", "SIGMOID"):
        case("svm_regressor_" + kernel.lower(), ML, "SVMRegressor", [f(3, 2)], coefficients=[0.5, -1.0, 2.0], kernel_params=[0.3, 0.2, 2.0],
             kernel_type=kernel, n_supports=3, rho=[0.7], support_vectors=list(map(float, f(6))))
    nodes = {
        "nodes_treeids": [0, 0, 0, 0, 0, 1, 1, 1], "nodes_nodeids": [0, 1, 2, 3, 4, 0, 1, 2],
        "nodes_featureids": [0, 1, 0, 0, 0, 2, 0, 0], "nodes_values": [0.1, -0.2, 0.0, 0.0, 0.0, 0.3, 0.0, 0.0],
        "nodes_modes": ["BRANCH_LEQ", "BRANCH_LEQ", "LEAF", "LEAF", "LEAF", "BRANCH_LEQ", "LEAF", "LEAF"],
        "nodes_truenodeids": [1, 3, 0, 0, 0, 1, 0, 0], "nodes_falsenodeids": [2, 4, 0, 0, 0, 2, 0, 0],
        "nodes_missing_value_tracks_true": [1, 0, 0, 0, 0, 0, 0, 0], "nodes_hitrates": [1.0] * 8,
    }
    leaves = {"treeids": [0, 0, 0, 1, 1], "nodeids": [2, 3, 4, 1, 2]}
    x = f(12, 3)
    x[3, 0] = np.nan
    for aggregate in ("SUM", "AVERAGE", "MAX"):
        case("tree_regressor_" + aggregate.lower(), ML, "TreeEnsembleRegressor", [x], n_targets=2, aggregate_function=aggregate,
             target_treeids=leaves["treeids"] * 2, target_nodeids=leaves["nodeids"] * 2, target_ids=[0] * 5 + [1] * 5,
             target_weights=list(map(float, f(10))), base_values=[0.25, 0.5], **nodes)
    case("tree_classifier", ML, "TreeEnsembleClassifier", [x], 2, classlabels_int64s=[3, 4, 5], class_treeids=leaves["treeids"] * 3,
         class_nodeids=leaves["nodeids"] * 3, class_ids=[0] * 5 + [1] * 5 + [2] * 5, class_weights=list(map(float, f(15))),
         post_transform="SOFTMAX", **nodes)
    case("tree_classifier_binary", ML, "TreeEnsembleClassifier", [x], 2, classlabels_int64s=[0, 1], class_treeids=leaves["treeids"],
         class_nodeids=leaves["nodeids"], class_ids=[0] * 5, class_weights=list(map(float, f(5))), post_transform="LOGISTIC", **nodes)


def tables():
    rows = np.array([[3, 0], [5, 3]], np.int64)
    for bits, width in ((4, 16), (8, 32)):
        for name, points in (("", None), ("_zero_points", q(0, 256, np.uint8, 6, 2 * bits // 8))):
            case(f"gather_block_quantized_{bits}{name}", MS, "GatherBlockQuantized", [q(0, 256, np.uint8, 6, width), rows, f(6, 2), points],
                 constants=[0, 2, 3], bits=bits, block_size=16, gather_axis=0, quantize_axis=1)


def functions():
    """Functions of the model that call each other, with attributes of their own, and one with a branch inside."""
    node = helper.make_node
    scaled = helper.make_function("local", "Scaled", ["x"], ["y"], [
        node("Constant", [], ["a"]), node("Mul", ["x", "a"], ["y"])], [helper.make_opsetid("", 17)], [],
        [helper.make_attribute("alpha", 0.5)])
    reference = scaled.node[0].attribute.add()
    reference.name, reference.ref_attr_name, reference.type = "value_float", "alpha", onnx.AttributeProto.FLOAT
    branches = [helper.make_graph([node(op, ["x"], ["r"])], op, [], [helper.make_tensor_value_info("r", TensorProto.FLOAT, None)])
                for op in ("Exp", "Neg")]
    chosen = helper.make_function("local", "Chosen", ["x", "bias"], ["y", "z"], [
        node("ReduceSum", ["x"], ["sum"], keepdims=0), node("Constant", [], ["zero"], value_float=0.0), node("Greater", ["sum", "zero"], ["c"]),
        node("If", ["c"], ["b"], then_branch=branches[0], else_branch=branches[1]),
        node("Scaled", ["b"], ["s"], domain="local", alpha=3.0), node("Add", ["s", "bias"], ["y"]), node("Softmax", ["x"], ["z"], axis=1)],
        [helper.make_opsetid("", 17), helper.make_opsetid("local", 1)])
    nodes = [node("Scaled", ["v"], ["x"], domain="local"), node("Chosen", ["x", "w"], ["y", "z"], domain="local"),
             node("Chosen", ["y", "w"], ["again", ""], domain="local")]
    infos = [helper.make_tensor_value_info(name, TensorProto.FLOAT, (2, 3, 4)) for name in "vw"]
    graph = helper.make_graph(nodes, "functions", infos, [onnx.ValueInfoProto(name=name) for name in ("y", "z", "again")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("local", 1)],
                              functions=[chosen, scaled], ir_version=8)
    write("functions", model, ["y", "z", "again"], {"v": f(2, 3, 4), "w": f(2, 3, 4)})


def sequences():
    """Sequences that are split, changed, collected by a loop of so many trips as there are parts, and joined again."""
    node = helper.make_node
    value = helper.make_tensor_value_info
    body = helper.make_graph(
        [node("SequenceAt", ["parts", "i"], ["part"]), node("Mul", ["part", "part"], ["square"]), node("ReduceMax", ["square"], ["most"], keepdims=0),
         node("SequenceInsert", ["in", "square"], ["out"]), node("Identity", ["go"], ["on"])], "body",
        [value("i", TensorProto.INT64, []), value("go", TensorProto.BOOL, []), helper.make_tensor_sequence_value_info("in", TensorProto.FLOAT, None)],
        [value("on", TensorProto.BOOL, []), helper.make_tensor_sequence_value_info("out", TensorProto.FLOAT, None),
         value("most", TensorProto.FLOAT, [])])
    constants = [numpy_helper.from_array(np.array(v, np.int64), n) for n, v in (("two", 2), ("zero", 0), ("sizes", [1, 3, 3]), ("last", -1))]
    nodes = [
        node("SplitToSequence", ["x", "two"], ["parts"], axis=0), node("SequenceLength", ["parts"], ["count"]),
        node("SequenceEmpty", [], ["none"]), node("Loop", ["count", "", "none"], ["squares", "most"], body=body),
        node("ConcatFromSequence", ["squares"], ["joined"], axis=0), node("SplitToSequence", ["x", "sizes"], ["others"], axis=0),
        node("SequenceErase", ["others", "zero"], ["fewer"]), node("SequenceInsert", ["fewer", "tail", "zero"], ["more"]),
        node("ConcatFromSequence", ["more"], ["stacked"], axis=1, new_axis=1), node("SequenceAt", ["more", "last"], ["end"]),
        node("SplitToSequence", ["end"], ["rows"], axis=1, keepdims=0), node("ConcatFromSequence", ["rows"], ["row"], axis=0)]
    asked = ["count", "most", "joined", "stacked", "row"]
    graph = helper.make_graph(nodes, "sequences", [value("x", TensorProto.FLOAT, (7, 5)), value("tail", TensorProto.FLOAT, (3, 5))],
                              [onnx.ValueInfoProto(name=name) for name in asked], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    write("sequences", model, asked, {"x": f(7, 5), "tail": f(3, 5)})


def caches():
    """Attention of one product with masks and a past, and of quantized operands."""
    x, weights, bias = f(2, 3, 6), f(6, 24), f(24)
    case("attention_mask", MS, "Attention", [x, weights, bias, np.array([[1, 1, 0], [1, 1, 1]], np.int32)], num_heads=2)
    case("attention_lengths", MS, "Attention", [x, weights, bias, np.array([2, 3], np.int32)], num_heads=2)
    case("attention_past", MS, "Attention", [x, weights, bias, None, f(2, 2, 2, 4, 4)], 2, num_heads=2, unidirectional=1)
    mask = np.array([[0, 1, 1, 1, 1, 1, 1], [1] * 7], np.int32)
    case("attention_past_mask", MS, "Attention", [x, weights, bias, mask, f(2, 2, 2, 4, 4)], 2, num_heads=2, unidirectional=1)
    case("attention_sizes", MS, "Attention", [x, f(6, 22), f(22)], num_heads=2, qkv_hidden_sizes=[8, 8, 6])
    qkv = [f(2, 3, 8), f(2, 3, 8), f(2, 3, 8)]
    case("multi_head_attention_past", MS, "MultiHeadAttention", qkv + [f(24), None, None, f(2, 2, 4, 4), f(2, 2, 4, 4)], 3, num_heads=2)
    case("multi_head_attention_mask", MS, "MultiHeadAttention", qkv + [None, np.array([[1, 1, 0], [1, 1, 1]], np.int32)], num_heads=2)
    packed = [q(0, 255, np.uint8, 2, 3, 6), q(-127, 127, np.int8, 6, 24), bias, scalar(0.02), scalar(0.03), None, scalar(120, np.uint8),
              scalar(0, np.int8)]
    case("qattention", MS, "QAttention", packed, constants=(1,), num_heads=2)
    case("qattention_past", MS, "QAttention", packed + [f(2, 2, 2, 4, 4)], 2, constants=(1,), num_heads=2, unidirectional=1)


def classifiers():
    """Support vectors, and labels that are strings."""
    pairs = {"coefficients": list(map(float, f(14))), "vectors_per_class": [2, 3, 2], "rho": [0.1, -0.2, 0.3], "classlabels_ints": [4, 6, 9],
             "support_vectors": list(map(float, f(21))), "kernel_params": [0.3, 0.2, 2.0]}
    for kernel in ("LINEAR", "RBF", "POLY", "SIGMOID"):
        case("svm_classifier_" + kernel.lower(), ML, "SVMClassifier", [f(9, 3)], 2, kernel_type=kernel, **pairs)
    two = {"coefficients": list(map(float, f(5))), "vectors_per_class": [2, 3], "rho": [0.1], "classlabels_ints": [4, 6],
           "support_vectors": list(map(float, f(15))), "kernel_params": [0.3, 0.2, 2.0], "kernel_type": "RBF"}
    case("svm_classifier_two", ML, "SVMClassifier", [f(9, 3)], 2, **two)
    case("svm_classifier_platt", ML, "SVMClassifier", [f(9, 3)], 2, prob_a=[-1.5], prob_b=[0.1], **two)
    case("svm_classifier_rows", ML, "SVMClassifier", [f(9, 3)], 2, coefficients=list(map(float, f(9))), rho=[0.2], classlabels_ints=[5, 6, 7],
         kernel_type="LINEAR", kernel_params=[0.0, 0.0, 0.0], post_transform="SOFTMAX")
    case("string_labels", ML, "LinearClassifier", [f(4, 3)], 2, coefficients=list(map(float, f(9))), intercepts=[0.1, 0.2, 0.3],
         classlabels_strings=["ant", "honey bee", "c\u00e4t"], multi_class=1)
    case("string_encoder", ML, "LabelEncoder", [q(0, 5, np.int64, 6)], keys_int64s=[1, 2, 4], values_strings=["one", "two", "four"],
         default_string="none of them")
    case("string_names", ML, "ArrayFeatureExtractor", [np.array(["a", "bcd", "ef"], object), np.array([[2, 1, 2]], np.int64)], constants=(0,))
    labels = helper.make_node("Constant", [], ["labels"], value=helper.make_tensor("labels", onnx.TensorProto.STRING, [3], [b"cat", b"dog", b"cow"]))
    nodes = [labels, helper.make_node("ArgMax", ["x0"], ["best"], axis=1), helper.make_node("ArrayFeatureExtractor", ["labels", "best"], ["y0"], domain=ML)]
    info = helper.make_tensor_value_info("x0", onnx.TensorProto.FLOAT, [1, 3])
    graph = helper.make_graph(nodes, "string_constant", [info], [onnx.ValueInfoProto(name="y0")])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid(ML, 3)]
    write("string_constant", helper.make_model(graph, opset_imports=opsets, ir_version=8), ["y0"], {"x0": f(1, 3)})


def few_bits():
    """Weights that are unpacked in registers: more blocks, odd numbers of columns, dynamic rows."""
    global random
    random = np.random.default_rng(23)
    sizes = {"matmul_nbits_row": (1, 160, 37, 4, 32), "matmul_nbits_rows": (7, 72, 20, 4, 32), "matmul_nbits_blocks": (2, 300, 16, 4, 128),
             "matmul_8bits_zero_points": (3, 100, 33, 8, 32)}
    for name, (rows, depth, columns, bits, block) in sizes.items():
        weights, scales = packed_weights(columns, depth, bits, block)
        points = q(0, 256, np.uint8, columns * -(-weights.shape[1] * bits // 8)) if rows > 1 else None
        case(name, MS, "MatMulNBits", [f(rows, depth), weights, scales, points, None, f(columns)], constants=(1, 2, 3, 5), K=depth, N=columns,
             bits=bits, block_size=block)
    weights, scales = packed_weights(18, 64, 4, 16)
    case("matmul_nbits_dynamic", MS, "MatMulNBits", [f(2, 3, 64), weights, scales], constants=(1, 2), dims=["batch", "rows", 64], K=64, N=18,
         bits=4, block_size=16)
    case("matmul_nbits_half", MS, "MatMulNBits", [f(2, 64).astype(np.float16), weights, scales.astype(np.float16)], constants=(1, 2), K=64, N=18,
         bits=4, block_size=16)
    with open(os.path.join(FOLDER, "matmul_nbits_half", "tolerance"), "w") as file:
        file.write("5e-3 5e-3\n")  # sums of ONNX Runtime are rounded
    weights, scales = packed_weights(19, 96, 4, 32)
    case("matmul_nbits_int8", MS, "MatMulNBits", [f(2, 96), weights, scales / 16], constants=(1, 2), K=96, N=19, bits=4, block_size=32,
         accuracy_level=4)
    with open(os.path.join(FOLDER, "matmul_nbits_int8", "tolerance"), "w") as file:
        file.write("2e-2 1e-2\n")  # activations may be rounded to 8 bits


def probabilities():
    """Of several classes, coupled from those of pairs; labels are those with most votes."""
    case("svm_classifier_coupled", ML, "SVMClassifier", [f(9, 3)], 2, coefficients=list(map(float, f(27))), vectors_per_class=[2, 3, 1, 3],
         rho=list(map(float, f(6))), prob_a=list(map(float, 0.2 * f(6) - 1.5)), prob_b=list(map(float, 0.1 * f(6))), classlabels_ints=[4, 6, 9, 2],
         support_vectors=list(map(float, f(27))), kernel_params=[0.3, 0.2, 2.0], kernel_type="RBF", dims=["rows", 3])


def options():
    """Inputs, outputs and attributes that exporters seldom write."""
    global random
    random = np.random.default_rng(29)
    case("skip_layer_norm_sum", MS, "SkipLayerNormalization", [f(2, 3, 8), f(1, 3, 8), f(8), None, f(8)], ["y0", "", "", "y3"])
    words = [q(0, 9, np.int32, 2, 4), q(0, 2, np.int32, 2, 4), f(9, 6), f(5, 6), f(2, 6), f(6), f(6)]
    case("embed_layer_norm_mask", MS, "EmbedLayerNormalization", words + [np.array([[1, 1, 1, 0], [1, 0, 0, 0]], np.int32)], 3)
    case("embed_layer_norm_counts", MS, "EmbedLayerNormalization", [words[0], None, words[2], words[3], None, words[5], words[6]], 2)
    case("fused_matmul_batch_a", MS, "FusedMatMul", [f(3, 2, 4), f(2, 3, 5)], transBatchA=1, transA=1, alpha=0.5)
    case("fused_matmul_batch_b", MS, "FusedMatMul", [f(2, 4, 3), f(3, 2, 5)], transBatchB=1)
    case("attention_ends", MS, "Attention", [f(2, 3, 6), f(6, 24), f(24), np.array([3, 2, 0, 1], np.int32)], num_heads=2)
    case("multi_head_attention_cross", MS, "MultiHeadAttention", [f(2, 3, 8), f(2, 2, 5, 4), f(2, 2, 5, 4)], num_heads=2)
    lengths = [np.array([5, 5], np.int32), np.array(6, np.int32)]
    step = [f(2, 1, 32), f(2, 1, 16), f(2, 1, 16), f(2, 1, 5, 16), f(2, 1, 5, 16), *lengths, None, None]
    heads = {"num_heads": 2, "kv_num_heads": 1}
    case("group_query_smooth", MS, "GroupQueryAttention", step, 3, smooth_softmax=1, **heads)
    case("group_query_sink", MS, "GroupQueryAttention", [*step, None, None, f(2)], 3, **heads)
    case("qgemm_alpha", MS, "QGemm", [q(0, 256, np.uint8, 3, 8), scalar(0.05), scalar(3, np.uint8), q(-128, 128, np.int8, 5, 8), scalar(0.02),
                                      scalar(1, np.int8), q(-100, 100, np.int32, 5)], transB=1, alpha=0.7)
    case("qlinear_global_average_pool_last", MS, "QLinearGlobalAveragePool", [q(0, 256, np.uint8, 2, 5, 4, 3), scalar(0.1), scalar(3, np.uint8),
                                                                              scalar(0.06), scalar(4, np.uint8)], channels_last=1)
    weights, scales = packed_weights(16, 64, 4, 32)
    case("matmul_nbits_order", MS, "MatMulNBits", [f(2, 64), weights, scales, None, (random.permutation(64) // 32).astype(np.int32)],
         constants=(1, 2, 4), K=64, N=16, bits=4, block_size=32)
    x = np.array([[0, -2, 0, 1], [-1, 0, -3, 0], [1, 2, 3, 4]], np.float32)
    case("normalizer_max_zero", ML, "Normalizer", [x], norm="MAX")
    case("linear_classifier_softmax_zero", ML, "LinearClassifier", [x], 2, coefficients=list(map(float, np.eye(4).ravel())), intercepts=[0.0] * 4,
         classlabels_ints=[5, 6, 7, 8], multi_class=1, post_transform="SOFTMAX_ZERO")
    # ONNX Runtime packs these on GPUs alone: the results are those of the operands one by one.
    packed = f(2, 5, 2, 3, 4)
    parts = [np.ascontiguousarray(packed[:, :, :, i]).reshape(2, 5, 8) for i in range(3)]
    for name, inputs in {"qkv": [packed], "kv": [parts[0], packed[:, :, :, 1:]]}.items():
        case("multi_head_attention_packed_" + name, MS, "MultiHeadAttention", inputs, num_heads=2, same_as=parts)


def left_open():
    """What ONNX does not say, or tests nowhere: inputs smaller than a window, the clip of an LSTM, sequences without steps, names that hide
    outer ones."""
    global random
    random = np.random.default_rng(31)
    for name, op in (("max_pool", "MaxPool"), ("average_pool", "AveragePool"), ("lp_pool", "LpPool")):
        case(name + "_cut_window", "", op, [f(1, 2, 1, 5)], kernel_shape=[2, 3], strides=[2, 2], dims=["n", 2, "h", "w"])
        case(name + "_cut_window_static", "", op, [f(1, 2, 2, 5)], kernel_shape=[3, 2], strides=[2, 3])
    weights = [f(1, 24, 4), f(1, 24, 6), f(1, 48)]
    case("lstm_clip", "", "LSTM", [f(9, 2, 4), *weights, None, None, f(1, 2, 6), f(1, 18)], 3, constants=(1, 2, 3, 7), hidden_size=6, clip=0.4)
    lengths = np.array([4, 0], np.int32)
    case("lstm_no_steps", "", "LSTM", [f(4, 2, 4), *weights, lengths, f(1, 2, 6), f(1, 2, 6)], 3, constants=(1, 2, 3), hidden_size=6)
    case("gru_no_steps", "", "GRU", [f(4, 2, 4), f(1, 18, 4), f(1, 18, 6), None, lengths, f(1, 2, 6)], 2, constants=(1, 2), hidden_size=6)
    case("rnn_no_steps", "", "RNN", [f(4, 2, 4), f(1, 6, 4), f(1, 6, 6), None, lengths, f(1, 2, 6)], 2, constants=(1, 2), hidden_size=6,
         direction="reverse")
    # The body's inputs and values have the names of what comes behind the loop.
    node, value = helper.make_node, helper.make_tensor_value_info
    body = helper.make_graph(
        [node("Add", ["h", "x"], ["y"]), node("Tanh", ["y"], ["next"]), node("Identity", ["go"], ["on"])], "body",
        [value("i", TensorProto.INT64, []), value("go", TensorProto.BOOL, []), value("h", TensorProto.FLOAT, [3])],
        [value("on", TensorProto.BOOL, []), value("next", TensorProto.FLOAT, [3]), value("y", TensorProto.FLOAT, [3])])
    nodes = [node("Loop", ["trips", "", "x"], ["last", "all"], body=body), node("Neg", ["last"], ["h"]), node("Exp", ["all"], ["y"])]
    graph = helper.make_graph(nodes, "hidden_names", [value("x", TensorProto.FLOAT, [3]), value("trips", TensorProto.INT64, [])],
                              [onnx.ValueInfoProto(name=name) for name in ("h", "y")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    write("hidden_names", model, ["h", "y"], {"x": f(3), "trips": scalar(11, np.int64)})


def open_extents():
    """Amounts that are computed from extents which the model leaves open."""
    global random
    random = np.random.default_rng(37)
    dims = ["n", 2, "h", "w"]
    for name, options in {"nearest": {"mode": "nearest", "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"},
                          "linear": {"mode": "linear", "coordinate_transformation_mode": "pytorch_half_pixel"},
                          "corners": {"mode": "linear", "coordinate_transformation_mode": "align_corners"},
                          "cubic": {"mode": "cubic"}}.items():
        case("resize_open_" + name, "", "Resize", [f(1, 2, 4, 6), None, np.array([1, 1, 2, 1.5], np.float32)], constants=(2,), dims=dims, **options)
    node, value = helper.make_node, helper.make_tensor_value_info

    def model(name, nodes, inputs, feeds, **constants):
        graph = helper.make_graph(nodes, name, inputs, [onnx.ValueInfoProto(name="y")],
                                  [numpy_helper.from_array(np.array(v, np.int64), n) for n, v in constants.items()])
        write(name, helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), ["y"], feeds)

    # As large as another image, and filled up to a multiple of 8.
    model("resize_open_sizes", [node("Shape", ["like"], ["sizes"]), node("Resize", ["x", "", "", "sizes"], ["y"], mode="linear")],
          [value("x", TensorProto.FLOAT, dims), value("like", TensorProto.FLOAT, ["n", 2, "height", "width"])],
          {"x": f(1, 2, 3, 4), "like": f(1, 2, 7, 5)})
    amounts = [node("Shape", ["x"], ["shape"]), node("Gather", ["shape", "one"], ["tokens"]), node("Neg", ["tokens"], ["less"]),
               node("Mod", ["less", "eight"], ["more"]), node("Concat", ["none", "one", "none", "none", "more", "none"], ["pads"], axis=0)]
    for mode in ("constant", "reflect"):
        model("pad_open_" + mode, [*amounts, node("Pad", ["x", "pads"], ["y"], mode=mode)], [value("x", TensorProto.FLOAT, ["n", "tokens", 3])],
              {"x": f(2, 13, 3)}, one=[1], eight=[8], none=[0])


if __name__ == "__main__":
    shutil.rmtree(FOLDER, ignore_errors=True)
    for group in (activations, linear, normalizations, attention, grouped, quantized, preprocessing, models, tables, functions, sequences, caches, classifiers, few_bits, probabilities, options, left_open, open_extents):
        group()
    print(len(os.listdir(FOLDER)), "cases", file=sys.stderr)
