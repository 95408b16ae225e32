# SPDX-License-Identifier: Apache-2.0
"""Tern's objects in gdb, as text: `source editors/gdb/tern_printers.py`.

Nothing of the debugged process is called, so it works on core files too. It needs a build with debug information
(`./dev build debug`).
"""
import gdb

# As written in TIR; others are calls by their kind.
OPERATORS = {"Add": "+", "Sub": "-", "Mul": "*", "Div": "/", "FloorDiv": "//", "FloorMod": "%", "EQ": "==", "NE": "!=", "LT": "<", "LE": "<=",
             "GT": ">", "GE": ">=", "And": "&&", "Or": "||", "Eq": "==", "Ne": "!=", "Lt": "<", "Le": "<=", "Gt": ">", "Ge": ">="}
MOST_DEPTH = 12
# TernAny's types that are no objects, and the objects of the ABI (tern/ffi/c_abi.h).
NONE, INT, BOOL, FLOAT, SMALL_STRING, ARRAY, MAP = 0, 1, 2, 3, 11, 71, 72
CODES = {0: "int", 1: "uint", 2: "float", 4: "bfloat", 6: "bool"}


def dtype_text(value):
    value = value["value_"] if "value_" in [field.name for field in value.type.fields()] else value
    code, bits, lanes = int(value["code"]), int(value["bits"]), int(value["lanes"])
    text = "bool" if code == 6 else CODES.get(code, f"type({code})") + str(bits)
    return text + (f"x{lanes}" if lanes > 1 else "")


def string_text(value):
    """A std::string, without its printer."""
    return value["_M_dataplus"]["_M_p"].string(length=int(value["_M_string_length"]))


def vector_items(value):
    start, end = value["_M_impl"]["_M_start"], value["_M_impl"]["_M_finish"]
    return [(start + i).dereference() for i in range(int(end - start))]


def node_as(node, name):
    return node.cast(gdb.lookup_type(f"tern::ir::{name}").const().pointer()).dereference()


def buffer_text(ref):
    node = ref["object_"]
    return string_text(node.dereference()["name"]) if node else "null"


def expr_text(ref, depth=0):
    """An expression as TIR would print it."""
    node = ref["object_"]
    if not node:
        return "null"
    if depth > MOST_DEPTH:
        return "..."
    kind = str(node.dereference()["kind"]).rsplit("::k", 1)[-1]

    def exprs(items):
        return ", ".join(expr_text(item, depth + 1) for item in items)

    if kind in ("IntImm", "FloatImm"):
        return str(node_as(node, kind + "Node")["value"])
    if kind == "StringImm":
        return '"' + string_text(node_as(node, "StringImmNode")["value"]) + '"'
    if kind == "Var":
        return string_text(node_as(node, "VarNode")["name"])
    if kind == "Call":
        call = node_as(node, "CallNode")
        return f"{string_text(call['name'])}({exprs(vector_items(call['args']))})"
    if kind == "BufferLoad":
        load = node_as(node, "BufferLoadNode")
        return f"{buffer_text(load['buffer'])}[{exprs(vector_items(load['indices']))}]"
    if kind == "Cast":
        return f"{dtype_text(node.dereference()['dtype'])}({expr_text(node_as(node, 'CastNode')['value'], depth + 1)})"
    if kind == "Select":
        select = node_as(node, "SelectNode")
        return f"select({exprs(select[field.name] for field in select.type.fields() if not field.is_base_class)})"
    if kind in ("Ramp", "Broadcast", "Shuffle", "Let", "Not"):
        return f"{kind}(...)"
    # Both operands stand behind what all nodes have.
    base = gdb.lookup_type("tern::ir::ExprNode")
    operand = gdb.lookup_type("tern::ir::Expr")
    first = (node.cast(gdb.lookup_type("char").const().pointer()) + base.sizeof).cast(operand.pointer())
    a, b = (expr_text((first + i).dereference(), depth + 1) for i in (0, 1))
    return f"({a} {OPERATORS[kind]} {b})" if kind in OPERATORS else f"{kind}({a}, {b})"


def any_text(value):
    cell = value["value_"]
    kind = int(cell["type_index"])
    if kind == NONE:
        return "none"
    if kind in (INT, BOOL):
        return str(cell["v_int"]) if kind == INT else str(bool(cell["v_int"])).lower()
    if kind == FLOAT:
        return str(cell["v_float"])
    if kind == SMALL_STRING:
        address = cell["v_int"].address.cast(gdb.lookup_type("char").pointer())
        return '"' + address.string(length=int(cell["small_len"])) + '"'
    if kind == ARRAY:
        array = cell["v_obj"].cast(gdb.lookup_type("tern::ffi::ArrayObj").pointer())
        return array_text(array.dereference())
    return f"object of type {kind} at {cell['v_ptr']}"


def array_text(array):
    cell = array["cell_"]
    items = cell["data"].cast(gdb.lookup_type("tern::ffi::Any").pointer())
    return "[" + ", ".join(any_text((items + i).dereference()) for i in range(int(cell["size"]))) + "]"


def ref_text(ref):
    node = ref["object_"]
    if not node:
        return "null"
    target = node.type.target().unqualified().strip_typedefs()
    if target.name == "tern::ffi::ArrayObj":
        return array_text(node.dereference())
    names = [field.name for field in target.fields()]
    name = f" {string_text(node.dereference()['name'])}" if "name" in names else ""
    return f"{target.name.rsplit('::', 1)[-1]}{name} at {node}"


class Printer:
    def __init__(self, value, text):
        self.value, self.text = value, text

    def to_string(self):
        return self.text(self.value)


def var_text(ref):
    return expr_text(ref) + (f": {dtype_text(ref['object_'].dereference()['dtype'])}" if ref["object_"] else "")


TYPES = {"tern::ir::Expr": expr_text, "tern::ir::Var": var_text, "tern::ir::Buffer": buffer_text, "tern::DataType": dtype_text,
         "tern::ffi::Any": any_text, "tern::ffi::AnyView": any_text}


def find_printer(value):
    kind = value.type.unqualified().strip_typedefs()
    if kind.code != gdb.TYPE_CODE_STRUCT or not kind.name:
        return None
    if kind.name in TYPES:
        return Printer(value, TYPES[kind.name])
    return Printer(value, ref_text) if kind.name.startswith("tern::ffi::Ref<") else None


gdb.pretty_printers.insert(0, find_printer)
