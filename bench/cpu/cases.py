# SPDX-License-Identifier: Apache-2.0
"""What is measured: products, convolutions as ResNet-50 and MobileNet have them, and work on rows."""
import dataclasses
import math

BYTES = {"float32": 4, "int32": 4, "bfloat16": 2, "int8": 1, "uint8": 1}


@dataclasses.dataclass
class Tensor:
    name: str
    dtype: str
    shape: tuple
    role: str  # in, const (may be prepared before the time is taken) or out

    @property
    def count(self):
        return math.prod(self.shape)

    @property
    def bytes(self):
        return self.count * BYTES[self.dtype]


@dataclasses.dataclass
class Case:
    """`operations` are those of arithmetic that the definition needs; those of functions like exp are not counted."""

    name: str
    group: str
    kind: str
    tensors: list
    operations: int
    numbers: dict = dataclasses.field(default_factory=dict)

    @property
    def bytes(self):
        return sum(tensor.bytes for tensor in self.tensors)

    @property
    def dtype(self):
        return self.tensors[0].dtype

    @property
    def tolerance(self):
        """Of |actual - expected| / max(1, |expected|)."""
        return {"float32": 1e-4, "bfloat16": 1e-3, "uint8": 0}[self.dtype]

    def tensor(self, name):
        return next(tensor for tensor in self.tensors if tensor.name == name)

    @property
    def inputs(self):
        return [tensor for tensor in self.tensors if tensor.role != "out"]


def matmul(m, n, k, dtype="float32"):
    group, b_type, c_type = {
        "float32": ("matmul", "float32", "float32"),
        "uint8": ("int8", "int8", "int32"),
        "bfloat16": ("bf16", "bfloat16", "float32"),
    }[dtype]
    tensors = [Tensor("A", dtype, (m, k), "in"), Tensor("B", b_type, (k, n), "const"), Tensor("C", c_type, (m, n), "out")]
    return Case(f"{group}.{m}x{n}x{k}", group, "matmul", tensors, 2 * m * n * k)


def conv(inputs, outputs, size, kernel, stride=1, groups=1):
    """Channels first, one image, a border of zeros that keeps the size (over the stride)."""
    pad = kernel // 2
    out = (size + 2 * pad - kernel) // stride + 1
    tensors = [
        Tensor("X", "float32", (1, inputs, size, size), "in"),
        Tensor("W", "float32", (outputs, inputs // groups, kernel, kernel), "const"),
        Tensor("Y", "float32", (1, outputs, out, out), "out"),
    ]
    group = "depthwise" if groups > 1 else "conv"
    name = f"{group}.{kernel}x{kernel}.{inputs}" + (f"-{outputs}" if groups == 1 else "") + f".{size}" + (f".s{stride}" if stride > 1 else "")
    operations = 2 * outputs * out * out * (inputs // groups) * kernel * kernel
    return Case(name, group, "conv", tensors, operations, {"stride": stride, "pad": pad, "groups": groups})


def rows(kind, n, m):
    x, out = Tensor("X", "float32", (n, m), "in"), Tensor("Y", "float32", (n, m), "out")
    columns = {"layernorm": ["scale", "shift"], "bias_gelu": ["bias"]}.get(kind, [])
    extra = [Tensor(name, "float32", (m,), "const") for name in columns]
    operations = {"softmax": 3, "layernorm": 8, "bias_gelu": 5}[kind] * n * m
    return Case(f"rows.{kind}.{n}x{m}", "rows", kind, [x, *extra, out], operations)


def total(n, m=None):
    """Of rows, or of all."""
    x = Tensor("X", "float32", (n, m) if m else (n,), "in")
    out = Tensor("S", "float32", (n,) if m else (1,), "out")
    return Case(f"rows.row_sum.{n}x{m}" if m else f"rows.sum.{n}", "rows", "sum", [x, out], x.count)


def transpose(n):
    tensors = [Tensor("X", "float32", (n, n), "in"), Tensor("Y", "float32", (n, n), "out")]
    return Case(f"rows.transpose.{n}x{n}", "rows", "transpose", tensors, 0)


SQUARES = (64, 128, 256, 512, 1024, 2048)

CASES = [
    *[matmul(n, n, n) for n in SQUARES],
    matmul(1, 4096, 4096),
    matmul(8, 4096, 4096),
    matmul(197, 3072, 768),
    matmul(128, 384, 384),
    conv(3, 64, 224, 7, 2),
    conv(64, 64, 56, 3),
    conv(128, 128, 56, 3, 2),
    conv(128, 128, 28, 3),
    conv(256, 256, 28, 3, 2),
    conv(256, 256, 14, 3),
    conv(512, 512, 14, 3, 2),
    conv(512, 512, 7, 3),
    conv(64, 256, 56, 1),
    conv(256, 64, 56, 1),
    conv(512, 128, 28, 1),
    conv(1024, 256, 14, 1),
    conv(2048, 512, 7, 1),
    *[
        conv(channels, channels, size, 3, stride, channels)
        for channels, size, stride in [
            (32, 112, 1), (64, 112, 2), (128, 56, 1), (128, 56, 2), (256, 28, 1), (256, 28, 2), (512, 14, 1), (512, 14, 2), (1024, 7, 1),
        ]
    ],
    rows("softmax", 1024, 1024),
    rows("layernorm", 512, 768),
    rows("bias_gelu", 512, 3072),
    total(1024, 1024),
    total(1 << 20),
    transpose(1024),
    transpose(2048),
    matmul(512, 512, 512, "uint8"),
    matmul(1024, 1024, 1024, "uint8"),
    matmul(512, 512, 512, "bfloat16"),
    matmul(1024, 1024, 1024, "bfloat16"),
]

# For a quick look that the machinery works; sizes that are no multiples of anything.
TINY = [matmul(5, 19, 7), conv(3, 5, 9, 3, 2), rows("softmax", 3, 17), rows("layernorm", 3, 17), rows("bias_gelu", 3, 17), total(3, 17),
        total(37), transpose(9), conv(6, 6, 9, 3, 1, 6), matmul(5, 19, 8, "uint8"), matmul(5, 19, 8, "bfloat16")]
