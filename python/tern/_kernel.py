# SPDX-License-Identifier: Apache-2.0
"""Kernels and their schedules as Python objects: @tern.kernel reads a Python function as TIR."""

import ast
import builtins
import inspect
import re
import textwrap

from tern import _tern
from tern._errors import ParseError, TypeError, ValueError
from tern._report import Report

_DTYPES = frozenset(
    "bool int4 int8 int16 int32 int64 uint4 uint8 uint16 uint32 uint64 float4_e2m1fn float8_e4m3fn float8_e5m2 "
    "float16 bfloat16 float32 float64".split()
)
_BINARY = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
}
_CALLED = {ast.Pow: "pow", ast.LShift: "shift_left", ast.RShift: "shift_right"}
_CALLED.update({ast.BitAnd: "bit_and", ast.BitOr: "bit_or", ast.BitXor: "bit_xor"})
_COMPARE = {ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}
_LOOPS = {"range": "", "grid": "", "serial": "", "parallel": " parallel", "vectorized": " vectorized"}
_LOOPS.update({"unrolled": " unrolled", "bind": " bind"})
_AXES = ("spatial", "reduce", "scan", "opaque")


class TensorType:
    """The type of a kernel's tensor: `tern.float32["n", 64]`."""

    def __init__(self, dtype, shape):
        self.dtype = dtype
        self.shape = shape

    def __repr__(self):
        return f"{self.dtype}[{', '.join(map(str, self.shape))}]"


class _Mistake(Exception):
    def __init__(self, node, message):
        self.node = node
        self.message = message


class _Translator:
    """The AST of a function to TIR text, with the place in Python of every piece of it."""

    def __init__(self, outer):
        self.outer = outer  # names of Python around the function
        self.lines = []
        self.marks = []  # of each line: [(column, line in Python, column in Python)]
        self.text = ""
        self.here = []
        self.depth = 0
        self.known = [set()]  # names of variables and buffers, by braces

    # ---- text

    def put(self, text, node=None):
        if node is not None and hasattr(node, "lineno"):
            self.here.append((len(self.text), node.lineno, node.col_offset))
        self.text += text

    def end_line(self):
        indent = "  " * self.depth
        self.lines.append(indent + self.text)
        self.marks.append([(column + len(indent), line, place) for column, line, place in self.here])
        self.text, self.here = "", []

    def braces(self, statements):
        self.put(" {")
        self.end_line()
        self.depth += 1
        self.known.append(set())
        for statement in statements:
            self.statement(statement)
        self.known.pop()
        self.depth -= 1
        self.put("}")

    # ---- the function

    def function(self, node):
        self.put(f"func {node.name}(", node)
        if node.args.vararg or node.args.kwarg or node.args.kwonlyargs or node.args.defaults:
            raise _Mistake(node, "a kernel has plain parameters: no *args, **kwargs or defaults")
        for i, param in enumerate(node.args.args):
            self.put(", " if i else "")
            if param.annotation is None:
                raise _Mistake(param, f"parameter {param.arg} has no type; write {param.arg}: tern.float32['n']")
            self.put(f"{param.arg}: ", param)
            self.known[0].add(param.arg)
            self.type(param.annotation)
        self.put(")")
        body = node.body
        if body and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
            body = body[1:]  # the docstring
        attrs = [d for d in node.decorator_list if isinstance(d, ast.Call)]
        pairs = [k for d in attrs for k in d.keywords if k.arg not in ("target",)]
        if pairs:
            self.put(" attrs {" + ", ".join(f"{k.arg} = {self.attribute(k.value)}" for k in pairs) + "}")
        self.braces(body)
        self.end_line()

    def attribute(self, node):
        try:
            return _attribute(ast.literal_eval(node))
        except builtins.ValueError:
            raise _Mistake(node, "an attribute is a constant") from None

    def type(self, node):
        text = node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None
        if text is not None:
            try:
                node = ast.copy_location(ast.parse(text, mode="eval").body, node)
            except SyntaxError:
                raise _Mistake(node, f"'{text}' is no type; write tern.float32['n', 64]") from None
        shape = None
        if isinstance(node, ast.Subscript):
            shape = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            node = node.value
        name = _last_name(node)
        if name == "bool_":
            name = "bool"
        if name not in _DTYPES:
            raise _Mistake(node, f"'{ast.unparse(node)}' is no type; there are {', '.join(sorted(_DTYPES))}")
        self.put(name, node)
        if shape is None:
            return
        self.put("[")
        for i, extent in enumerate(shape):
            self.put(", " if i else "")
            if isinstance(extent, ast.Constant) and isinstance(extent.value, str):
                self.put(extent.value, extent)
                self.known[0].update(re.findall(r"[A-Za-z_]\w*", extent.value))
            else:
                for inner in ast.walk(extent):
                    if isinstance(inner, ast.Name) and inner.id not in self.outer:
                        self.known[0].add(inner.id)
                self.expr(extent)
        self.put("]")

    # ---- statements

    def statement(self, node):
        method = getattr(self, "on_" + type(node).__name__.lower(), None)
        if method is None:
            raise _Mistake(node, f"{type(node).__name__.lower()} is no statement of kernels")
        method(node)
        if self.text:
            self.end_line()

    def on_pass(self, node):
        pass

    def on_assign(self, node):
        if len(node.targets) != 1:
            raise _Mistake(node, "one assignment at a time")
        target = node.targets[0]
        if isinstance(target, ast.Subscript):
            self.expr(target)
            self.put(" = ")
            self.expr(node.value)
            return
        if not isinstance(target, ast.Name):
            raise _Mistake(target, "an element of a tensor or a name is assigned to")
        if isinstance(node.value, ast.Call) and _last_name(node.value.func) == "alloc":
            return self.alloc(target, node.value)
        self.new_name(target)
        self.put(f"let {target.id} = ", target)
        self.expr(node.value)

    def on_annassign(self, node):
        if not isinstance(node.target, ast.Name) or node.value is None:
            raise _Mistake(node, "write name: type = value")
        self.new_name(node.target)
        self.put(f"let {node.target.id}: ", node.target)
        self.type(node.annotation)
        self.put(" = ")
        self.expr(node.value)

    def on_augassign(self, node):
        if not isinstance(node.target, ast.Subscript):
            raise _Mistake(node.target, "names do not change; only elements of tensors do")
        self.expr(node.target)
        self.put(" = ")
        self.expr(ast.copy_location(ast.BinOp(node.target, node.op, node.value), node.value))

    def alloc(self, target, call):
        scope = None
        for keyword in call.keywords:
            if keyword.arg != "scope":
                raise _Mistake(call, f"alloc has no argument {keyword.arg}; it has scope")
            scope = ast.literal_eval(keyword.value)
        if len(call.args) != 1:
            raise _Mistake(call, "write alloc(tern.float32[64], scope='local')")
        self.new_name(target)
        self.put(f"alloc {target.id}: ", target)
        self.type(call.args[0])
        self.put(f" in {scope}" if scope else "")

    def new_name(self, target):
        if any(target.id in names for names in self.known):
            raise _Mistake(target, f"'{target.id}' has a value already; names do not change")
        self.known[-1].add(target.id)

    def on_for(self, node):
        call = node.iter
        name = _last_name(call.func) if isinstance(call, ast.Call) else None
        if name not in _LOOPS or node.orelse:
            raise _Mistake(call, f"a loop is over {', '.join(_LOOPS)}, without else")
        if isinstance(node.target, ast.Tuple):
            names = node.target.elts
        else:
            names = [node.target]
        kind = _LOOPS[name]
        args = list(call.args)
        if name == "bind":
            if len(args) != 2 or not isinstance(args[1], ast.Constant):
                raise _Mistake(call, "write bind(n, 'threadIdx.x')")
            kind = f" bind({args.pop().value})"
        if name == "grid":
            ranges = [(ast.copy_location(ast.Constant(0), arg), arg) for arg in args]
        elif len(args) == 1:
            ranges = [(ast.copy_location(ast.Constant(0), args[0]), args[0])]
        elif len(args) == 2:
            ranges = [tuple(args)]
        else:
            raise _Mistake(call, f"{name} takes an extent, or begin and end")
        if len(names) != len(ranges):
            raise _Mistake(node.target, f"{len(names)} names for {len(ranges)} loops")
        self.put("for ", node)
        for i, (target, (begin, end)) in enumerate(zip(names, ranges)):
            self.put(", " if i else "")
            self.put(f"{target.id} in ", target)
            self.expr(begin)
            self.put("..")
            self.expr(end, inside=True)
        self.put(kind)
        if call.keywords:
            pairs = ", ".join(f"{k.arg} = {self.attribute(k.value)}" for k in call.keywords)
            self.put(f" attrs {{{pairs}}}")
        self.known.append({target.id for target in names})
        self.braces(node.body)
        self.known.pop()

    def on_while(self, node):
        self.put("while ", node)
        self.expr(node.test)
        self.braces(node.body)

    def on_if(self, node):
        self.put("if ", node)
        self.expr(node.test)
        self.braces(node.body)
        if len(node.orelse) == 1 and isinstance(node.orelse[0], ast.If):
            self.put(" else ")
            self.on_if(node.orelse[0])
        elif node.orelse:
            self.put(" else")
            self.braces(node.orelse)

    def on_assert(self, node):
        self.put("assert ", node)
        self.expr(node.test)
        self.put(', "the assertion does not hold"' if node.msg is None else ", ")
        if node.msg is not None:
            self.expr(node.msg)

    def on_expr(self, node):
        if not isinstance(node.value, ast.Call):
            raise _Mistake(node, "an expression alone does nothing")
        self.expr(node.value)

    def on_with(self, node):
        call = node.items[0].context_expr
        name = _last_name(call.func) if isinstance(call, ast.Call) else None
        if name == "init":
            self.put("init", node)
            return self.braces(node.body)
        if name != "block" or not call.args or not isinstance(call.args[0], ast.Constant):
            raise _Mistake(call, "write with block('name', i=spatial(n, i)), or with init()")
        self.put(f"block {call.args[0].value}(", node)
        where = None
        names = set()
        for keyword in call.keywords:
            if keyword.arg == "where":
                where = keyword.value
                continue
            axis = keyword.value
            kind = _last_name(axis.func) if isinstance(axis, ast.Call) else None
            if kind not in _AXES or len(axis.args) != 2:
                raise _Mistake(axis, f"an axis is one of {', '.join(_AXES)} of an extent and a value: spatial(n, i)")
            self.put(", " if names else "")
            self.put(f"{keyword.arg}: {kind}(", axis)
            self.expr(axis.args[0])
            self.put(") = ")
            self.expr(axis.args[1])
            names.add(keyword.arg)
        self.put(")")
        if where is not None:
            self.put(" where ")
            self.expr(where)
        self.known.append(names)
        self.braces(node.body)
        self.known.pop()

    # ---- expressions

    def expr(self, node, inside=False):
        if isinstance(node, ast.Constant):
            return self.constant(node)
        if isinstance(node, ast.Name):
            return self.name(node)
        if isinstance(node, ast.BinOp):
            return self.binary(node, inside)
        if isinstance(node, ast.UnaryOp):
            signs = {ast.USub: "-", ast.Not: "!", ast.UAdd: ""}
            if type(node.op) is ast.Invert:
                return self.call("bit_not", [node.operand], node)
            self.put(signs[type(node.op)], node)
            return self.expr(node.operand, True)
        if isinstance(node, ast.BoolOp):
            return self.joined(" && " if isinstance(node.op, ast.And) else " || ", node.values, node)
        if isinstance(node, ast.Compare):
            if len(node.ops) != 1 or type(node.ops[0]) not in _COMPARE:
                raise _Mistake(node, "comparisons do not chain: write a < b and b < c")
            sides = [node.left, node.comparators[0]]
            return self.joined(f" {_COMPARE[type(node.ops[0])]} ", sides, node)
        if isinstance(node, ast.IfExp):
            return self.call("select", [node.test, node.body, node.orelse], node)
        if isinstance(node, ast.Subscript):
            return self.access(node)
        if isinstance(node, ast.Call):
            name = _last_name(node.func)
            if name is None or node.keywords:
                raise _Mistake(node, "a function is called by its name, with arguments in their order")
            return self.call("bool" if name == "bool_" else name, node.args, node)
        if isinstance(node, ast.Attribute):
            value = self.python_value(node)
            if value is not None:
                return self.constant(ast.copy_location(ast.Constant(value), node))
        raise _Mistake(node, f"{ast.unparse(node)}: no expression of kernels")

    def constant(self, node):
        value = node.value
        if isinstance(value, bool):
            self.put("true" if value else "false", node)
        elif isinstance(value, float):
            text = repr(value)
            self.put({"inf": "inf", "-inf": "-inf", "nan": "nan"}.get(text, text), node)
        elif isinstance(value, int):
            self.put(str(value) if value >= 0 else f"({value})", node)
        elif isinstance(value, str):
            self.put('"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"', node)
        else:
            raise _Mistake(node, f"{value!r}: no constant of kernels")

    def name(self, node):
        if not any(node.id in names for names in self.known):
            value = self.python_value(node)
            if value is not None:
                return self.constant(ast.copy_location(ast.Constant(value), node))
        self.put(node.id, node)

    def python_value(self, node):
        """A number of Python that the function sees, which is a constant in the kernel."""
        if isinstance(node, ast.Attribute):
            base = self.outer.get(node.value.id) if isinstance(node.value, ast.Name) else None
            value = getattr(base, node.attr, None)
        else:
            value = self.outer.get(node.id)
        return value if isinstance(value, (bool, int, float)) else None

    def binary(self, node, inside):
        called = _CALLED.get(type(node.op))
        if called:
            return self.call(called, [node.left, node.right], node)
        if type(node.op) not in _BINARY:
            raise _Mistake(node, f"{ast.unparse(node)}: no operator of kernels")
        self.joined(f" {_BINARY[type(node.op)]} ", [node.left, node.right], node)

    def joined(self, operator, parts, node):
        self.put("(", node)
        for i, part in enumerate(parts):
            self.put(operator if i else "")
            self.expr(part, True)
        self.put(")")

    def call(self, name, args, node):
        self.put(f"{name}(", node)
        for i, argument in enumerate(args):
            self.put(", " if i else "")
            self.expr(argument)
        self.put(")")

    def access(self, node):
        if not isinstance(node.value, ast.Name):
            raise _Mistake(node, "the name of a tensor stands before [")
        indices = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        self.put(f"{node.value.id}[", node)
        for i, index in enumerate(indices):
            self.put(", " if i else "")
            self.expr(index)
        self.put("]")





def _attribute(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_attribute(item) for item in value) + "]"
    return str(value)


def _last_name(node):
    """The name behind modules: `tern.exp` is exp."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else None


class _Origin:
    """Where the text of a kernel comes from, for errors."""

    def __init__(self, path, lines, first_line, column, marks):
        self.path = path
        self.lines = lines
        self.first_line = first_line
        self.column = column
        self.marks = marks

    def place(self, line, column):
        """The place in Python of one in the text."""
        if not 1 <= line <= len(self.marks):
            return None
        best = None
        for start, python_line, python_column in self.marks[line - 1]:
            if best is None or start <= column - 1:
                best = (python_line, python_column)
        return best

    def message(self, line, column, text):
        source = self.lines[line - 1] if line <= len(self.lines) else ""
        where = f"{self.path}:{line + self.first_line - 1}:{column + self.column + 1}"
        return f"{where}: error: {text}\n  {source}\n  {' ' * column}^"

    def translate(self, error):
        """The same errors at their places in Python."""
        found = re.findall(r"^[^\n]*?:(\d+):(\d+): error: ([^\n]*)", str(error), re.MULTILINE)
        messages = []
        for line, column, text in found:
            place = self.place(int(line), int(column))
            messages.append(self.message(*place, text) if place else text)
        return "\n".join(messages) or str(error)


def kernel(function=None, **attrs):
    """Reads a Python function as a TIR function; it is never executed as Python.

    Keywords are attributes of the function: @tern.kernel(reassociate=True). `target` is what calls of
    the kernel compile it for.
    """
    target = attrs.pop("target", None)
    if function is None:
        return lambda inner: _read(inner, target)
    return _read(function, target)


def _read(function, target):
    try:
        lines, first_line = inspect.getsourcelines(function)
    except OSError:
        raise ValueError(f"the source of {function.__name__} is not found; a kernel stands in a file or a notebook") from None
    text = "".join(lines)
    column = len(text) - len(text.lstrip())
    lines = textwrap.dedent(text).splitlines()
    path = inspect.getsourcefile(function) or "<python>"
    node = ast.parse("\n".join(lines)).body[0]
    outer = {**function.__globals__}
    if function.__closure__:
        for name, cell in zip(function.__code__.co_freevars, function.__closure__):
            try:
                outer[name] = cell.cell_contents
            except builtins.ValueError:  # is set later
                pass
    translator = _Translator(outer)
    origin = _Origin(path, lines, first_line, column, translator.marks)
    try:
        translator.function(node)
    except _Mistake as mistake:
        message = origin.message(mistake.node.lineno, mistake.node.col_offset, mistake.message)
        raise ParseError(message) from None
    made = Kernel(node.name, "\n".join(translator.lines) + "\n", target=target, origin=origin)
    made.__doc__ = function.__doc__
    made.check()
    return made


class Kernel:
    """A function in TIR with its schedule: called, compiled, shown and timed."""

    def __init__(self, name, text, target=None, origin=None):
        self.name = name
        self.text = text
        self.target = target
        self.schedule = Schedule(self)
        self._origin = origin
        self._compiled = {}

    def check(self):
        """Parses it; raises a tern.ParseError with places in Python."""
        self._handle()

    def source(self):
        """TIR text, with the schedule."""
        return self.text + self.schedule.text()

    def _handle(self):
        from tern._compile import open_compiler

        open_compiler()
        try:
            return _tern.parse_source(self.source(), self.name)
        except ParseError as error:
            if self._origin is None:
                raise
            raise ParseError(self._origin.translate(error)) from None

    def compile(self, target=None, host=None, **options):
        """tern.compile of it."""
        from tern._compile import compile

        return compile(self, target or self.target, host, **options)

    def __call__(self, *args, **arrays):
        """Compiles it for its target, once, and calls it."""
        key = (self.target, self.source())
        compiled = self._compiled.get(key)
        if compiled is None:
            compiled = self._compiled.setdefault(key, self.compile())
        return compiled[self.name](*args, **arrays)

    def show(self):
        """The function as its schedule makes it, as text."""
        return Report.make(_tern.print_source(self._handle(), "apply_schedules"))

    def explain(self, target=None):
        """What the schedule rules of a target do to it."""
        from tern._compile import explain

        return explain(self, target or self.target)

    def bench(self, target=None, repeat=100, dims=None, **arrays):
        """Times on given arrays, or on made ones of `dims`: kernel.bench(dims={'n': 1024})."""
        return self.compile(target).profile(self.name, repeat=repeat, dims=dims, **arrays)

    def __repr__(self):
        return f"<tern.Kernel {self.name}, {len(self.schedule.steps)} schedule steps>"

    def _repr_html_(self):
        return Report.make(self.source())._repr_html_()


class Schedule:
    """The steps of a kernel's schedule, each checked as it is added (docs/schedules.md has all).

    Every step of the schedule language is a method: loops, blocks and buffers are given by their names,
    and results get those of `names`. What a step makes is returned: a name, or a tuple of them.
    """

    def __init__(self, owner):
        self._owner = owner
        self.steps = []

    def split(self, loop, *factors, names=None, tail=None):
        """One loop becomes a nest; returns the names of its loops, outermost first."""
        base = loop.rpartition(".")[2]
        names = tuple(names or (f"{base}_{i}" for i in range(len(factors) + 1)))
        return self.step("split", loop, *factors, names=names, **({"tail": tail} if tail else {}))

    def fuse(self, *loops, name=None):
        """Nested loops become one; returns its name."""
        name = name or "_".join(loop.rpartition(".")[2] for loop in loops) + "_fused"
        return self.step("fuse", *loops, names=(name,))

    def step(self, name, *args, names=(), **named):
        """Adds any step; what does not apply is a tern.ScheduleError, and changes nothing."""
        if isinstance(names, str):
            names = (names,)
        parts = [_step_argument(arg) for arg in args] + [f"{key} = {value}" for key, value in named.items()]
        results = f"{', '.join(names)} = " if names else ""
        line = f"{results}{name}({', '.join(parts)})"
        self.steps.append(line)
        try:
            self._owner.show()
        except Exception:
            self.steps.pop()
            raise
        return names[0] if len(names) == 1 else tuple(names) if names else None

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        return lambda *args, **named: self.step(name, *args, **named)

    def undo(self):
        """Takes the last step back."""
        return self.steps.pop()

    def text(self):
        """The schedule section of the kernel."""
        if not self.steps:
            return ""
        return f"schedule {self._owner.name} {{\n" + "".join(f"  {step}\n" for step in self.steps) + "}\n"

    def __repr__(self):
        return self.text() or f"schedule {self._owner.name} {{}}"


def _step_argument(value):
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {item}" for key, item in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_step_argument(item) for item in value) + "]"
    if isinstance(value, (str, int)):
        return str(value)
    raise TypeError(f"a schedule step takes names, integers and dicts, not {value!r}")
