# SPDX-License-Identifier: Apache-2.0
"""Chains of elementwise operations: as a program, for torch and for numpy."""

# Name -> program, torch, numpy; all of one value x.
UNARY = {
    "relu": ("max({x}, 0)", "torch.relu({x})", "np.maximum({x}, 0)"),
    "sigmoid": ("sigmoid({x})", "torch.sigmoid({x})", "1 / (1 + np.exp(-{x}))"),
    "tanh": ("tanh({x})", "torch.tanh({x})", "np.tanh({x})"),
    "gelu": ("{x} * 0.5 * (1 + erf({x} * 0.70710678))", "F.gelu({x})", "gelu({x})"),
    "silu": ("{x} * sigmoid({x})", "F.silu({x})", "{x} / (1 + np.exp(-{x}))"),
    "abs": ("abs({x})", "torch.abs({x})", "np.abs({x})"),
    "square": ("{x} * {x}", "torch.square({x})", "np.square({x})"),
    "exp": ("exp(min({x}, 4))", "torch.exp(torch.clamp({x}, max=4.0))", "np.exp(np.minimum({x}, 4))"),
    "clamp": ("min(max({x}, -1), 1)", "torch.clamp({x}, -1.0, 1.0)", "np.clip({x}, -1, 1)"),
    "leaky": ("select({x} > 0, {x}, {x} * 0.1)", "F.leaky_relu({x}, 0.1)", "np.where({x} > 0, {x}, {x} * np.float32(0.1))"),
    "hardswish": ("{x} * min(max({x} + 3, 0), 6) / 6", "F.hardswish({x})", "{x} * np.clip({x} + 3, 0, 6) / 6"),
    "root": ("sqrt(abs({x}) + 1)", "torch.sqrt(torch.abs({x}) + 1)", "np.sqrt(np.abs({x}) + 1)"),
    "softplus": ("max({x}, 0) + log1p(exp(-abs({x})))", "F.softplus({x})", "np.maximum({x}, 0) + np.log1p(np.exp(-np.abs({x})))"),
    "scale": ("{x} * 0.125", "{x} * 0.125", "{x} * np.float32(0.125)"),
}
# The same of two.
BINARY = {
    "add": ("{x} + {y}",) * 3,
    "sub": ("{x} - {y}",) * 3,
    "mul": ("{x} * {y}",) * 3,
    "max": ("max({x}, {y})", "torch.maximum({x}, {y})", "np.maximum({x}, {y})"),
    "over": ("{x} / ({y} * {y} + 1)",) * 3,
}
ACTIVATIONS = ("relu", "gelu", "silu", "sigmoid", "leaky", "hardswish", "tanh")


class Chain:
    """Values in turn; `lets` are the lines of the program."""

    def __init__(self, program, torch, numpy):
        self.lets, self.value, self.torch, self.numpy, self.names = [f"let x0 = {program}"], "x0", torch, numpy, []

    def then(self, name, operand=None):
        """`operand`: program, torch and numpy of the second value."""
        forms = UNARY[name] if operand is None else BINARY[name]
        y = operand or ("", "", "")
        self.lets.append(f"let x{len(self.lets)} = {forms[0].format(x=self.value, y=y[0])}")
        self.value = f"x{len(self.lets) - 1}"
        self.torch, self.numpy = forms[1].format(x=f"({self.torch})", y=y[1]), forms[2].format(x=f"({self.numpy})", y=y[2])
        self.names.append(name)
        return self

    def body(self, last):
        """The statements of a block, of which `last` is the store."""
        return "\n      ".join([*self.lets, last])
