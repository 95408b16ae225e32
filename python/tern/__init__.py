# SPDX-License-Identifier: Apache-2.0
"""Tern: compiles tensor programs and ONNX models for any device, and runs them.

>>> import tern
>>> exe = tern.compile("model.onnx", target="llvm -mcpu=native")
>>> exe.save("model.so")
>>> scores = tern.load("model.so")(image)

docs/python.md has all of it.
"""

from tern import _tern
from tern import _builder
from tern._builder import *  # noqa: F403
from tern._arrays import empty, from_dlpack, stream, synchronize, tensor
from tern._compile import compile, explain, targets
from tern._errors import (
    CancelledError,
    CompilerNotInstalled,
    Error,
    IndexError,
    InternalError,
    KeyError,
    MemoryError,
    ParseError,
    RuntimeError,
    ScheduleError,
    TimeoutError,
    TypeError,
    ValueError,
)
from tern._executable import Executable, Kernels, Model, Session, inspect, load
from tern._kernel import Kernel, Schedule, TensorType, kernel
from tern._report import Report
from tern._tern import Function, Tensor
from tern.types import *  # noqa: F403
from tern import types as _types

__version__ = _tern.version()

__all__ = [
    "CancelledError",
    "CompilerNotInstalled",
    "Error",
    "Executable",
    "Function",
    "IndexError",
    "InternalError",
    "Kernel",
    "Kernels",
    "KeyError",
    "MemoryError",
    "Model",
    "ParseError",
    "Report",
    "RuntimeError",
    "Schedule",
    "ScheduleError",
    "Session",
    "Tensor",
    "TensorType",
    "TimeoutError",
    "TypeError",
    "ValueError",
    "compile",
    "empty",
    "explain",
    "from_dlpack",
    "inspect",
    "kernel",
    "load",
    "stream",
    "synchronize",
    "targets",
    "tensor",
    *_types.__all__,
    *_builder.__all__,
]
