# SPDX-License-Identifier: Apache-2.0
"""forge_target.py IN OUT TEXT: a copy of a .tern file, hashes and all (docs/artifact_format.md), whose target is TEXT."""
import hashlib
import json
import struct
import sys

source, output, text = sys.argv[1:]
with open(source, "rb") as file:
    data = file.read()
sections, at = {}, 64
for _ in range(struct.unpack_from("<I", data, 12)[0]):
    size = struct.unpack_from("<Q", data, at)[0]
    name = data[at + 8:at + 8 + size]
    at += 8 + size
    offset, length = struct.unpack_from("<QQ", data, at)
    sections[name] = data[offset:offset + length]
    at += 48
meta = json.loads(sections[b"meta"])
meta["target"] = text
sections[b"meta"] = json.dumps(meta, sort_keys=True, separators=(",", ":")).encode()

end = 64 + sum(56 + len(name) for name in sections)
table, body = b"", bytearray(end)
for name, contents in sorted(sections.items()):
    body += bytes(-len(body) % 64)
    table += struct.pack("<Q", len(name)) + name + struct.pack("<QQ", len(body), len(contents)) + hashlib.sha256(contents).digest()
    body += contents
header = data[:8] + struct.pack("<IIQQ", 1, len(sections), len(table), len(body))
body[:64 + len(table)] = header + hashlib.sha256(header + table).digest() + table
with open(output, "wb") as file:
    file.write(body)
