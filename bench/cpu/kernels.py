# SPDX-License-Identifier: Apache-2.0
"""Cases as programs in Tern's language: what is computed, and nothing about how."""


def signature(case):
    params = ", ".join(f"{t.name}: {t.dtype}[{', '.join(map(str, t.shape))}]" for t in case.tensors)
    constants = ", ".join(f'"{t.name}"' for t in case.tensors if t.role == "const")
    return f"func {case.kind}({params}) attrs {{reassociate = true" + (f", constants = [{constants}]}}" if constants else "}")


def block(name, axes, body, init=None):
    """A nest of loops around a block. `axes`: variable -> (kind, extent)."""
    loops = ", ".join(f"{axis} in 0..{extent}" for axis, (_, extent) in axes.items())
    values = ", ".join(f"v{axis}: {kind}({extent}) = {axis}" for axis, (kind, extent) in axes.items())
    init = f"      init {{ {init} }}\n" if init else ""
    return f"  for {loops} {{\n    block {name}({values}) {{\n{init}      {body}\n    }}\n  }}\n"


def spatial(**extents):
    return {axis: ("spatial", extent) for axis, extent in extents.items()}


def reduce(**extents):
    return {axis: ("reduce", extent) for axis, extent in extents.items()}


def matmul(case):
    (m, k), n = case.tensor("A").shape, case.tensor("B").shape[1]
    result = case.tensor("C").dtype
    a, b = (f"{t}" if case.tensor(t[0]).dtype == result else f"{result}({t})" for t in ("A[vi, vk]", "B[vk, vj]"))
    return block("matmul", spatial(i=m, j=n) | reduce(k=k), f"C[vi, vj] = C[vi, vj] + {a} * {b}", "C[vi, vj] = 0")


def conv(case):
    stride, pad, groups = (case.numbers[key] for key in ("stride", "pad", "groups"))
    _, _, height, width = case.tensor("X").shape
    outputs, channels, kernel, _ = case.tensor("W").shape
    out = case.tensor("Y").shape[2]

    def place(axis):
        return f"v{axis}" + (f" * {stride}" if stride > 1 else "") + (f" + vd{axis}" if kernel > 1 else "") + (f" - {pad}" if pad else "")

    channel = "vc" if groups == 1 else "vo" if channels == 1 else f"vo // {outputs // groups} * {channels} + vc"
    x = f"X[vb, {channel}, {place('y')}, {place('x')}]"
    lets = ""
    if pad:
        lets = f"let row = {place('y')}\n      let column = {place('x')}\n      "
        x = f"select(row >= 0 && row < {height} && column >= 0 && column < {width}, X[vb, {channel}, row, column], 0)"
    sums = {"c": channels, "dy": kernel, "dx": kernel}
    axes = spatial(b=1, o=outputs, y=out, x=out) | reduce(**{axis: extent for axis, extent in sums.items() if extent > 1})
    weight = "W[vo, " + ", ".join(f"v{axis}" if extent > 1 else "0" for axis, extent in sums.items()) + "]"
    y = "Y[vb, vo, vy, vx]"
    return block("conv", axes, f"{lets}{y} = {y} + {x} * {weight}", f"{y} = 0")


def softmax(case):
    n, m = case.tensor("X").shape
    both, along = spatial(i=n, j=m), spatial(i=n) | reduce(j=m)
    return (
        f"  alloc largest: float32[{n}]\n  alloc total: float32[{n}]\n"
        + block("largest", along, "largest[vi] = max(largest[vi], X[vi, vj])", "largest[vi] = -inf")
        + block("exponential", both, "Y[vi, vj] = exp(X[vi, vj] - largest[vi])")
        + block("total", along, "total[vi] = total[vi] + Y[vi, vj]", "total[vi] = 0")
        + block("divide", both, "Y[vi, vj] = Y[vi, vj] / total[vi]")
    )


def layernorm(case):
    n, m = case.tensor("X").shape
    both, along = spatial(i=n, j=m), spatial(i=n) | reduce(j=m)
    normal = f"(X[vi, vj] - sum[vi] / {m}) * rsqrt(squares[vi] / {m} + 0.00001)"
    return (
        f"  alloc sum: float32[{n}]\n  alloc squares: float32[{n}]\n"
        + block("sum", along, "sum[vi] = sum[vi] + X[vi, vj]", "sum[vi] = 0")
        + block("squares", along, f"let d = X[vi, vj] - sum[vi] / {m}\n      squares[vi] = squares[vi] + d * d", "squares[vi] = 0")
        + block("normalize", both, f"Y[vi, vj] = {normal} * scale[vj] + shift[vj]")
    )


def bias_gelu(case):
    n, m = case.tensor("X").shape
    body = "let x = X[vi, vj] + bias[vj]\n      Y[vi, vj] = x * 0.5 * (1 + erf(x * 0.70710678))"
    return block("bias_gelu", spatial(i=n, j=m), body)


def total(case):
    shape = case.tensor("X").shape
    if len(shape) == 2:
        return block("total", spatial(i=shape[0]) | reduce(j=shape[1]), "S[vi] = S[vi] + X[vi, vj]", "S[vi] = 0")
    return block("total", reduce(j=shape[0]), "S[0] = S[0] + X[vj]", "S[0] = 0")


def transpose(case):
    n, m = case.tensor("Y").shape
    return block("transpose", spatial(i=n, j=m), "Y[vi, vj] = X[vj, vi]")


BODIES = {"matmul": matmul, "conv": conv, "softmax": softmax, "layernorm": layernorm, "bias_gelu": bias_gelu, "sum": total,
          "transpose": transpose}


def program(case):
    return f"{signature(case)} {{\n{BODIES[case.kind](case)}}}\n"


if __name__ == "__main__":
    import re
    import sys

    import cases

    for one in cases.CASES + cases.TINY:
        if re.search(sys.argv[1] if len(sys.argv) > 1 else "", one.name):
            print(f"# {one.name}\n{program(one)}")
