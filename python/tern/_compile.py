# SPDX-License-Identifier: Apache-2.0
"""From models and kernels to executables."""

import json
import os
import sys
import threading

from tern import _plugins, _tern
from tern._errors import CompilerNotInstalled, TypeError, ValueError
from tern._executable import Kernels, Model
from tern._report import Report, table

_lock = threading.Lock()
_is_open = False
_OPTIONS = ("bounds_checks", "default_schedules", "fuse", "strict_math", "precision", "offload", "prepack", "executor",
            "specialize")


def open_compiler():
    """Opens libtern_compiler.so: beside the package, or in the build tree that it is a part of."""
    global _is_open
    if _is_open:
        return
    with _lock:
        if _is_open:
            return
        folder = os.path.dirname(os.path.abspath(_tern.__file__))
        places = [os.path.join(folder, "lib"), os.path.join(folder, "..", "..")]
        for place in places:
            path = os.path.join(place, "libtern_compiler.so")
            if os.path.exists(path):
                break
        else:
            raise CompilerNotInstalled(
                "this is tern-runtime, which loads and runs compiled files; the package tern has the compiler"
            )
        _plugins.find()
        _open_bundled(place)
        _tern.open_compiler(path)
        _plugins.load_operators()
        _is_open = True


def _open_bundled(folder):
    """Libraries that the wheel brings find each other by being open already, whatever their order."""
    import ctypes

    left = [os.path.join(folder, name) for name in sorted(os.listdir(folder)) if ".so" in name and not name.startswith("libtern")]
    while left:
        failed = []
        for path in left:
            try:
                ctypes.CDLL(path)
            except OSError:
                failed.append(path)
        if len(failed) == len(left):
            return  # the compiler says what it lacks
        left = failed


def compile(source, target=None, host=None, inputs=None, *, dims=None, freeze=False, name=None, **options):
    """Compiles a model or kernels: what it gives can be called, and saved.

    source: the path of an .onnx or .tir file, an onnx.ModelProto, a torch module or ExportedProgram, TIR
        text, or a kernel made in Python
    target: "llvm -mcpu=native", "cuda -arch=sm_90a", ...: see tern.targets(). None: this machine's kind, for
        any CPU of it. A list of hosts: one file for all of them
    host: the host of a device target, or a list of them
    inputs: of a model, shapes (or arrays) by the name of the input; of a torch module, example inputs
    dims: of a model, extents by the name of the dimension
    freeze: initializers that are inputs too are constants
    options: bounds_checks, default_schedules, fuse, strict_math, prepack; precision: "fp16", "bf16", "mixed" or "tf32"; offload: ["blas"];
        executor: "aot" for browsers (docs/aot.md), to be saved as a .tern file;
        specialize: "lazy" or "eager": compile in extents that come, at most 8 times, see Model.specializations
    """
    open_compiler()
    unknown = set(options) - set(_OPTIONS)
    if unknown:
        raise TypeError(f"tern.compile has no option {', '.join(sorted(unknown))}; it has {', '.join(_OPTIONS)}")
    module, name = _source_of(source, inputs, dims, freeze, name)
    chosen = {**options, "targets": _texts(target, "target"), "hosts": _texts(host, "host")}
    made = _tern.compile(module, json.dumps(chosen))
    compiled = {"compiled": made, "source": module, "options": chosen}
    if _tern.is_model(module):
        return Model(name, lambda: _tern.model_here(made), **compiled)
    return Kernels(name, lambda: _tern.module_here(made), **compiled)


def explain(source, target=None, host=None, inputs=None, *, dims=None, freeze=False, kernel=None, **options):
    """What becomes of a model or of kernels on a target, and why; nothing is compiled."""
    open_compiler()
    module, name = _source_of(source, inputs, dims, freeze, None)
    chosen = {**options, "targets": _texts(target, "target"), "hosts": _texts(host, "host")}
    if kernel:
        chosen["kernel"] = kernel
    text = _tern.explain(module, name, json.dumps(chosen))
    page = None
    if _tern.is_model(module) and not kernel:
        page = _tern.explain(module, name, json.dumps({**chosen, "format": "html"}))
    return Report.make(text, page)


class Targets(list):
    """Kinds of targets, as dicts; printed, a table."""

    default_host = ""

    def __repr__(self):
        rows = [("kind", "role", "codegen", "runs here", "what it makes")]
        for kind in self:
            devices = kind.get("devices")
            here = "plugin absent" if devices is None else ", ".join(d["device"] for d in devices) or "no device"
            if kind["role"] == "host":
                here = "yes"
            rows.append((kind["name"], kind["role"], kind["unavailable"] or "yes", here, kind["description"]))
        return table(rows)


def targets():
    """What can be compiled for, and what runs here."""
    open_compiler()
    found = json.loads(_tern.targets())
    kinds = Targets(found["kinds"])
    kinds.default_host = found["default_host"]
    return kinds


def _texts(value, what):
    if value is None:
        return []
    if isinstance(value, (str, dict)):
        value = [value]
    texts = [json.dumps(item) if isinstance(item, dict) else item for item in value]
    if not all(isinstance(text, str) for text in texts):
        raise TypeError(f"{what}: expected a string, a dict, or a list of them, got {value!r}")
    return texts


def _source_of(source, inputs, dims, freeze, name):
    """A handle, and what it is called."""
    from tern._kernel import Kernel

    if isinstance(source, Kernel):
        _only_models(inputs, dims, "a kernel")
        return source._handle(), name or source.name
    if _is_torch(source):
        from tern._torch import to_onnx

        data, name_of_module, inputs = to_onnx(source, inputs, dims)
        return _tern.parse_onnx(data, name or name_of_module, _import_options(None, None, freeze)), name or name_of_module
    if hasattr(source, "SerializeToString"):  # onnx.ModelProto
        name = name or (getattr(getattr(source, "graph", None), "name", "") or "model")
        return _tern.parse_onnx(source.SerializeToString(), name, _import_options(inputs, dims, freeze)), name
    if isinstance(source, (bytes, bytearray, memoryview)):
        name = name or "model"
        return _tern.parse_onnx(source, name, _import_options(inputs, dims, freeze)), name
    if isinstance(source, str) and ("\n" in source or "{" in source):
        _only_models(inputs, dims, "TIR text")
        name = name or "text"
        return _tern.parse_source(source, name), name
    if isinstance(source, (str, os.PathLike)):
        path = os.fspath(source)
        if not path.endswith((".onnx", ".tir")):
            raise ValueError(f"{path}: expected an .onnx or .tir file; tern.load reads compiled ones")
        return _tern.read_source(path, _import_options(inputs, dims, freeze)), name or os.path.basename(path)
    raise TypeError(
        "tern.compile: expected the path of an .onnx or .tir file, an onnx.ModelProto, a torch module or "
        f"ExportedProgram, TIR text or a kernel, got {type(source).__qualname__}"
    )


def _is_torch(source):
    torch = sys.modules.get("torch")
    if torch is None:
        return False
    kinds = (torch.nn.Module, torch.export.ExportedProgram)
    return isinstance(source, kinds)


def _only_models(inputs, dims, what):
    if inputs or dims:
        raise ValueError(f"inputs and dims are for models; {what} has its shapes in its text")


def _import_options(inputs, dims, freeze):
    if inputs is not None and not hasattr(inputs, "items"):
        raise TypeError("inputs: expected a dict from the names of inputs to shapes or arrays")
    shapes = {}
    for name, value in (inputs or {}).items():
        shape = getattr(value, "shape", value)
        shapes[name] = [-1 if extent is None else int(extent) for extent in shape]
    options = {"input_shapes": shapes, "dims": {k: int(v) for k, v in (dims or {}).items()}, "freeze": bool(freeze)}
    return json.dumps({key: value for key, value in options.items() if value})
