#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes models of one operator each, of sizes as networks have them: large_cases.py FOLDER.

Each becomes NAME/model.onnx, without data: `tern_onnx_nodes FOLDER --rules FILE` asks which schedule rules take them. Node tests
are too small for that, and those of onnx 1.12 lack operators.
"""

import pathlib
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
import onnx_writer as onnx

OPSET = {"": 24, "ai.onnx.ml": 3, "com.microsoft": 1}
SIZES = {"float": 4, "float16": 2, "int64": 8, "int32": 4, "uint8": 1, "int8": 1, "bool": 1}


class Constant:
    """A weight; of zeros, or of integers that are a shape and the like."""

    def __init__(self, shape, dtype="float", values=None, form=None):
        self.shape, self.dtype = shape, dtype
        self.raw = struct.pack(f"<{len(values)}{form}", *values) if values is not None else bytes(SIZES[dtype] * self.count())

    def count(self):
        count = 1
        for extent in self.shape:
            count *= extent
        return count


def ints(*values):
    return Constant([len(values)], "int64", values, "q")


def scalar(value, dtype="float"):
    return Constant([], dtype, [value], {"float": "f", "uint8": "B", "int8": "b", "int64": "q"}[dtype])


ROWS, IMAGE = [256, 1024], [4, 64, 56, 56]
SCALE, ZERO = scalar(0.1), scalar(128, "uint8")

# NAME -> operator (with its domain), inputs, attributes, and outputs where they are not one. An input is a shape of floats, (dtype, shape), a Constant, or
# None where it is left out.
CASES = {
    "affine_grid": ("AffineGrid", [[8, 2, 3], ints(8, 3, 224, 224)], {}),
    "bit_cast": ("BitCast", [ROWS], {"to": 6}, {"opset": 26}),
    "bitwise_not": ("BitwiseNot", [("int32", ROWS)], {}),
    "bitwise_or": ("BitwiseOr", [("int32", ROWS)] * 2, {}),
    "bitwise_xor": ("BitwiseXor", [("int32", ROWS)] * 2, {}),
    "center_crop_pad": ("CenterCropPad", [[224, 300, 3], ints(200, 320, 3)], {}),
    "col2im": ("Col2Im", [[1, 64 * 9, 54 * 54], ints(56, 56), ints(3, 3)], {}),
    "conv_1x1": ("Conv", [[1, 256, 28, 28], Constant([64, 256, 1, 1])], {}),
    "conv_3x3": ("Conv", [[1, 64, 56, 56], Constant([64, 64, 3, 3])], {"pads": [1, 1, 1, 1]}),
    "conv_depthwise": ("Conv", [[1, 96, 56, 56], Constant([96, 1, 3, 3])], {"pads": [1, 1, 1, 1], "group": 96}),
    "conv_integer": ("ConvInteger", [("uint8", [1, 64, 56, 56]), Constant([64, 64, 3, 3], "int8"), ZERO], {"pads": [1, 1, 1, 1]}),
    "conv_transpose": ("ConvTranspose", [[1, 64, 28, 28], Constant([64, 32, 4, 4])], {"strides": [2, 2], "pads": [1, 1, 1, 1]}),
    "cum_prod": ("CumProd", [ROWS, scalar(1, "int64")], {}, {"opset": 26}),
    "cum_sum": ("CumSum", [ROWS, scalar(1, "int64")], {}),
    "deform_conv": ("DeformConv", [[1, 64, 28, 28], Constant([64, 64, 3, 3]), [1, 18, 28, 28]], {"pads": [1, 1, 1, 1]}),
    "det": ("Det", [[256, 16, 16]], {}),
    "dft": ("DFT", [[8, 256, 1], None, scalar(1, "int64")], {}),
    "dynamic_quantize_linear": ("DynamicQuantizeLinear", [ROWS], {}, {"outputs": 3}),
    "einsum": ("Einsum", [[8, 128, 64], [8, 64, 128]], {"equation": "bij,bjk->bik"}),
    "einsum_sum": ("Einsum", [ROWS], {"equation": "ij->i"}),
    "gather": ("Gather", [[30000, 768], ("int64", [128])], {}),
    "gemm": ("Gemm", [[128, 768], Constant([768, 768]), Constant([768])], {}),
    "global_average_pool": ("GlobalAveragePool", [IMAGE], {}),
    "global_lp_pool": ("GlobalLpPool", [IMAGE], {}),
    "global_max_pool": ("GlobalMaxPool", [IMAGE], {}),
    "grid_sample": ("GridSample", [IMAGE, [4, 56, 56, 2]], {}),
    "group_normalization": ("GroupNormalization", [IMAGE, [64], [64]], {"num_groups": 8}),
    "hardmax": ("Hardmax", [ROWS], {}),
    "instance_normalization": ("InstanceNormalization", [IMAGE, [64], [64]], {}),
    "layer_normalization": ("LayerNormalization", [ROWS, [1024], [1024]], {}),
    "layer_normalization_statistics": ("LayerNormalization", [ROWS, [1024], [1024]], {}, {"outputs": 3}),
    "log_softmax": ("LogSoftmax", [ROWS], {}),
    "lp_normalization": ("LpNormalization", [ROWS], {}),
    "lp_pool": ("LpPool", [[1, 64, 112, 112]], {"kernel_shape": [3, 3], "strides": [2, 2]}),
    "lrn": ("LRN", [IMAGE], {"size": 5}),
    "lstm": ("LSTM", [[32, 1, 128], Constant([1, 512, 128]), Constant([1, 512, 128])], {"hidden_size": 128}),
    "matmul": ("MatMul", [[512, 512], [512, 512]], {}),
    "matmul_heads": ("MatMul", [[12, 128, 64], [12, 64, 128]], {}),
    "matmul_integer": ("MatMulInteger", [("uint8", [128, 768]), Constant([768, 768], "int8"), ZERO], {}),
    "matmul_row": ("MatMul", [[1, 1024], Constant([1024, 1024])], {}),
    "max_pool": ("MaxPool", [[1, 64, 112, 112]], {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]}),
    "max_pool_indices": ("MaxPool", [[1, 64, 112, 112]], {"kernel_shape": [2, 2], "strides": [2, 2]}, {"outputs": 2}),
    "max_roi_pool": ("MaxRoiPool", [[1, 64, 56, 56], [128, 5]], {"pooled_shape": [7, 7]}, {"opset": 22}),
    "mean_variance_normalization": ("MeanVarianceNormalization", [IMAGE], {}),
    "mish": ("Mish", [ROWS], {}),
    "multinomial": ("Multinomial", [[16, 1000]], {"sample_size": 64}),
    "negative_log_likelihood_loss": ("NegativeLogLikelihoodLoss", [[256, 1000], ("int64", [256])], {"reduction": "mean"}),
    "qlinear_add": ("com.microsoft.QLinearAdd", [("uint8", IMAGE), SCALE, ZERO, ("uint8", IMAGE), SCALE, ZERO, SCALE, ZERO], {}),
    "qlinear_average": ("com.microsoft.QLinearGlobalAveragePool", [("uint8", IMAGE), SCALE, ZERO, SCALE, ZERO], {}),
    "qlinear_conv": ("QLinearConv", [("uint8", [1, 64, 56, 56]), SCALE, ZERO, Constant([64, 64, 3, 3], "int8"), SCALE, scalar(0, "int8"), SCALE, ZERO],
                     {"pads": [1, 1, 1, 1]}),
    "qlinear_matmul": ("QLinearMatMul", [("uint8", [128, 768]), SCALE, ZERO, Constant([768, 768], "int8"), SCALE, scalar(0, "int8"), SCALE, ZERO], {}),
    "random_normal": ("RandomNormal", [], {"shape": ROWS}),
    "random_normal_like": ("RandomNormalLike", [ROWS], {}),
    "random_uniform": ("RandomUniform", [], {"shape": ROWS}),
    "resize_linear": ("Resize", [IMAGE, None, Constant([4], "float", [1, 1, 2, 2], "f")], {"mode": "linear"}),
    "rms_normalization": ("RMSNormalization", [ROWS, [1024]], {}),
    "roi_align": ("RoiAlign", [[1, 64, 56, 56], [128, 4], ("int64", [128])], {"output_height": 7, "output_width": 7, "sampling_ratio": 2}),
    "rotary_embedding": ("RotaryEmbedding", [[1, 12, 128, 64], [1, 128, 32], [1, 128, 32]], {}),
    "scatter_elements": ("ScatterElements", [ROWS, ("int64", [64, 1024]), [64, 1024]], {}),
    "softmax": ("Softmax", [ROWS], {}),
    "softmax_cross_entropy_loss": ("SoftmaxCrossEntropyLoss", [[256, 1000], ("int64", [256])], {}),
    "stft": ("STFT", [[1, 16384, 1], scalar(128, "int64"), Constant([256]), scalar(256, "int64")], {}),
    "top_k": ("TopK", [ROWS, ints(16)], {}, {"outputs": 2}),
    "transpose": ("Transpose", [ROWS], {}),
    "where": ("Where", [("bool", ROWS), ROWS, ROWS], {}),
}
for kind in ("ArgMax", "ArgMin"):
    for axis in (0, 1):
        CASES[f"{kind}_{axis}"] = (kind, [ROWS], {"axis": axis})
for kind in ("L1", "L2", "LogSum", "LogSumExp", "Max", "Mean", "Min", "Prod", "Sum", "SumSquare"):
    for axis in (0, 1):
        CASES[f"Reduce{kind}_{axis}"] = (f"Reduce{kind}", [ROWS, ints(axis)], {})
for rows in (1, 4, 16, 128, "rows"):
    CASES[f"matmul_nbits_{rows}"] = ("com.microsoft.MatMulNBits", [[rows, 1024], Constant([1024, 32, 16], "uint8"), Constant([1024 * 32])],
                                     {"K": 1024, "N": 1024, "bits": 4, "block_size": 32})
CASES["matmul_nbits_half"] = ("com.microsoft.MatMulNBits", [("float16", [64, 1024]), Constant([1024, 32, 16], "uint8"), Constant([1024 * 32], "float16")],
                              {"K": 1024, "N": 1024, "bits": 4, "block_size": 32})
for rows in (1, 128):
    CASES[f"attention_{rows}"] = ("Attention", [[1, 8, rows, 64], [1, 8, 128, 64], [1, 8, 128, 64]], {})


def write(folder, name, kind, inputs, attributes, rest=None):
    rest = rest or {}
    domain, _, kind = kind.rpartition(".")
    names, values, weights = [], [], []
    for i, given in enumerate(inputs):
        names.append(f"x{i}" if given is not None else "")
        if isinstance(given, Constant):
            weights.append(onnx.tensor(names[-1], given.dtype, given.shape, given.raw))
        elif given is not None:
            values.append(onnx.value_info(names[-1], *(given if isinstance(given, tuple) else ("float", given))))
    outputs = [f"y{i}" for i in range(rest.get("outputs", 1))]
    graph = onnx.graph("g", [onnx.node(kind, names, outputs, domain=domain, **attributes)], values, [onnx.value_info(y, onnx.Type(b"")) for y in outputs],
                       weights)
    path = pathlib.Path(folder) / name
    path.mkdir(parents=True)
    (path / "model.onnx").write_bytes(onnx.model(graph, {**OPSET, "": rest.get("opset", OPSET[""])}))


if __name__ == "__main__":
    for case, value in CASES.items():
        write(sys.argv[1], case, *value)
