# SPDX-License-Identifier: Apache-2.0
"""Families of products: matmul, convolution, transposed convolution, attention."""
import math

import chains
from workload import Dim, Tensor, alloc, block, function, load, reduce, spatial, store, wide


def epilogue(draw, chain, out_shape, features, pixels, dtype, view):
    """Up to three steps after a product: a bias of the features, an activation, another tensor. Gives the further inputs.
    `pixels`: the indices of the result; `view`: how a vector of the features is seen, for torch and numpy."""
    inputs = []
    if draw.chance(0.5):
        bias = Tensor("bias", dtype, (out_shape[features],))
        inputs.append(bias)
        chain.then("add", (load(bias, pixels[features]), view, view))
    if draw.chance(0.5):
        chain.then(draw.choice(*chains.ACTIVATIONS))
    if draw.chance(0.25):
        other = Tensor("other", dtype, out_shape)
        inputs.append(other)
        chain.then("add", (load(other, *pixels), "other", "other"))
    return inputs


def finish(draw, out, place, axes, name, sum_axes, term, torch, numpy, features, view, chained):
    """The product and what follows it: directly into the result where nothing does. Gives body, further inputs, torch, numpy, note."""
    held = wide(out.dtype) if out.dtype != "int8" else "int32"
    chain = chains.Chain(f"total[{', '.join(place)}]", torch, numpy)
    further = epilogue(draw, chain, out.shape, features, place, out.dtype, view) if chained else []
    direct = not chain.names and held == out.dtype
    cell = f"{out.name if direct else 'total'}[{', '.join(place)}]"
    body = block(name, axes | sum_axes, term(cell), f"{cell} = 0")
    if not direct:
        body = alloc("total", held, *out.shape) + body + block("store", axes, chain.body(store(out, chain.value, *place)))
    return body, further, chain.torch, chain.numpy, "".join(f"+{name}" for name in chain.names)


def tolerance(dtype, steps, note):
    """Of a product whose results are sums of so many terms of about 1. Their rounding errors grow with the terms, and what an epilogue bounds by 1 hides how
    large the sums are: float32 products of torch itself are off by 2.4e-4 behind tanh, of 2844 terms, beside float64."""
    allowed = {"float32": 1e-4, "float16": 4e-3, "bfloat16": 3e-2, "int8": 0}[dtype]
    bounded = any(f"+{name}" in note for name in ("tanh", "sigmoid"))
    return max(allowed, steps * 2**-22) if bounded else allowed


def matmul_sizes(draw):
    """M, N, K and the batch: each of 1 to 8192, or a vector, or a skinny one."""
    if draw.tiny:
        return draw.size(1, 7), draw.size(1, 9), draw.size(1, 11), draw.choice(0, 2)
    shape = draw.weighted({"any": 55, "vector": 15, "skinny": 15, "square": 15})
    batch = draw.weighted({0: 60, 1: 40}) and draw.size(2, 64)
    limit = draw.flops / 2 / max(batch, 1)
    while True:
        m, n, k = (draw.size(1, 8192) for _ in range(3))
        if shape == "vector":
            m, n, k = draw.choice((1, n, k), (m, 1, k))
        elif shape == "skinny":
            m = draw.size(2, 32)
        elif shape == "square":
            m = n = k = draw.size(32, 4096)
        if limit / 1e4 <= m * n * k <= limit and max(m * n, m * k, n * k) * max(batch, 1) <= 2 * draw.elements:
            return m, n, k, batch


def matmul(draw):
    m, n, k, batch = matmul_sizes(draw)
    dtype = draw.weighted({"float32": 45, "float16": 25, "bfloat16": 20, "int8": 10})
    turned_a, turned_b = draw.weighted({(0, 0): 45, (0, 1): 35, (1, 0): 10, (1, 1): 10})
    b = (draw.row(batch),) if batch else ()
    m, n, k = draw.row(m), draw.inner(n), draw.inner(k)
    shared = bool(batch) and draw.chance(0.25)  # one B for all
    lead = ["vb"] if batch else []
    first = Tensor("A", dtype, (*b, k, m) if turned_a else (*b, m, k))
    second = Tensor("B", dtype, (*(() if shared else b), *((n, k) if turned_b else (k, n))))
    out = Tensor("C", "int32" if dtype == "int8" else dtype, (*b, m, n))
    left = load(first, *lead, *(("vl", "vi") if turned_a else ("vi", "vl")))
    right = load(second, *([] if shared else lead), *(("vj", "vl") if turned_b else ("vl", "vj")))
    views = ["A.mT" if turned_a else "A", "B.mT" if turned_b else "B"]
    turned = [view.replace(".mT", ".swapaxes(-1, -2)") for view in views]
    product, numpy = f"{views[0]} @ {views[1]}", f"{turned[0]} @ {turned[1]}"
    torch = [product]
    if dtype == "int8":
        # Exact: float64 for the reference, the product of int8 where torch has it.
        product, numpy = f"({views[0]}.double() @ {views[1]}.double()).int()", f"({turned[0]}.astype('float64') @ {turned[1]}.astype('float64')).astype('int32')"
        torch = [product, f"({views[0]}.float() @ {views[1]}.float()).int()"] + ([] if batch else [f"torch._int_mm({views[0]}, {views[1]})"])
    axes = (spatial(b=b[0]) if batch else {}) | spatial(i=m, j=n)
    body, further, product, numpy, note = finish(draw, out, [*lead, "vi", "vj"], axes, "matmul", reduce(l=k), lambda cell: f"{cell} = {cell} + {left} * {right}",
                                                 product, numpy, len(b) + 1, "bias", dtype != "int8" and draw.chance(0.5))
    if note:
        torch = [product]
        if "+add" in note and not batch and "bias" in [tensor.name for tensor in further] and note.startswith("+add"):
            inner = f"torch.addmm(bias, {views[0]}, {views[1]})"
            torch.append(product.replace(f"({views[0]} @ {views[1]}) + bias", inner))
    way = f"{'t' if turned_a else 'n'}{'t' if turned_b else 'n'}"
    size = f"{batch}x" * bool(batch) + f"{int(m)}x{int(n)}x{int(k)}"
    return function("matmul", [first, second, *further], [out], body, torch=torch, numpy=numpy, numpy_is_peer=dtype == "float32",
                    tolerance=tolerance(dtype, int(k), note), note=f"{dtype} {size} {way}{note}")


def convolution_sizes(draw):
    """Dimensions, batch, groups, channels of a group, input extents, kernel, stride, dilation and padding, each of all dimensions."""
    dims = draw.weighted({1: 20, 2: 65, 3: 15})
    while True:
        groups = draw.weighted({"one": 65, "depthwise": 20, "some": 15})
        batch = draw.size(1, 8)
        kernel = draw.choice(*{1: (1, 3, 5, 9), 2: (1, 3, 3, 3, 5, 7), 3: (1, 3, 3)}[dims])
        stride, dilation = draw.weighted({1: 60, 2: 30, 3: 10}), draw.weighted({1: 80, 2: 15, 3: 5}) if kernel > 1 else 1
        pad = draw.choice(0, kernel // 2 * dilation, kernel // 2 * dilation)
        inputs, outputs = draw.size(1, 512 if not draw.tiny else 4), draw.size(1, 512 if not draw.tiny else 5)
        if groups == "depthwise":
            groups, inputs, outputs = inputs, 1, draw.choice(1, 1, 2)
        elif groups == "some":
            groups = draw.choice(2, 4, 8)
            inputs, outputs = max(1, inputs // groups), max(1, outputs // groups)
        else:
            groups = 1
        reach = (kernel - 1) * dilation + 1
        most = {1: 8192, 2: 128, 3: 32}[dims] if not draw.tiny else 7
        extents = [draw.size(max(reach, 4), max(reach, most)) for _ in range(dims)]
        results = [(extent + 2 * pad - reach) // stride + 1 for extent in extents]
        points = math.prod(results)
        flops = 2 * batch * groups * outputs * points * inputs * kernel**dims
        if draw.tiny or draw.flops / 1e4 <= flops <= draw.flops and batch * groups * max(inputs * math.prod(extents), outputs * points) <= draw.elements:
            return dims, batch, groups, inputs, outputs, extents, results, kernel, stride, dilation, pad


def convolution(draw):
    dims, batch, groups, inputs, outputs, extents, results, kernel, stride, dilation, pad = convolution_sizes(draw)
    dtype = draw.weighted({"float32": 55, "float16": 25, "bfloat16": 10, "int8": 10})
    layout = draw.weighted({"first": 65, "last": 25, "last_hwio": 10})
    last = layout != "first"
    batch = draw.row(batch)
    names, window = [f"y{number}" for number in range(dims)], [f"d{number}" for number in range(dims)]
    places = [f"v{name}" + (f" * {stride}" if stride > 1 else "") + (f" + v{d}" + (f" * {dilation}" if dilation > 1 else "") if kernel > 1 else "")
              + (f" - {pad}" if pad else "") for name, d in zip(names, window)]
    shape_x, shape_y = (((batch, *image, channels) if last else (batch, channels, *image)) for image, channels in
                        ((extents, groups * inputs), (results, groups * outputs)))
    x, out = Tensor("X", dtype, tuple(map(_dim, shape_x))), Tensor("Y", "int32" if dtype == "int8" else dtype, tuple(map(_dim, shape_y)))
    shapes_w = {"first": (groups * outputs, inputs, *[kernel] * dims), "last": (groups * outputs, *[kernel] * dims, inputs),
                "last_hwio": (*[kernel] * dims, inputs, groups * outputs)}
    w = Tensor("W", dtype, tuple(map(_dim, shapes_w[layout])))
    channel = "vc" if groups == 1 else ("vo" if outputs == 1 else f"vo // {outputs}") + (f" * {inputs} + vc" if inputs > 1 else "")
    rows = [f"row{number}" for number in range(dims)] if pad else places
    lets = "".join(f"let {row} = {place}\n      " for row, place in zip(rows, places)) if pad else ""
    element = load(x, "vb", *([*rows, channel] if last else [channel, *rows]))
    if pad:
        inside = " && ".join(f"{row} >= 0 && {row} < {extent}" for row, extent in zip(rows, extents))
        element = f"select({inside}, {element}, 0)"
    at = [f"v{d}" if kernel > 1 else "0" for d in window]
    vc = "vc" if inputs > 1 else "0"
    if inputs == 1 and groups == 1:
        element = element.replace("vc", "0")
    weight = load(w, *{"first": ("vo", vc, *at), "last": ("vo", *at, vc), "last_hwio": (*at, vc, "vo")}[layout])
    image = spatial(**dict(zip(names, results)))
    axes = spatial(b=batch) | (image | spatial(o=groups * outputs) if last else spatial(o=groups * outputs) | image)
    sums = reduce(**({"c": inputs} if inputs > 1 else {}), **({d: kernel for d in window} if kernel > 1 else {}))
    if not sums:  # of a single term
        sums, weight = reduce(c=1), weight.replace("0", "vc", 1)
    place = ["vb", *(f"v{name}" for name in names), "vo"] if last else ["vb", "vo", *(f"v{name}" for name in names)]
    turn = (0, dims + 1, *range(1, dims + 1))
    back = (0, *range(2, dims + 2), 1)
    views = {"first": ("X", "W"), "last": (f"X.permute{turn}", f"W.permute{turn}"), "last_hwio": (f"X.permute{turn}", f"W.permute{(dims + 1, dims, *range(dims))}")}
    vx, vw = views[layout]
    turned = f".permute{back}" if last else ""
    call = "F.conv{}d({}, {}, None, {}, {}, {}, {})" + turned
    torch = call.format(dims, vx, vw, stride, pad, dilation, groups)
    others = []
    if dtype == "int8":
        torch = call.format(dims, vx + ".double()", vw + ".double()", stride, pad, dilation, groups) + ".int()"
        others = [call.format(dims, vx + ".float()", vw + ".float()", stride, pad, dilation, groups) + ".int()"]
    numpy = f"conv({vx.replace('permute', 'transpose(')}, {vw.replace('permute', 'transpose(')}, {stride}, {pad}, {dilation}, {groups})"
    numpy = numpy.replace("((", "(").replace("))", ")") + (f".transpose{back}" if last else "")
    view = "bias" if last else f"bias[{', '.join([':'] + ['None'] * dims)}]"
    body, further, torch, numpy, note = finish(draw, out, place, axes, "conv", sums, lambda cell: f"{lets}{cell} = {cell} + {element} * {weight}", torch, numpy,
                                               dims + 1 if last else 1, view, dtype != "int8" and draw.chance(0.5))
    size = f"{int(batch)}x{groups * inputs}->{groups * outputs} {'x'.join(map(str, extents))} k{kernel} s{stride} d{dilation} p{pad} g{groups}"
    return function("convolution", [x, w, *further], [out], body, torch=[torch, *others], numpy=numpy,
                    tolerance=tolerance(dtype, inputs * kernel**dims, note), note=f"{dtype} {layout} {size}{note}")


def _dim(extent):
    return extent if isinstance(extent, Dim) else Dim(extent)


def transposed_convolution(draw):
    dims = draw.weighted({1: 25, 2: 75})
    stride, kernel = draw.choice(1, 2, 2, 3), draw.choice(2, 3, 4)
    pad = draw.choice(0, 1)
    while True:
        batch, inputs, outputs = draw.size(1, 4), draw.size(1, 256 if not draw.tiny else 3), draw.size(1, 256 if not draw.tiny else 4)
        extents = [draw.size(4, ({1: 1024, 2: 64}[dims]) if not draw.tiny else 5) for _ in range(dims)]
        flops = 2 * batch * inputs * outputs * math.prod(extents) * kernel**dims
        if draw.tiny or draw.flops / 1e4 <= flops <= draw.flops / 2:
            break
    dtype = draw.weighted({"float32": 75, "float16": 25})
    batch = draw.row(batch)
    results = [(extent - 1) * stride - 2 * pad + kernel for extent in extents]
    x, w = Tensor("X", dtype, tuple(map(_dim, (batch, inputs, *extents)))), Tensor("W", dtype, tuple(map(_dim, (inputs, outputs, *[kernel] * dims))))
    out = Tensor("Y", dtype, tuple(map(_dim, (batch, outputs, *results))))
    lets, tests, rows = [], [], []
    for number, extent in enumerate(extents):
        lets.append(f"let t{number} = vy{number} + {pad} - vd{number}")
        tests.append((f"t{number} % {stride} == 0 && " if stride > 1 else "") + f"t{number} >= 0 && t{number} < {extent * stride}")
        rows.append(f"t{number} // {stride}" if stride > 1 else f"t{number}")
    element = f"select({' && '.join(tests)}, {load(x, 'vb', 'vc', *rows)}, 0)"
    weight = load(w, "vc", "vo", *(f"vd{number}" for number in range(dims)))
    axes = spatial(b=batch, o=outputs) | spatial(**{f"y{number}": extent for number, extent in enumerate(results)})
    place = ["vb", "vo", *(f"vy{number}" for number in range(dims))]
    head = "\n      ".join(lets) + "\n      "
    body, further, torch, numpy, note = finish(draw, out, place, axes, "conv", reduce(c=inputs, **{f"d{number}": kernel for number in range(dims)}),
                                               lambda cell: f"{head}{cell} = {cell} + {element} * {weight}", f"F.conv_transpose{dims}d(X, W, None, {stride}, {pad})",
                                               f"conv_transpose(X, W, {stride}, {pad})", 1, f"bias[{', '.join([':'] + ['None'] * dims)}]", draw.chance(0.3))
    size = f"{int(batch)}x{inputs}->{outputs} {'x'.join(map(str, extents))} k{kernel} s{stride} p{pad}"
    return function("transposed_convolution", [x, w, *further], [out], body, torch=torch, numpy=numpy, note=f"{dtype} {size}{note}")


def attention_of(dtype, b, h, groups, n, m, d, causal):
    """softmax(Q * K^T / sqrt(d)) * V; `groups` query heads share a head of keys."""
    b, h, n, m, d = map(_dim, (b, h, n, m, d))
    q, out = Tensor("Q", dtype, (b, h, n, d)), Tensor("O", dtype, (b, h, n, d))
    k, v = (Tensor(name, dtype, (b, Dim(h // groups), m, d)) for name in "KV")
    head = "vh" if groups == 1 else f"vh // {groups}"
    scores, rows = spatial(b=b, h=h, i=n, j=m), spatial(b=b, h=h, i=n) | reduce(j=m)
    score = "score[vb, vh, vi, vj]"
    masked = f"select(vj <= vi, {score}, -inf)" if causal else score
    scale = 1 / math.sqrt(d)
    power = f"exp(({masked} - largest[vb, vh, vi]) * {scale!r})"
    # As models of the type have it between softmax and product.
    weights = Tensor("power", dtype, (b, h, n, m))
    weight = load(weights, "vb", "vh", "vi", "vj")
    body = (
        alloc("score", "float32", b, h, n, m)
        + block("score", scores | reduce(l=d), f"{score} = {score} + {load(q, 'vb', 'vh', 'vi', 'vl')} * {load(k, 'vb', head, 'vj', 'vl')}", f"{score} = 0")
        + alloc("largest", "float32", b, h, n)
        + block("largest", rows, f"largest[vb, vh, vi] = max(largest[vb, vh, vi], {masked})", "largest[vb, vh, vi] = -inf")
        + alloc("power", dtype, b, h, n, m) + block("power", scores, store(weights, power, "vb", "vh", "vi", "vj"))
        + alloc("total", "float32", b, h, n)
        + block("total", rows, f"total[vb, vh, vi] = total[vb, vh, vi] + {weight}", "total[vb, vh, vi] = 0")
        + alloc("sum", "float32", b, h, n, d)
        + block("sum", spatial(b=b, h=h, i=n, d=d) | reduce(j=m),
                f"sum[vb, vh, vi, vd] = sum[vb, vh, vi, vd] + {weight} * {load(v, 'vb', head, 'vj', 'vd')}", "sum[vb, vh, vi, vd] = 0")
        + block("divide", spatial(b=b, h=h, i=n, d=d), store(out, "sum[vb, vh, vi, vd] / total[vb, vh, vi]", "vb", "vh", "vi", "vd")))
    flags = (", is_causal=True" if causal else "") + (", enable_gqa=True" if groups > 1 else "")
    note = f"{dtype} {int(b)}x{int(h)}/{groups} {int(n)}x{int(m)} d{int(d)}{' causal' if causal else ''}"
    return function("attention", [q, k, v], [out], body, torch=f"F.scaled_dot_product_attention(Q, K, V{flags})", numpy=f"attention(Q, K, V, {groups}, {causal})",
                    tolerance={"float32": 2e-4, "float16": 4e-3, "bfloat16": 3e-2}[dtype], note=note)


def attention(draw):
    dtype, groups = draw.weighted({"float32": 40, "float16": 35, "bfloat16": 25}), draw.weighted({1: 70, 4: 20, 8: 10})
    way = draw.weighted({"self": 40, "causal": 30, "cross": 15, "decode": 15})
    while True:
        b, h, d = draw.size(1, 8), draw.size(1, 16) * groups, draw.choice(16, 32, 40, 64, 64, 72, 80, 96, 128, 128, 256)
        n, m = draw.size(16, 2048), draw.size(16, 4096)
        if draw.tiny:
            b, h, d, n, m = 2, 2 * groups, 8, 3, 5
        if way in ("self", "causal"):
            m = n
        elif way == "decode":
            n = 1
        flops = 4 * b * h * n * m * d
        if draw.tiny or draw.flops / 1e4 <= flops <= draw.flops and b * h * n * m <= 2 * draw.elements:
            break
    b, rows = draw.row(b), draw.row(n)
    columns = rows if way in ("self", "causal") else draw.row(m)
    return attention_of(dtype, b, h, groups, rows, columns, d, way == "causal")
