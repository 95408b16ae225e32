#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""worlds_test.py BUILD: one .tern file, run on this machine (host code, OpenCL) and in a browser (WebAssembly, WebGPU)."""
import array
import subprocess
import sys

from web_test import WASM, WebTest

ROWS, COLUMNS = 37, 53
IN_BROWSER = """
const tern = await import("/web/tern.js"), device = await tern.init(), { functions } = await tern.load("/files/worlds.tern", device);
const x = new Float32Array(await (await fetch("/files/x.bin")).arrayBuffer()), shape = [%d, %d];
for (const [name, place] of [["here", tern.host], ["on_webgpu", device]]) {
  const y = place.zeros(shape);
  functions[name](place.tensor(x, shape), y);
  await fetch(`/files/${name}.bin`, { method: "PUT", body: await y.data() });
}
return await (async () => functions.on_opencl(device.tensor(x, shape), device.zeros(shape)))().catch((error) => error.message);
"""


def write_npy(path, values):
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({ROWS}, {COLUMNS}), }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode() + values.tobytes())


def read_floats(path, is_npy=False):
    with open(path, "rb") as file:
        data = file.read()
    values = array.array("f")
    values.frombytes(data[10 + int.from_bytes(data[8:10], "little"):] if is_npy else data)
    return values


def main():
    x = array.array("f", (((i * 7919) % 1001) / 500 - 1 for i in range(ROWS * COLUMNS)))
    expected = [x[i] * x[i] - 0.5 * x[i - i % COLUMNS + COLUMNS - 1 - i % COLUMNS] for i in range(ROWS * COLUMNS)]
    with WebTest(sys.argv[1]) as test:
        test.compile(test.input("worlds.tir"), "worlds.tern", "--host", "llvm", target=WASM)
        write_npy(test.path("x.npy"), x)
        with open(test.path("x.bin"), "wb") as file:
            file.write(x.tobytes())
        results = {}
        for name in ("here", "on_opencl"):
            command = [test.tern_run, test.path("worlds.tern"), "--entry", name, "--dim", f"n={ROWS}", "--dim", f"m={COLUMNS}",
                       "--input", f"X={test.path('x.npy')}", "--output", f"Y={test.path('y.npy')}"]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            results[f"{name}, this machine"] = read_floats(test.path("y.npy"), is_npy=True)
        refusal = test.browser.open(test.url + "/blank").evaluate(IN_BROWSER % (ROWS, COLUMNS))
        for name in ("here", "on_webgpu"):
            results[f"{name}, browser"] = read_floats(test.path(f"{name}.bin"))
    worst = 0
    for name, values in results.items():
        difference = max(abs(a - b) for a, b in zip(values, expected, strict=True))
        print(f"{name}: largest difference {difference:.1e}")
        worst = max(worst, difference)
    print(f"on_opencl, browser: {refusal}")
    return 0 if worst < 1e-6 and "a tensor on opencl" in refusal else 1


if __name__ == "__main__":
    sys.exit(main())
