# SPDX-License-Identifier: Apache-2.0
"""Errors of Tern as exceptions: each is a tern.Error, and the class of Python whose name it has."""

import builtins

from tern import _tern


class Error(Exception):
    """Any error of Tern. Its text is Tern's message."""


class ValueError(Error, builtins.ValueError):
    pass


class TypeError(Error, builtins.TypeError):
    pass


class RuntimeError(Error, builtins.RuntimeError):
    pass


class IndexError(Error, builtins.IndexError):
    pass


class KeyError(Error, builtins.KeyError):
    def __str__(self):  # that of Python quotes the message
        return Exception.__str__(self)


class MemoryError(Error, builtins.MemoryError):
    pass


class TimeoutError(Error, builtins.TimeoutError):
    pass


class CancelledError(Error, builtins.RuntimeError):
    """A run was cancelled."""


class InternalError(Error, builtins.RuntimeError):
    """A bug in Tern."""


class ParseError(Error, builtins.ValueError):
    """Text that is no program: every mistake that was found, with its place."""


class ScheduleError(Error, builtins.ValueError):
    """A schedule step that does not apply."""


class CompilerNotInstalled(Error, builtins.ImportError):
    """The package is tern-runtime, which has no compiler."""


_tern.set_errors(
    {
        "ValueError": ValueError,
        "TypeError": TypeError,
        "RuntimeError": RuntimeError,
        "IndexError": IndexError,
        "KeyError": KeyError,
        "MemoryError": MemoryError,
        "TimeoutError": TimeoutError,
        "CancelledError": CancelledError,
        "InternalError": InternalError,
        "ParseError": ParseError,
        "ScheduleError": ScheduleError,
        "VerifyError": ValueError,
        "AttributeError": ValueError,
        "NotImplementedError": RuntimeError,
    },
    RuntimeError,
)
