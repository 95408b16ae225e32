# SPDX-License-Identifier: Apache-2.0
"""Element types: `float32[n, k]` is the type of a kernel's parameter, and float32 names a dtype."""

__all__ = [
    "bool_",
    "int4",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint4",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "float4_e2m1fn",
    "float8_e4m3fn",
    "float8_e5m2",
    "float16",
    "bfloat16",
    "float32",
    "float64",
]


class DType:
    """A type of elements."""

    __slots__ = ("name",)

    def __init__(self, name):
        self.name = name

    def __getitem__(self, shape):
        from tern._kernel import TensorType

        return TensorType(self.name, shape if isinstance(shape, tuple) else (shape,))

    def __call__(self, value):
        raise TypeError(f"{self.name}(...) is a cast, which kernels have; it is not called in Python")

    def __repr__(self):
        return f"tern.{self.name}"

    def __eq__(self, other):
        return isinstance(other, DType) and other.name == self.name or other == self.name

    def __hash__(self):
        return hash(self.name)


bool_ = DType("bool")
for _name in __all__[1:]:
    globals()[_name] = DType(_name)
