# SPDX-License-Identifier: Apache-2.0
"""What ONNX operators compute, by definition: numpy in double, slowly. For the recorded outputs of test/models."""
import math

import numpy as np

OPERATORS = {}


def operator(f):
    OPERATORS[f.__name__.rstrip("_")] = f
    return f


def run(builder, feeds):
    """The results of a model, by name; floats are float32."""
    def wide(array):
        return array.astype(np.float64) if array.dtype == np.float32 else array

    values = {name: wide(array) for name, array in {**builder.weights, **feeds}.items()}
    for node in builder.nodes:
        inputs = [values[name] if name else None for name in node.inputs]
        results = OPERATORS[node.op_type](*inputs, **node.attributes)
        values.update(zip(node.outputs, results if isinstance(results, tuple) else (results,)))
    results = {name: values[name] for name, _, _ in builder.outputs}
    return {name: value.astype(np.float32) if value.dtype == np.float64 else value for name, value in results.items()}


# ---- convolutions and pooling

def windows(x, kernel, strides, pads, fill, ceil_mode=0):
    """[n, c, oh, ow, kh, kw], of the image with its border."""
    top, left, bottom, right = pads
    if ceil_mode:
        bottom += strides[0] - 1
        right += strides[1] - 1
    x = np.pad(x, [(0, 0), (0, 0), (top, bottom), (left, right)], constant_values=fill)
    view = np.lib.stride_tricks.sliding_window_view(x, kernel, axis=(2, 3))
    return view[:, :, ::strides[0], ::strides[1]]


def same_pads(x, kernel, strides, upper):
    pads = []
    for size, k, s in zip(x.shape[2:], kernel, strides):
        total = max((math.ceil(size / s) - 1) * s + k - size, 0)
        pads.append((total // 2, total - total // 2) if upper else (total - total // 2, total // 2))
    return [pads[0][0], pads[1][0], pads[0][1], pads[1][1]]


@operator
def Conv(x, w, bias=None, kernel_shape=None, strides=(1, 1), pads=(0, 0, 0, 0), dilations=(1, 1), group=1, auto_pad="NOTSET"):
    assert list(dilations) == [1, 1]
    if auto_pad.startswith("SAME"):
        pads = same_pads(x, w.shape[2:], strides, auto_pad == "SAME_UPPER")
    seen = windows(x, w.shape[2:], strides, pads, 0.0)
    parts = [np.einsum("nchwij,ocij->nohw", part, weights, optimize=True)
             for part, weights in zip(np.split(seen, group, axis=1), np.split(w, group))]
    y = np.concatenate(parts, axis=1)
    return y if bias is None else y + bias[:, None, None]


@operator
def MaxPool(x, kernel_shape, strides=(1, 1), pads=(0, 0, 0, 0), ceil_mode=0, auto_pad="NOTSET"):
    return windows(x, kernel_shape, strides, pads, -np.inf, ceil_mode).max(axis=(4, 5))


@operator
def AveragePool(x, kernel_shape, strides=(1, 1), pads=(0, 0, 0, 0), count_include_pad=0):
    total = windows(x, kernel_shape, strides, pads, 0.0).sum(axis=(4, 5))
    ones = windows(np.ones_like(x), kernel_shape, strides, pads, float(count_include_pad)).sum(axis=(4, 5))
    return total / ones


@operator
def GlobalAveragePool(x):
    return x.mean(axis=(2, 3), keepdims=True)


@operator
def BatchNormalization(x, scale, bias, mean, var, epsilon=1e-5):
    scale = scale / np.sqrt(var + epsilon)
    shape = [1, -1] + [1] * (x.ndim - 2)
    return x * scale.reshape(shape) + (bias - mean * scale).reshape(shape)


# ---- elements

OPERATORS.update({
    "Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Div": np.divide, "Pow": np.power, "Sqrt": np.sqrt, "Tanh": np.tanh,
    "Neg": np.negative, "Where": np.where, "MatMul": np.matmul,
    "Relu": lambda x: np.maximum(x, 0), "Sigmoid": lambda x: 1 / (1 + np.exp(-x)), "Erf": np.vectorize(math.erf),
    "Clip": lambda x, low, high: np.clip(x, low, high), "Identity": lambda x: x, "Dropout": lambda x, *unused: x,
    "HardSwish": lambda x: x * np.clip(x / 6 + 0.5, 0, 1),
})


@operator
def Cast(x, to):
    return x.astype({1: np.float64, 7: np.int64, 9: np.bool_}[to])


# ---- rows

@operator
def Softmax(x, axis=-1):
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


@operator
def ReduceMean(x, axes, keepdims=1):
    return x.mean(axis=tuple(axes), keepdims=bool(keepdims))


@operator
def LayerNormalization(x, scale, bias, axis=-1, epsilon=1e-5):
    assert axis == -1
    mean = x.mean(axis=-1, keepdims=True)
    return (x - mean) / np.sqrt(((x - mean) ** 2).mean(axis=-1, keepdims=True) + epsilon) * scale + bias


@operator
def Gemm(a, b, c=0.0, alpha=1.0, beta=1.0, transA=0, transB=0):
    return alpha * ((a.T if transA else a) @ (b.T if transB else b)) + beta * c


# ---- shapes

@operator
def Shape(x):
    return np.array(x.shape, dtype=np.int64)


@operator
def Reshape(x, shape):
    return x.reshape([x.shape[i] if dim == 0 else dim for i, dim in enumerate(shape)])


@operator
def Flatten(x, axis=1):
    return x.reshape([math.prod(x.shape[:axis]), -1])


@operator
def Transpose(x, perm):
    return x.transpose(perm)


@operator
def Concat(*parts, axis):
    return np.concatenate(parts, axis=axis)


@operator
def Gather(x, at, axis=0):
    return np.take(x, at, axis=axis)


@operator
def Unsqueeze(x, axes):
    return np.expand_dims(x, tuple(axes))


@operator
def Slice(x, starts, ends, axes, steps=None):
    at = [slice(None)] * x.ndim
    for i, axis in enumerate(axes):
        at[axis] = slice(int(starts[i]), int(ends[i]), int(steps[i]) if steps is not None else None)
    return x[tuple(at)]


@operator
def Split(x, sizes, axis=0):
    return tuple(np.split(x, np.cumsum(sizes)[:-1], axis=axis))


@operator
def Expand(x, shape):
    return np.broadcast_to(x, np.broadcast_shapes(x.shape, tuple(shape)))
