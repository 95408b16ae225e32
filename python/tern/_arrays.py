# SPDX-License-Identifier: Apache-2.0
"""Making tensors, and giving them to other libraries."""

import builtins
import contextlib
import operator

from tern import _tern
from tern._errors import TypeError, ValueError

# What numpy has no dtype for; ml_dtypes has.
_EXTRA_DTYPES = {
    "bfloat16": "uint16",
    "float8_e4m3fn": "uint8",
    "float8_e4m3fnuz": "uint8",
    "float8_e5m2": "uint8",
    "float8_e5m2fnuz": "uint8",
}


def split_device(device):
    """'opencl:1' -> ('opencl', 1)"""
    kind, _, number = str(device).partition(":")
    if number and not number.isdigit():
        raise ValueError(f"'{device}' is no device; expected a kind and a number, as in 'cpu' or 'opencl:0'")
    return kind, int(number or 0)


def dtype_name(dtype):
    """The name of a dtype of Tern, numpy or torch, or of its own class."""
    if isinstance(dtype, str):
        return dtype
    name = getattr(dtype, "name", None) or getattr(dtype, "__name__", None) or str(dtype)
    return name.rpartition(".")[2].rstrip("_")


def empty(shape, dtype="float32", device="cpu"):
    """A tensor whose elements are not set."""
    try:
        extents = (operator.index(shape),)
    except builtins.TypeError:
        extents = tuple(operator.index(extent) for extent in shape)
    kind, number = split_device(device)
    return _tern.empty(extents, dtype_name(dtype), kind, number)


def from_dlpack(array):
    """A tensor that has the memory of an array of any library, without a copy."""
    return _tern.from_array(array)


def tensor(data, dtype=None, device="cpu"):
    """A tensor with the elements of numbers, lists of them, or an array, which is copied."""
    if hasattr(data, "__dlpack__") or hasattr(data, "__array_interface__"):
        result = _tern.from_array(data)
        if dtype is not None and result.dtype != dtype_name(dtype):
            raise TypeError(f"tern.tensor: the array has the dtype {result.dtype}, not {dtype_name(dtype)}")
        return result._copy_to(*split_device(device))
    shape, elements = _flatten(data)
    if dtype is None:
        kinds = {type(element) for element in elements}
        dtype = "bool" if kinds == {bool} else "float32" if float in kinds else "int64"
    result = empty(shape, dtype)
    if elements:
        with memoryview(result) as memory:
            flat = memory if memory.ndim <= 1 else memory.cast("B").cast(memory.format)
            if memory.ndim == 0:
                memory[()] = elements[0]
            else:
                for index, element in enumerate(elements):
                    flat[index] = element
    kind, number = split_device(device)
    return result if kind == "cpu" else result._copy_to(kind, number)


def _flatten(data):
    if not isinstance(data, (list, tuple)):
        return (), [data]
    parts = [_flatten(item) for item in data]
    if any(shape != parts[0][0] for shape, _ in parts):
        raise ValueError(f"tern.tensor: lists of different lengths: {sorted({shape for shape, _ in parts})}")
    inner = parts[0][0] if parts else ()
    return (len(parts), *inner), [element for _, elements in parts for element in elements]


def to_numpy(tensor):
    """What Tensor.numpy does."""
    import numpy

    if not tensor.device.startswith("cpu"):
        tensor = tensor._copy_to("cpu", 0)
    plain = _EXTRA_DTYPES.get(tensor.dtype)
    if plain is None:
        return numpy.asarray(tensor)
    try:
        import ml_dtypes
    except ImportError:
        raise TypeError(f"numpy has no {tensor.dtype}; the package ml_dtypes gives it one") from None
    return numpy.asarray(tensor._reinterpret(plain)).view(getattr(ml_dtypes, tensor.dtype))


@contextlib.contextmanager
def stream(handle, device="cuda"):
    """What this thread starts on the device inside of `with` goes to that stream.

    `handle` is its address, as torch.cuda.current_stream().cuda_stream is. Arrays of libraries that
    tell their stream through DLPack's exchange API need none of this.
    """
    kind, number = split_device(device)
    before = _tern.use_stream(kind, number, int(handle))
    try:
        yield
    finally:
        _tern.use_stream(kind, number, before)


def synchronize(device="cpu"):
    """Waits for what this thread has started on the device."""
    _tern.synchronize(*split_device(device))
