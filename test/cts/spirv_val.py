#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Validates the SPIR-V of compiled files.

    spirv_val.py FILE.tern...              each of their modules
    spirv_val.py --runner TERN_RUN --batch FILE

The second form is for `tern cts TARGET --runner`: it validates what the calls of the batch are to run, then has TERN_RUN run it.
Exits with 1 where spirv-val finds a mistake, and says in which kernel of which file.
"""
import json
import os
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


def main(args):
    if args[:1] == ["--runner"]:
        with open(args[3], encoding="utf-8") as batch:
            files = {line.split("\t")[0] for line in batch if line.strip()}
        print(f"validated {sum(validate(path) for path in sorted(files))} modules of {len(files)} files", flush=True)
        os.execv(args[1], [args[1], "--batch", args[3]])
    for path in args:
        print(f"{path}: {validate(path)} modules")


main(sys.argv[1:])
