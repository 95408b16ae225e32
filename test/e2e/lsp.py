#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Drives `tern lsp` as an editor does, over its standard input and output.

    lsp.py TERN
"""
import json
import subprocess
import sys

URI = "file:///tmp/a%20file.tir"
TEXT = """# \u00e9 \U0001d11e
func scale(A: float32[n, m], s: float32, B: float32[n, m]) {
  for i in 0..n, j in 0..m {
    let x = A[i, j] * s
    block out(vi: spatial(n) = i, vj: spatial(m) = j) {
      B[vi, vj] = x + 1
    }
  }
}
schedule scale for host {
  parallel(i)
}
"""


class Client:
    def __init__(self, tern):
        self.process = subprocess.Popen([tern, "lsp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.number = 0

    def send(self, message):
        data = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(data) + data)
        self.process.stdin.flush()

    def read(self):
        length = 0
        while line := self.process.stdout.readline().strip():
            length = int(line.split(b":")[1])
        return json.loads(self.process.stdout.read(length))

    def request(self, method, **params):
        self.number += 1
        self.send({"id": self.number, "method": method, "params": params})
        answer = self.read()
        check(answer.get("id"), self.number)
        return answer

    def change(self, text, method="textDocument/didChange"):
        """The mistakes of a text as (line, first and last column, message)."""
        document = {"uri": URI, "version": 1, "languageId": "tir", "text": text}
        self.send({"method": method, "params": {"textDocument": document, "contentChanges": [{"text": text}]}})
        published = self.read()
        check(published["method"], "textDocument/publishDiagnostics")
        check(published["params"]["uri"], URI)
        return [(item["range"]["start"]["line"], item["range"]["start"]["character"], item["range"]["end"]["character"], item["message"])
                for item in published["params"]["diagnostics"]]

    def at(self, method, line, character):
        return self.request(method, textDocument={"uri": URI}, position={"line": line, "character": character})["result"]


def check(actual, expected):
    if actual != expected:
        sys.exit(f"expected {expected!r}, got {actual!r}")


def main():
    client = Client(sys.argv[1])
    capabilities = client.request("initialize", capabilities={})["result"]["capabilities"]
    check([capabilities[name] for name in ("textDocumentSync", "hoverProvider", "definitionProvider", "documentSymbolProvider")], [1, True, True, True])
    client.send({"method": "initialized", "params": {}})

    # Mistakes, as the text changes: of the parser, with ranges; of the verifier; of a schedule.
    check(client.change(TEXT, "textDocument/didOpen"), [])
    check(client.change(TEXT.replace("* s", "* scale_by")), [(3, 22, 30, "'scale_by' is not defined")])
    check(client.change(TEXT.replace("spatial(n)", "spatail(n)"))[0][:3], (4, 18, 25))
    check(client.change("# \u00e9\nfunc f(A: float32[n]) { A[0] = sqroot(1.0) }"),
          [(1, 31, 37, "unknown function sqroot (did you mean sqrt?)")])
    wrong = client.change(TEXT.replace("parallel(i)", "parallel(q)"))
    check((len(wrong), wrong[0][:2]), (1, (10, 2)))
    check("there is no loop q" in wrong[0][3], True)
    check(client.change(TEXT), [])

    # Types on names: as written, and as inferred; the plan of a function.
    check(client.at("textDocument/hover", 3, 12)["contents"]["value"], "parameter `A: float32[n, m]`")
    check(client.at("textDocument/hover", 5, 18)["contents"]["value"], "variable `x: float32`")
    check(client.at("textDocument/hover", 4, 32)["contents"]["value"], "loop `i: int64`")
    check(client.at("textDocument/hover", 5, 8)["contents"]["value"], "axis `vi: spatial(n)`")
    check(client.at("textDocument/hover", 0, 3), None)
    client.change(TEXT[:TEXT.index("schedule")])
    plan = client.at("textDocument/hover", 1, 6)["contents"]["value"]
    check(plan.startswith("```tir\nfunc scale(A: float32[n, m]"), True)
    check("schedule scale {" in plan, True)
    client.change(TEXT)

    # Definitions: of a variable, of a function from its schedule; there is none of a number.
    check(client.at("textDocument/definition", 5, 18)["range"]["start"], {"line": 3, "character": 8})
    check(client.at("textDocument/definition", 9, 10)["range"]["start"], {"line": 1, "character": 5})
    check(client.at("textDocument/definition", 5, 22), None)
    outline = client.request("textDocument/documentSymbol", textDocument={"uri": URI})["result"]
    check([(item["name"], [child["name"] for child in item["children"]]) for item in outline], [("scale", ["out"])])
    check(outline[0]["range"]["end"], {"line": 8, "character": 1})

    # Templates, structs and functions that others call.
    text = ("struct S { a: float32 }\nfunc half[T](x: T) -> T { return x * 0.5 }\n"
            "func f(A: float32[n], s: S) {\n  A[0] = half(A[1]) + s.a\n}\n")
    check(client.change(text), [])
    check(client.at("textDocument/definition", 3, 10)["range"]["start"], {"line": 1, "character": 5})
    check(client.at("textDocument/hover", 1, 16)["contents"]["value"], "template parameter `T`")
    check(client.at("textDocument/hover", 1, 33)["contents"]["value"], "parameter `x: T`")
    check(client.at("textDocument/hover", 2, 25)["contents"]["value"], "struct `S`")
    check(client.change(text.replace("x * 0.5", "x * y")), [(1, 37, 38, "'y' is not defined (in half[float32])")])

    # What is wrong of the client.
    check(client.request("textDocument/rename")["error"]["code"], -32601)
    check(client.request("textDocument/hover", textDocument={"uri": "file:///other"}, position={})["error"]["message"], "the document file:///other is not open")
    client.process.stdin.write(b"Content-Length: 3\r\n\r\n{x}")
    client.process.stdin.flush()
    check(client.read()["error"]["code"], -32700)

    client.request("shutdown")
    client.send({"method": "exit"})
    check(client.process.wait(60), 0)
    # An editor that goes without a word.
    client = Client(sys.argv[1])
    client.process.stdin.close()
    check(client.process.wait(60), 1)


if __name__ == "__main__":
    main()
