# SPDX-License-Identifier: Apache-2.0
"""Families that move memory: elementwise, injective, reductions, normalizations, scans, gathers, pooling, resize."""
import chains
from workload import Tensor, alloc, block, function, load, reduce, spatial, store, wide


def axes_of(shape, kind=spatial):
    return kind(**{f"i{number}": extent for number, extent in enumerate(shape)})


def indices(shape):
    return [f"vi{number}" for number in range(len(shape))]


def elementwise(draw):
    dtype, shape = draw.dtype(), draw.shape(draw.choice(1, 1, 2, 3, 4), draw.volume())
    inputs = [Tensor(name, dtype, shape) for name in "ABC"[: draw.choice(1, 2, 2, 3)]]
    at, out = indices(shape), Tensor("Y", dtype, shape)
    chain = chains.Chain(load(inputs[0], *at), "A", "A")
    for tensor in inputs[1:]:
        chain.then(draw.choice(*chains.BINARY), (load(tensor, *at), tensor.name, tensor.name))
    for _ in range(draw.choice(0, 1, 1, 2) if inputs[1:] else draw.choice(1, 1, 2)):
        chain.then(draw.choice(*chains.UNARY))
    body = block("compute", axes_of(shape), chain.body(store(out, chain.value, *at)))
    return function("elementwise", inputs, [out], body, torch=chain.torch, numpy=chain.numpy, numpy_is_peer=True, note="+".join(chain.names))


def broadcast(draw):
    """An operand that has some of the axes alone: a bias of rows, columns or channels, an outer product."""
    dtype, shape = draw.dtype(), draw.shape(draw.choice(2, 2, 3, 4), draw.volume())
    rank = len(shape)
    kept = sorted(draw.random.sample(range(rank), draw.random.randrange(1, rank)))
    small = Tensor("B", dtype, tuple(shape[axis] for axis in kept))
    full = tuple(range(rank))
    if draw.chance(0.2):  # neither has them all
        full = tuple(axis for axis in range(rank) if axis not in kept or draw.chance(0.3))
    x, out = Tensor("A", dtype, tuple(shape[axis] for axis in full)), Tensor("Y", dtype, shape)

    def view(tensor, axes):
        place = [":" if axis in axes else "None" for axis in range(rank)]
        return tensor.name if "None" not in place else f"{tensor.name}[{', '.join(place)}]"

    chain = chains.Chain(load(x, *(f"vi{axis}" for axis in full)), view(x, full), view(x, full))
    chain.then(draw.choice(*chains.BINARY), (load(small, *(f"vi{axis}" for axis in kept)), view(small, kept), view(small, kept)))
    if draw.chance(0.5):
        chain.then(draw.choice(*chains.ACTIVATIONS))
    body = block("compute", axes_of(shape), chain.body(store(out, chain.value, *indices(shape))))
    note = f"{'+'.join(chain.names)}, B has axes {kept}"
    return function("broadcast", [x, small], [out], body, torch=chain.torch, numpy=chain.numpy, numpy_is_peer=True, note=note)


def transpose(draw, dtype):
    shape = draw.shape(draw.choice(2, 2, 3, 4, 5), draw.volume())
    order = list(range(len(shape)))
    while order == sorted(order):
        draw.random.shuffle(order)
    x, out = Tensor("X", dtype, shape), Tensor("Y", dtype, tuple(shape[axis] for axis in order))
    at = [f"vi{order.index(axis)}" for axis in range(len(shape))]
    body = block("transpose", axes_of(out.shape), f"Y[{', '.join(indices(shape))}] = X[{', '.join(at)}]")
    return function("injective", [x], [out], body, torch=f"X.permute{tuple(order)}.clone(memory_format=torch.contiguous_format)", numpy=f"X.transpose{tuple(order)}.copy()",
                    numpy_is_peer=True, note=f"transpose {order}")


def concat(draw, dtype):
    rank = draw.choice(1, 2, 3)
    shape, axis = list(draw.shape(rank, draw.volume())), draw.random.randrange(rank)
    first = draw.static(max(1, int(shape[axis]))) if axis else shape[0]
    second = draw.static(draw.size(1, 2 * int(first))) if axis else draw.row(draw.size(1, 2 * int(first)))
    left, right = (Tensor(name, dtype, tuple(extent if number == axis else other for number, other in enumerate(shape)))
                   for name, extent in (("A", first), ("B", second)))
    total = f"{first} + {second}" if first.name else str(int(first) + int(second))
    out = Tensor("Y", dtype, tuple(draw.static(int(first) + int(second)) if number == axis else other for number, other in enumerate(shape)))
    # Its extent as the program writes it.
    out.shape = tuple(type(first)(int(extent), total if number == axis else extent.name) for number, extent in enumerate(out.shape))
    at = indices(shape)
    shifted = [f"{index} - {first}" if number == axis else index for number, index in enumerate(at)]
    body = block("concat", axes_of(out.shape), f"Y[{', '.join(at)}] = select({at[axis]} < {first}, A[{', '.join(at)}], B[{', '.join(shifted)}])")
    return function("injective", [left, right], [out], body, torch=f"torch.cat([A, B], {axis})", numpy=f"np.concatenate([A, B], {axis})",
                    numpy_is_peer=True, note=f"concat along {axis}")


def cut(draw, dtype):
    """Every second or third element of an axis, from a start on; or the axis reversed."""
    rank = draw.choice(1, 2, 3)
    shape, axis = list(draw.shape(rank, draw.volume())), draw.random.randrange(rank)
    extent = draw.static(max(8, int(shape[axis])))
    shape[axis] = extent
    x = Tensor("X", dtype, tuple(shape))
    at = indices(shape)
    if draw.chance(0.3):
        place, length, torch = f"{int(extent) - 1} - {at[axis]}", int(extent), f"torch.flip(X, [{axis}])"
        numpy, note = f"np.flip(X, {axis}).copy()", f"flip of {axis}"
    else:
        step, start = draw.choice(1, 2, 3), draw.choice(0, 1, 5)
        length = (int(extent) - start + step - 1) // step
        place = f"{at[axis]} * {step} + {start}"
        where = ", ".join(f"{start}::{step}" if number == axis else ":" for number in range(rank))
        torch, numpy, note = f"X[{where}].clone(memory_format=torch.contiguous_format)", f"X[{where}].copy()", f"slice of {axis}, step {step}"
    out = Tensor("Y", dtype, tuple(draw.static(length) if number == axis else other for number, other in enumerate(shape)))
    read = ", ".join(place if number == axis else index for number, index in enumerate(at))
    body = block("cut", axes_of(out.shape), f"Y[{', '.join(at)}] = X[{read}]")
    return function("injective", [x], [out], body, torch=torch, numpy=numpy, numpy_is_peer=True, note=note)


def regroup(draw, dtype):
    """A reshape between two transposes, as depth to space has it."""
    factor, channels = draw.choice(2, 3, 4), draw.size(1, 32)
    rows = draw.volume() / (factor * factor * channels)
    n, height, width = draw.row(draw.size(1, 8)), None, None
    height, width = (draw.static(draw.size(2, max(2, (rows / int(n)) ** 0.5))) for _ in range(2))
    x = Tensor("X", dtype, (n, draw.static(channels * factor * factor), height, width))
    out = Tensor("Y", dtype, (n, draw.static(channels), draw.static(height * factor), draw.static(width * factor)))
    channel = f"vi1 * {factor * factor} + vi2 % {factor} * {factor} + vi3 % {factor}"
    body = block("shuffle", axes_of(out.shape), f"Y[vi0, vi1, vi2, vi3] = X[vi0, {channel}, vi2 // {factor}, vi3 // {factor}]")
    numpy = (f"X.reshape(-1, {channels}, {factor}, {factor}, {int(height)}, {int(width)}).transpose(0, 1, 4, 2, 5, 3).copy()"
             f".reshape(-1, {channels}, {height * factor}, {width * factor})")
    return function("injective", [x], [out], body, torch=f"F.pixel_shuffle(X, {factor})", numpy=numpy, numpy_is_peer=True, note=f"pixel shuffle {factor}")


def injective(draw):
    return draw.choice(transpose, transpose, concat, cut, regroup)(draw, draw.weighted({"float32": 50, "float16": 30, "int8": 10, "int32": 10}))


# Name -> how a sum is updated, what it starts from, torch, numpy.
REDUCTIONS = {
    "sum": ("{s} + {x}", "0", "torch.sum(X, {dims})", "np.sum(X, axis={dims})"),
    "max": ("max({s}, {x})", "-inf", "torch.amax(X, {dims})", "np.max(X, axis={dims})"),
    "min": ("min({s}, {x})", "inf", "torch.amin(X, {dims})", "np.min(X, axis={dims})"),
    "mean": ("{s} + {x}", "0", "torch.mean(X, {dims})", "np.mean(X, axis={dims})"),
    "norm": ("{s} + {x} * {x}", "0", "torch.linalg.vector_norm(X, dim={dims})", "np.sqrt(np.sum(X * X, axis={dims}))"),
}


def index_of(draw, shape, axis):
    """argmax or argmin: a reduction with two results."""
    sign, limit, name = draw.choice((">", "-inf", "argmax"), ("<", "inf", "argmin"))
    kept = [number for number in range(len(shape)) if number != axis]
    x, out = Tensor("X", "float32", shape), Tensor("Y", "int64", tuple(shape[number] for number in kept) or (draw.static(1),))
    place = ", ".join(f"vi{number}" for number in kept) or "0"
    value = load(x, *indices(shape))
    axes = spatial(**{f"i{number}": shape[number] for number in kept}) | reduce(**{f"i{axis}": shape[axis]})
    update = f"if {value} {sign} best[{place}] {{\n        best[{place}] = {value}\n        Y[{place}] = vi{axis}\n      }}"
    body = alloc("best", "float32", *out.shape) + block(name, axes, update, f"best[{place}] = {limit}\n        Y[{place}] = 0")
    form = "{}" if kept else "{}.reshape(1)"
    return function("reduction", [x], [out], body, torch=form.format(f"torch.{name}(X, {axis})"), numpy=form.format(f"np.{name}(X, axis={axis})"),
                    numpy_is_peer=True, note=f"{name} along {axis}")


def reduction(draw):
    shape = draw.shape(draw.choice(1, 2, 2, 3, 4), draw.volume())
    rank = len(shape)
    if draw.chance(0.2):
        return index_of(draw, shape, draw.random.randrange(rank))
    name, dtype = draw.choice(*REDUCTIONS), draw.dtype()
    reduced = sorted(draw.random.sample(range(rank), draw.random.randrange(1, rank + 1)))
    kept = [axis for axis in range(rank) if axis not in reduced]
    update, start, torch, numpy = REDUCTIONS[name]
    x, out = Tensor("X", dtype, shape), Tensor("Y", dtype, tuple(shape[axis] for axis in kept) or (draw.static(1),))
    place = [f"vi{axis}" for axis in kept] or ["0"]
    last = {"mean": "{s} / " + "({})".format(" * ".join(f"float32({shape[axis]})" for axis in reduced)), "norm": "sqrt({s})"}.get(name, "{s}")
    direct = last == "{s}" and wide(dtype) == dtype
    total = Tensor("Y" if direct else "total", wide(dtype), out.shape)
    cell = load(total, *place)
    axes = spatial(**{f"i{axis}": shape[axis] for axis in kept}) | reduce(**{f"i{axis}": shape[axis] for axis in reduced})
    body = block(name, axes, f"{cell} = {update.format(s=cell, x=load(x, *indices(shape)))}", f"{cell} = {start}")
    if not direct:
        body = alloc("total", total.dtype, *out.shape) + body
        body += block("last", spatial(**{f"i{axis}": shape[axis] for axis in kept} or {"i": 1}), store(out, last.format(s=cell), *place))
    dims = tuple(reduced)
    finish = "" if kept else ".reshape(1)"
    return function("reduction", [x], [out], body, torch=torch.format(dims=dims) + finish, numpy=numpy.format(dims=dims) + finish, numpy_is_peer=True,
                    note=f"{name} over {reduced}")


def softmax(draw, dtype):
    shape = draw.shape(draw.choice(2, 2, 3, 4), draw.volume())
    axis = draw.choice(len(shape) - 1, len(shape) - 1, draw.random.randrange(len(shape)))
    logarithm = draw.chance(0.25)
    x, out = Tensor("X", dtype, shape), Tensor("Y", dtype, shape)
    kept = [number for number in range(len(shape)) if number != axis]
    rows = tuple(shape[number] for number in kept)
    place = ", ".join(f"vi{number}" for number in kept)
    value = load(x, *indices(shape))
    along = spatial(**{f"i{number}": shape[number] for number in kept}) | reduce(**{f"i{axis}": shape[axis]})
    power = f"exp({value} - largest[{place}])"
    result = f"{value} - largest[{place}] - log(total[{place}])" if logarithm else f"{power} / total[{place}]"
    body = (alloc("largest", "float32", *rows) + block("largest", along, f"largest[{place}] = max(largest[{place}], {value})", f"largest[{place}] = -inf")
            + alloc("total", "float32", *rows) + block("total", along, f"total[{place}] = total[{place}] + {power}", f"total[{place}] = 0")
            + block("divide", axes_of(shape), store(out, result, *indices(shape))))
    name = "log_softmax" if logarithm else "softmax"
    return function("normalization", [x], [out], body, torch=f"F.{name}(X, dim={axis})", numpy=f"{name}(X, {axis})", note=f"{name} along {axis}")


def layer_norm(draw, dtype):
    """Of rows, or by the root of the mean of squares alone."""
    n, m = draw.shape(2, draw.volume(), smallest=2)
    root = draw.chance(0.5)
    x, out = Tensor("X", dtype, (n, m)), Tensor("Y", dtype, (n, m))
    scale, shift = Tensor("scale", dtype, (m,)), Tensor("shift", dtype, (m,))
    along = spatial(i=n) | reduce(j=m)
    value = load(x, "vi", "vj")
    body = ""
    if not root:
        body += alloc("sum", "float32", n) + block("sum", along, f"sum[vi] = sum[vi] + {value}", "sum[vi] = 0")
    centred = value if root else f"({value} - sum[vi] / {m.real})"
    body += alloc("squares", "float32", n) + block("squares", along, f"let d = {centred}\n      squares[vi] = squares[vi] + d * d", "squares[vi] = 0")
    last = f"{centred} * rsqrt(squares[vi] / {m.real} + 0.00001) * {load(scale, 'vj')}" + ("" if root else f" + {load(shift, 'vj')}")
    body += block("normalize", spatial(i=n, j=m), store(out, last, "vi", "vj"))
    if root:
        return function("normalization", [x, scale], [out], body, torch=f"F.rms_norm(X, ({int(m)},), scale, 1e-5)", numpy="rms_norm(X, scale)", note="rmsnorm")
    return function("normalization", [x, scale, shift], [out], body, torch=f"F.layer_norm(X, ({int(m)},), scale, shift, 1e-5)",
                    numpy="layer_norm(X, scale, shift)", note="layernorm")


def batch_norm(draw, dtype):
    shape = draw.shape(4, draw.volume())
    last = draw.chance(0.3)
    c = 3 if last else 1
    x, out = Tensor("X", dtype, shape), Tensor("Y", dtype, shape)
    params = [Tensor(name, dtype, (shape[c],), "unit") for name in ("mean", "variance", "scale", "shift")]
    mean, variance, scale, shift = (load(tensor, f"vi{c}") for tensor in params)
    result = f"({load(x, *indices(shape))} - {mean}) * rsqrt({variance} + 0.00001) * {scale} + {shift}"
    body = block("normalize", axes_of(shape), store(out, result, *indices(shape)))
    view = "X.permute(0, 3, 1, 2)" if last else "X"
    torch = f"F.batch_norm({view}, mean, variance, scale, shift, eps=1e-5)" + (".permute(0, 2, 3, 1)" if last else "")
    numpy = "batch_norm(X, mean, variance, scale, shift, {})".format(c)
    return function("normalization", [x, *params], [out], body, torch=torch, numpy=numpy, note=f"batchnorm {'NHWC' if last else 'NCHW'}")


def group_norm(draw, dtype):
    """Of groups of channels of an image; one channel each is an instance norm."""
    n, pixels = draw.row(draw.size(1, 16)), draw.static(draw.size(4, 4096) if not draw.tiny else 6)
    groups, each = draw.size(1, 32), draw.choice(1, 1, 2, 4, 8)
    while int(n) * pixels * groups * each > draw.elements and groups > 1:
        groups //= 2
    x, out = Tensor("X", dtype, (n, draw.static(groups * each), pixels)), Tensor("Y", dtype, (n, draw.static(groups * each), pixels))
    along = spatial(b=n, g=groups) | reduce(c=each, p=pixels)
    value, count = load(x, "vb", f"vg * {each} + vc", "vp"), each * pixels
    centred = f"({value} - sum[vb, vg] / {count})"
    own = centred.replace(f"vg * {each} + vc", "vc").replace("vg", f"vc // {each}")
    body = (alloc("sum", "float32", n, groups) + block("sum", along, f"sum[vb, vg] = sum[vb, vg] + {value}", "sum[vb, vg] = 0")
            + alloc("squares", "float32", n, groups)
            + block("squares", along, f"let d = {centred}\n      squares[vb, vg] = squares[vb, vg] + d * d", "squares[vb, vg] = 0")
            + block("normalize", spatial(b=n, c=groups * each, p=pixels),
                    store(out, f"{own} * rsqrt(squares[vb, vc // {each}] / {count} + 0.00001)", "vb", "vc", "vp")))
    return function("normalization", [x], [out], body, torch=f"F.group_norm(X, {groups})", numpy=f"group_norm(X, {groups})", note=f"groupnorm {groups}")


def normalization(draw):
    return draw.choice(softmax, softmax, layer_norm, layer_norm, batch_norm, group_norm)(draw, draw.dtype())


def scan(draw):
    shape = draw.shape(draw.choice(1, 2, 2, 3), draw.volume())
    axis = draw.random.randrange(len(shape))
    name, form = draw.choice(("cumsum", "{x} + select({v} > 0, {p}, 0)"), ("cumsum", "{x} + select({v} > 0, {p}, 0)"),
                             ("cummax", "max({x}, select({v} > 0, {p}, -inf))"))
    x, out = Tensor("X", "float32", shape), Tensor("Y", "float32", shape)
    at = indices(shape)
    before = ", ".join(f"{index} - 1" if number == axis else index for number, index in enumerate(at))
    axes = {f"i{number}": ("scan" if number == axis else "spatial", extent) for number, extent in enumerate(shape)}
    body = block(name, axes, store(out, form.format(x=load(x, *at), v=at[axis], p=f"Y[{before}]"), *at))
    torch = f"torch.{name}(X, {axis})" + (".values" if name == "cummax" else "")
    numpy = f"np.cumsum(X, axis={axis}, dtype=X.dtype)" if name == "cumsum" else f"np.maximum.accumulate(X, axis={axis})"
    return function("scan", [x], [out], body, torch=torch, numpy=numpy, numpy_is_peer=True, tolerance=1e-3, note=f"{name} along {axis}")


def gather(draw):
    dtype = draw.dtype()
    kind = draw.choice("rows", "rows", "along", "across", "scatter", "add")
    n, m = draw.shape(2, draw.volume())
    count = draw.static(draw.size(1, 2 * max(8, int(n))))
    if kind == "rows":
        index = Tensor("index", "int64", (n,), f"below:{int(count)}")
        x, out = Tensor("X", dtype, (count, m)), Tensor("Y", dtype, (n, m))
        body = block("gather", spatial(i=n, j=m), "Y[vi, vj] = X[index[vi], vj]")
        return function("gather", [x, index], [out], body, torch=["torch.index_select(X, 0, index)", "F.embedding(index, X)"], numpy="np.take(X, index, axis=0)",
                        numpy_is_peer=True, note="rows")
    if kind in ("along", "across"):
        axis = 1 if kind == "along" else 0
        shape = (n, count) if axis else (count, m)
        index = Tensor("index", "int64", (n, m), f"below:{int(count)}")
        x, out = Tensor("X", dtype, shape), Tensor("Y", dtype, (n, m))
        body = block("gather", spatial(i=n, j=m), "Y[vi, vj] = " + ("X[vi, index[vi, vj]]" if axis else "X[index[vi, vj], vj]"))
        return function("gather", [x, index], [out], body, torch=f"torch.gather(X, {axis}, index)", numpy=f"np.take_along_axis(X, index, {axis})",
                        numpy_is_peer=True, note=f"elements along {axis}")
    index = Tensor("index", "int64", (n,), f"below:{int(count)}" if kind == "add" else f"unique:{int(n)}")
    rows = count if kind == "add" else n
    x, out = Tensor("X", "float32", (n, m)), Tensor("Y", "float32", (rows, m))
    body = block("clear", spatial(i=rows, j=m), "Y[vi, vj] = 0") if kind == "add" else ""
    update = "Y[index[vi], vj] + X[vi, vj]" if kind == "add" else "X[vi, vj]"
    # Rows may meet: their order counts.
    body += block("scatter", {"i": ("scan", n), "j": ("spatial", m)}, f"Y[index[vi], vj] = {update}")
    torch = {"add": f"torch.zeros(({int(rows)}, {int(m)}), device=X.device, dtype=X.dtype).index_add_(0, index, X)",
             "scatter": "torch.empty_like(X).index_copy_(0, index, X)"}[kind]
    numpy = {"add": f"index_add({int(rows)}, index, X)", "scatter": "index_copy(index, X)"}[kind]
    return function("scatter", [x, index], [out], body, torch=torch, numpy=numpy, numpy_is_peer=True, note=f"{kind} of rows")


def pooling(draw):
    dtype, last = draw.dtype(), draw.chance(0.35)
    kernel, stride = draw.choice(2, 3, 3, 5), draw.choice(1, 2, 2, 3)
    pad = draw.choice(0, kernel // 2)
    n, c = draw.row(draw.size(1, 8)), draw.static(draw.size(1, 512 if not draw.tiny else 4))
    side = min(224.0, max(8.0, (draw.volume() / int(n) / c) ** 0.5))
    height, width = (draw.static(draw.size(7, side)) for _ in range(2))
    out_h, out_w = ((int(extent) + 2 * pad - kernel) // stride + 1 for extent in (height, width))
    largest = draw.chance(0.5)
    shape, result = ((n, height, width, c), (n, out_h, out_w, c)) if last else ((n, c, height, width), (n, c, out_h, out_w))
    x, out = Tensor("X", dtype, shape), Tensor("Y", dtype, tuple(map(lambda e: e if hasattr(e, "name") else draw.static(e), result)))
    element = load(x, *(("vb", "row", "column", "vc") if last else ("vb", "vc", "row", "column")))
    start = "-inf" if largest else "0"
    inside = f"row >= 0 && row < {height} && column >= 0 && column < {width}"
    value = f"select({inside}, {element}, {start})" if pad else element
    place = ["vb", "vy", "vx", "vc"] if last else ["vb", "vc", "vy", "vx"]
    extents = spatial(b=n, y=out_h, x=out_w, c=c) if last else spatial(b=n, c=c, y=out_h, x=out_w)
    lets = "".join(f"let {name} = v{axis} * {stride} + vd{axis} - {pad}\n      " for name, axis in (("row", "y"), ("column", "x")))
    direct = largest and wide(dtype) == dtype
    cell = f"{'Y' if direct else 'total'}[{', '.join(place)}]"
    update = f"max({cell}, {value})" if largest else f"{cell} + {value}"
    body = block("pool", extents | reduce(dy=kernel, dx=kernel), f"{lets}{cell} = {update}", f"{cell} = {start}")
    if not direct:
        final = cell if largest else f"{cell} / {kernel * kernel}"
        body = alloc("total", wide(dtype), *out.shape) + body + block("last", extents, store(out, final, *place))
    view = "X.permute(0, 3, 1, 2)" if last else "X"
    torch = f"F.{'max' if largest else 'avg'}_pool2d({view}, {kernel}, {stride}, {pad})" + (".permute(0, 2, 3, 1)" if last else "")
    numpy = f"pool(X, {kernel}, {stride}, {pad}, {'np.max' if largest else 'np.mean'}, {last})"
    note = f"{'max' if largest else 'average'} {kernel}/{stride} {'NHWC' if last else 'NCHW'}"
    return function("pooling", [x], [out], body, torch=torch, numpy=numpy, note=note)


def resize(draw):
    dtype, factor = draw.weighted({"float32": 70, "float16": 30}), draw.choice(2, 2, 3, 4)
    n, c = draw.row(draw.size(1, 4)), draw.static(draw.size(1, 128 if not draw.tiny else 3))
    side = min(256.0, max(4.0, (draw.volume() / int(n) / c) ** 0.5 / factor))
    height, width = (draw.static(draw.size(3, side)) for _ in range(2))
    x = Tensor("X", dtype, (n, c, height, width))
    nearest = draw.chance(0.4)
    out_h, out_w = height * factor, width * factor
    if not nearest and draw.chance(0.5):
        out_h, out_w = draw.size(2, 2 * out_h), draw.size(2, 2 * out_w)
    out = Tensor("Y", dtype, (n, c, draw.static(out_h), draw.static(out_w)))
    if nearest:
        body = block("resize", axes_of(out.shape), f"Y[vi0, vi1, vi2, vi3] = X[vi0, vi1, vi2 // {factor}, vi3 // {factor}]")
        return function("resize", [x], [out], body, torch=f"F.interpolate(X, size=({out_h}, {out_w}), mode='nearest')",
                        numpy=f"np.repeat(np.repeat(X, {factor}, 2), {factor}, 3)", note=f"nearest {factor}")
    lets = []
    for name, axis, source, target in (("y", 2, height, out_h), ("x", 3, width, out_w)):
        lets += [f"let f{name} = max((float32(vi{axis}) + 0.5) * {int(source) / target!r} - 0.5, 0)", f"let {name}0 = min(int64(f{name}), {source} - 1)",
                 f"let {name}1 = min({name}0 + 1, {source} - 1)", f"let w{name} = f{name} - float32({name}0)"]
    corner = {(y, s): load(x, "vi0", "vi1", f"y{y}", f"x{s}") for y in (0, 1) for s in (0, 1)}
    rows = [f"({corner[y, 0]} * (1 - wx) + {corner[y, 1]} * wx)" for y in (0, 1)]
    lets.append(store(out, f"{rows[0]} * (1 - wy) + {rows[1]} * wy", "vi0", "vi1", "vi2", "vi3"))
    body = block("resize", axes_of(out.shape), "\n      ".join(lets))
    return function("resize", [x], [out], body, torch=f"F.interpolate(X, size=({out_h}, {out_w}), mode='bilinear', align_corners=False)",
                    numpy=f"bilinear(X, {out_h}, {out_w})", tolerance=max(1e-3, 0), note="bilinear")
