#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Rules about the sources that no compiler checks: layers, include guards, licence lines, backend names."""
import json
import pathlib
import re
import subprocess
import sys

# What each layer may include, besides itself. A backend's parts are layers of their own.
LAYERS = {
    "ffi": [],
    "runtime": ["ffi"],
    "ir": ["ffi"],
    "arith": ["ffi", "ir"],
    "target": ["ffi", "ir"],
    "tir": ["ffi", "ir", "arith", "target"],
    "tir/interpreter": ["ffi", "ir", "arith", "target", "tir", "runtime"],
    "schedule": ["ffi", "ir", "arith", "target", "tir"],
    "frontend": ["ffi", "ir", "graph"],
    "codegen": ["ffi", "ir", "arith", "target", "tir", "tir/interpreter", "schedule", "runtime"],
    "backend/*/schedule": ["ffi", "ir", "arith", "target", "tir", "schedule"],
    "backend/*/codegen": ["ffi", "ir", "arith", "target", "tir", "tir/interpreter", "schedule", "codegen", "runtime",
                          "backend/*/schedule", "backend/*/common", "backend/*/op"],
    "backend/*/op": ["ffi", "ir", "tir", "graph"],  # operators of a device's libraries, which models are offloaded to
    "backend/*/common": ["ffi"],  # for the code generator and the plugin, under the plugin's rules
    "backend/*/runtime": ["ffi", "runtime", "backend/*/common"],
    "backend/*/test": None,
    "extra": ["ffi", "runtime"],
    # Models stand on the compiler of functions: they may include all of it, and it nothing of them.
    "graph": ["ffi", "ir", "arith", "target", "tir", "tir/interpreter", "schedule", "codegen", "compile", "runtime"],
    "op": ["ffi", "ir", "tir", "tir/interpreter", "graph"],
    "compile": None,
}
# A plugin links against nothing of Tern: of these layers it sees the headers without code behind them.
PLUGIN_HEADERS = {
    "tern/ffi/c_abi.h", "tern/ffi/environment.h", "tern/ffi/error.h", "tern/ffi/float16.h",
    "tern/runtime/artifact/elf_extents.h", "tern/runtime/plugin_api.h", "tern/runtime/plugin_sdk.h",
    "tern/runtime/stream_table.h",
}


# Headers as they were: they keep the guards that they had.
PINNED = "tern/runtime/test_plugins/boundary/"
# The one place that reads environment variables, and the table of all of them.
ENVIRONMENT = "tern/ffi/environment.h"
ENVIRONMENT_TABLE = "docs/environment.md"
PASSES = "tern/tir/transform/passes.cc"  # registers passes by name
PAGE_WIDTH = 120
VARIABLE = re.compile(r'\b(?:environment::\w+|Variable|getenv|NumberOf)\(\s*"(\w+)"')


def layer_of(path):
    """The layer that a path below tern/ belongs to, and the backend if it is one's."""
    parts = path.split("/")[1:]
    if parts[0] == "backend":
        return f"backend/*/{parts[2]}", parts[1]
    if len(parts) == 1:
        return "compile", None
    if parts[:2] == ["tir", "interpreter"]:
        return "tir/interpreter", None
    return parts[0], None


def check_includes(path, text, report):
    layer, backend = layer_of(path)
    is_test = path.endswith("_test.cc") or "/test" in path
    for number, line in enumerate(text.splitlines(), 1):
        match = re.match(r'#include "(.*)"', line)
        if not match:
            continue
        included = match.group(1)
        if not included.startswith("tern/"):
            report(path, number, f'"{included}": includes are from the root, as "tern/..."')
            continue
        if is_test:
            continue  # a test may look at anything
        target, target_backend = layer_of(included)
        is_plugin = layer in ("backend/*/runtime", "backend/*/common", "extra")
        is_own = target_backend == backend and target in (layer, "backend/*/common")
        if is_plugin and not is_own and included not in PLUGIN_HEADERS:
            report(path, number, f"a plugin may include only {', '.join(sorted(PLUGIN_HEADERS))}, not {included}")
        elif backend and target_backend and backend != target_backend:
            report(path, number, f"backend {backend} includes a file of backend {target_backend}")
        elif target != layer and LAYERS[layer] is not None and target not in LAYERS[layer]:
            report(path, number, f"layer {layer} may not include layer {target}")


def check_guard(path, text, report):
    guard = re.sub(r"[/.]", "_", path).upper() + "_"
    if f"#ifndef {guard}\n#define {guard}\n" not in text or f"#endif  // {guard}" not in text:
        report(path, 1, f"the include guard must be {guard}")


def check_backend_names(path, text, names, report):
    pattern = re.compile(r'"[^"\n]*\b(' + "|".join(map(re.escape, names)) + r')\b[^"\n]*"')
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith(("//", "#")):
            continue
        match = pattern.search(line)
        if match:
            report(path, number, f"shared code names backend {match.group(1)}: register what differs instead")


def check_environment(path, text, table, report):
    is_test = path.endswith("_test.cc") or "/test" in path
    if path != ENVIRONMENT and not is_test and re.search(r"\b(secure_)?getenv\(", text):
        report(path, 1, f"environment variables are read by {ENVIRONMENT}")
    for match in VARIABLE.finditer(text):
        name = match.group(1)
        if f"`{name}`" not in table and not (is_test and not name.startswith("TERN_")):
            report(path, text.count("\n", 0, match.start()) + 1, f"{ENVIRONMENT_TABLE} has no {name}")


def check_page(path, text, report):
    """Prose is wrapped; rows of tables and code may be longer."""
    for number, line in enumerate(text.splitlines(), 1):
        if len(line) > PAGE_WIDTH and not re.match(r" *\||    ", line):
            report(path, number, f"the line has {len(line)} columns; expected at most {PAGE_WIDTH}")


def check_pass_header(path, text, report):
    """A registered pass shows what it does: Before: and After:, with a piece of TIR each."""
    if "// Before:" not in text or "// After:" not in text:
        report(path, 1, "the header of a pass has no // Before: and // After: with an example")


def check_presets(path, text, presets, report):
    """What ./dev builds is a preset of CMake's."""
    for number, line in enumerate(text.splitlines(), 1):
        for pattern in (r"(?:^ *|\) |\|\| |&& )build ([a-z][\w-]*)", r"build/([a-z][\w-]*)/(?:bin|lib)", r"(?:preset|runtime)=([a-z][\w-]*)"):
            for name in re.findall(pattern, line):
                if name not in presets:
                    report(path, number, f"CMakePresets.json has no preset {name} to build")


def main():
    root = pathlib.Path(__file__).resolve().parent.parent
    files = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard"], cwd=root, check=True,
                           capture_output=True, text=True).stdout.split()
    backends = sorted(path.parent.name for path in (root / "tern/backend").glob("*/CMakeLists.txt"))
    # Words that mean something else too; "llvm" and "c" are kinds of the cpu backend.
    names = [name for name in backends if name not in ("cpu", "interp")]
    table = (root / ENVIRONMENT_TABLE).read_text()
    problems = []

    def report(path, line, message):
        problems.append(f"{path}:{line}: {message}")

    presets = {preset["name"] for preset in json.loads((root / "CMakePresets.json").read_text())["buildPresets"]}
    check_presets("dev", (root / "dev").read_text(), presets, report)
    passes = set(re.findall(r'"([a-z_]+)"', (root / PASSES).read_text()))
    for path in files:
        if path.endswith(".md") and path.startswith(("docs/", "README", "CONTRIBUTING")):
            check_page(path, (root / path).read_text(), report)
        if not path.endswith((".h", ".cc", ".c", ".py", ".sh", "CMakeLists.txt", ".cmake")):
            continue
        if not (root / path).exists():
            continue
        text = (root / path).read_text()
        if "SPDX-License-Identifier: Apache-2.0" not in "\n".join(text.splitlines()[:2]):
            report(path, 1, "the file has no SPDX licence line")
        if path.endswith(".h") and not path.startswith(PINNED):
            check_guard(path, text, report)
        if path.endswith(".h") and pathlib.Path(path).stem in passes and "/transform/" in path:
            check_pass_header(path, text, report)
        if path.startswith("tern/") and path.endswith((".h", ".cc")):
            check_includes(path, text, report)
            check_environment(path, text, table, report)
        shared = not path.startswith("tern/backend/") and not path.endswith("_test.cc")
        if shared and path.startswith(("tern/", "tools/", "cmake/")) and path.endswith((".h", ".cc")) and names:
            check_backend_names(path, text, names, report)
    print("\n".join(problems) if problems else f"{len(files)} files follow the rules")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
