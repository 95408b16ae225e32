# SPDX-License-Identifier: Apache-2.0
import gc
import sys
import unittest

import tern
from support import ADD, TestCase, needs_compiler, needs_numpy, numpy, values

try:
    import jax
except ImportError:
    jax = None

DTYPES = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
FLOATS = ["float16", "float32", "float64"]


class TensorTest(TestCase):
    def test_empty(self):
        tensor = tern.empty((2, 3), "int16")
        self.assertEqual(tensor.shape, (2, 3))
        self.assertEqual(tensor.strides, (3, 1))
        self.assertEqual((tensor.dtype, tensor.ndim, tensor.size, tensor.nbytes, len(tensor)), ("int16", 2, 6, 12, 2))
        self.assertEqual(tensor.device, "cpu:0")
        self.assertEqual(repr(tensor), "<tern.Tensor: int16 tensor of shape (2, 3) on cpu:0>")
        self.assertEqual(tern.empty(5).shape, (5,))
        self.assertEqual(tern.empty((), tern.float32).shape, ())

    def test_from_lists(self):
        self.assertEqual(values(tern.tensor([[1.0, 2], [3, 4]])), [[1, 2], [3, 4]])
        self.assertEqual(tern.tensor([1, 2]).dtype, "int64")
        self.assertEqual(tern.tensor([True]).dtype, "bool")
        self.assertEqual(values(tern.tensor(7, "int8")), 7)
        self.assertEqual(tern.tensor([[], []], "float32").shape, (2, 0))
        self.fails(ValueError, "lists of different lengths", tern.tensor, [[1], [2, 3]])

    def test_buffer(self):
        tensor = tern.tensor([[1, 2, 3], [4, 5, 6]], "int32")
        view = memoryview(tensor)
        self.assertEqual((view.format, view.shape, view.strides, view.readonly), ("i", (2, 3), (12, 4), False))
        view[1, 2] = 9
        self.assertEqual(values(tensor), [[1, 2, 3], [4, 5, 9]])
        copy = tensor.copy()
        view[0, 0] = 7
        self.assertEqual(values(copy), [[1, 2, 3], [4, 5, 9]])
        self.assertIs(tensor.cpu(), tensor)
        self.assertEqual(values(tensor.to("cpu")), values(tensor))

    def test_errors(self):
        self.fails(TypeError, "there is no dtype 'float33'; there are bool, int8", tern.empty, 3, "float33")
        self.fails(ValueError, "cpu:7", tern.empty, 3, "int8", "cpu:7")
        self.fails(ValueError, "'cpu:x' is no device", tern.empty, 3, "int8", "cpu:x")
        self.fails(TypeError, "expected an array", tern.from_dlpack, object())
        with self.assertRaises(ValueError):
            tern.empty(3).to("cpu:x")
        with self.assertRaises(BufferError):
            memoryview(tern.empty(3, "bfloat16"))
        with self.assertRaises(TypeError):
            len(tern.empty(()))
        with self.assertRaises(TypeError):
            tern.Tensor()

    def test_dlpack_both_ways(self):
        tensor = tern.tensor([1.0, 2.0, 3.0])
        self.assertEqual(tensor.__dlpack_device__(), (1, 0))
        for version in (None, (1, 0), (0, 8)):
            capsule = tensor.__dlpack__(max_version=version)
            self.assertIn("dltensor", repr(capsule))
            del capsule  # that nobody took

        class Lender:  # a library of DLPack 0.8, which knows no max_version
            def __dlpack_device__(self):
                return (1, 0)

            def __dlpack__(self, stream=None):
                return tensor.__dlpack__()

        taken = tern.from_dlpack(Lender())
        memoryview(taken)[0] = 5.0
        self.assertEqual(values(tensor)[0], 5.0)
        with self.assertRaises(BufferError):
            tensor.__dlpack__(copy=True)
        with self.assertRaises(BufferError):
            tensor.__dlpack__(dl_device=(2, 0))

    def test_lent_memory_lives(self):
        data = bytearray(b"\x01\x02\x03\x04")
        tensor = tern.from_dlpack(data)
        with self.assertRaises(BufferError):
            data.append(5)  # is held
        self.assertEqual(values(tensor), [1, 2, 3, 4])
        del tensor
        gc.collect()
        data.append(5)

    def test_no_leaks(self):
        data = bytearray(8)
        before = sys.getrefcount(data)
        for _ in range(100):
            tern.from_dlpack(tern.from_dlpack(data))
        gc.collect()
        self.assertEqual(sys.getrefcount(data), before)


@needs_numpy
class NumpyTest(TestCase):
    def test_both_ways_without_copies(self):
        for dtype in DTYPES + FLOATS:
            with self.subTest(dtype=dtype):
                array = numpy.arange(6).reshape(2, 3).astype(dtype)
                tensor = tern.from_dlpack(array)
                self.assertEqual((tensor.dtype, tensor.shape), (dtype, (2, 3)))
                back = tensor.numpy()
                self.assertEqual(back.dtype, array.dtype)
                self.assertEqual(back.__array_interface__["data"][0], array.__array_interface__["data"][0])
                self.assertTrue((numpy.asarray(tensor) == array).all())
                self.assertTrue((numpy.from_dlpack(tensor) == array).all() if dtype != "bool" else True)

    def test_strides(self):
        array = numpy.arange(12, dtype="float32").reshape(3, 4)
        tensor = tern.from_dlpack(array.T[1:, ::2])
        self.assertEqual((tensor.shape, tensor.strides), ((3, 2), (1, 8)))
        self.assertTrue((tensor.numpy() == array.T[1:, ::2]).all())
        self.fails(ValueError, "stride below 0", tern.from_dlpack, array[::-1])

    def test_read_only(self):
        array = numpy.ones(3)
        array.flags.writeable = False
        tensor = tern.from_dlpack(array)
        self.assertFalse(tensor.numpy().flags.writeable)

    def test_owner_lives(self):
        tensor = tern.from_dlpack(numpy.arange(1000))
        back = tensor.numpy()
        del tensor
        gc.collect()
        self.assertEqual(back.sum(), 499500)

    def test_bfloat16(self):
        try:
            import ml_dtypes
        except ImportError:
            self.fails(TypeError, "ml_dtypes", tern.empty(2, "bfloat16").numpy)
            self.skipTest("ml_dtypes is not installed")
        self.assertEqual(tern.empty(2, "bfloat16").numpy().dtype, ml_dtypes.bfloat16)


@unittest.skipUnless(jax, "jax is not installed")
class JaxTest(TestCase):
    """Arrays of jax cannot be written to."""

    @needs_compiler
    def test_both_ways_without_copies(self):
        x = jax.numpy.arange(7, dtype="float32")
        tensor = tern.from_dlpack(x)
        self.assertEqual(tensor.numpy().__array_interface__["data"][0], x.unsafe_buffer_pointer())
        add = tern.compile(ADD).add
        back = jax.numpy.from_dlpack(add(x, B=x))
        self.assertTrue((back == 2 * x).all())
        self.fails(ValueError, "argument 2 (C): the function writes to this array, and it is read-only", add, x, x, x)


if __name__ == "__main__":
    unittest.main()
