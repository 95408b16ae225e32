# SPDX-License-Identifier: Apache-2.0
"""ONNX Runtime's CPU provider: a model of one node, its constants as initializers, its tensors bound before the time is taken."""
import platform

import numpy
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from python_worker import Unsupported, Worker

TYPES = {"float32": TensorProto.FLOAT, "int32": TensorProto.INT32, "int8": TensorProto.INT8, "uint8": TensorProto.UINT8}


def nodes_of(case):
    """The nodes, and constants that the definition of the operator needs."""
    node, kind, out = helper.make_node, case.kind, case.output
    if kind == "matmul":
        return [node("MatMulInteger" if case.dtypes["A"] == "uint8" else "MatMul", ["A", "B"], [out])], {}
    if kind == "conv":
        stride, pad, groups = case.number("stride"), case.number("pad"), case.number("groups")
        window = case.shapes["W"][2:]
        return [node("Conv", ["X", "W"], [out], kernel_shape=window, strides=[stride] * 2, pads=[pad] * 4, group=groups)], {}
    if kind == "softmax":
        return [node("Softmax", ["X"], [out], axis=-1)], {}
    if kind == "layernorm":
        return [node("LayerNormalization", ["X", "scale", "shift"], [out], axis=-1, epsilon=1e-5)], {}
    if kind == "bias_gelu":
        return [node("BiasGelu", ["X", "bias"], [out], domain="com.microsoft")], {}
    if kind == "sum":
        axes = numpy.array([len(case.shapes["X"]) - 1], numpy.int64)
        return [node("ReduceSum", ["X", "axes"], [out], keepdims=int(len(case.shapes["X"]) == 1))], {"axes": axes}
    if kind == "transpose":
        return [node("Transpose", ["X"], [out], perm=[1, 0])], {}
    raise Unsupported(f"no {kind} here")


def model_of(case):
    nodes, constants = nodes_of(case)
    constants = {name: case.arrays[name] for name in case.constants} | constants

    def info(name):
        return helper.make_tensor_value_info(name, TYPES[case.dtypes[name]], case.shapes[name])

    graph = helper.make_graph(
        nodes, "case", [info(name) for name in case.arrays if name not in case.constants], [info(case.output)],
        [numpy_helper.from_array(numpy.ascontiguousarray(array), name) for name, array in constants.items()])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString()


class OnnxRuntime(Worker):
    def __init__(self, threads):
        super().__init__()
        self.threads = threads
        self.version = onnxruntime.__version__

    def session(self, case, level, fast_math):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = self.threads
        options.inter_op_num_threads = 1
        options.graph_optimization_level = level
        options.log_severity_level = 3
        if fast_math:
            options.add_session_config_entry("mlas.enable_gemm_fastmath_arm64_bfloat16", "1")
        return onnxruntime.InferenceSession(model_of(case), options, providers=["CPUExecutionProvider"])

    def variant(self, name, case, level, fast_math):
        session = self.session(case, level, fast_math)
        binding = session.io_binding()
        values = [onnxruntime.OrtValue.ortvalue_from_numpy(array) for key, array in case.arrays.items() if key not in case.constants]
        for key, value in zip([key for key in case.arrays if key not in case.constants], values):
            binding.bind_ortvalue_input(key, value)
        out = onnxruntime.OrtValue.ortvalue_from_shape_and_type(case.shapes[case.output], numpy.dtype(case.dtypes[case.output]))
        binding.bind_ortvalue_output(case.output, out)
        run = session._sess.run_with_iobinding  # what session.run_with_iobinding calls, without checks of its own
        bound = binding._iobinding
        return name, lambda: run(bound, None), lambda: (values, out.numpy())[1]

    def variants(self, case):
        fast_math = case.dtypes.get("A") == "bfloat16"
        if fast_math:
            # The data stay float32, products are rounded to bfloat16.
            if platform.machine() != "aarch64":
                raise Unsupported("products of bfloat16 are for aarch64 alone")
            for name in ("A", "B"):
                case.arrays[name] = (case.arrays[name].astype(numpy.uint32) << 16).view(numpy.float32)
                case.dtypes[name] = "float32"
        level = onnxruntime.GraphOptimizationLevel
        found = [self.variant("all", case, level.ORT_ENABLE_ALL, fast_math)]
        if case.kind == "conv":  # with and without a layout of its own
            found.append(self.variant("extended", case, level.ORT_ENABLE_EXTENDED, fast_math))
        return found


assert onnx.__version__
