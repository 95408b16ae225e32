#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""browser_test.py BUILD: runs the tests of browser_test.js in Chromium."""
import sys

from web_test import WASM, WebTest


START = """window.tern = await import("/web/tern.js");
window.double = async (device, x = [1, 2, 3]) => {
  const { functions } = await tern.load("/files/add.tern", device), y = device.zeros([3]);
  functions.add(device.tensor(x), device.tensor(x), y);
  return [...await y.data()];
};
window.first = await tern.init();
return double(first);"""


def survives_a_crash_of_the_gpu_process(test):
    """A device is lost with the process that had it; the next one works."""
    page = test.browser.open(test.url + "/blank")
    assert page.evaluate(START) == [2, 4, 6]
    test.browser.send("Browser.crashGpuProcess")
    reason = page.evaluate("first.lost")
    message = page.evaluate("double(first).then(() => 'no error', (error) => error.message)")
    assert message == f"the WebGPU device was lost: {reason}; tern.init() gives a new one", message
    assert page.evaluate("double(await tern.init())") == [2, 4, 6]


def main():
    failed = 0
    with WebTest(sys.argv[1]) as test:
        for name in ("add", "softmax", "argmax", "batched_matmul"):
            test.compile(test.example(f"{name}.tir"), f"{name}.tern")
        test.compile(test.input("shift.tir"), "shift.tern")
        test.compile(test.input("checked.tir"), "checked.tern")
        test.compile(test.sized_matmul(1024), "matmul_1024.tern", target=WASM)
        test.compile(test.example("add.tir"), "native.tern", target="llvm")
        page = test.browser.open(test.url + "/blank")
        module = 'await import("/web/test/browser_test.js")'
        for name in page.evaluate(f"return Object.keys({module});"):
            message = page.evaluate(f"return await ({module}).{name}().catch((error) => `failed: ${{error.stack}}`);")
            print(f"{name}: {message or 'ok'}", flush=True)
            failed += str(message).startswith("failed")
        for line in page.problems:
            print(f"console: {line}")
        survives_a_crash_of_the_gpu_process(test)
    return 1 if failed or page.problems else 0


if __name__ == "__main__":
    sys.exit(main())
