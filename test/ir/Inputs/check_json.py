# SPDX-License-Identifier: Apache-2.0
"""Reads what `tern opt --json` wrote of json.tir."""
import json
import sys

module = json.load(open(sys.argv[1]))
(function,) = module["functions"]
assert function["kind"] == "PrimFunc" and function["name"] == "scale", function
assert function["attrs"] == {"reassociate": True, "schedule": "split(i, 4)->(o, t)\n"}, function["attrs"]
a, b, alpha = function["params"]
assert (a["kind"], a["name"], a["dtype"], a["scope"]) == ("Buffer", "A", "float32", "global"), a
assert (alpha["kind"], alpha["name"], alpha["dtype"]) == ("Var", "alpha", "float32"), alpha
loop = function["body"]
assert loop["kind"] == "For" and loop["for_kind"] == "parallel" and loop["thread"] == "", loop
assert loop["extent"]["id"] == a["shape"][0]["id"], "the extent is that of A"
assert "json.tir:2:" in loop["at"], loop["at"]
block = loop["body"]
(axis,) = block["iters"]
assert block["name"] == "scale" and axis["kind"] == "spatial" and axis["binding"]["name"] == "i"
assert block["init"] is None and block["predicate"] is None
store = block["body"]
assert store["kind"] == "BufferStore" and store["buffer"] == {"name": "B", "id": b["id"]}, store
add = store["value"]
assert add["kind"] == "Add" and add["b"] == {"kind": "FloatImm", "dtype": "float32", "value": "inf"}, add["b"]
assert add["a"]["a"]["buffer"]["id"] == a["id"]
assert add["a"]["b"]["id"] == alpha["id"]
