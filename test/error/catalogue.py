#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Wrong uses and what is said of them: runs every one of a catalogue, and compares with what is pinned there.

    catalogue.py BUILD CATALOGUE [--features llvm,...] [--only TEXT]

A catalogue is text:

    ## a heading
    @ NAME                     the lines up to the next blank line are written to file NAME
    $ COMMAND                  a command line of tern or tern-run, in a folder with these files, kernels/ and models/;
    $ [llvm] COMMAND           one that needs a feature, else it is not run
    c> CALL                    a call of the C API, as a Python expression: OUT is where a result goes
    MESSAGE                    what is said, to the next blank line; "..." stands for any text, ~ for a blank line

A command must end with status 1 or 2, a call with -1. What no message may be: nothing, a crash, the name of an
exception of the C++ library, a message of the compiler's own mistakes. TERN_UPDATE_GOLDEN=1 writes the messages that
differ into the catalogue.
"""
import argparse
import ast
import concurrent.futures
import ctypes
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
FORBIDDEN = re.compile(r"terminate called|what\(\)|std::|basic_string|vector::|stoi|stoull|bad_alloc|bad_function_call|Segmentation"
                       r"|core dumped|Sanitizer|this is a bug|InternalError|Traceback")


class Case:
    def __init__(self, kind, use, feature, line):
        self.kind, self.use, self.feature, self.line = kind, use, feature, line
        self.expected = []


def read(path):
    """The lines of a catalogue, its files as {name: text}, and its cases."""
    lines = path.read_text().splitlines()
    files, cases, i = {}, [], 0
    while i < len(lines):
        line = lines[i]
        i += 1
        match = re.match(r"(\$|c>) (?:\[(\w+)\] )?(.*)", line)
        if line.startswith("@ "):
            start = i
            while i < len(lines) and lines[i]:
                i += 1
            files[line[2:]] = "\n".join(lines[start:i]) + "\n"
        elif match:
            case = Case(match.group(1), match.group(3), match.group(2), i - 1)
            while i < len(lines) and lines[i]:
                case.expected.append(lines[i])
                i += 1
            cases.append(case)
        elif line and not line.startswith("#"):
            sys.exit(f"{path}:{i}: expected a heading, a file or a use, found: {line}")
    return lines, files, cases


def make_folder(folder, files):
    (folder / "kernels").symlink_to(ROOT / "examples/kernels")
    (folder / "models").symlink_to(ROOT / "test/models")
    for name, text in files.items():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if name.endswith(".hex"):
            target.with_suffix("").write_bytes(bytes.fromhex(text))
        else:
            target.write_text(text)


def clean(text, folder, build):
    """Without the places of this machine."""
    for place, name in ((str(folder) + "/", ""), (str(folder), "."), (str(build), "BUILD"), (str(ROOT) + "/", "")):
        text = text.replace(place, name)
    return [line.rstrip() or "~" for line in text.rstrip().splitlines()]


def run_command(case, folder, build):
    environment = {**os.environ, "PATH": f"{build}/bin:{os.environ['PATH']}", "TERN_CACHE": "0", "LC_ALL": "C"}
    result = subprocess.run(["bash", "-c", case.use], cwd=folder, env=environment, capture_output=True, text=True, errors="replace", timeout=120)
    # A result that was there before the mistake was found has times in it.
    lines = clean(result.stderr or result.stdout, folder, build)
    wrong = None if result.returncode in (1, 2) else f"ended with status {result.returncode}; expected 1 or 2"
    return lines, wrong


class Device(ctypes.Structure):
    _fields_ = [("kind", ctypes.c_int32), ("id", ctypes.c_int32)]


class DType(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class Any(ctypes.Structure):
    _fields_ = [("type_index", ctypes.c_int32), ("padding", ctypes.c_uint32), ("value", ctypes.c_int64)]


class CApi:
    """The functions of c_api.h, by name, and what calls of them need."""

    def __init__(self, build, folder):
        self.library = ctypes.CDLL(str(build / "lib/libtern_runtime.so"))
        self.library.tern_last_error.restype = ctypes.c_char_p
        self.folder = folder

    def get(self, make):
        """The object that a call makes."""
        out = ctypes.c_void_p()
        if make(ctypes.byref(out)) != 0:
            raise RuntimeError(self.library.tern_last_error().decode())
        return out

    def run(self, case):
        names = {name: getattr(self.library, name) for name in re.findall(r"\btern_\w+", case.use)}
        names.update(
            OUT=ctypes.byref(ctypes.c_void_p()), NULL=None, HOST=Device(1, 0), Device=Device, F32=DType(2, 32, 1), DType=DType, Any=Any, get=self.get,
            ref=ctypes.byref, shape=lambda *extents: (ctypes.c_int64 * len(extents))(*extents), handles=lambda *items: (ctypes.c_void_p * len(items))(*items),
            names=lambda *items: (ctypes.c_char_p * len(items))(*items), i64=ctypes.c_int64, u64=ctypes.c_uint64, f64=ctypes.c_double, i32=ctypes.c_int32,
            memory=ctypes.create_string_buffer)
        status = eval(case.use, {"__builtins__": {}, **names})  # pylint: disable=eval-used
        lines = clean((self.library.tern_last_error() or b"").decode(), self.folder, pathlib.Path("BUILD"))
        return lines, None if status == -1 else f"returned {status}; expected -1"


def run_call(case, build, folder):
    """In a process of its own: a call that crashes takes no other along."""
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(write_end, repr(CApi(build, folder).run(case)).encode())
        os._exit(0)
    os.close(write_end)
    with os.fdopen(read_end, "rb") as pipe:
        answer = pipe.read()
    status = os.waitpid(child, 0)[1]
    return ast.literal_eval(answer.decode()) if answer else ([], f"ended the process (wait status {status})")


def matches(expected, actual):
    pattern = "".join(".*" if part == "..." else re.escape(part) for part in re.split(r"(\.\.\.)", "\n".join(expected)))
    return re.fullmatch(pattern, "\n".join(actual), re.S) is not None


def problem_of(case, actual, wrong):
    if wrong:
        return wrong
    text = "\n".join(actual)
    if FORBIDDEN.search(text):
        return f"says what no user can use: {FORBIDDEN.search(text).group(0)}"
    if not re.search(r"[a-z]{3}.* [a-z]", re.sub(r"^\w+: |^tern(-run)?: error: ", "", text)):
        return "says nothing"
    return None if matches(case.expected, actual) else "says something else"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("catalogue", type=pathlib.Path)
    parser.add_argument("--features", default="")
    parser.add_argument("--only", default="")
    arguments = parser.parse_args()
    build = arguments.build.resolve()
    features = set(arguments.features.split(","))
    lines, files, cases = read(arguments.catalogue)
    chosen = [case for case in cases if (not case.feature or case.feature in features) and arguments.only in case.use
              and not (case.kind == "c>" and "sanitized" in features)]
    folder = pathlib.Path(tempfile.mkdtemp())
    try:
        make_folder(folder, files)
        setup = subprocess.run(["bash", "-c", files.get("setup.sh", "true")], cwd=folder, capture_output=True, text=True,
                               env={**os.environ, "PATH": f"{build}/bin:{os.environ['PATH']}"})
        if setup.returncode:
            sys.exit(f"setup.sh failed: {setup.stdout}{setup.stderr}")
        os.chdir(folder)
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            answers = dict(zip((case for case in chosen if case.kind == "$"),
                               pool.map(lambda case: run_command(case, folder, build), [case for case in chosen if case.kind == "$"])))
        calls = [case for case in chosen if case.kind == "c>"]
        if calls:
            answers.update((case, run_call(case, build, folder)) for case in calls)
    finally:
        os.chdir(ROOT)
        subprocess.run(["chmod", "-R", "u+rwX", folder], check=False)
        shutil.rmtree(folder)
    wrong = [(case, problem_of(case, *answers[case])) for case in chosen if problem_of(case, *answers[case])]
    if os.environ.get("TERN_UPDATE_GOLDEN"):
        for case, problem in reversed(wrong):
            if problem == "says something else":
                lines[case.line + 1:case.line + 1 + len(case.expected)] = answers[case][0]
        arguments.catalogue.write_text("\n".join(lines) + "\n")
        wrong = [(case, problem) for case, problem in wrong if problem != "says something else"]
    for case, problem in wrong:
        print(f"{arguments.catalogue.name}:{case.line + 1}: {case.kind} {case.use}\n  {problem}; it says:")
        print("\n".join("    " + line for line in answers[case][0]))
    print(f"{len(chosen)} wrong uses, {len(cases) - len(chosen)} not run here, {len(wrong)} not as pinned")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
