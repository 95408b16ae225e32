# SPDX-License-Identifier: Apache-2.0
"""What a workload is, and how its sizes are drawn. Nothing here knows a family."""
import dataclasses
import math
import os
import random
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cpu"))
from kernels import block, reduce, spatial  # pylint: disable=wrong-import-position,unused-import  # noqa: F401

NARROW = ("float16", "bfloat16")
# Error that is allowed, relative to the largest element of the result.
TOLERANCE = {"float32": 1e-4, "float16": 4e-3, "bfloat16": 3e-2, "int32": 0, "int64": 0, "int8": 0, "uint8": 0}


class Dim(int):
    """An extent: a number for the tensors, and its name in the program where it is dynamic."""

    def __new__(cls, value, name=None):
        self = super().__new__(cls, value)
        self.name = name
        return self

    def __str__(self):
        return self.name or str(int(self))

    def __format__(self, spec):
        return str(self)

    __repr__ = __str__

    @property
    def real(self):
        """As a float32 of the program."""
        return f"float32({self.name})" if self.name else str(int(self))


@dataclasses.dataclass
class Tensor:
    name: str
    dtype: str
    shape: tuple
    # normal (integers: all of int8), unit (0 to 1), below:N (indices), unique:N (indices, each once), lower (lower triangular, well conditioned)
    fill: str = "normal"

    def __post_init__(self):
        self.shape = tuple(extent if isinstance(extent, Dim) else Dim(extent) for extent in self.shape)

    def declare(self):
        return f"{self.name}: {self.dtype}[{', '.join(map(str, self.shape))}]"

    def to_json(self):
        return {"name": self.name, "dtype": self.dtype, "shape": [int(extent) for extent in self.shape], "fill": self.fill}


@dataclasses.dataclass
class Workload:
    family: str
    program: str
    inputs: list
    outputs: list
    torch: list  # expressions, the fastest counts; the first one on wider inputs is the reference
    numpy: str  # the same, with numpy and numpy_reference
    numpy_is_peer: bool = False
    tolerance: float = 0.0
    note: str = ""
    name: str = ""
    dynamic: bool = False

    def to_json(self):
        fields = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return fields | {side: [tensor.to_json() for tensor in fields[side]] for side in ("inputs", "outputs")}


def function(family, inputs, outputs, body, **kinds):
    """The workload of a program's body. `kinds`: torch, numpy and what else a Workload has."""
    params = ", ".join(tensor.declare() for tensor in [*inputs, *outputs])
    program = f"func {family}({params}) attrs {{reassociate = true}} {{\n{body}}}\n"
    kinds.setdefault("tolerance", TOLERANCE[outputs[0].dtype])
    torch = kinds.pop("torch")
    return Workload(family, program, inputs, outputs, [torch] if isinstance(torch, str) else torch, kinds.pop("numpy"), **kinds)


def alloc(name, dtype, *shape):
    return f"  alloc {name}: {dtype}[{', '.join(map(str, shape)) or '1'}]\n"


def wide(dtype):
    """The type in which sums of this one are held."""
    return "float32" if dtype in NARROW else "int32" if dtype in ("int8", "uint8") else dtype


def load(tensor, *indices):
    """An element, as the type in which it is computed with."""
    text = f"{tensor.name}[{', '.join(map(str, indices)) or '0'}]"
    return text if wide(tensor.dtype) == tensor.dtype else f"{wide(tensor.dtype)}({text})"


def store(tensor, value, *indices, source=None):
    """A store of a value of type `source` (default: that in which sums are held)."""
    source = source or wide(tensor.dtype)
    value = value if source == tensor.dtype else f"{tensor.dtype}({value})"
    return f"{tensor.name}[{', '.join(map(str, indices)) or '0'}] = {value}"


def is_prime(number):
    return number > 1 and all(number % divisor for divisor in range(2, math.isqrt(number) + 1))


class Draw:
    """Random choices of one workload. `elements`: the most that a tensor has; `flops`: the most that a product takes."""

    def __init__(self, seed, dynamic, elements, flops, tiny=False):
        self.random = random.Random(seed)
        self.dynamic, self.elements, self.flops, self.tiny = dynamic, elements, flops, tiny
        self.all_dynamic = self.random.random() < 0.4  # rows alone, or all extents that can be
        self.names = iter("nmpqrstuw")  # no loop of a family has such a name

    def chance(self, probability):
        return self.random.random() < probability

    def choice(self, *values):
        return self.random.choice(values)

    def weighted(self, weights):
        return self.random.choices(list(weights), weights.values())[0]

    def dtype(self):
        return self.weighted({"float32": 60, "float16": 25, "bfloat16": 15})

    def size(self, low, high):
        """Log-uniform; a third as drawn, a third rounded to a multiple of 64, 16 or 8, a power of two or a prime otherwise."""
        high = max(low, int(high))
        value = low if high == low else round(math.exp(self.random.uniform(math.log(low), math.log(high + 0.49))))
        way = self.random.randrange(6)
        if way in (2, 3):
            step = next((step for step in (64, 16, 8) if value >= 2 * step), 1)
            value = value // step * step
        elif way == 4:
            value = 1 << (value.bit_length() - 1)
        elif way == 5:
            while value > 2 and not is_prime(value):
                value -= 1
        return min(max(value, low), high)

    def row(self, value):
        """An extent that is dynamic in the dynamic variant."""
        name = next(self.names)
        return Dim(value, name if self.dynamic else None)

    def inner(self, value):
        """One that is dynamic in some of them."""
        name = next(self.names)
        return Dim(value, name if self.dynamic and self.all_dynamic else None)

    def static(self, value):
        return Dim(value)

    def volume(self):
        """Elements of a tensor, log-uniform over three orders of magnitude."""
        return math.exp(self.random.uniform(math.log(self.elements / 2048), math.log(self.elements))) if not self.tiny else 60

    def shape(self, rank, volume, smallest=1):
        """Extents whose product is about `volume`; the first is a row."""
        weights = [self.random.uniform(0.15, 1) for _ in range(rank)]
        extents, left, share = [], math.log(max(volume, 2)), sum(weights)
        for number, weight in enumerate(weights):
            ideal = math.exp(left * weight / share)
            extent = self.size(max(smallest, int(ideal * 0.6)), max(smallest, min(ideal * 1.6, math.exp(left))))
            left, share = max(0.0, left - math.log(extent)), share - weight
            extents.append(self.row(extent) if number == 0 else self.inner(extent))
        return tuple(extents)
