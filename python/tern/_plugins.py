# SPDX-License-Identifier: Apache-2.0
"""Backends and operators of other packages, which name them in entry points.

A package that has a plugin for the device kind `npu` says, in its pyproject.toml,

    [project.entry-points."tern.backends"]
    npu = "my_package:backend_folder"

where `backend_folder` is a path, or a function that gives one, to the folder with
libtern_runtime_npu.so and, where it has a code generator, libtern_codegen_npu.so. Libraries of
operators, libtern_codegen_<name>.so, are found the same way in the group "tern.operators", and are
loaded before anything is compiled.
"""

import importlib.metadata
import os
import warnings

from tern import _tern

GROUPS = ("tern.backends", "tern.operators")

_found = False
operators = []  # names of libraries to load with the compiler


def find():
    """Adds what other packages have to where plugins are searched; once."""
    global _found
    if _found:
        return
    _found = True
    folders = []
    for group in GROUPS:
        for entry in importlib.metadata.entry_points(group=group):
            try:
                target = entry.load()
                folder = os.fspath(target() if callable(target) else target)
            except Exception as error:  # a broken package is no reason for Tern not to work
                warnings.warn(f"entry point {entry.name} of {group}: {error}", RuntimeWarning, stacklevel=2)
                continue
            if folder not in folders:
                folders.append(folder)
            if group == "tern.operators":
                operators.append(entry.name)
    if folders:
        before = os.environ.get("TERN_BACKEND_PATH")
        os.environ["TERN_BACKEND_PATH"] = os.pathsep.join(([before] if before else []) + folders)


def load_operators():
    """Called once the compiler is open."""
    for name in operators:
        try:
            _tern.load_codegen(name)
        except Exception as error:
            warnings.warn(f"entry point {name} of tern.operators: {error}", RuntimeWarning, stacklevel=2)
