# SPDX-License-Identifier: Apache-2.0
"""The words of kernels: for editors and linters, since @tern.kernel reads them and calls none.

    from tern.lang import block, grid, init, reduce, spatial
"""

from tern._errors import TypeError

__all__ = [
    "alloc",
    "barrier",
    "bind",
    "block",
    "grid",
    "init",
    "opaque",
    "parallel",
    "reduce",
    "scan",
    "select",
    "serial",
    "spatial",
    "unrolled",
    "vectorized",
]


def _word(name):
    def word(*args, **named):
        raise TypeError(f"{name} has a meaning inside of a kernel alone, which @tern.kernel reads")

    word.__name__ = name
    return word


for _name in __all__:
    globals()[_name] = _word(_name)
