# SPDX-License-Identifier: Apache-2.0
"""Weights of a compiled file that anyone can make from a seed need not be carried: a folder for another machine has the file without them, and what they
are made of. The file that is put together there is the same bytes, which its own hashes say when it is loaded. Needs numpy."""
import hashlib
import json
import pathlib
import re
import struct

import numpy as np

import networks
import randomize

PAGE = 4096


def sections(data):
    """Name -> (offset, size) of a container (docs/artifact_format.md), and its size."""
    count, _, size = struct.unpack_from("<IQQ", data, 12)
    found, at = {}, 64
    for _ in range(count):
        (length,) = struct.unpack_from("<Q", data, at)
        name = bytes(data[at + 8:at + 8 + length]).decode()
        found[name] = struct.unpack_from("<QQ", data, at + 8 + length)
        at += 8 + length + 48
    return found, size


def weight_ranges(table):
    """(offset, size) of each weight, by the section `weights`; and the size of all."""
    _, total, count = struct.unpack_from("<IQQ", table, 0)
    found, at = set(), 20
    for _ in range(count):
        (length,) = struct.unpack_from("<Q", table, at)
        at += 8 + length
        bits, (rank,) = table[at + 1], struct.unpack_from("<Q", table, at + 2)
        extents = struct.unpack_from(f"<{rank}q", table, at + 10)
        at += 10 + 8 * rank
        found.add((struct.unpack_from("<Q", table, at)[0], int(np.prod(extents, dtype=np.int64)) * bits // 8))
        at += 8
    return sorted(found), total


# ---- what weights are made of

def folded(weights, epsilon=1e-5):
    """Convolutions of caffe2's names with their batch normalizations: a factor and a summand for each channel."""
    made = {}
    for name, array in weights.items():
        prefix = re.sub(r"^gpu_0/conv1$", "gpu_0/res_conv1", name.removesuffix("_w_0")) + "_bn_"
        if not name.endswith("_w_0") or f"{prefix}s_0" not in weights:
            continue
        scale, bias, mean, variance = (weights[f"{prefix}{part}_0"] for part in ("s", "b", "rm", "riv"))
        factor = scale / np.sqrt(variance + np.float32(epsilon))
        made[f"{name}*"] = array * factor.reshape(-1, *[1] * (array.ndim - 1))
        made[f"{name}+"] = bias - mean * factor
    return made


def sources(name, seed, light=None):
    """Arrays by name, of a network of networks.py, or of a light model of constant fills with random weights."""
    if light is None:
        return {key: array for key, array in networks.NETWORKS[name](seed).weights.items() if array.dtype == np.float32}
    weights = dict(randomize.weights(seed, light))
    return weights | folded(weights)


def candidates(arrays):
    """All forms that a compiler may store of each."""
    for name, array in arrays.items():
        forms = {"": array} | ({"T": np.ascontiguousarray(array.T)} if array.ndim == 2 else {})
        for form, values in forms.items():
            yield f"{name}|{form}|float32", values
            with np.errstate(over="ignore"):
                yield f"{name}|{form}|float16", values.astype(np.float16)


def split(path, arrays, folder):
    """Makes of a .tern file FOLDER/NAME.head, NAME.rest and NAME.recipe, and returns the bytes of the two."""
    data = memoryview(path.read_bytes())
    found, size = sections(data)
    offset, length = found["weights"]
    ranges, total = weight_ranges(data[offset:offset + length])
    start = -(-size // PAGE) * PAGE
    known = {hashlib.sha256(values.tobytes()).digest(): key for key, values in candidates(arrays)}
    recipe, rest = [], []
    for at, count in ranges:
        part = data[start + at:start + at + count]
        key = known.get(hashlib.sha256(part).digest())
        recipe.append([at, count, key])
        if key is None:
            rest.append(bytes(part))
    (folder / f"{path.stem}.head").write_bytes(data[:start])
    (folder / f"{path.stem}.rest").write_bytes(b"".join(rest))
    end = len(data) - start
    (folder / f"{path.stem}.recipe").write_text(json.dumps({"size": end, "parts": recipe}))
    return start + sum(map(len, rest))


def join(folder, stem, arrays):
    """The file again: FOLDER/NAME.tern."""
    recipe = json.loads((folder / f"{stem}.recipe").read_text())
    data, rest, used = bytearray(recipe["size"]), memoryview((folder / f"{stem}.rest").read_bytes()), 0
    for at, count, key in recipe["parts"]:
        if key is None:
            data[at:at + count] = rest[used:used + count]
            used += count
            continue
        name, form, dtype = key.rsplit("|", 2)
        array = arrays[name].T if form else arrays[name]
        with np.errstate(over="ignore"):
            data[at:at + count] = np.ascontiguousarray(array).astype(dtype).tobytes()
    path = pathlib.Path(folder) / f"{stem}.tern"
    path.write_bytes((folder / f"{stem}.head").read_bytes() + data)
    return path
