# SPDX-License-Identifier: Apache-2.0
"""A workload as an ONNX model, for ONNX Runtime: its expression of torch is evaluated with values that record nodes. What ONNX has no operator
for raises Unsupported, with the name."""
import math
import os
import struct
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools"))
import onnx_writer as onnx  # pylint: disable=wrong-import-position

OPSETS, IR_VERSION = {"": 23}, 11
FORMATS = {"float32": "f", "float64": "d", "float16": "e", "int32": "i", "int64": "q"}


class Unsupported(Exception):
    pass


def elem(dtype):
    return {"float32": "float", "float64": "double"}.get(dtype, dtype)


class Graph:
    def __init__(self):
        self.nodes, self.constants = [], []

    def node(self, kind, inputs, dtype, shape, **attributes):
        """`shape`: of the result."""
        name = f"v{len(self.nodes)}"
        inputs = [value.name if isinstance(value, Value) else "" if value is None else value for value in inputs]
        self.nodes.append(onnx.node(kind, inputs, [name], **attributes))
        return Value(self, name, dtype, tuple(shape))

    def constant(self, dtype, values, shape):
        name = f"c{len(self.constants)}"
        if dtype == "bfloat16":
            raw = b"".join(struct.pack("<f", value)[2:] for value in values)
        else:
            raw = struct.pack(f"<{len(values)}{FORMATS[dtype]}", *values)
        self.constants.append(onnx.tensor(name, elem(dtype), list(shape), raw))
        return Value(self, name, dtype, tuple(shape))

    def int64s(self, values):
        return self.constant("int64", list(values), (len(values),))


def broadcast(first, second):
    rank = max(len(first), len(second))
    pairs = zip(*((1,) * (rank - len(shape)) + tuple(shape) for shape in (first, second)))
    return tuple(max(pair) for pair in pairs)


class Value:
    """What a tensor is to the expressions."""

    def __init__(self, graph, name, dtype, shape):
        self.graph, self.name, self.dtype, self.shape = graph, name, dtype, shape
        self.integers = None  # the int8 tensor of which this is a wider copy
        self.device = None

    def __getattr__(self, name):
        raise Unsupported(f"Tensor.{name}")

    def unary(self, kind, **attributes):
        return self.graph.node(kind, [self], self.dtype, self.shape, **attributes)

    def binary(self, kind, other, swap=False):
        if not isinstance(other, Value):
            other = self.graph.constant(self.dtype, [other], ())
        pair = [other, self] if swap else [self, other]
        return self.graph.node(kind, pair, self.dtype, broadcast(pair[0].shape, pair[1].shape))

    def __add__(self, other):
        return self.binary("Add", other)

    def __sub__(self, other):
        return self.binary("Sub", other)

    def __mul__(self, other):
        return self.binary("Mul", other)

    def __truediv__(self, other):
        return self.binary("Div", other)

    def __radd__(self, other):
        return self.binary("Add", other, True)

    def __rmul__(self, other):
        return self.binary("Mul", other, True)

    def __matmul__(self, other):
        shape = (*broadcast(self.shape[:-2], other.shape[:-2]), self.shape[-2], other.shape[-1])
        if self.integers and other.integers:
            return self.graph.node("MatMulInteger", [self.integers, other.integers], "int32", shape)
        return self.graph.node("MatMul", [self, other], self.dtype, shape)

    @property
    def mT(self):  # pylint: disable=invalid-name
        order = list(range(len(self.shape)))
        return self.permute(*order[:-2], order[-1], order[-2])

    def permute(self, *order):
        turned = self.graph.node("Transpose", [self], self.dtype, [self.shape[axis] for axis in order], perm=list(order))
        turned.integers = self.integers.permute(*order) if self.integers else None
        return turned

    def contiguous(self):
        return self

    def clone(self, **_):
        return self

    def cast(self, dtype):
        if dtype == self.dtype:
            return self
        made = self.graph.node("Cast", [self], dtype, self.shape, to=onnx.TYPES[elem(dtype)])
        made.integers = self if self.dtype == "int8" else None
        return made

    def float(self):
        return self.cast("float32")

    def double(self):
        return self.cast("float64")

    def int(self):
        return self.cast("int32")

    def reshape(self, *shape):
        shape = tuple(math.prod(self.shape) // -math.prod(shape) if extent == -1 else extent for extent in shape)
        return self.graph.node("Reshape", [self, self.graph.int64s(shape)], self.dtype, shape)

    def strided(self, axis, start, stop, step, extent):
        shape = [extent if number == axis else other for number, other in enumerate(self.shape)]
        return self.graph.node("Slice", [self, *(self.graph.int64s([value]) for value in (start, stop, axis, step))], self.dtype, shape)

    def __getitem__(self, places):
        places = places if isinstance(places, tuple) else (places,)
        if any(place is None for place in places):
            extents = iter(self.shape)
            return self.reshape(*(1 if place is None else next(extents) for place in places))
        result = self
        for axis, place in enumerate(places):
            start, stop, step = place.indices(self.shape[axis])
            if (start, stop, step) != (0, self.shape[axis], 1):
                result = result.strided(axis, start, stop, step, len(range(start, stop, step)))
        return result

    def index_add_(self, axis, index, rows):
        return self.scatter(axis, index, rows, "add")

    def index_copy_(self, axis, index, rows):
        return self.scatter(axis, index, rows, "none")

    def scatter(self, axis, index, rows, how):
        if axis != 0:
            raise Unsupported("a scatter along another axis than the first")
        return self.graph.node("ScatterND", [self, index.reshape(*index.shape, 1), rows], self.dtype, self.shape, reduction=how)


class Namespace:
    """A module of torch, as far as ONNX has its functions."""

    def __init__(self, name, functions):
        self.__dict__ |= functions
        self.name = name

    def __getattr__(self, name):
        raise Unsupported(f"{self.name}.{name}")


def unary(kind, **attributes):
    return lambda x: x.unary(kind, **attributes)


def clamp(x, low=None, high=None, max=None):  # pylint: disable=redefined-builtin
    bounds = [None if bound is None else x.graph.constant(x.dtype, [bound], ()) for bound in (low, high if max is None else max)]
    return x.graph.node("Clip", [x, *bounds], x.dtype, x.shape)


def cat(values, axis):
    shape = list(values[0].shape)
    shape[axis] = sum(value.shape[axis] for value in values)
    return values[0].graph.node("Concat", values, values[0].dtype, shape, axis=axis)


def flip(x, axes):
    for axis in axes:
        x = x.strided(axis, -1, -x.shape[axis] - 1, -1, x.shape[axis])
    return x


def reduction(kind):
    def call(x, dim):
        kept = [extent for axis, extent in enumerate(x.shape) if axis not in dim]
        return x.graph.node(kind, [x, x.graph.int64s(dim)], x.dtype, kept, keepdims=0)

    return call


def index_of(kind):
    def call(x, axis):
        return x.graph.node(kind, [x], "int64", [extent for number, extent in enumerate(x.shape) if number != axis], axis=axis, keepdims=0)

    return call


def along(kind):
    return lambda x, dim: x.unary(kind, axis=dim)


def filled(graph):
    """A tensor of zeros, which ONNX Runtime makes before the first run."""

    def call(shape, dtype="float32", **_):
        return graph.node("ConstantOfShape", [graph.int64s(shape)], dtype, shape)

    return call


def layer_norm(x, _, scale, shift, epsilon):
    return x.graph.node("LayerNormalization", [x, scale, shift], x.dtype, x.shape, axis=-1, epsilon=epsilon)


def rms_norm(x, _, scale, epsilon):
    # RMSNormalization of the standard is expanded there; this is the kernel.
    return x.graph.node("SimplifiedLayerNormalization", [x, scale], x.dtype, x.shape, axis=-1, epsilon=epsilon)


def batch_norm(x, mean, variance, scale, shift, eps):
    return x.graph.node("BatchNormalization", [x, scale, shift, mean, variance], x.dtype, x.shape, epsilon=eps)


def group_norm(x, groups):
    rows = x.reshape(x.shape[0], groups, math.prod(x.shape[1:]) // groups)
    ones, zeros = (x.graph.constant(x.dtype, [value] * groups, (groups,)) for value in (1.0, 0.0))
    return x.graph.node("InstanceNormalization", [rows, ones, zeros], x.dtype, rows.shape, epsilon=1e-5).reshape(*x.shape)


def gather(x, axis, index):
    return x.graph.node("GatherElements", [x, index], x.dtype, index.shape, axis=axis)


def rows_of(x, index):
    return x.graph.node("Gather", [x, index], x.dtype, (*index.shape, *x.shape[1:]), axis=0)


def pool(kind, **attributes):
    def call(x, kernel, stride, pad):
        spatial = [(extent + 2 * pad - kernel) // stride + 1 for extent in x.shape[2:]]
        dims = len(spatial)
        return x.graph.node(kind, [x], x.dtype, (*x.shape[:2], *spatial), kernel_shape=[kernel] * dims, strides=[stride] * dims, pads=[pad] * 2 * dims, **attributes)

    return call


def convolution(x, w, bias, stride, pad, dilation, groups):
    kernel, dims = w.shape[2:], len(x.shape) - 2
    spatial = [(extent + 2 * pad - (k - 1) * dilation - 1) // stride + 1 for extent, k in zip(x.shape[2:], kernel)]
    return x.graph.node("Conv", [x, w] + [bias] * (bias is not None), x.dtype, (x.shape[0], w.shape[0], *spatial), kernel_shape=list(kernel), strides=[stride] * dims,
                        pads=[pad] * 2 * dims, dilations=[dilation] * dims, group=groups)


def transposed_convolution(x, w, bias, stride, pad):
    kernel, dims = w.shape[2:], len(x.shape) - 2
    spatial = [(extent - 1) * stride - 2 * pad + k for extent, k in zip(x.shape[2:], kernel)]
    return x.graph.node("ConvTranspose", [x, w] + [bias] * (bias is not None), x.dtype, (x.shape[0], w.shape[1], *spatial), kernel_shape=list(kernel),
                        strides=[stride] * dims, pads=[pad] * 2 * dims)


def interpolate(x, size, mode, align_corners=False):
    if align_corners:
        raise Unsupported("aligned corners")
    shape = (*x.shape[:2], *size)
    how = {"nearest": {"mode": "nearest", "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"},
           "bilinear": {"mode": "linear", "coordinate_transformation_mode": "half_pixel"}}[mode]
    return x.graph.node("Resize", [x, None, None, x.graph.int64s(shape)], x.dtype, shape, **how)


def pixel_shuffle(x, factor):
    n, channels, height, width = x.shape
    shape = (n, channels // (factor * factor), height * factor, width * factor)
    return x.graph.node("DepthToSpace", [x], x.dtype, shape, blocksize=factor, mode="CRD")


def attention(q, k, v, is_causal=False, enable_gqa=False):
    del enable_gqa  # by the numbers of heads
    return q.graph.node("Attention", [q, k, v], q.dtype, (*q.shape[:-1], v.shape[-1]), is_causal=int(is_causal))


def namespaces(graph):
    zeros = filled(graph)
    torch = {
        "relu": unary("Relu"), "sigmoid": unary("Sigmoid"), "tanh": unary("Tanh"), "abs": unary("Abs"), "exp": unary("Exp"), "sqrt": unary("Sqrt"),
        "square": lambda x: x * x, "clamp": clamp, "maximum": lambda x, y: x.binary("Max", y), "cat": cat, "flip": flip,
        "sum": reduction("ReduceSum"), "amax": reduction("ReduceMax"), "amin": reduction("ReduceMin"), "mean": reduction("ReduceMean"),
        "linalg": Namespace("torch.linalg", {"vector_norm": reduction("ReduceL2")}), "argmax": index_of("ArgMax"), "argmin": index_of("ArgMin"),
        "cumsum": lambda x, axis: graph.node("CumSum", [x, graph.constant("int64", [axis], ())], x.dtype, x.shape),
        "index_select": lambda x, axis, index: rows_of(x, index), "gather": gather, "zeros": zeros, "empty_like": lambda x: zeros(x.shape, x.dtype),
        "addmm": lambda bias, a, b: graph.node("Gemm", [a, b, bias], a.dtype, (a.shape[0], b.shape[1])),
        "_int_mm": lambda a, b: graph.node("MatMulInteger", [a, b], "int32", (a.shape[0], b.shape[1])), "contiguous_format": None,
    }
    functional = {
        "gelu": unary("Gelu"), "silu": lambda x: x * x.unary("Sigmoid"), "leaky_relu": lambda x, slope: x.unary("LeakyRelu", alpha=slope),
        "hardswish": unary("HardSwish"), "softplus": unary("Softplus"), "softmax": along("Softmax"), "log_softmax": along("LogSoftmax"),
        "layer_norm": layer_norm, "rms_norm": rms_norm, "batch_norm": batch_norm, "group_norm": group_norm, "embedding": lambda index, x: rows_of(x, index),
        "max_pool2d": pool("MaxPool"), "avg_pool2d": pool("AveragePool", count_include_pad=1), "interpolate": interpolate, "pixel_shuffle": pixel_shuffle,
        "scaled_dot_product_attention": attention,
    }
    functional |= {f"conv{dims}d": convolution for dims in (1, 2, 3)} | {f"conv_transpose{dims}d": transposed_convolution for dims in (1, 2, 3)}
    return {"torch": Namespace("torch", torch), "F": Namespace("F", functional)}


def build(workload):
    """The bytes of the model, of a workload as workloads.json has it."""
    if not workload["torch"]:
        raise Unsupported("there is no expression of torch")
    graph = Graph()
    inputs = {spec["name"]: Value(graph, spec["name"], spec["dtype"], tuple(spec["shape"])) for spec in workload["inputs"]}
    try:
        results = eval(workload["torch"][-1], namespaces(graph) | inputs)  # pylint: disable=eval-used
    except (TypeError, AttributeError) as error:
        raise Unsupported(str(error)) from error
    results = list(results) if isinstance(results, (tuple, list)) else [results]
    nodes, outputs = list(graph.nodes), []
    for spec, result in zip(workload["outputs"], results):
        if result.shape != tuple(spec["shape"]) or result.dtype != spec["dtype"]:
            raise Unsupported(f"a result {result.dtype}{list(result.shape)} in place of {spec['dtype']}{spec['shape']}")
        nodes.append(onnx.node("Identity", [result.name], [f"out.{spec['name']}"]))
        outputs.append(onnx.value_info(f"out.{spec['name']}", elem(spec["dtype"]), spec["shape"]))
    declared = [onnx.value_info(spec["name"], elem(spec["dtype"]), spec["shape"]) for spec in workload["inputs"]]
    return onnx.model(onnx.graph(workload["family"], nodes, declared, outputs, graph.constants), OPSETS, IR_VERSION)
