#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""browser_test.py BUILD: runs the tests of browser_test.js in Chromium."""
import sys

from web_test import WASM, WebTest


def main():
    failed = 0
    with WebTest(sys.argv[1]) as test:
        for name in ("add", "softmax", "argmax", "batched_matmul"):
            test.compile(test.example(f"{name}.tir"), f"{name}.tern")
        test.compile(test.input("shift.tir"), "shift.tern")
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
    return 1 if failed or page.problems else 0


if __name__ == "__main__":
    sys.exit(main())
