#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""validating_runner.py TERN_RUN --batch FILE

For `tern cts vulkan --runner`: has spirv-val validate every module of the files that are called, then has TERN_RUN call them. What
spirv-val or the validation layers say, which print to standard output, ends it.
"""
import json
import struct
import subprocess
import sys
import tempfile

ENVIRONMENT = "vulkan1.3"


class Reader:
    """Numbers and texts out of a saved module (docs/artifact_format.md)."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def u64(self):
        (value,) = struct.unpack_from("<Q", self.data, self.at)
        self.at += 8
        return value

    def take(self):
        size = self.u64()
        self.at += size
        return self.data[self.at - size : self.at]


def sections(data):
    """The sections of a container, by name; that of a shared object stands at its magic."""
    start = data.index(b"\x7fTERN\r\n\x1a")
    (count,) = struct.unpack_from("<I", data, start + 12)
    table = Reader(data[start + 64 :])
    found = {}
    for _ in range(count):
        name = table.take().decode()
        offset, size = table.u64(), table.u64()
        table.at += 32
        found[name] = data[start + offset : start + offset + size]
    return found


def modules(path):
    """(kernel, bytes) of the SPIR-V in a file."""
    with open(path, "rb") as file:
        found = sections(file.read())
    for i in range(len(json.loads(found["meta"])["imports"])):
        module = Reader(found[f"module.{i}"])
        if module.take() != b"spv":
            continue
        module.take()  # fmap
        payload = Reader(module.take())
        for _ in range(payload.u64()):
            name = payload.take().decode()
            yield name, payload.take()


def validate(path):
    """How many modules of the file are right; exits where one is not."""
    count = 0
    for name, code in modules(path):
        with tempfile.NamedTemporaryFile(suffix=".spv") as file:
            file.write(code)
            file.flush()
            result = subprocess.run(["spirv-val", "--target-env", ENVIRONMENT, file.name], capture_output=True, text=True)
        if result.returncode != 0:
            sys.exit(f"{path}: kernel {name}: {result.stdout}{result.stderr}")
        count += 1
    return count


def main(tern_run, *args):
    with open(args[1], encoding="utf-8") as batch:
        files = {line.split("\t")[0] for line in batch if line.strip()}
    count = sum(validate(path) for path in sorted(files))
    if count == 0:
        sys.exit(f"there is no SPIR-V in {', '.join(sorted(files))}")
    with subprocess.Popen([tern_run, *args], stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout:
            print(line, end="", flush=True)
            if "Validation " in line:
                process.kill()
                sys.exit(line)
    return process.returncode


sys.exit(main(*sys.argv[1:]))
