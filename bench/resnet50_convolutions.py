#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The distinct convolutions of ResNet-50, batch 1, with bias, residual and ReLU, as one module: what a compiler of models compiles.

1x1 convolutions of stride 1 are matrix products over all output pixels, as the graph's lowering will write them."""

STAGES = [(64, 64, 56, 1), (256, 128, 56, 2), (512, 256, 28, 2), (1024, 512, 14, 2)]  # inputs, width, size, stride


def epilogue(index, residual, relu):
    value = f"T[{index}] + bias[vo]" + (f" + R[{index}]" if residual else "")
    return f"max({value}, 0)" if relu else value


def function(name, params, constants, loops, sum_axes, out, x, weight, residual, relu, lets=""):
    spatial = list(loops.items())
    index = ", ".join(f"v{axis}" for axis, _ in spatial)
    shape = ", ".join(str(extent) for _, extent in spatial)
    params = params + [f"bias: float32[{loops['o']}]"] + ([f"R: float32[{shape}]"] if residual else []) + [f"{out}: float32[{shape}]"]

    def nest(block, axes, body, init=""):
        over = ", ".join(f"{axis} in 0..{extent}" for axis, extent, _ in axes)
        values = ", ".join(f"v{axis}: {kind}({extent}) = {axis}" for axis, extent, kind in axes)
        return f"  for {over} {{\n    block {block}({values}) {{\n{init}      {body}\n    }}\n  }}\n"

    all_axes = [(axis, extent, "spatial") for axis, extent in spatial]
    sums = [(axis, extent, "reduce") for axis, extent in sum_axes.items() if extent > 1]
    return (
        f"func {name}({', '.join(params)}) attrs {{reassociate = true, constants = [{constants}, \"bias\"]}} {{\n"
        f"  alloc T: float32[{shape}]\n"
        + nest("conv", all_axes + sums, f"{lets}T[{index}] = T[{index}] + {x} * {weight}", f"      init {{ T[{index}] = 0 }}\n")
        + nest("epilogue", all_axes, f"{out}[{index}] = {epilogue(index, residual, relu)}")
        + "}\n\n"
    )


def conv(inputs, outputs, size, kernel, stride=1, residual=False, relu=True):
    name = f"conv{kernel}x{kernel}_{inputs}_{outputs}_{size}" + (f"_s{stride}" if stride > 1 else "") + ("_add" if residual else "") + ("" if relu else "_linear")
    if kernel == 1 and stride == 1:
        pixels = size * size
        return function(name, [f"X: float32[{inputs}, {pixels}]", f"W: float32[{outputs}, {inputs}]"], '"W"',
                        {"o": outputs, "p": pixels}, {"c": inputs}, "Y", "X[vc, vp]", "W[vo, vc]", residual, relu)
    pad, out = kernel // 2, (size - 1) // stride + 1
    params = [f"X: float32[{inputs}, {size}, {size}]", f"W: float32[{outputs}, {inputs}, {kernel}, {kernel}]"]

    def place(axis):
        return f"v{axis}" + (f" * {stride}" if stride > 1 else "") + (f" + vd{axis} - {pad}" if kernel > 1 else "")

    lets, x, weight = "", f"X[vc, {place('y')}, {place('x')}]", "W[vo, vc, 0, 0]"
    if pad:
        lets = f"let row = {place('y')}\n      let column = {place('x')}\n      "
        x = f"select(row >= 0 && row < {size} && column >= 0 && column < {size}, X[vc, row, column], 0)"
        weight = "W[vo, vc, vdy, vdx]"
    return function(name, params, '"W"', {"o": outputs, "y": out, "x": out}, {"c": inputs, "dy": kernel, "dx": kernel}, "Y", x, weight,
                    residual, relu, lets)


def module():
    text = conv(3, 64, 224, 7, 2)
    for inputs, width, size, stride in STAGES:
        small = size // stride
        text += conv(inputs, width, size, 1)  # into the first block
        text += conv(width, width, size, 3, stride)
        text += conv(width, 4 * width, small, 1, residual=True)
        text += conv(inputs, 4 * width, size, 1, stride, relu=False)  # around it
        text += conv(4 * width, width, small, 1)
        if stride > 1:
            text += conv(width, width, small, 3)
    return text


if __name__ == "__main__":
    print(module(), end="")
