# SPDX-License-Identifier: Apache-2.0
"""Arrays on a device, on the stand-in for a driver (docs/conformance.md)."""

import ctypes
import glob
import os
import sys
import unittest

import tern
from support import ADD, TestCase, needs_compiler, values

STANDIN = os.path.join(os.environ.get("TERN_BUILD", ""), "lib", "standin", "cuda")
has_standin = unittest.skipUnless(glob.glob(os.path.join(STANDIN, "*")), "the stand-in for CUDA is not built")


class Lender:
    """An array of another library on the device."""

    def __init__(self, tensor):
        self.tensor = tensor
        self.streams = []

    def __dlpack_device__(self):
        return self.tensor.__dlpack_device__()

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        self.streams.append(stream)
        return self.tensor.__dlpack__(stream=stream, max_version=max_version)


class View(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("dtype", ctypes.c_uint32),
        ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("byte_offset", ctypes.c_uint64),
    ]


FROM_OBJECT = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(ctypes.c_void_p))
VIEW_OF = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(View))
STREAM_OF = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_int32, ctypes.c_int32, ctypes.POINTER(ctypes.c_void_p))


class ExchangeApi(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("previous", ctypes.c_void_p),
        ("allocate", ctypes.c_void_p),
        ("from_object", FROM_OBJECT),
        ("to_object", ctypes.c_void_p),
        ("view_of", VIEW_OF),
        ("stream_of", STREAM_OF),
    ]


def exchanging_lender(asked):
    """A class whose arrays are taken through DLPack's exchange API."""
    get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
    get_pointer.restype, get_pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    make_capsule = ctypes.pythonapi.PyCapsule_New
    make_capsule.restype = ctypes.py_object
    make_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]

    @VIEW_OF
    def view_of(array, view):
        asked.append("view")
        array.capsule = array.tensor.__dlpack__()  # the view lives as long as the array does
        view[0] = View.from_address(get_pointer(array.capsule, b"dltensor"))
        return 0

    @STREAM_OF
    def stream_of(device_type, device_id, stream):
        asked.append(("stream", device_type, device_id))
        stream[0] = None
        return 0

    @FROM_OBJECT
    def from_object(array, managed):
        return -1

    api = ExchangeApi(1, 3, None, None, from_object, None, view_of, stream_of)

    class Exchanging:
        __dlpack_c_exchange_api__ = make_capsule(ctypes.addressof(api), b"dlpack_exchange_api", None)
        kept = api, view_of, stream_of, from_object

        def __init__(self, tensor):
            self.tensor = tensor

    return Exchanging


class ExchangeTest(TestCase):
    @needs_compiler
    def test_host_arrays(self):
        asked = []
        array = exchanging_lender(asked)
        exe = tern.compile(ADD)
        c = tern.empty(2)
        exe.add(array(tern.tensor([1.0, 2])), array(tern.tensor([3.0, 4])), c)
        self.assertEqual(values(c), [4, 6])
        self.assertEqual(asked, ["view", "view"])  # the host has no streams


@needs_compiler
@has_standin
class DeviceTest(TestCase):
    def setUp(self):
        super().setUp()
        self.exe = tern.compile(ADD, target="cuda")
        self.a, self.b = (tern.tensor(x, "float32", "cuda") for x in ([1, 2, 3], [10, 20, 30]))

    def test_tensors(self):
        self.assertEqual(self.a.device, "cuda:0")
        self.assertEqual(self.a.__dlpack_device__(), (2, 0))
        result = self.exe.add(self.a, self.b)
        self.assertEqual(result.device, "cuda:0")
        tern.synchronize("cuda")
        self.assertEqual(values(result.cpu()), [11, 22, 33])
        with self.assertRaises(BufferError):
            memoryview(result)
        self.fails(ValueError, "cuda", self.exe.add, self.a, self.b, tern.empty(3))

    def test_arrays_of_others(self):
        lent = Lender(self.a)
        with tern.stream(0, "cuda:0"):
            result = self.exe.add(lent, self.b)
        self.assertEqual(lent.streams, [1])  # DLPack's number of the default stream
        self.assertEqual(values(result.to("cpu")), [11, 22, 33])
        result.__dlpack__(stream=-1)
        result.__dlpack__(stream=None)

    def test_stream_of_the_caller(self):
        asked = []
        array = exchanging_lender(asked)
        c = tern.empty(3, device="cuda")
        self.exe.add(array(self.a), array(self.b), c)
        self.assertIn(("stream", 2, 0), asked)
        self.assertEqual(values(c.cpu()), [11, 22, 33])

    def test_saved(self):
        self.exe.save(self.folder / "add.so", keep_source=True)
        self.assertEqual(values(tern.load(self.folder / "add.so").add(self.a, self.b).cpu()), [11, 22, 33])
        self.assertIn("__global__", self.exe.source("cuda"))


if __name__ == "__main__":
    if STANDIN not in os.environ.get("LD_LIBRARY_PATH", "") and os.path.isdir(STANDIN):
        # Libraries are searched where the process was told at its start.
        os.environ["LD_LIBRARY_PATH"] = STANDIN
        os.environ["TERN_CACHE"] = "0"
        os.environ["TERN_STANDIN_CACHE"] = os.path.join(os.environ["TERN_BUILD"], "test", "standin-cache")
        os.execv(sys.executable, [sys.executable, *sys.argv])
    unittest.main()
