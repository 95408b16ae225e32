# SPDX-License-Identifier: Apache-2.0
"""What numpy has no function for, by definition: the references of workloads where there is no torch."""
import itertools
import math

import numpy as np

ERF = np.vectorize(math.erf, otypes=[np.float32])


def gelu(x):
    return x * np.float32(0.5) * (1 + ERF(x * np.float32(math.sqrt(0.5))))


def softmax(x, axis):
    power = np.exp(x - x.max(axis, keepdims=True))
    return power / power.sum(axis, keepdims=True)


def log_softmax(x, axis):
    shifted = x - x.max(axis, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis, keepdims=True))


def layer_norm(x, scale, shift):
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5) * scale + shift


def rms_norm(x, scale):
    return x / np.sqrt(np.mean(x * x, -1, keepdims=True) + 1e-5) * scale


def batch_norm(x, mean, variance, scale, shift, axis):
    mean, variance, scale, shift = (v.reshape([-1 if i == axis else 1 for i in range(x.ndim)]) for v in (mean, variance, scale, shift))
    return (x - mean) / np.sqrt(variance + 1e-5) * scale + shift


def group_norm(x, groups):
    rows = x.reshape(x.shape[0], groups, -1)
    return ((rows - rows.mean(-1, keepdims=True)) / np.sqrt(rows.var(-1, keepdims=True) + 1e-5)).reshape(x.shape)


def index_add(rows, index, x):
    result = np.zeros((rows, x.shape[1]), x.dtype)
    np.add.at(result, index, x)
    return result


def index_copy(index, x):
    result = np.empty_like(x)
    result[index] = x
    return result


def pool(x, kernel, stride, pad, how, last):
    x = x.transpose(0, 3, 1, 2) if last else x
    x = np.pad(x, [(0, 0), (0, 0), (pad, pad), (pad, pad)], constant_values=-np.inf if how is np.max else 0)
    windows = np.lib.stride_tricks.sliding_window_view(x, (kernel, kernel), (2, 3))[:, :, ::stride, ::stride]
    result = how(windows, axis=(-2, -1))
    return result.transpose(0, 2, 3, 1) if last else result


def bilinear(x, height, width):
    def places(source, target):
        f = np.maximum((np.arange(target) + 0.5) * (source / target) - 0.5, 0)
        low = np.minimum(f.astype(int), source - 1)
        return low, np.minimum(low + 1, source - 1), (f - low).astype(np.float32)

    y0, y1, wy = places(x.shape[2], height)
    x0, x1, wx = places(x.shape[3], width)
    rows = x[:, :, y0] * (1 - wy)[:, None] + x[:, :, y1] * wy[:, None]
    return rows[..., x0] * (1 - wx) + rows[..., x1] * wx


def conv(x, w, stride, pad, dilation, groups):
    dims = x.ndim - 2
    kernel = w.shape[2:]
    x = np.pad(x, [(0, 0), (0, 0), *[(pad, pad)] * dims]).astype("float64")
    extents = [(extent - (k - 1) * dilation - 1) // stride + 1 for extent, k in zip(x.shape[2:], kernel)]
    inputs, outputs = w.shape[1], w.shape[0] // groups
    result = np.zeros((x.shape[0], w.shape[0], *extents))
    for place in itertools.product(*map(range, kernel)):
        cut = tuple(slice(p * dilation, p * dilation + (e - 1) * stride + 1, stride) for p, e in zip(place, extents))
        for group in range(groups):
            part = x[(slice(None), slice(group * inputs, (group + 1) * inputs), *cut)]
            mine = slice(group * outputs, (group + 1) * outputs)
            result[:, mine] += np.einsum("bc...,oc->bo...", part, w[(mine, slice(None), *place)].astype("float64"))
    return result


def conv_transpose(x, w, stride, pad):
    dims, kernel = x.ndim - 2, w.shape[2:]
    full = [(extent - 1) * stride + k for extent, k in zip(x.shape[2:], kernel)]
    result = np.zeros((x.shape[0], w.shape[1], *full))
    for place in itertools.product(*map(range, kernel)):
        cut = tuple(slice(p, p + (e - 1) * stride + 1, stride) for p, e in zip(place, x.shape[2:]))
        result[(slice(None), slice(None), *cut)] += np.einsum("bc...,co->bo...", x, w[(slice(None), slice(None), *place)])
    return result[(slice(None), slice(None), *[slice(pad, extent - pad) for extent in full])][(...,) + (slice(None),) * dims]


def attention(q, k, v, groups, causal):
    k, v = np.repeat(k, groups, 1), np.repeat(v, groups, 1)
    score = q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1])
    if causal:
        score = np.where(np.tri(*score.shape[-2:], dtype=bool), score, -np.inf)
    return softmax(score, -1) @ v


def complex_matmul(ar, ai, br, bi):
    result = (ar + 1j * ai) @ (br + 1j * bi)
    return result.real, result.imag


def levenshtein(a, b):
    """By diagonals, whose elements are independent, all pairs at once."""
    count, n, m = a.shape[0], a.shape[1], b.shape[1]
    result = np.zeros((count, n + 1, m + 1), np.int32)
    result[:, :, 0], result[:, 0, :] = np.arange(n + 1), np.arange(m + 1)
    for diagonal in range(2, n + m + 1):
        i = np.arange(max(1, diagonal - m), min(n, diagonal - 1) + 1)
        j = diagonal - i
        changed = result[:, i - 1, j - 1] + (a[:, i - 1] != b[:, j - 1])
        result[:, i, j] = np.minimum(changed, np.minimum(result[:, i - 1, j], result[:, i, j - 1]) + 1)
    return result


def w4a16(a, q, s):
    four = np.stack([q & 15, q >> 4], -1).reshape(q.shape[0], -1).astype(np.float32) - 8
    return a.astype(np.float32) @ (four * np.repeat(s.astype(np.float32), 32, 1)).T
