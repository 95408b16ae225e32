#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""make_program.py NAME INPUT.npy EXPECTED.npy: a C program that runs a model of plain C (NAME.h) on the input, and compares. Needs Python's library alone."""
import ast
import struct
import sys

PROGRAM = """#include <stdio.h>
#include "{name}.h"
static const float input[] = {{{input}}};
static const float expected[] = {{{expected}}};
static float output[{count}];
int main(void) {{
  float largest = 0, difference = 0;
  if ({name}(input, output) != 0) return 2;
  for (int i = 0; i < {count}; ++i) {{
    float e = expected[i] < 0 ? -expected[i] : expected[i];
    float d = output[i] - expected[i];
    if (d < 0) d = -d;
    if (e > largest) largest = e;
    if (!(d <= difference)) difference = d;
  }}
  printf("{name}: %s, off by %d millionths of the largest\\n", difference <= 1e-4f * largest ? "as expected" : "WRONG", (int)(difference / largest * 1e6f));
  return difference <= 1e-4f * largest ? 0 : 1;
}}
"""


def read_npy(path):
    """The elements of a float32 file."""
    with open(path, "rb") as file:
        data = file.read()
    size, = struct.unpack_from("<H", data, 8)
    header = ast.literal_eval(data[10:10 + size].decode())
    if data[:6] != b"\x93NUMPY" or header["descr"] != "<f4" or header["fortran_order"]:
        raise ValueError(f"{path} is no file of float32")
    return [number for number, in struct.iter_unpack("<f", data[10 + size:])]


def main():
    name, given, wanted = sys.argv[1:]
    values = {key: read_npy(path) for key, path in (("input", given), ("expected", wanted))}
    literals = {key: ",".join(f"{number!r}f" for number in numbers) for key, numbers in values.items()}
    print(PROGRAM.format(name=name, count=len(values["expected"]), **literals))


main()
