# SPDX-License-Identifier: Apache-2.0
"""Kernels from formulas: placeholder, compute, reduce_axis, build. What they make is TIR text."""

from tern._errors import TypeError, ValueError
from tern._kernel import Kernel
from tern._arrays import dtype_name

_FLOAT_FUNCTIONS = (
    "exp exp2 expm1 log log2 log10 log1p sqrt rsqrt sin cos tan asin acos atan sinh cosh tanh erf sigmoid floor ceil "
    "trunc round"
).split()

__all__ = [
    "build",
    "compute",
    "max_over",
    "maximum",
    "min_over",
    "minimum",
    "placeholder",
    "reduce_axis",
    "sum",
    "where",
    *_FLOAT_FUNCTIONS,
]


class Expr:
    """A scalar expression: its text, its type, and what it reads."""

    __hash__ = None

    def __init__(self, text, dtype, reads=(), axes=()):
        self.text = text
        self.dtype = dtype
        self.reads = tuple(reads)  # tensors
        self.axes = tuple(axes)  # reduce axes

    def astype(self, dtype):
        """A cast."""
        return Expr(f"{dtype_name(dtype)}({self.text})", dtype_name(dtype), self.reads, self.axes)

    def __repr__(self):
        return self.text

    def __bool__(self):
        raise TypeError("the value of an expression is known when the kernel runs; tern.where chooses then")

    def __neg__(self):
        return Expr(f"(-{self.text})", self.dtype, self.reads, self.axes)

    def __abs__(self):
        return Expr(f"abs({self.text})", self.dtype, self.reads, self.axes)


def _expr(value, dtype=None):
    if isinstance(value, Expr):
        return value
    if isinstance(value, bool):
        return Expr("true" if value else "false", "bool")
    if isinstance(value, int):
        return Expr(str(value) if value >= 0 else f"({value})", dtype)
    if isinstance(value, float):
        text = repr(value)
        return Expr(text if value >= 0 else f"({text})", dtype or "float32")
    if isinstance(value, str):  # a dimension
        return Expr(f"({value})" if not value.isidentifier() else value, "int64")
    raise TypeError(f"expected an expression or a number, got {type(value).__qualname__}")


def _joined(dtype, text, *parts):
    reads, axes = [], []
    for part in parts:
        reads += [read for read in part.reads if read not in reads]
        axes += [axis for axis in part.axes if axis not in axes]
    return Expr(text, dtype, reads, axes)


def _type_of(*parts):
    return next((part.dtype for part in parts if part.dtype), None) or "int64"


def _operator(symbol, result=None):
    def forward(self, other):
        other = _expr(other)
        return _joined(result or _type_of(self, other), f"({self.text} {symbol} {other.text})", self, other)

    def backward(self, other):
        other = _expr(other)
        return _joined(result or _type_of(self, other), f"({other.text} {symbol} {self.text})", other, self)

    return forward, backward


for _method, _symbol in (("add", "+"), ("sub", "-"), ("mul", "*"), ("truediv", "/"), ("floordiv", "//"), ("mod", "%")):
    _forward, _backward = _operator(_symbol)
    setattr(Expr, f"__{_method}__", _forward)
    setattr(Expr, f"__r{_method}__", _backward)
for _method, _symbol in (("lt", "<"), ("le", "<="), ("gt", ">"), ("ge", ">="), ("eq", "=="), ("ne", "!=")):
    setattr(Expr, f"__{_method}__", _operator(_symbol, "bool")[0])
for _method, _symbol in (("and", "&&"), ("or", "||")):
    setattr(Expr, f"__{_method}__", _operator(_symbol, "bool")[0])


def _function(name):
    def function(x):
        x = _expr(x)
        return _joined(x.dtype, f"{name}({x.text})", x)

    function.__name__ = name
    function.__doc__ = f"{name} of a float."
    return function


for _name in _FLOAT_FUNCTIONS:
    globals()[_name] = _function(_name)


def _binary(name, a, b):
    a, b = _expr(a), _expr(b)
    return _joined(_type_of(a, b), f"{name}({a.text}, {b.text})", a, b)


def maximum(a, b):
    """The larger of two."""
    return _binary("max", a, b)


def minimum(a, b):
    """The smaller of two."""
    return _binary("min", a, b)


def where(condition, a, b):
    """`a` where the condition holds, else `b`; only that one is evaluated."""
    condition, a, b = _expr(condition), _expr(a), _expr(b)
    return _joined(_type_of(a, b), f"select({condition.text}, {a.text}, {b.text})", condition, a, b)


def reduce_axis(extent, name):
    """An axis to reduce over: `tern.sum(A[i, k], k)`."""
    axis = Expr(f"v_{name}", "int64")
    axis.extent, axis.loop = _expr(extent).text, name
    axis.axes = (axis,)
    return axis


class Reduction:
    """What tern.sum and others give: the whole formula of a tensor."""

    def __init__(self, body, axes, start, combine):
        self.body, self.axes, self.start, self.combine = _expr(body), axes, start, combine


def sum(body, *axes):
    """The sum over reduce axes."""
    return Reduction(body, axes, "0", "({0} + {1})")


def max_over(body, *axes):
    """The largest over reduce axes, of floats."""
    return Reduction(body, axes, "(-inf)", "max({0}, {1})")


def min_over(body, *axes):
    """The smallest over reduce axes, of floats."""
    return Reduction(body, axes, "inf", "min({0}, {1})")


class Tensor:
    """A tensor of a formula: an input, or what `compute` gives."""

    def __init__(self, name, dtype, shape, formula=None):
        self.name, self.dtype, self.shape, self.formula = name, dtype, shape, formula

    def __getitem__(self, indices):
        indices = indices if isinstance(indices, tuple) else (indices,)
        if len(indices) != len(self.shape):
            raise TypeError(f"{self.name} has {len(self.shape)} axes, {len(indices)} indices are given")
        parts = [_expr(index) for index in indices]
        access = _joined(self.dtype, f"{self.name}[{', '.join(part.text for part in parts)}]", *parts)
        if self not in access.reads:
            access.reads = (*access.reads, self)
        return access

    def __repr__(self):
        return f"{self.name}: {self.dtype}[{', '.join(self.shape)}]"


def placeholder(name, dtype, *shape):
    """A tensor that callers give; extents are numbers or names of dimensions."""
    return Tensor(name, dtype_name(dtype), tuple(_expr(extent).text for extent in shape))


def compute(name, shape, formula):
    """A tensor by the formula of its elements, a function of their indices."""
    shape = tuple(_expr(extent).text for extent in (shape if isinstance(shape, (tuple, list)) else (shape,)))
    names = [chr(ord("i") + place) if place < 3 else f"i{place}" for place in range(len(shape))]
    indices = [Expr(f"v_{axis}", "int64") for axis in names]
    value = formula(*indices)
    body = value if isinstance(value, Reduction) else _expr(value)
    dtype = body.body.dtype if isinstance(body, Reduction) else body.dtype
    made = Tensor(name, dtype or "float32", shape, body)
    made.loops = names
    return made


def build(name, inputs, outputs):
    """The kernel with these parameters: inputs, then results. What lies between is memory of its own."""
    named = [tensor.name for tensor in (*inputs, *outputs)]
    for tensor_name in named:
        if named.count(tensor_name) > 1:
            raise ValueError(f"{name}: {tensor_name} is given twice")
    order = []

    def visit(tensor):
        if tensor in order:
            return
        if tensor.formula is None:
            if tensor not in inputs:
                raise ValueError(f"{name}: {tensor!r} is read, and is no input")
        else:
            body = tensor.formula.body if isinstance(tensor.formula, Reduction) else tensor.formula
            for read in body.reads:
                visit(read)
        order.append(tensor)

    for output in outputs:
        visit(output)
    params = ", ".join(map(repr, (*inputs, *outputs)))
    lines = [f"func {name}({params}) {{"]
    for tensor in order:
        if tensor.formula is not None and tensor not in outputs:
            lines.append(f"  alloc {tensor!r}")
    for tensor in order:
        if tensor.formula is not None:
            lines += _stage(tensor)
    made = Kernel(name, "\n".join([*lines, "}"]) + "\n")
    made.check()
    return made


def _stage(tensor):
    formula = tensor.formula
    is_reduction = isinstance(formula, Reduction)
    axes = formula.axes if is_reduction else ()
    loops = list(zip(tensor.loops, tensor.shape)) + [(axis.loop, axis.extent) for axis in axes]
    kinds = ["spatial"] * len(tensor.loops) + ["reduce"] * len(axes)
    element = f"{tensor.name}[{', '.join(f'v_{loop}' for loop in tensor.loops)}]"
    values = ", ".join(f"v_{loop}: {kind}({extent}) = {loop}" for (loop, extent), kind in zip(loops, kinds))
    ranges = ", ".join(f"{loop} in 0..{extent}" for loop, extent in loops)
    lines = [f"    block {tensor.name}({values}) {{"]
    if is_reduction:
        lines.append(f"      init {{ {element} = {formula.start} }}")
        lines.append(f"      {element} = {formula.combine.format(element, formula.body.text)}")
    else:
        lines.append(f"      {element} = {formula.text}")
    lines.append("    }")
    if not ranges:
        return ["  scope {", *lines, "  }"]
    return [f"  for {ranges} {{", *lines, "  }"]
