# SPDX-License-Identifier: Apache-2.0
"""Compiled files from Python: as much of tern/runtime/c_api.h as a bench needs, by ctypes."""
import ctypes
import os

INT, VIEW, OBJECTS = 1, 7, 64
# Name -> DLPack's code and bits.
DTYPES = {"float32": (2, 32), "float64": (2, 64), "float16": (2, 16), "bfloat16": (4, 16), "int8": (0, 8), "uint8": (1, 8), "int32": (0, 32), "uint32": (1, 32), "int64": (0, 64)}


class Error(Exception):
    """What the runtime says."""


class DType(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class Device(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int32), ("id", ctypes.c_int32)]


class TensorView(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device", Device), ("ndim", ctypes.c_int32), ("dtype", DType), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64)]


class Any(ctypes.Structure):
    _fields_ = [("type_index", ctypes.c_int32), ("small_len", ctypes.c_uint32), ("pointer", ctypes.c_void_p)]


class Runtime:
    def __init__(self, library):
        self.library = ctypes.CDLL(library)
        self.library.tern_last_error.restype = ctypes.c_char_p
        self.call_function = self.library.tern_function_call
        self.call_function.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int32, ctypes.c_void_p]

    def check(self, status):
        if status != 0:
            raise Error(self.library.tern_last_error().decode())

    def device(self, kind):
        device = Device()
        self.check(self.library.tern_device_find(kind.encode(), 0, ctypes.byref(device)))
        return device

    def use_stream(self, device, stream):
        self.library.tern_stream_use.argtypes = [Device, ctypes.c_void_p, ctypes.c_void_p]
        self.check(self.library.tern_stream_use(device, stream, None))

    def load(self, path):
        """The module of a file; keep it as long as its functions."""
        module = ctypes.c_void_p()
        self.check(self.library.tern_module_load(os.fsencode(path), ctypes.byref(module)))
        return module

    def function(self, module, name):
        function = ctypes.c_void_p()
        self.check(self.library.tern_module_get_function(module, name.encode(), ctypes.byref(function)))
        return function

    def release(self, module, function):
        self.library.tern_object_release(function)
        self.library.tern_module_free(module)

    def bind(self, function, device, tensors):
        """A call without arguments. `tensors`: address, name of the type and shape of each, whose memory is the caller's; or an integer."""
        views, args = [], (Any * len(tensors))()
        for arg, given in zip(args, tensors):
            if isinstance(given, int):
                arg.type_index, arg.pointer = INT, given
                continue
            address, dtype, shape = given
            extents = (ctypes.c_int64 * max(1, len(shape)))(*shape)
            views.append(TensorView(address, device, len(shape), DType(*DTYPES[dtype], 1), extents, None, 0))
            arg.type_index, arg.pointer = VIEW, ctypes.addressof(views[-1])
        place, count, raw = ctypes.addressof(args), len(tensors), self.call_function

        def call(keep=(views, args)):  # pylint: disable=unused-argument
            if raw(function, place, count, None):
                raise Error(self.library.tern_last_error().decode())

        return call
