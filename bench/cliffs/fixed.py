# SPDX-License-Identifier: Apache-2.0
"""Fixed workloads: those that were once far behind, by device."""
import chains
from products import attention_of
from workload import Dim, Tensor, alloc, block, function, load, reduce, spatial, store, wide


def table(scale):
    made = {"cuda": device_table, "cpu": host_table}.get(scale, lambda: [])()
    for one in made:
        one.name = "table." + one.name
    return made


def named(name, one, dynamic=False):
    one.name, one.dynamic = name, dynamic
    return one


def matmul(name, dtype, m, n, k, batch=0, turned=False, steps=(), dynamic=False):
    """C = A * B, with a bias of columns where the steps start with it, and activations. `dynamic`: all three sizes are."""
    if dynamic:
        m, n, k = (Dim(extent, symbol) for extent, symbol in zip((m, n, k), "nmp"))
    lead, b = (["vb"], (Dim(batch),)) if batch else ([], ())
    first, second = Tensor("A", dtype, (*b, m, k)), Tensor("B", dtype, (*b, n, k) if turned else (*b, k, n))
    out, place = Tensor("C", dtype, (*b, m, n)), [*lead, "vi", "vj"]
    product = f"A @ B{'.mT' if turned else ''}"
    chain = chains.Chain(f"total[{', '.join(place)}]", product, product.replace(".mT", ".swapaxes(-1, -2)"))
    inputs = [first, second]
    for step in steps:
        if step == "bias":
            inputs.append(Tensor("bias", dtype, (n,)))
            chain.then("add", (load(inputs[-1], "vj"), "bias", "bias"))
        else:
            chain.then(step)
    direct = not steps and wide(dtype) == dtype
    cell = f"{'C' if direct else 'total'}[{', '.join(place)}]"
    axes = (spatial(b=batch) if batch else {}) | spatial(i=m, j=n)
    term = f"{load(first, *lead, 'vi', 'vl')} * {load(second, *lead, *(('vj', 'vl') if turned else ('vl', 'vj')))}"
    body = block("matmul", axes | reduce(l=k), f"{cell} = {cell} + {term}", f"{cell} = 0")
    if not direct:
        body = alloc("total", "float32", *out.shape) + body + block("store", axes, chain.body(store(out, chain.value, *place)))
    torch = [chain.torch]
    if steps[:1] == ("bias",) and not batch:
        torch.append(chain.torch.replace(f"({product}) + bias", f"torch.addmm(bias, A, B{'.mT' if turned else ''})"))
    return named(name, function("matmul", inputs, [out], body, torch=torch, numpy=chain.numpy, numpy_is_peer=dtype == "float32"), dynamic)


def convolution(name, dtype, batch, channels, side, window):
    """NCHW, stride 1, as many outputs as inputs, padded so that the side stays."""
    border = window // 2
    x, w = Tensor("X", dtype, (batch, channels, side, side)), Tensor("W", dtype, (channels, channels, window, window))
    out, place = Tensor("Y", dtype, x.shape), ["vb", "vo", "vy", "vx"]
    cell = "total[vb, vo, vy, vx]"
    inside = f"row >= 0 && row < {side} && column >= 0 && column < {side}"
    axes = spatial(b=batch, o=channels, y=side, x=side)
    pixel = f"select({inside}, {load(x, 'vb', 'vc', 'row', 'column')}, 0)" if border else load(x, "vb", "vc", "row", "column")
    update = (f"let row = vy + vdy - {border}\n      let column = vx + vdx - {border}\n      "
              f"{cell} = {cell} + {pixel} * {load(w, 'vo', 'vc', 'vdy', 'vdx')}")
    body = (alloc("total", "float32", *x.shape) + block("conv", axes | reduce(c=channels, dy=window, dx=window), update, f"{cell} = 0")
            + block("store", axes, store(out, cell, *place)))
    return named(name, function("convolution", [x, w], [out], body, torch=f"F.conv2d(X, W, None, 1, {border})", numpy=f"conv(X, W, 1, {border}, 1, 1)"))


def total(name, *shape):
    x, out = Tensor("X", "float32", shape, "unit"), Tensor("Y", "float32", (Dim(1),))
    axes = reduce(**dict(zip("ij", shape)))
    body = block("sum", axes, f"Y[0] = Y[0] + X[{', '.join('v' + axis for axis in axes)}]", "Y[0] = 0")
    return named(name, function("reduction", [x], [out], body, torch="torch.sum(X).reshape(1)", numpy="np.sum(X).reshape(1)", numpy_is_peer=True))


def column_sum(name, rows, columns):
    x, out = Tensor("X", "float32", (rows, columns)), Tensor("Y", "float32", (columns,))
    body = block("sum", spatial(j=columns) | reduce(i=rows), "Y[vj] = Y[vj] + X[vi, vj]", "Y[vj] = 0")
    return named(name, function("reduction", [x], [out], body, torch="torch.sum(X, 0)", numpy="np.sum(X, axis=0)", numpy_is_peer=True))


def elementwise(name, n, m):
    inputs, out = [Tensor(name, "float32", (n, m)) for name in "AB"], Tensor("Y", "float32", (n, m))
    body = block("compute", spatial(i=n, j=m), "Y[vi, vj] = A[vi, vj] * B[vi, vj] + A[vi, vj]")
    return named(name, function("elementwise", inputs, [out], body, torch="torch.addcmul(A, A, B)", numpy="A * B + A", numpy_is_peer=True), bool(n.name))


def softmax(name, n, m):
    along = spatial(i=n) | reduce(j=m)
    body = (alloc("largest", "float32", n) + block("largest", along, "largest[vi] = max(largest[vi], X[vi, vj])", "largest[vi] = -inf")
            + alloc("total", "float32", n) + block("total", along, "total[vi] = total[vi] + exp(X[vi, vj] - largest[vi])", "total[vi] = 0")
            + block("divide", spatial(i=n, j=m), "Y[vi, vj] = exp(X[vi, vj] - largest[vi]) / total[vi]"))
    return named(name, function("normalization", [Tensor("X", "float32", (n, m))], [Tensor("Y", "float32", (n, m))], body, torch="F.softmax(X, dim=1)",
                                numpy="softmax(X, 1)"), bool(n.name))


def layer_norm(name, n, m, steps):
    """Of rows, with scale and bias: in two steps, or in the nine that exporters write."""
    x, w, b = Tensor("X", "float32", (n, m)), Tensor("W", "float32", (m,)), Tensor("B", "float32", (m,))
    out, along, every, row = Tensor("Y", "float32", (n, m)), spatial(i=n) | reduce(j=m), spatial(i=n, j=m), spatial(i=n)
    if steps == 2:
        total = "sum[vi] = sum[vi] + X[vi, vj]\n      squares[vi] = squares[vi] + X[vi, vj] * X[vi, vj]"
        mean = f"let mean = sum[vi] / {m.real}\n      let variance = squares[vi] / {m.real} - mean * mean\n      "
        body = (alloc("sum", "float32", n) + alloc("squares", "float32", n)
                + block("sums", along, total, "sum[vi] = 0\n        squares[vi] = 0")
                + block("norm", every, mean + "Y[vi, vj] = (X[vi, vj] - mean) / sqrt(variance + 1e-05) * W[vj] + B[vj]"))
    else:
        body = "".join(alloc(buffer, "float32", n) for buffer in ("sum", "mean", "squares", "variance", "deviation"))
        body += "".join(alloc(buffer, "float32", n, m) for buffer in ("centred", "squared", "scaled", "weighted"))
        body += (block("sum", along, "sum[vi] = sum[vi] + X[vi, vj]", "sum[vi] = 0") + block("mean", row, f"mean[vi] = sum[vi] / {m.real}")
                 + block("centre", every, "centred[vi, vj] = X[vi, vj] - mean[vi]")
                 + block("square", every, "squared[vi, vj] = centred[vi, vj] * centred[vi, vj]")
                 + block("squares", along, "squares[vi] = squares[vi] + squared[vi, vj]", "squares[vi] = 0")
                 + block("variance", row, f"variance[vi] = squares[vi] / {m.real}")
                 + block("deviation", row, "deviation[vi] = sqrt(variance[vi] + 1e-05)")
                 + block("scale", every, "scaled[vi, vj] = centred[vi, vj] / deviation[vi]")
                 + block("weight", every, "weighted[vi, vj] = scaled[vi, vj] * W[vj]") + block("shift", every, "Y[vi, vj] = weighted[vi, vj] + B[vj]"))
    return named(name, function("normalization", [x, w, b], [out], body, torch="F.layer_norm(X, (X.shape[1],), W, B)", numpy="layer_norm(X, W, B)"))


def device_table():
    return [
        total("full_sum_64Mi", Dim(1 << 26)),
        total("full_sum_8192x8192", Dim(8192), Dim(8192)),
        matmul("skinny_f16_16_bnk", "float16", 16, 4096, 4096, turned=True),
        named("attention_f16", attention_of("float16", 4, 16, 1, 1024, 1024, 64, False)),
        convolution("conv3x3_f16_batch32", "float16", 32, 128, 28, 3),
        column_sum("column_sum", Dim(8192), Dim(8192)),
        elementwise("elementwise_dynamic", Dim(8192, "n"), Dim(8192, "m")),
        matmul("matmul_f16_bias_gelu", "float16", 4096, 4096, 1024, steps=("bias", "gelu")),
        matmul("gemv_f16", "float16", 1, 8192, 8192, turned=True),
        matmul("matmul_f32_dynamic", "float32", 2048, 2048, 2048, dynamic=True),
        matmul("matmul_f16_1000", "float16", 1000, 1000, 1000),
        matmul("batched_f16_k128", "float16", 512, 512, 128, batch=64),
        softmax("softmax_dynamic", Dim(8192, "n"), Dim(4096, "m")),
    ]


# ---- hosts

def argmin_0(rows, columns):
    x, out = Tensor("X", "float32", (Dim(rows), Dim(columns))), Tensor("Y", "int64", (Dim(columns),))
    update = "if X[vi, vj] < best[vj] {\n        best[vj] = X[vi, vj]\n        Y[vj] = vi\n      }"
    body = alloc("best", "float32", columns) + block("argmin", spatial(j=columns) | reduce(i=rows), update, "best[vj] = inf\n        Y[vj] = 0")
    return named("argmin_axis0", function("reduction", [x], [out], body, torch="torch.argmin(X, 0)", numpy="np.argmin(X, axis=0)", numpy_is_peer=True))


def transposed_convolution(channels, outputs, side):
    result = 2 * side
    x, w = Tensor("X", "float32", (Dim(1), Dim(channels), Dim(side), Dim(side))), Tensor("W", "float32", (Dim(channels), Dim(outputs), Dim(4), Dim(4)))
    out = Tensor("Y", "float32", (Dim(1), Dim(outputs), Dim(result), Dim(result)))
    test = " && ".join(f"{t} % 2 == 0 && {t} >= 0 && {t} < {2 * side}" for t in ("row", "column"))
    update = (f"let row = vy + 1 - vdy\n      let column = vx + 1 - vdx\n      Y[0, vo, vy, vx] = Y[0, vo, vy, vx] + "
              f"select({test}, X[0, vc, row // 2, column // 2], 0) * W[vc, vo, vdy, vdx]")
    body = block("conv", spatial(o=outputs, y=result, x=result) | reduce(c=channels, dy=4, dx=4), update, "Y[0, vo, vy, vx] = 0")
    return named("transposed_convolution", function("transposed_convolution", [x, w], [out], body, torch="F.conv_transpose2d(X, W, None, 2, 1)",
                                                    numpy="conv_transpose(X, W, 2, 1)"))


def complex_matmul(size):
    shape = (Dim(size), Dim(size))
    inputs, outputs = [Tensor(name, "float32", shape) for name in ("Ar", "Ai", "Br", "Bi")], [Tensor(name, "float32", shape) for name in ("Cr", "Ci")]
    update = ("Cr[vi, vj] = Cr[vi, vj] + Ar[vi, vk] * Br[vk, vj] - Ai[vi, vk] * Bi[vk, vj]\n      "
              "Ci[vi, vj] = Ci[vi, vj] + Ar[vi, vk] * Bi[vk, vj] + Ai[vi, vk] * Br[vk, vj]")
    body = block("matmul", spatial(i=size, j=size) | reduce(k=size), update, "Cr[vi, vj] = 0\n        Ci[vi, vj] = 0")
    torch = "torch.view_as_real(torch.complex(Ar, Ai) @ torch.complex(Br, Bi)).unbind(-1)"
    return named("complex_matmul", function("matmul", inputs, outputs, body, torch=torch, numpy="complex_matmul(Ar, Ai, Br, Bi)", numpy_is_peer=True))


def triangular_solve(batch, size):
    """L * X = B by forward substitution, of a batch."""
    a, b = Tensor("L", "float32", (Dim(batch), Dim(size), Dim(size)), "lower"), Tensor("B", "float32", (Dim(batch), Dim(size)))
    out = Tensor("X", "float32", (Dim(batch), Dim(size)))
    body = f"""  for b in 0..{batch}, i in 0..{size} {{
    block solve(vb: spatial({batch}) = b, vi: scan({size}) = i) {{
      alloc sum: float32[1] in local
      sum[0] = 0
      for k in 0..vi {{
        sum[0] = sum[0] + L[vb, vi, k] * X[vb, k]
      }}
      X[vb, vi] = (B[vb, vi] - sum[0]) / L[vb, vi, vi]
    }}
  }}
"""
    torch = "torch.linalg.solve_triangular(L, B[:, :, None], upper=False)[:, :, 0]"
    return named("triangular_solve", function("solve", [a, b], [out], body, torch=torch, numpy="np.linalg.solve(L, B[:, :, None])[:, :, 0]", numpy_is_peer=True,
                                              tolerance=1e-3))


def levenshtein(batch, length):
    """The edit distances of pairs of words."""
    first, second = (Tensor(name, "int32", (Dim(batch), Dim(length)), "below:4") for name in "AB")
    out = Tensor("D", "int32", (Dim(batch), Dim(length + 1), Dim(length + 1)))
    body = f"""  for b in 0..{batch}, i in 0..{length + 1}, j in 0..{length + 1} {{
    block distance(vb: spatial({batch}) = b, vi: scan({length + 1}) = i, vj: scan({length + 1}) = j) {{
      if vi == 0 {{
        D[vb, vi, vj] = int32(vj)
      }} else if vj == 0 {{
        D[vb, vi, vj] = int32(vi)
      }} else {{
        let changed = D[vb, vi - 1, vj - 1] + select(A[vb, vi - 1] == B[vb, vj - 1], int32(0), int32(1))
        D[vb, vi, vj] = min(changed, min(D[vb, vi - 1, vj], D[vb, vi, vj - 1]) + 1)
      }}
    }}
  }}
"""
    return named("levenshtein", function("scan", [first, second], [out], body, torch=[], numpy="levenshtein(A, B)", numpy_is_peer=True))


def quantized_convolution(channels, side):
    """int8 NHWC 3x3 with a zero point of the input, which the border has."""
    x, w = Tensor("X", "uint8", (Dim(1), Dim(side), Dim(side), Dim(channels))), Tensor("W", "int8", (Dim(channels), Dim(3), Dim(3), Dim(channels)))
    out = Tensor("Y", "int32", (Dim(1), Dim(side), Dim(side), Dim(channels)))
    inside = f"row >= 0 && row < {side} && column >= 0 && column < {side}"
    update = (f"let row = vy + vdy - 1\n      let column = vx + vdx - 1\n      Y[0, vy, vx, vo] = Y[0, vy, vx, vo] + "
              f"select({inside}, int32(X[0, row, column, vc]) - 128, 0) * int32(W[vo, vdy, vdx, vc])")
    body = block("conv", spatial(y=side, x=side, o=channels) | reduce(dy=3, dx=3, c=channels), update, "Y[0, vy, vx, vo] = 0")
    torch = "F.conv2d({x}, {w}, None, 1, 1).permute(0, 2, 3, 1).int()"
    forms = [torch.format(x=f"(X.{kind}() - 128).permute(0, 3, 1, 2)", w=f"W.{kind}().permute(0, 3, 1, 2)") for kind in ("double", "float")]
    numpy = "conv((X.astype('float64') - 128).transpose(0, 3, 1, 2), W.transpose(0, 3, 1, 2), 1, 1, 1, 1).transpose(0, 2, 3, 1)"
    return named("int8_nhwc_zero_point", function("convolution", [x, w], [out], body, torch=forms, numpy=numpy))


def w4a16(rows, columns, depth):
    """Weights of 4 bits, two to a byte, with a scale for every 32 of them along K."""
    a, out = Tensor("A", "float16", (Dim(rows), Dim(depth))), Tensor("C", "float16", (Dim(rows), Dim(columns)))
    q, s = Tensor("Q", "uint8", (Dim(columns), Dim(depth // 2))), Tensor("S", "float16", (Dim(columns), Dim(depth // 32)), "unit")
    body = (alloc("W", "float32", columns, depth)
            + block("dequantize", spatial(j=columns, k=depth),
                    "let byte = int32(Q[vj, vk // 2])\n      let four = select(vk % 2 == 0, bit_and(byte, 15), shift_right(byte, 4))\n      "
                    "W[vj, vk] = float32(four - 8) * float32(S[vj, vk // 32])")
            + alloc("total", "float32", rows, columns)
            + block("matmul", spatial(i=rows, j=columns) | reduce(k=depth), "total[vi, vj] = total[vi, vj] + float32(A[vi, vk]) * W[vj, vk]", "total[vi, vj] = 0")
            + block("store", spatial(i=rows, j=columns), "C[vi, vj] = float16(total[vi, vj])"))
    weights = (f"(torch.stack([Q.bitwise_and(15), Q.bitwise_right_shift(4)], -1).reshape({columns}, {depth}).to({{t}}) - 8).mul("
               f"S.to({{t}}).repeat_interleave(32, 1))")
    torch = [f"A.to({kind}) @ ({weights.format(t=kind)}).mT" for kind in ("torch.float32", "A.dtype")]
    return named("w4a16_16_rows", function("matmul", [a, q, s], [out], body, torch=torch, numpy="w4a16(A, Q, S)"))


def host_table():
    return [
        argmin_0(2048, 1024),
        transposed_convolution(64, 32, 32),
        complex_matmul(256),
        triangular_solve(64, 128),
        levenshtein(64, 128),
        quantized_convolution(64, 56),
        w4a16(16, 2048, 2048),
        named("grouped_query_decode", attention_of("float32", 4, 32, 8, 1, 1024, 128, False)),
    ]
