#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs what README.md and the tutorials tell people to type.

    tools/run_docs.py BUILD [PAGE...]

Blocks of a page are done in order, in a folder of its own that has build/release (BUILD), examples, tern, test and web. The
word behind the fence says what a block is:

    sh                     commands; each must succeed
    sh fails               commands of which the last must fail
    sh needs=A,B           the same, where there are programs A and B; target:X is a target that runs here,
                           python:X a package of python3, llvm and full are features
    sh by=FILE             commands that the test FILE does
    sh not: WHY            commands that no test does
    text                   what the block before it prints; "..." stands for any text, digits for other digits, and
                           lines that begin behind what is shown may follow
    NAME file=PATH         the text of a file that the next blocks use
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGES = ["README.md", *sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs/tutorials").glob("*.md")), "docs/editors.md"]


def blocks(text):
    """(line, words behind the fence, text) of every fenced block."""
    found, lines, i = [], text.splitlines(), 0
    while i < len(lines):
        match = re.match(r"```(.+)", lines[i])
        i += 1
        if not match:
            continue
        start = i
        while i < len(lines) and lines[i] != "```":
            i += 1
        found.append((start, match.group(1).strip(), "\n".join(lines[start:i]) + "\n"))
        i += 1
    return found


class Machine:
    def __init__(self, build):
        self.build = build.resolve()
        self.targets = subprocess.run([self.build / "bin/tern", "targets"], capture_output=True, text=True, check=True).stdout

    def lacks(self, needs):
        """What of the list is not here."""
        for need in filter(None, needs.split(",")):
            if need == "llvm":
                there = re.search(r"^llvm .*\n.*\n +codegen +yes", self.targets, re.M)
            elif need == "full":
                there = os.environ.get("TERN_TEST_FULL") == "1"
            elif need.startswith("python:"):
                there = subprocess.run(["python3", "-c", f"import {need[7:]}"], capture_output=True, check=False).returncode == 0
            elif need.startswith("target:"):
                there = re.search(rf"^ +device +{need[7:]}:0 ", self.targets, re.M)
            elif need.startswith("build/"):
                there = (self.build.parent.parent / need).exists()
            else:
                there = shutil.which(need)
            if not there:
                return need
        return None

    def folder(self):
        folder = pathlib.Path(tempfile.mkdtemp())
        for name in ("examples", "tern", "test", "web"):
            (folder / name).symlink_to(ROOT / name)
        (folder / "build").mkdir()
        (folder / "build/release").symlink_to(self.build)
        for cross in self.build.parent.glob("cross-*"):
            (folder / "build" / cross.name).symlink_to(cross)
        return folder


def matches(shown, printed):
    """Whether what was printed begins as the page shows it."""
    def plain(text):
        lines = (re.sub(r"\d[\d.]*(e[+-]?\d+)?( (ns|us|ms|s)\b)?", "0", line) for line in text.strip().splitlines())
        return [re.sub(r"\s+", " ", line).strip() for line in lines]
    lines = plain(printed)
    at = 0
    for line in plain(shown):
        if line == "...":
            continue
        pattern = ".*".join(re.escape(part) for part in line.split("..."))
        while at < len(lines) and not re.fullmatch(pattern, lines[at]):
            at += 1
        if at == len(lines):
            return line
        at += 1
    return None


def check_page(page, machine):
    """The problems of a page, how many blocks were run, and what was not."""
    problems, run, left = [], 0, []
    folder = machine.folder()
    environment = {**os.environ, "PATH": f"{machine.build}/bin:{os.environ['PATH']}", "TERN_CACHE": "0", "LC_ALL": "C"}
    printed = None
    try:
        for line, words, text in blocks((ROOT / page).read_text()):
            where = f"{page}:{line}"
            kind, _, rest = words.partition(" ")
            if rest.startswith("file="):
                target = folder / rest[5:]
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text(text)
            elif kind == "text":
                if printed is not None:
                    missing = matches(text, printed)
                    if missing is not None:
                        problems.append(f"{where}: nothing printed is like this line: {missing}\n{printed}")
                printed = None
            elif kind == "sh":
                printed = None
                by = re.match(r"by=(\S+)$", rest)
                if rest.startswith("not: "):
                    left.append(f"{where}: {rest[5:]}")
                elif by:
                    if not (ROOT / by.group(1)).exists():
                        problems.append(f"{where}: there is no test {by.group(1)}")
                elif rest and rest != "fails" and not rest.startswith("needs="):
                    problems.append(f"{where}: what is '{rest}'?")
                elif rest.startswith("needs=") and machine.lacks(rest[6:]):
                    left.append(f"{where}: needs {machine.lacks(rest[6:])}")
                else:
                    result = subprocess.run(["bash", "-ec", text], cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                            text=True, errors="replace", timeout=600)
                    run += 1
                    printed = result.stdout
                    if (result.returncode != 0) != (rest == "fails"):
                        problems.append(f"{where}: ended with status {result.returncode}\n{text}{printed}")
    finally:
        shutil.rmtree(folder)
    return problems, run, left


def main():
    machine = Machine(pathlib.Path(sys.argv[1]))
    problems, run = [], 0
    for page in sys.argv[2:] or PAGES:
        of_page, count, left = check_page(page, machine)
        problems += of_page
        run += count
        for reason in left:
            print(f"not run: {reason}")
    for problem in problems:
        print(problem)
    print(f"{run} blocks were run, {len(problems)} are wrong")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
