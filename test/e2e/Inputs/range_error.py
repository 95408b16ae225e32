# SPDX-License-Identifier: Apache-2.0
"""range_error.py ACTUAL.npy EXPECTED.npy LEAST MOST: fails where the largest difference of two files of float32 is not between these parts
of what the second one spans. The least says that something was quantized at all."""
import ast
import struct
import sys


def read(path):
    data = open(path, "rb").read()
    length = struct.unpack("<H", data[8:10])[0]
    header = ast.literal_eval(data[10:10 + length].decode())
    assert header["descr"] == "<f4" and not header["fortran_order"], header
    body = data[10 + length:]
    return header["shape"], struct.unpack(f"<{len(body) // 4}f", body)


(shape, actual), (wanted, expected) = read(sys.argv[1]), read(sys.argv[2])
assert shape == wanted, (shape, wanted)
error = max(abs(a - b) for a, b in zip(actual, expected)) / (max(expected) - min(expected))
least, most = map(float, sys.argv[3:])
print(f"largest error {error:.2g} of the range")
sys.exit(0 if least <= error <= most else 1)
