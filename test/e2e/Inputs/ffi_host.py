# SPDX-License-Identifier: Apache-2.0
"""The same library, called by the real package, where it is installed."""
import sys

import numpy
import tvm_ffi

module = tvm_ffi.load_module(sys.argv[1])
a = numpy.arange(37 * 64, dtype="float32").reshape(37, 64) / 8
b = numpy.zeros_like(a)
module.scale(tvm_ffi.from_dlpack(a), tvm_ffi.from_dlpack(b), 2)
print("right" if (b == a * 2).all() else "wrong")
a[20, 3] = 5000
for arguments in ((a, b, 2), (a, b), (a[:, :63].copy(), b, 2), (a, b.astype("float64"), 2), (a, a, 1)):
    try:
        module.scale(*[tvm_ffi.from_dlpack(x) if hasattr(x, "shape") else x for x in arguments])
        print("no error")
    except Exception as error:
        print(f"{type(error).__name__}: {error}")
