#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares tables of the documentation with what the tern tool lists: rules, steps, passes, targets.

    tools/check_docs.py build/release/bin/tern
"""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def run(tern, *args):
    return subprocess.run([tern, *args], capture_output=True, text=True)


def first_words(text):
    return {line.split()[0] for line in text.splitlines() if line and not line[0].isspace()}


def section(page, begin, end):
    """The text of a page from the heading `begin` to the heading `end`."""
    text = (ROOT / page).read_text()
    return text[text.index("\n" + begin + "\n"):text.index("\n" + end + "\n")]


def section_to_end(page, begin):
    text = (ROOT / page).read_text()
    return text[text.index("\n" + begin + "\n"):]


def first_column(text):
    """Names in backquotes in the first column of the tables of a text."""
    names = set()
    for line in text.splitlines():
        if line.strip().startswith("|"):
            names.update(re.findall(r"`([^`]+)`", line.split("|")[1]))
    return names


def listed(tern):
    """What the tool has, and where a page says so: (page, what, the tool's, the page's)."""
    rules = first_words(run(tern, "opt", "--list-rules").stdout)
    host = section("docs/schedule_rules.md", "## Host rules", "### `packed_matmul`")
    device = section("docs/schedule_rules.md", "## Device rules", "### GEMM on devices")
    yield "docs/schedule_rules.md", "rule", rules, first_column(host) | first_column(device)

    # What is done before the rules: by canonicalize_axes, or as steps that are told under a name.
    sources = ROOT / "tern/schedule/rules"
    axes = re.findall(r'rules/(\w+)\.h"', (sources / "canonical_axes.cc").read_text())
    told = [name for file in sources.glob("*.cc") for name in re.findall(r'TryBefore\([^;]*?"(\w+)"', file.read_text())]
    before = section("docs/schedule_rules.md", "## Before the rules", "### Plain loops")
    yield ("docs/schedule_rules.md", "rewrite before the rules", {*axes, *told, "plain_loops"} - {"canonical_axes"},
           first_column(before))

    # An unknown step is answered with the names of all.
    wrong = ROOT / "test/error/Inputs/unknown_step.tir"
    steps = re.search(r"the steps are ([a-z0-9_, ]+)", run(tern, "opt", "--schedule", wrong).stderr)
    text = (ROOT / "docs/schedules.md").read_text()
    described = set(re.findall(r"\*\*([a-z0-9_]+)\*\*(?=[:,])", text))
    yield "docs/schedules.md", "step", set(steps.group(1).split(", ")), described
    compared = first_column(text[text.index("| step |"):text.index("## Loops")])
    yield "docs/schedules.md (the table of names)", "step", described, compared

    passes = first_words(run(tern, "opt", "--list-passes").stdout)
    life = section("docs/architecture.md", "## The life of a kernel", "## Extension points")
    yield "docs/architecture.md", "pass", passes, first_column(life)

    targets = {line.split()[0] for line in run(tern, "targets").stdout.splitlines()
               if re.match(r"[a-z0-9_]+  \S", line)}
    table = (ROOT / "README.md").read_text()
    table = table[table.index("| target |"):table.index("## Finding the way")]
    yield "README.md", "target", targets, first_column(table)


def uncovered():
    """Words of the table of docs/conformance.md that none of the programs beside them has, and programs that are not there."""
    for line in section_to_end("docs/conformance.md", "## What is covered").splitlines():
        if not line.startswith("| ") or "`" not in line:
            continue
        feature, programs = re.split(r"(?<!\\)\|", line)[1:3]
        text = ""
        for name in re.findall(r"`([^`]+)`", programs):
            file = ROOT / (f"examples/{name}.tir" if "/" in name else f"test/cts/{name}.tir")
            if not file.exists():
                yield f"docs/conformance.md: there is no program {name}"
                continue
            text += file.read_text()
        for word in re.findall(r"`([^`]+)`", feature):
            if word.replace("\\|", "|") not in text:
                yield f"docs/conformance.md: no program of {programs.strip()} has {word}"


def main():
    wrong = list(uncovered())
    for page, what, has, says in listed(sys.argv[1]):
        if not has:
            wrong.append(f"the tool lists no {what}")
        wrong += [f"{page} lacks {what} {name}" for name in sorted(has - says)]
        wrong += [f"{page}: there is no {what} {name}" for name in sorted(says - has)]
    for line in wrong:
        print(line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
