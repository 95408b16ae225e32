# SPDX-License-Identifier: Apache-2.0
"""section.py FILE NAME: writes a section of a .tern file to standard output (docs/artifact_format.md)."""
import struct
import sys

with open(sys.argv[1], "rb") as file:
    data = file.read()
at = 64
for _ in range(struct.unpack_from("<I", data, 12)[0]):
    length = struct.unpack_from("<Q", data, at)[0]
    name = data[at + 8:at + 8 + length].decode()
    offset, size = struct.unpack_from("<QQ", data, at + 8 + length)
    at += 8 + length + 16 + 32
    if name == sys.argv[2]:
        sys.stdout.buffer.write(data[offset:offset + size])
        sys.exit(0)
sys.exit(f"there is no section {sys.argv[2]}")
