#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the files for editors against the language: every reserved word has a colour, and lines are cut as they should be."""
import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
VSCODE = ROOT / "editors/vscode"


def rules(grammar, patterns):
    """(expression, names by group) of all that a line is matched with, in order."""
    for pattern in patterns:
        if "include" in pattern:
            yield from rules(grammar, [grammar["repository"][pattern["include"][1:]]])
        elif "patterns" in pattern and "begin" not in pattern:
            yield from rules(grammar, pattern["patterns"])
        elif "begin" in pattern:
            yield re.compile(f"(?:{pattern['begin']}).*?(?:{pattern['end']})"), {0: pattern["name"]}
        else:
            names = {int(group): value["name"] for group, value in pattern.get("captures", {}).items()}
            yield re.compile(pattern["match"]), names or {0: pattern["name"]}


def scopes(grammar, line):
    """The names that the words of a line get, as {word: name}."""
    found, at, all_rules = {}, 0, list(rules(grammar, grammar["patterns"]))
    while at < len(line):
        matches = [(match.start(), index, match, names) for index, (expression, names) in enumerate(all_rules)
                   if (match := expression.search(line, at)) and match.end() > match.start()]
        if not matches:
            break
        _, _, match, names = min(matches, key=lambda item: item[:2])
        for group, name in names.items():
            found[match.group(group)] = name
        at = match.end()
    return found


def main():
    package = json.loads((VSCODE / "package.json").read_text())
    json.loads((VSCODE / "language-configuration.json").read_text())
    for path in (package["main"], package["contributes"]["grammars"][0]["path"], package["contributes"]["languages"][0]["configuration"]):
        assert (VSCODE / path).exists(), path
    grammar = json.loads((VSCODE / "syntaxes/tir.tmLanguage.json").read_text())
    header = (ROOT / "tern/tir/reserved_words.h").read_text()
    words = set(re.findall(r'"(\w+)"', header))
    assert len(words) > 20, words
    without = [word for word in sorted(words) if not scopes(grammar, f"  {word} ").get(word)]
    assert not without, f"no colour for {without}"
    line = scopes(grammar, 'func f(A: float32x4[n]) attrs {target = "llvm"} { A[0] = exp(1.5) } # in words')
    expected = {"func": "keyword.declaration.tir", "f": "entity.name.function.tir", "float32x4": "support.type.tir", '"llvm"': "string.quoted.double.tir",
                "exp": "support.function.tir", "1.5": "constant.numeric.tir", "# in words": "comment.line.number-sign.tir"}
    for word, name in expected.items():
        assert line.get(word) == name, (word, line.get(word), name)
    line = scopes(grammar, "struct Scale { alpha: float32 = 0.5 }")
    assert line["struct"] == "keyword.declaration.tir" and line["Scale"] == "entity.name.function.tir", line
    assert scopes(grammar, 'import "lib.tir"')["import"] == "keyword.control.import.tir"
    assert scopes(grammar, "func f[T](x: T) -> T { return x }")["return"] == "keyword.control.tir"
    assert scopes(grammar, "for i in 0..n {")["0"] == "constant.numeric.tir"


if __name__ == "__main__":
    sys.exit(main())
