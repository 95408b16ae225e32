# SPDX-License-Identifier: Apache-2.0
"""What the tests of the Python package share."""

import os
import pathlib
import tempfile
import unittest

import tern

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODELS = ROOT / "test" / "models"
KERNELS = ROOT / "examples" / "kernels"

try:
    import numpy
except ImportError:
    numpy = None

try:
    tern.targets()
    HAS_COMPILER = True
except tern.CompilerNotInstalled:
    if os.environ.get("TERN_TEST_COMPILER"):  # it was built
        raise
    HAS_COMPILER = False

needs_numpy = unittest.skipUnless(numpy, "numpy is not installed")
needs_compiler = unittest.skipUnless(HAS_COMPILER, "a build without the compiler")

ADD = """
func add(A: float32[n], B: float32[n], C: float32[n]) {
  for i in 0..n { C[i] = A[i] + B[i] }
}
"""


def values(tensor):
    """The elements of a tensor on the host, as nested lists."""
    return memoryview(tensor).tolist()


class TestCase(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def fails(self, kind, text, call, *args, **named):
        """The call raises such an error of Tern, whose message has the text."""
        with self.assertRaises(kind) as caught:
            call(*args, **named)
        self.assertIsInstance(caught.exception, tern.Error)
        self.assertIn(text, str(caught.exception))


def is_full():
    return bool(os.environ.get("TERN_TEST_FULL"))
